//! Rows of the history as bytes: about 45 for a booking. Numbers take seven bits a byte.

use smallvec::SmallVec;

use crate::domain::records::author::{Author, KeyId};
use crate::domain::records::ids::{FicheId, ProId};
use crate::domain::state::history::row::{
    FieldChange, HistoryField, HistoryObject, HistoryRow, HistoryVerb, ObjectKind,
};
use crate::domain::time::Instant;

/// Bit of a field's first byte that says that a value before follows.
const HAS_BEFORE: u8 = 0x40;
/// Bit of a field's first byte that says that a value after follows.
const HAS_AFTER: u8 = 0x80;
/// Bits of a field's first byte that hold its code.
const FIELD_CODE: u8 = 0x3f;
/// Bit of an author's first byte that says that the id of a key follows.
const HAS_KEY: u8 = 0x80;

/// A row with the number of the row of the same object before it; 0 without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LinkedRow {
    pub(super) row: HistoryRow,
    pub(super) previous: u64,
}

pub(super) type Packed = SmallVec<[u8; 64]>;

/// Returns the bytes of a row.
pub(super) fn pack(linked: &LinkedRow) -> Packed {
    let LinkedRow { row, previous } = linked;
    let mut bytes = Packed::new();
    put_signed(&mut bytes, row.at.0);
    put(&mut bytes, row.sequence);
    put_author(&mut bytes, row.author);
    bytes.push(row.object.kind.code());
    put(&mut bytes, row.object.id);
    bytes.push(row.verb.code());
    put(&mut bytes, *previous);
    put(&mut bytes, row.fields.len() as u64);
    for change in &row.fields {
        let before = if change.before.is_some() { HAS_BEFORE } else { 0 };
        let after = if change.after.is_some() { HAS_AFTER } else { 0 };
        bytes.push(change.field.code() | before | after);
        change.before.iter().chain(&change.after).for_each(|value| put_signed(&mut bytes, *value));
    }
    bytes
}

/// Reads the first row of some bytes, and moves past it. `None` if they hold no row.
pub(super) fn unpack(bytes: &mut &[u8]) -> Option<LinkedRow> {
    let at = Instant(take_signed(bytes)?);
    let sequence = take(bytes)?;
    let author = take_author(bytes)?;
    let kind = ObjectKind::from_code(take_byte(bytes)?)?;
    let object = HistoryObject { kind, id: take(bytes)? };
    let verb = HistoryVerb::from_code(take_byte(bytes)?)?;
    let previous = take(bytes)?;
    let count = take(bytes)?;
    let mut fields = Vec::new();
    for _ in 0..count {
        let first = take_byte(bytes)?;
        let field = HistoryField::from_code(first & FIELD_CODE)?;
        let before = if first & HAS_BEFORE == 0 { None } else { Some(take_signed(bytes)?) };
        let after = if first & HAS_AFTER == 0 { None } else { Some(take_signed(bytes)?) };
        fields.push(FieldChange { field, before, after });
    }
    let row = HistoryRow { at, sequence, author, object, verb, fields };
    Some(LinkedRow { row, previous })
}

fn put_author(bytes: &mut Packed, author: Option<Author>) {
    let (tag, id, key) = match author {
        None => (0, None, None),
        Some(Author::Server) => (1, None, None),
        Some(Author::Operator) => (2, None, None),
        Some(Author::Visitor) => (3, None, None),
        Some(Author::Application(key)) => (4, None, Some(key)),
        Some(Author::Account { client, key }) => (5, Some(client.number()), key),
        Some(Author::Professional { id, key }) => (6, Some(id.number()), key),
    };
    bytes.push(if key.is_some() { tag | HAS_KEY } else { tag });
    id.iter().for_each(|id| put(bytes, *id));
    key.iter().for_each(|key| bytes.extend_from_slice(&key.bytes()));
}

fn take_author(bytes: &mut &[u8]) -> Option<Option<Author>> {
    let first = take_byte(bytes)?;
    let tag = first & !HAS_KEY;
    let id = if matches!(tag, 5 | 6) { take(bytes)? } else { 0 };
    let key = if first & HAS_KEY == 0 { None } else { Some(take_key(bytes)?) };
    Some(match tag {
        0 => None,
        1 => Some(Author::Server),
        2 => Some(Author::Operator),
        3 => Some(Author::Visitor),
        4 => Some(Author::Application(key?)),
        5 => Some(Author::Account { client: FicheId::new(id)?, key }),
        6 => Some(Author::Professional { id: ProId::new(id)?, key }),
        _ => return None,
    })
}

fn take_key(bytes: &mut &[u8]) -> Option<KeyId> {
    let (key, rest) = bytes.split_first_chunk::<{ KeyId::BYTES }>()?;
    *bytes = rest;
    Some(KeyId::from_bytes(*key))
}

fn put(bytes: &mut Packed, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// Small numbers of either sign take few bytes: the sign is the lowest bit.
fn put_signed(bytes: &mut Packed, number: i64) {
    put(bytes, (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned());
}

fn take_byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = take_byte(bytes)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take_signed(bytes: &mut &[u8]) -> Option<i64> {
    let number = take(bytes)?;
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn authors() -> impl Strategy<Value = Option<Author>> {
        let key = any::<[u8; KeyId::BYTES]>().prop_map(KeyId::from_bytes);
        let id = 1..=crate::domain::records::ids::ID_MAX;
        prop_oneof![
            Just(None),
            Just(Some(Author::Server)),
            Just(Some(Author::Operator)),
            Just(Some(Author::Visitor)),
            key.clone().prop_map(|key| Some(Author::Application(key))),
            (id.clone(), proptest::option::of(key.clone())).prop_map(|(id, key)| {
                Some(Author::Account { client: FicheId::new(id).expect("an id"), key })
            }),
            (id, proptest::option::of(key)).prop_map(|(id, key)| {
                Some(Author::Professional { id: ProId::new(id).expect("an id"), key })
            }),
        ]
    }

    fn changes() -> impl Strategy<Value = FieldChange> {
        let field = proptest::sample::select(HistoryField::ALL);
        (field, any::<Option<i64>>(), any::<Option<i64>>())
            .prop_map(|(field, before, after)| FieldChange { field, before, after })
    }

    proptest! {
        #[test]
        fn rows_are_read_as_they_were_written(
            numbers in any::<(i64, u64, u64, u64)>(),
            author in authors(),
            kind in proptest::sample::select(ObjectKind::ALL),
            verb in proptest::sample::select(HistoryVerb::ALL),
            fields in proptest::collection::vec(changes(), 0..5),
        ) {
            let (at, sequence, id, previous) = numbers;
            let object = HistoryObject { kind, id };
            let at = Instant(at);
            let row = HistoryRow { at, sequence, author, object, verb, fields };
            let linked = LinkedRow { row, previous };
            let mut packed = pack(&linked);
            packed.push(7);
            let mut rest = packed.as_slice();
            prop_assert_eq!(unpack(&mut rest), Some(linked));
            prop_assert_eq!(rest, &[7]);
        }

        #[test]
        fn bytes_that_are_no_row_are_refused(bytes in any::<Vec<u8>>()) {
            let mut rest = bytes.as_slice();
            if let Some(linked) = unpack(&mut rest) {
                prop_assert!(pack(&linked).len() <= bytes.len());
            }
        }
    }

    #[test]
    fn every_field_has_a_code_that_leaves_room_for_its_values() {
        assert!(HistoryField::ALL.len() <= usize::from(FIELD_CODE) + 1);
    }
}
