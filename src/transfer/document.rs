//! Streaming reader of a document: row by row, so that the JSON of a million vevents never fills
//! the memory. Reference 11.2.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::transfer::faults::ImportFault;

/// A part of a document, passed to the reader's sink.
pub(crate) enum DocumentPart {
    /// A member of the document other than `groups`.
    Top(String, Value),
    /// The beginning of a group.
    Group,
    /// A member of a group other than its long lists, with the index of the group.
    Field(usize, String, Value),
    /// The given id of a row of a long list, when no rows are requested.
    RowId(RowSection, Option<Value>),
    /// A row of a long list, with the index of its group and its index there.
    Row(usize, usize, Value),
}

/// The long lists of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum RowSection {
    Fiches,
    Vevents,
    Messages,
}

impl RowSection {
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

/// Passes the rows of one section to `sink`; without a section, everything but rows.
///
/// # Errors
///
/// The first place where the document is no JSON, or has another shape.
pub(crate) fn walk_document(
    document: &[u8],
    rows: Option<RowSection>,
    sink: &mut dyn FnMut(DocumentPart),
) -> Result<(), ImportFault> {
    let mut deserializer = serde_json::Deserializer::from_slice(document);
    let mut walker = DocumentWalker { rows, sink, groups: 0 };
    let read = Top(&mut walker).deserialize(&mut deserializer);
    match read.and_then(|()| deserializer.end()) {
        Ok(()) => Ok(()),
        Err(error) => Err(json_fault(&error)),
    }
}

/// Turns an error of serde_json into a fault at its line and column.
fn json_fault(error: &serde_json::Error) -> ImportFault {
    let text = error.to_string();
    // serde_json repeats the place at the end of its message.
    let what = text.split(" at line ").next().unwrap_or_default();
    let what: String = what.chars().take(200).collect();
    let rule = if error.is_data() { what } else { format!("this is no JSON document: {what}") };
    ImportFault { path: format!("line {}, column {}", error.line(), error.column()), rule }
}

/// State of one pass over the document.
struct DocumentWalker<'s> {
    rows: Option<RowSection>,
    sink: &'s mut dyn FnMut(DocumentPart),
    /// Number of groups begun.
    groups: usize,
}

struct Top<'w, 's>(&'w mut DocumentWalker<'s>);
struct Groups<'w, 's>(&'w mut DocumentWalker<'s>);
struct Group<'w, 's>(&'w mut DocumentWalker<'s>);
struct Rows<'w, 's>(&'w mut DocumentWalker<'s>, RowSection);

/// The only field of a row that is read when no rows are requested.
#[derive(Deserialize)]
struct RowId {
    #[serde(default)]
    id: Option<Value>,
}

macro_rules! seed {
    ($name:ident, $how:ident) => {
        impl<'de> DeserializeSeed<'de> for $name<'_, '_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.$how(self)
            }
        }
    };
}

seed!(Top, deserialize_map);
seed!(Groups, deserialize_seq);
seed!(Group, deserialize_map);
seed!(Rows, deserialize_option);

impl<'de> Visitor<'de> for Top<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document with groups")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "groups" {
                map.next_value_seed(Groups(self.0))?;
            } else if self.0.rows.is_none() {
                let value = map.next_value()?;
                (self.0.sink)(DocumentPart::Top(key, value));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Groups<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of groups")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Group(self.0))?.is_some() {}
        Ok(())
    }
}

impl<'de> Visitor<'de> for Group<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a group")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.groups += 1;
        if self.0.rows.is_none() {
            (self.0.sink)(DocumentPart::Group);
        }
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "fiches" => map.next_value_seed(Rows(self.0, RowSection::Fiches))?,
                "vevents" => map.next_value_seed(Rows(self.0, RowSection::Vevents))?,
                "messages" => map.next_value_seed(Rows(self.0, RowSection::Messages))?,
                _ if self.0.rows.is_none() => {
                    let value = map.next_value()?;
                    (self.0.sink)(DocumentPart::Field(self.0.groups - 1, key, value));
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Rows<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of {}", self.1.name())
    }

    /// A section that is null is empty, like one that is left out.
    fn visit_none<E: serde::de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Rows(walker, section) = self;
        if walker.rows == Some(section) {
            let mut index = 0;
            while let Some(row) = list.next_element()? {
                (walker.sink)(DocumentPart::Row(walker.groups - 1, index, row));
                index += 1;
            }
        } else if walker.rows.is_none() {
            while let Some(RowId { id }) = list.next_element()? {
                (walker.sink)(DocumentPart::RowId(section, id));
            }
        } else {
            while list.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(())
    }
}
