//! What a booking is, and when it may be made: pure functions over values. No I/O, no clock, no randomness.

pub mod answers;
pub mod booking;
pub mod calendar;
pub mod catalogue;
pub mod command;
pub mod customfield;
pub mod event;
pub mod fiche;
pub mod group;
pub mod identity;
pub mod ids;
pub mod intervention;
pub mod messaging;
pub mod place;
pub mod promises;
pub mod record;
pub mod recurrence;
pub mod refusal;
pub mod root;
pub mod text;
pub mod time;
pub mod upkeep;
pub mod vevent;
