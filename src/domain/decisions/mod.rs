//! Decisions on commands: bookings, holds, moves, cancellations, changes of records and events,
//! accounts, deliveries, announcements and upkeep. Reference 6, 7.

pub mod alike;
pub mod announcement;
pub mod appointment_move;
pub mod book;
pub mod cancellation;
pub(crate) mod candidates;
pub mod client_record;
pub(crate) mod client_rules;
pub mod confirmation;
pub mod delivery;
pub mod enrolment;
pub mod founding;
pub mod hold;
pub mod manual_change;
pub(crate) mod overlap_check;
pub(crate) mod plage_over_hold;
pub mod record_change;
pub(crate) mod unconfirmed;
pub mod upkeep;
