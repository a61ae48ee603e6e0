//! Domain: the records of a group, the booking rules and the decisions. Pure functions over values,
//! without I/O, clock or randomness.
//!
//! The folders are floors. Each imports only those before it: `time`, `recurrence`, `records`,
//! `directory`, `availability`, `state`, `messaging`, `decisions`.

pub mod availability;
pub mod decisions;
pub mod directory;
pub mod messaging;
pub mod records;
pub mod recurrence;
pub mod state;
pub mod time;
