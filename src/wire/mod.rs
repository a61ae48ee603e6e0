//! Wire format: parsing, rendering, sorting and limits of each resource's fields. It holds no
//! booking rules. Reference 1.
//!
//! Each resource is one [`field::Table`]; parsing, rendering, lists and filters all read it.

pub mod access_history;
pub mod account;
pub mod agenda;
pub mod appointment;
pub mod booking;
pub mod calendar;
pub mod calendarfeed;
pub mod changes;
pub mod column_value;
pub mod custom_values;
pub mod customfield;
pub mod datetime;
pub mod displaced;
pub mod error_catalogue;
pub mod errors;
pub mod fiche;
pub mod field;
pub mod field_codec;
pub(crate) mod file_form;
pub mod filter;
pub mod group;
pub mod history;
pub mod hold;
pub mod hours;
pub mod image;
pub mod intervention;
pub mod invitation;
pub(crate) mod json_text;
pub mod json_writer;
mod like_pattern;
pub mod list;
pub mod message;
pub mod object_reader;
pub mod params;
pub mod pro;
pub mod query;
pub mod role;
pub mod schema;
pub mod scope;
pub mod search;
pub mod slots;
pub mod slots_answer;
pub mod value;
pub mod vevent;
pub mod webhook;
