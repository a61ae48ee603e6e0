//! Messages to clients as state: the outbox, its quotas, reminder times and delivery decisions.

pub mod announcement;
pub mod channel;
pub mod delivery;
pub mod message;
pub mod outbox;
pub mod phone;
pub mod planning;
pub mod recipient;
pub mod recipient_quota;
pub mod reminder;
pub mod send_time;
pub mod sms_countries;
pub mod suppression;
