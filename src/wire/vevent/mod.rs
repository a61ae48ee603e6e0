//! Events of all four kinds on the wire: fields, parsing and changes. Reference 12.7.

mod input;
mod part;
mod reader;
mod revision;
mod revision_tag;
mod table;

pub use crate::wire::vevent::input::{AppointmentInput, KindInput, VeventInput};
pub use crate::wire::vevent::part::{SCOPES, parse_part, revise_part};
pub use crate::wire::vevent::reader::parse;
pub use crate::wire::vevent::revision::revise;
pub use crate::wire::vevent::revision_tag::{REVISION_LENGTH, revision_text};
pub use crate::wire::vevent::table::{AVAILABILITY, VEVENT, first_start, render_stored};

#[cfg(test)]
mod tests;
