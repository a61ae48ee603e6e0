//! Decoding of records of an earlier format, in which later members are absent.
//!
//! [`Older`] passes a type's own `Deserialize` through a deserializer that forwards everything.
//! Only members that `domain::records::added` marks are reported as absent.

use std::fmt;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use crate::domain::records::added::ADDED_IN_FORMAT_2;

/// A `T` as records of format `FORMAT` hold it.
pub(crate) struct Older<const FORMAT: u16, T>(pub(crate) T);

impl<'de, const FORMAT: u16, T: Deserialize<'de>> Deserialize<'de> for Older<FORMAT, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(Forwarding::<FORMAT, D>(deserializer)).map(Self)
    }
}

/// Whether records of format `format` lack the member of that newtype name.
fn is_absent(newtype_name: &str, format: u16) -> bool {
    newtype_name == ADDED_IN_FORMAT_2 && format < 2
}

/// Forwards the calls between a type and the decoder below it.
struct Forwarding<const FORMAT: u16, Inner>(Inner);

macro_rules! forward_to_deserializer {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method(Forwarding::<FORMAT, V>(visitor))
        }
    )*};
}

impl<'de, const FORMAT: u16, D: Deserializer<'de>> Deserializer<'de> for Forwarding<FORMAT, D> {
    type Error = D::Error;

    forward_to_deserializer! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32
        deserialize_i64 deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf
        deserialize_option deserialize_unit deserialize_seq deserialize_map
        deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_unit_struct(name, Forwarding::<FORMAT, V>(visitor))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        if is_absent(name, FORMAT) {
            return visitor.visit_unit();
        }
        self.0.deserialize_newtype_struct(name, Forwarding::<FORMAT, V>(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple(len, Forwarding::<FORMAT, V>(visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple_struct(name, len, Forwarding::<FORMAT, V>(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_struct(name, fields, Forwarding::<FORMAT, V>(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, Forwarding::<FORMAT, V>(visitor))
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

macro_rules! forward_to_visitor {
    ($($method:ident: $value:ty),* $(,)?) => {$(
        fn $method<E: Error>(self, value: $value) -> Result<V::Value, E> {
            self.0.$method(value)
        }
    )*};
}

impl<'de, const FORMAT: u16, V: Visitor<'de>> Visitor<'de> for Forwarding<FORMAT, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    forward_to_visitor! {
        visit_bool: bool, visit_i8: i8, visit_i16: i16, visit_i32: i32, visit_i64: i64,
        visit_i128: i128, visit_u8: u8, visit_u16: u16, visit_u32: u32, visit_u64: u64,
        visit_u128: u128, visit_f32: f32, visit_f64: f64, visit_char: char, visit_str: &str,
        visit_borrowed_str: &'de str, visit_string: String, visit_bytes: &[u8],
        visit_borrowed_bytes: &'de [u8], visit_byte_buf: Vec<u8>,
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Forwarding::<FORMAT, D>(deserializer))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Forwarding::<FORMAT, D>(deserializer))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Forwarding::<FORMAT, A>(access))
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Forwarding::<FORMAT, A>(access))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(Forwarding::<FORMAT, A>(access))
    }
}

impl<'de, const FORMAT: u16, S: DeserializeSeed<'de>> DeserializeSeed<'de>
    for Forwarding<FORMAT, S>
{
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Forwarding::<FORMAT, D>(deserializer))
    }
}

impl<'de, const FORMAT: u16, A: SeqAccess<'de>> SeqAccess<'de> for Forwarding<FORMAT, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Forwarding::<FORMAT, S>(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, const FORMAT: u16, A: MapAccess<'de>> MapAccess<'de> for Forwarding<FORMAT, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(Forwarding::<FORMAT, S>(seed))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Forwarding::<FORMAT, S>(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, const FORMAT: u16, A: EnumAccess<'de>> EnumAccess<'de> for Forwarding<FORMAT, A> {
    type Error = A::Error;
    type Variant = Forwarding<FORMAT, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (value, variant) = self.0.variant_seed(Forwarding::<FORMAT, S>(seed))?;
        Ok((value, Forwarding(variant)))
    }
}

impl<'de, const FORMAT: u16, A: VariantAccess<'de>> VariantAccess<'de> for Forwarding<FORMAT, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.0.newtype_variant_seed(Forwarding::<FORMAT, S>(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(len, Forwarding::<FORMAT, V>(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.struct_variant(fields, Forwarding::<FORMAT, V>(visitor))
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Deserializer, Serialize};

    use crate::domain::records::added;
    use crate::store::codec::{decode, decode_format, encode};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct BeforeRow {
        id: u64,
        names: Vec<Option<String>>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Row {
        id: u64,
        names: Vec<Option<String>>,
        #[serde(deserialize_with = "added::in_format_2")]
        note: Option<String>,
        #[serde(deserialize_with = "percent_before")]
        percent: u8,
    }

    fn percent_before<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
        added::in_format_2_or(deserializer, 100)
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Nested<T> {
        Rows { at: i64, rows: Vec<Box<T>>, pair: (T, char) },
        Boxed(Box<Nested<T>>),
        Nothing,
    }

    fn before(id: u64) -> BeforeRow {
        BeforeRow { id, names: vec![None, Some("a".into())] }
    }

    fn row(id: u64) -> Row {
        Row { id, names: vec![None, Some("a".into())], note: None, percent: 100 }
    }

    #[test]
    fn a_member_added_later_is_absent_wherever_its_struct_stands() {
        let written = Nested::Boxed(Box::new(Nested::Rows {
            at: -7,
            rows: vec![Box::new(before(1)), Box::new(before(300))],
            pair: (before(2), 'é'),
        }));
        let read = Nested::Boxed(Box::new(Nested::Rows {
            at: -7,
            rows: vec![Box::new(row(1)), Box::new(row(300))],
            pair: (row(2), 'é'),
        }));
        let bytes = encode(&written);
        assert_eq!(decode_format::<Nested<Row>>(&bytes, 1).unwrap(), read);
        assert!(decode::<Nested<Row>>(&bytes).is_err(), "the present format holds the members");
        assert_eq!(
            decode_format::<Nested<Row>>(&encode(&Nested::<BeforeRow>::Nothing), 1).unwrap(),
            Nested::Nothing
        );
    }

    #[test]
    fn the_present_format_holds_the_members() {
        let written = Row { note: Some("b".into()), percent: 7, ..row(1) };
        let bytes = encode(&written);
        assert_eq!(decode_format::<Row>(&bytes, 2).unwrap(), written);
        assert!(decode_format::<Row>(&bytes, 1).is_err(), "bytes are left over");
    }
}
