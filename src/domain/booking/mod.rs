//! Booking rules: free time, and the decisions on bookings, cancellations and manual changes.
//! Reference 4, 6.

pub mod alike;
pub mod appointment_move;
pub mod book;
pub mod bookable;
pub mod cancellation;
pub(crate) mod candidates;
pub mod client_record;
pub(crate) mod client_rules;
pub(crate) mod client_time;
pub mod confirmation;
pub mod free_places;
pub mod hold;
pub mod manual_change;
pub mod merged_starts;
pub mod module_offer;
pub mod obstacle;
pub mod open_time;
pub(crate) mod overlap_check;
pub(crate) mod plage_over_hold;
pub mod slot_request;
pub mod slots;
pub mod taken_time;
pub(crate) mod unconfirmed;
pub(crate) mod unverified_share;
