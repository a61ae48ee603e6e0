//! What a booking is, and when it may be made: pure functions over values. No I/O, no clock, no randomness.

pub mod bookable;
pub mod booking;
pub mod calendar;
pub mod cancellation;
pub mod catalogue;
pub mod command;
pub mod customfield;
pub mod directory;
pub mod event;
pub mod fiche;
pub mod group;
pub mod ids;
pub mod interval_set;
pub mod intervention;
pub mod open_time;
pub mod recurrence;
pub mod refusal;
pub mod reminder;
pub mod root;
pub mod slots;
pub mod taken_time;
pub mod text;
pub mod time;
pub mod vevent;
pub mod zone;
pub mod zone_names;
