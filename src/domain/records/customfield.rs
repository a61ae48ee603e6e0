//! Customised attributes: their names, their definitions and their values. Reference 9, 12.9.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::records::ids::CustomfieldId;
use crate::domain::records::text::{LongText, Text};
use crate::domain::time::{Civil, Instant};

/// The system name of a customised attribute, such as `str0`. Reference 12.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CustomName {
    kind: CustomKind,
    index: u8,
}

/// The type of a customised attribute, given by its name. Reference 12.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CustomKind {
    /// `bool0` to `bool9`.
    Boolean,
    /// `dt0` to `dt1`: a civil time without a zone.
    Datetime,
    /// `num0` to `num3`: a decimal number.
    Number,
    /// `str0` to `str14`: at most 255 characters.
    String,
    /// `txt0` to `txt2`: at most 65,535 characters.
    Text,
}

impl CustomKind {
    /// All types, each with the beginning of its names and their number.
    const ALL: [(Self, &str, u8); 5] = [
        (Self::Boolean, "bool", 10),
        (Self::Datetime, "dt", 2),
        (Self::Number, "num", 4),
        (Self::String, "str", 15),
        (Self::Text, "txt", 3),
    ];

    fn prefix(self) -> &'static str {
        // They stand in the order of the variants.
        Self::ALL[self as usize].1
    }
}

impl CustomName {
    /// Parses a system name; `None` if it is not one.
    ///
    /// ```
    /// use slotbook::domain::records::customfield::CustomName;
    /// assert!(CustomName::new("str14").is_some());
    /// assert!(CustomName::new("str15").is_none());
    /// assert!(CustomName::new("str01").is_none());
    /// ```
    pub fn new(name: &str) -> Option<Self> {
        for (kind, prefix, count) in CustomKind::ALL {
            let Some(digits) = name.strip_prefix(prefix) else { continue };
            let index: u8 = digits.parse().ok()?;
            // Only one spelling counts: `str01` and `str+1` are not names.
            let is_canonical = index.to_string() == digits;
            return if is_canonical && index < count { Some(Self { kind, index }) } else { None };
        }
        None
    }

    /// All system names, by type and number.
    pub fn all() -> impl Iterator<Item = Self> {
        let of_kind = |(kind, _, count)| (0..count).map(move |index| Self { kind, index });
        CustomKind::ALL.into_iter().flat_map(of_kind)
    }

    /// The type of the attribute's values.
    pub const fn kind(self) -> CustomKind {
        self.kind
    }
}

impl fmt::Display for CustomName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind.prefix(), self.index)
    }
}

/// A value of a customised attribute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "one variant per CustomKind, of the same name")]
pub enum CustomValue {
    Boolean(bool),
    Datetime(Civil),
    /// Always finite.
    Number(f64),
    String(Text<255>),
    Text(LongText),
}

/// The values set on one fiche or vevent, ascending by name. An attribute without a value has no
/// entry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Customs(Vec<(CustomName, CustomValue)>);

impl Customs {
    /// The value of an attribute, if it is set.
    pub fn value(&self, name: CustomName) -> Option<&CustomValue> {
        let index = self.0.binary_search_by_key(&name, |(other, _)| *other).ok()?;
        Some(&self.0[index].1)
    }

    /// Sets a value, or removes it with `None`.
    pub fn set(&mut self, name: CustomName, value: Option<CustomValue>) {
        match (self.0.binary_search_by_key(&name, |(other, _)| *other), value) {
            (Ok(index), Some(value)) => self.0[index].1 = value,
            (Ok(index), None) => drop(self.0.remove(index)),
            (Err(index), Some(value)) => self.0.insert(index, (name, value)),
            (Err(_), None) => {}
        }
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All values, ascending by name.
    pub fn iter(&self) -> impl Iterator<Item = &(CustomName, CustomValue)> {
        self.0.iter()
    }
}

/// The kind of record that a customised attribute belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[derive(strum::IntoStaticStr)]
#[expect(missing_docs, reason = "the two models of Reference 9")]
pub enum Model {
    Fiche,
    Vevent,
}

impl Model {
    /// The name in requests and answers.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The definition of a customised attribute. Reference 12.9.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are documented in Reference 12.9 under these names")]
pub struct Customfield {
    pub id: CustomfieldId,
    pub model: Model,
    pub name: CustomName,
    pub pro_label: Text<255>,
    pub pro_inputex: LongText,
    pub pro_position: i64,
    pub pro_required: bool,
    pub user_inputex: LongText,
    pub user_label: Text<255>,
    pub user_position: Option<i64>,
    pub user_required: bool,
    pub user_visible: bool,
    pub deleted: bool,
    pub created_at: Instant,
    pub updated_at: Instant,
}

impl Customfield {
    /// Makes a definition with the defaults of Reference 12.9.
    pub fn new(id: CustomfieldId, model: Model, name: CustomName, now: Instant) -> Self {
        Self {
            id,
            model,
            name,
            pro_label: Text::default(),
            pro_inputex: LongText::default(),
            pro_position: 0,
            pro_required: false,
            user_inputex: LongText::default(),
            user_label: Text::default(),
            user_position: None,
            user_required: false,
            user_visible: false,
            deleted: false,
            created_at: now,
            updated_at: now,
        }
    }
}
