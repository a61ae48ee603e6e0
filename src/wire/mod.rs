//! What goes over the wire: how each resource's fields are read, shown, sorted and limited. No rule of booking is here.
//!
//! Every resource is a [`field::Table`]; whatever reads, shows or sorts a resource is driven by its table.

pub mod appointment;
pub mod calendar;
pub mod column_value;
pub mod customfield;
pub mod datetime;
pub mod errors;
pub mod fiche;
pub mod field;
pub mod field_value;
pub mod filter;
pub mod group;
pub mod intervention;
mod like_pattern;
pub mod list;
pub mod message;
pub mod params;
pub mod pro;
pub mod query;
pub mod search;
pub mod slots;
mod top_k;
pub mod value;
pub mod vevent;
