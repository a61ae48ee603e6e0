//! What a booking is, and when it may be made: pure functions over values. No I/O, no clock, no randomness.

pub mod answers;
pub mod booking;
pub mod command;
pub mod event;
pub mod identity;
pub mod messaging;
pub mod promises;
pub mod records;
pub mod recurrence;
pub mod refusal;
pub mod root;
pub mod time;
pub mod upkeep;
