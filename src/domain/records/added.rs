//! Members that a stored type gained in a later format. Reference 8.
//!
//! Such a member stands last in its struct and names one of these functions in
//! `#[serde(deserialize_with = "…")]`. Records of an earlier format do not hold it. A type gets
//! nothing but the bytes from serde, so [`of_format`] keeps their format for the thread while it
//! decodes or encodes them.

use std::cell::Cell;

use serde::de::{Deserialize, Deserializer};

thread_local! {
    /// The format of the bytes that this thread decodes or encodes; the newest unless `of_format`
    /// says so.
    static FORMAT: Cell<u16> = const { Cell::new(u16::MAX) };
}

/// Restores the format of the bytes around, also after a panic.
struct Outer(u16);

impl Drop for Outer {
    fn drop(&mut self) {
        FORMAT.set(self.0);
    }
}

/// Runs a decoder or an encoder of bytes of a format.
pub fn of_format<T>(format: u16, run: impl FnOnce() -> T) -> T {
    let _outer = Outer(FORMAT.replace(format));
    run()
}

/// Encodes a member, or leaves it out of formats before `first`. A release that writes two formats
/// names it by `serialize_with` for each member that the newer one added.
///
/// # Errors
/// Those of the serializer.
#[cfg(test)]
pub(crate) fn encode_since<S: serde::Serializer>(
    first: u16,
    member: &impl serde::Serialize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    // A unit takes no bytes.
    if FORMAT.get() < first { serializer.serialize_unit() } else { member.serialize(serializer) }
}

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
    since_format(2, deserializer, absent)
}

/// Decodes a member that format 3 added; `absent` in earlier records.
///
/// # Errors
/// The bytes are no `T`.
pub fn in_format_3_or<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    absent: T,
) -> Result<T, D::Error> {
    since_format(3, deserializer, absent)
}

/// Decodes a member that format 4 added; its default in earlier records.
///
/// # Errors
/// The bytes are no `T`.
pub fn in_format_4<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    in_format_4_or(deserializer, T::default())
}

/// Decodes a member that format 4 added; `absent` in earlier records.
///
/// # Errors
/// The bytes are no `T`.
pub fn in_format_4_or<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    absent: T,
) -> Result<T, D::Error> {
    since_format(4, deserializer, absent)
}

/// Decodes a member that format 5 added; `absent` in earlier records.
///
/// # Errors
/// The bytes are no `T`.
pub fn in_format_5_or<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    absent: T,
) -> Result<T, D::Error> {
    since_format(5, deserializer, absent)
}

/// Decodes a member that format 6 added; its default in earlier records.
///
/// # Errors
/// The bytes are no `T`.
pub fn in_format_6<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    in_format_6_or(deserializer, T::default())
}

/// Decodes a member that format 6 added; `absent` in earlier records.
///
/// # Errors
/// The bytes are no `T`.
pub fn in_format_6_or<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    absent: T,
) -> Result<T, D::Error> {
    since_format(6, deserializer, absent)
}

/// Decodes a member that format 7 added; its default in earlier records.
///
/// # Errors
/// The bytes are no `T`.
pub fn in_format_7<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    since_format(7, deserializer, T::default())
}

fn since_format<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    first: u16,
    deserializer: D,
    absent: T,
) -> Result<T, D::Error> {
    if FORMAT.get() < first { Ok(absent) } else { T::deserialize(deserializer) }
}
