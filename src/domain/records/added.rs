//! Members that a stored type gained in a later format. Reference 8.
//!
//! Such a member stands last in its struct and names one of these functions in
//! `#[serde(deserialize_with = "…")]`. Records of an earlier format do not hold it. The store's
//! decoder recognises the newtype name and reports the member as absent for them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// Newtype name under which a member is decoded that format 2 added.
pub const ADDED_IN_FORMAT_2: &str = "member added in format 2";

/// Decodes a member that format 2 added; its default in earlier records.
///
/// # Errors
/// The bytes are no `T`.
pub fn in_format_2<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    in_format_2_or(deserializer, T::default())
}

/// Decodes a member that format 2 added; `absent` in earlier records.
///
/// # Errors
/// The bytes are no `T`.
pub fn in_format_2_or<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    absent: T,
) -> Result<T, D::Error> {
    let visitor = AddedMember { absent };
    deserializer.deserialize_newtype_struct(ADDED_IN_FORMAT_2, visitor)
}

struct AddedMember<T> {
    absent: T,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for AddedMember<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member, or a record of an earlier format")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(self.absent)
    }
}
