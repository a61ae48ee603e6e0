//! What a booking is, and when it may be made: pure functions over values. No I/O, no clock, no randomness.

pub mod booking;
pub mod identity;
pub mod messaging;
pub mod records;
pub mod recurrence;
pub mod state;
pub mod time;
