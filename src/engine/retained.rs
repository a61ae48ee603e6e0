//! Result of the retention. Reference 17.5.

/// Numbers of records that a retention has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// Appointments that lost their person.
    pub appointments: usize,
    /// Clients that were erased.
    pub clients: usize,
    /// Accounts that were closed.
    pub accounts: usize,
}
