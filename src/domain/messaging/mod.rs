//! Messages to clients as state: the outbox, its quotas, reminder times and delivery decisions.

pub mod announcement;
pub mod delivery;
pub mod outbox;
pub mod phone;
pub mod planning;
pub mod reminder;
