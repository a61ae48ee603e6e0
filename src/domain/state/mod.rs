//! The state of a group: commands, events, the fold of events into state, and its invariants.

pub mod cancelled_bookings;
pub mod changed_records;
mod client_emails;
pub mod command;
pub mod event;
pub mod founding;
pub mod group_state;
pub mod holds;
pub mod idempotency;
pub mod invariants;
pub mod refusal;
pub mod space;
pub mod space_quota;
pub mod upkeep;
pub mod vevent_rows;
