//! Reader of an object's members, which collects the faults of all of them.

use serde_json::{Map, Value};

use crate::domain::records::fault::Fault;
use crate::domain::records::text::{InvalidValue, Text};
use crate::wire::value::{self, find_filled, find_member};

/// Reads an object field by field. The object is legal if no faults have been collected.
pub struct ObjectReader<'a> {
    pub(crate) object: &'a Map<String, Value>,
    /// The faults of the members read so far.
    pub(crate) faults: Vec<Fault>,
}

impl<'a> ObjectReader<'a> {
    /// A reader of this object.
    pub const fn new(object: &'a Map<String, Value>) -> Self {
        Self { object, faults: Vec::new() }
    }

    /// Returns a field's value; `None` if it is absent, empty or wrong.
    pub fn read<T>(
        &mut self,
        field: &str,
        parse: impl FnOnce(&Value) -> Result<Option<T>, InvalidValue>,
    ) -> Option<T> {
        let parsed = parse(find_member(self.object, field)?);
        self.keep_fault(field, parsed).flatten()
    }

    /// Does the same with a parser that refuses empty values.
    pub fn read_filled<T>(
        &mut self,
        field: &str,
        parse: impl FnOnce(&Value) -> Result<T, InvalidValue>,
    ) -> Option<T> {
        let parsed = parse(find_filled(self.object, field)?);
        self.keep_fault(field, parsed)
    }

    /// Does the same with a field that each object has. `rule` is that of a missing one.
    pub fn require<T>(
        &mut self,
        field: &str,
        rule: &str,
        parse: impl FnOnce(&Value) -> Result<Option<T>, InvalidValue>,
    ) -> Option<T> {
        let value = self.read(field, parse);
        if value.is_none() && !self.has_fault(field) {
            self.add_fault(field, rule);
        }
        value
    }

    /// Returns a text; the empty one if it is absent or wrong.
    pub fn read_text<const MAX: usize>(&mut self, field: &str) -> Text<MAX> {
        let text = self.read(field, |given| Ok(Some(Text::new(&value::parse_text(given)?)?)));
        text.unwrap_or_default()
    }

    /// Returns the parsed value of a field, or keeps its fault.
    pub fn keep_fault<T>(&mut self, field: &str, parsed: Result<T, InvalidValue>) -> Option<T> {
        match parsed {
            Ok(value) => Some(value),
            Err(InvalidValue(rule)) => {
                self.add_fault(field, rule);
                None
            }
        }
    }

    /// Returns a parsed value, or keeps its faults.
    pub fn keep_faults<T>(&mut self, parsed: Result<T, Vec<Fault>>) -> Option<T> {
        match parsed {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.faults.extend(wrong);
                None
            }
        }
    }

    /// Adds a fault of a field.
    pub fn add_fault(&mut self, field: &str, rule: impl Into<String>) {
        self.faults.push(Fault::new(field, rule));
    }

    /// Whether a field is known to be wrong.
    pub fn has_fault(&self, field: &str) -> bool {
        self.faults.iter().any(|fault| fault.field == field)
    }

    /// Returns what was made of the members.
    ///
    /// # Errors
    /// The faults that were collected.
    pub fn finish<T>(self, made: T) -> Result<T, Vec<Fault>> {
        if self.faults.is_empty() { Ok(made) } else { Err(self.faults) }
    }
}
