//! What a booking is, and when it may be made: pure functions over values. No I/O, no clock, no randomness.

pub mod ids;
pub mod time;
