//! Booking rules: free time, `bookable`, the decision of a booking, a cancellation or a manual change.

pub mod book;
pub mod bookable;
pub mod cancellation;
pub(crate) mod client_time;
pub mod manual_change;
pub mod obstacle;
pub mod open_time;
pub mod slot_request;
pub mod slots;
pub mod taken_time;
