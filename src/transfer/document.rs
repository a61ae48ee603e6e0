//! Streaming reader of a document: row by row, so that the JSON of a million vevents never fills
//! the memory. Reference 11.2.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::transfer::faults::ImportFault;
use crate::transfer::{ACCESS_HISTORY, HISTORY};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
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
    let read = walker.at(Level::Document).deserialize(&mut deserializer);
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

/// A level of the document.
#[derive(Clone, Copy)]
enum Level {
    Document,
    Groups,
    Group,
    Rows(RowSection),
}

impl Level {
    /// Returns the level below a member that is read piece by piece.
    fn below(self, member: &str) -> Option<Self> {
        match self {
            Self::Document if member == "groups" => Some(Self::Groups),
            Self::Group => Some(Self::Rows(member.parse().ok()?)),
            Self::Document | Self::Groups | Self::Rows(_) => None,
        }
    }
}

/// The pass over the document at a level.
struct LevelWalker<'w, 's> {
    walker: &'w mut DocumentWalker<'s>,
    level: Level,
}

impl<'s> DocumentWalker<'s> {
    fn at(&mut self, level: Level) -> LevelWalker<'_, 's> {
        LevelWalker { walker: self, level }
    }
}

/// The only field of a row that is read when no rows are requested.
#[derive(Deserialize)]
struct RowId {
    #[serde(default)]
    id: Option<Value>,
}

impl<'de> DeserializeSeed<'de> for LevelWalker<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.level {
            Level::Document | Level::Group => deserializer.deserialize_map(self),
            Level::Groups => deserializer.deserialize_seq(self),
            Level::Rows(_) => deserializer.deserialize_option(self),
        }
    }
}

impl<'de> Visitor<'de> for LevelWalker<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            Level::Document => f.write_str("a document with groups"),
            Level::Groups => f.write_str("a list of groups"),
            Level::Group => f.write_str("a group"),
            Level::Rows(section) => write!(f, "a list of {}", section.name()),
        }
    }

    /// A section that is null is empty, like one that is left out.
    fn visit_none<E: serde::de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { walker, level } = self;
        let is_group = matches!(level, Level::Group);
        if is_group {
            walker.groups += 1;
        }
        if is_group && walker.rows.is_none() {
            (walker.sink)(DocumentPart::Group);
        }
        while let Some(key) = map.next_key::<String>()? {
            if let Some(below) = level.below(&key) {
                map.next_value_seed(walker.at(below))?;
            } else if walker.rows.is_some()
                || (is_group && (key == HISTORY || key == ACCESS_HISTORY))
            {
                map.next_value::<IgnoredAny>()?;
            } else if is_group {
                let value = map.next_value()?;
                (walker.sink)(DocumentPart::Field(walker.groups - 1, key, value));
            } else {
                let value = map.next_value()?;
                (walker.sink)(DocumentPart::Top(key, value));
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self { walker, level } = self;
        let Level::Rows(section) = level else {
            while list.next_element_seed(walker.at(Level::Group))?.is_some() {}
            return Ok(());
        };
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
