//! What a booking is, and when it may be made: pure functions over values. No I/O, no clock, no randomness.

pub mod ids;
pub mod recurrence;
pub mod reminder;
pub mod time;
pub mod zone;
pub mod zone_names;
