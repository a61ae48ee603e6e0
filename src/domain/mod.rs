//! Domain: the records of a group, the booking rules and the decisions. Pure functions over values,
//! without I/O, clock or randomness.

pub mod booking;
pub mod identity;
pub mod messaging;
pub mod records;
pub mod recurrence;
pub mod state;
pub mod time;
