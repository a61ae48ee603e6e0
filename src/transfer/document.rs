//! Walks a document row by row, so that a million events never stand in memory as JSON.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::transfer::faults::ImportFault;

/// A part of a document.
pub(super) enum DocumentPart {
    /// A member of the document other than `groups`.
    Top(String, Value),
    /// A group begins.
    Group,
    /// A member of a group other than its fiches and events.
    Field(usize, String, Value),
    /// The id that a fiche or an event is given, on a walk that takes no rows.
    RowId(RowSection, Option<Value>),
    /// A fiche or an event, by its group and its place there.
    Row(usize, usize, Value),
}

/// The long lists of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowSection {
    Fiches,
    Vevents,
}

impl RowSection {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Fiches => "fiches",
            Self::Vevents => "vevents",
        }
    }
}

/// Hands out the rows of one section, or, where none is named, everything but rows.
///
/// # Errors
/// The first place where the document is not JSON, or has another shape.
pub(super) fn walk_document(
    document: &[u8],
    rows: Option<RowSection>,
    sink: &mut dyn FnMut(DocumentPart),
) -> Result<(), ImportFault> {
    let mut deserializer = serde_json::Deserializer::from_slice(document);
    let mut walker = DocumentWalker { rows, sink, groups: 0 };
    Top(&mut walker).deserialize(&mut deserializer).and_then(|()| deserializer.end()).map_err(
        |error| {
            let text = error.to_string();
            // serde_json says the place again, at the end.
            let what: String =
                text.split(" at line ").next().unwrap_or_default().chars().take(200).collect();
            let rule =
                if error.is_data() { what } else { format!("this is no JSON document: {what}") };
            ImportFault { path: format!("line {}, column {}", error.line(), error.column()), rule }
        },
    )
}

struct DocumentWalker<'s> {
    rows: Option<RowSection>,
    sink: &'s mut dyn FnMut(DocumentPart),
    /// Groups begun.
    groups: usize,
}

struct Top<'w, 's>(&'w mut DocumentWalker<'s>);
struct Groups<'w, 's>(&'w mut DocumentWalker<'s>);
struct Group<'w, 's>(&'w mut DocumentWalker<'s>);
struct Rows<'w, 's>(&'w mut DocumentWalker<'s>, RowSection);

/// All that a first walk looks at in a row.
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

    /// A section that is null holds nothing, as one that is left out.
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
