//! Commands about the privacy of clients. Reference 17.

use crate::domain::records::account::AccountMark;
use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::time::Instant;

/// Erases clients. Reference 17.1.
#[derive(Clone, Debug)]
pub struct EraseClients {
    /// The clients, at least one, at most 1,000. The record that one was merged into goes with it,
    /// and those that were merged into that.
    pub ids: Vec<FicheId>,
    /// The moment since which all of them must have been idle; `None` erases others too. Nothing is
    /// erased if one is not.
    pub idle_since: Option<Instant>,
    /// All records that go, as they were listed before. Nothing is erased if there are others.
    pub records: Vec<FicheId>,
    /// Whether their upcoming appointments are cancelled, without a message. Else the command is
    /// refused if they have any.
    pub cancels_upcoming: bool,
}

/// A step of the retention of a group. Reference 17.5.
#[derive(Clone, Debug)]
pub enum RetentionStep {
    /// Idle time counts from now on, unless it does already.
    BeginCount,
    /// The accounts that book for this client were used today.
    RecordUse(FicheId),
    /// Past appointments lose their person.
    EmptyAppointments {
        /// The appointments, at most 1,000.
        ids: Vec<VeventId>,
        /// The moment before which they must have ended.
        before: Instant,
    },
    /// Unused accounts are closed.
    CloseAccounts {
        /// The accounts, at most 1,000.
        accounts: Vec<AccountMark>,
        /// The moment before which they must have been used last.
        before: Instant,
    },
}
