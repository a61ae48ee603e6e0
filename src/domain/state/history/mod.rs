//! The history of a group: a row for each change of each object. It is part of the state, made by
//! `apply` from the event, its author and the state before. Reference 16.
//!
//! Rows are packed bytes in chunks that states share. A row names the row of the same object before
//! it, so that the history of an object costs what it shows.

pub mod cursor;
mod packed;
pub mod page;
pub mod row;
pub mod settings;

use std::sync::Arc;

use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use crate::domain::state::history::packed::{LinkedRow, pack, unpack};
use crate::domain::state::history::row::{
    FieldChange, HistoryField, HistoryObject, HistoryRow, HistoryVerb,
};
use crate::domain::state::history::settings::SettingsChange;
use crate::domain::time::{DAY, Instant};

/// Bytes that a row counts in the space of its group. Reference 3.8.
pub const ROW_BYTES: u64 = 120;
/// Bytes that the settings of a row count on top.
pub const SETTINGS_BYTES: u64 = 4_096;
/// Number of days for which every row is kept, whatever the group's setting is.
pub const KEPT_DAYS_MIN: i64 = 4;
/// Maximum number of rows of a group. Beyond it the oldest end, unless they are of the last
/// [`KEPT_DAYS_MIN`] days.
pub const ROWS_MAX: u64 = 1 << 20;

/// Maximum number of chunks that one step of upkeep ends: about 1,000 rows.
const ENDED_CHUNKS_MAX: usize = 25;

/// Size of a chunk in bytes from which the next row begins another one.
const CHUNK_BYTES: usize = 2_048;

/// The history of a group. Rows have numbers from 1, ascending in the order of the changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// The rows, by the number of the first row of each chunk.
    chunks: OrdMap<u64, Arc<HistoryChunk>>,
    /// The settings of rows, by the number of the row.
    settings: OrdMap<u64, Arc<SettingsChange>>,
    /// The number of the last row of each object. Derived from the chunks.
    last_rows: OrdMap<HistoryObject, u64>,
    /// The number of the last row ever made; 0 before the first.
    last: u64,
    /// The number of the last row after which everything is to be read anew; 0 if none is kept.
    /// Derived from the chunks.
    reread_at: u64,
}

/// Rows that follow one another, as bytes. The order of the members is the format on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryChunk {
    /// The number of the first row.
    first: u64,
    /// The number of rows, at least 1.
    rows: u32,
    /// The stamp of the last row, which is the latest.
    last_at: Instant,
    /// The rows.
    bytes: Vec<u8>,
}

/// A change of one object, before it has a place in the history.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ObservedChange {
    pub(crate) object: HistoryObject,
    pub(crate) verb: HistoryVerb,
    pub(crate) fields: Vec<FieldChange>,
    pub(crate) settings: Option<SettingsChange>,
}

/// A row with its number and its settings, if it has any.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberedRow {
    /// The number of the row.
    pub number: u64,
    /// The row.
    pub row: HistoryRow,
    /// The settings before and after.
    pub settings: Option<Arc<SettingsChange>>,
}

impl History {
    /// The number of the last row ever made; 0 before the first.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// The number of rows.
    pub fn len(&self) -> u64 {
        match self.chunks.get_min() {
            Some((first, _)) => self.last - first + 1,
            None => 0,
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The bytes that it takes by Reference 3.8.
    pub fn space_bytes(&self) -> u64 {
        self.len() * ROW_BYTES + self.settings.len() as u64 * SETTINGS_BYTES
    }

    /// The bytes that the packed rows take.
    pub fn packed_bytes(&self) -> usize {
        self.chunks.values().map(|chunk| chunk.bytes.len()).sum()
    }

    /// Whether rows of before a moment can be ended.
    fn has_rows_before(&self, moment: Instant) -> bool {
        self.chunks.get_min().is_some_and(|(_, chunk)| chunk.last_at < moment)
    }

    /// The rows below a number, latest first; all of them for [`u64::MAX`].
    pub fn latest_first(&self, below: u64) -> impl Iterator<Item = NumberedRow> {
        let chunks = self.chunks.range(..below).rev();
        chunks.flat_map(move |(first, chunk)| {
            let mut rows: Vec<NumberedRow> = Vec::with_capacity(chunk.rows as usize);
            for (number, linked) in (*first..).zip(chunk.iter()) {
                if number >= below {
                    break;
                }
                rows.push(self.numbered(number, linked.row));
            }
            rows.into_iter().rev()
        })
    }

    /// The rows of an object, latest first. They begin before the row with the number `below` if
    /// that is one of the object, and with its latest row otherwise. The cost is that of these
    /// rows.
    pub fn of_object(
        &self,
        object: HistoryObject,
        below: u64,
    ) -> impl Iterator<Item = NumberedRow> {
        let latest = self.last_rows.get(&object).copied().unwrap_or(0);
        let given = self.linked(below).filter(|linked| linked.row.object == object);
        let mut next = given.map_or(latest, |linked| linked.previous);
        std::iter::from_fn(move || {
            let linked = self.linked(next)?;
            let number = std::mem::replace(&mut next, linked.previous);
            Some(self.numbered(number, linked.row))
        })
    }

    /// Whether an object has rows.
    pub fn tells_of(&self, object: HistoryObject) -> bool {
        self.last_rows.contains_key(&object)
    }

    /// Returns a number below which all rows of before a moment are, with some later ones. The cost
    /// grows with the logarithm of the number of rows.
    fn below_moment(&self, moment: Instant) -> u64 {
        let mut low = self.chunks.keys().next().copied().unwrap_or(1);
        let mut high = self.last + 1;
        // The chunk of `high` ends at the moment or later, those below `low` end before it.
        while low < high {
            let middle = low + (high - low) / 2;
            match self.chunks.get_prev(&middle) {
                Some((first, chunk)) if chunk.last_at < moment => {
                    low = first + u64::from(chunk.rows);
                }
                Some((first, _)) => high = *first,
                None => break,
            }
        }
        match self.chunks.get(&high) {
            Some(chunk) => high + u64::from(chunk.rows),
            None => high,
        }
    }

    /// The chunks in order, as a snapshot holds them.
    pub fn chunks(&self) -> impl Iterator<Item = &Arc<HistoryChunk>> {
        self.chunks.values()
    }

    /// The settings of rows in order, as a snapshot holds them.
    pub fn settings(&self) -> impl Iterator<Item = (u64, &Arc<SettingsChange>)> {
        self.settings.iter().map(|(number, settings)| (*number, settings))
    }

    /// Builds a history from what a snapshot holds.
    ///
    /// # Panics
    /// If bytes are no rows. Then the snapshot is wrong.
    pub fn from_stored(
        chunks: Vec<Arc<HistoryChunk>>,
        settings: Vec<(u64, Arc<SettingsChange>)>,
        last: u64,
    ) -> Self {
        let settings: OrdMap<u64, Arc<SettingsChange>> = settings.into_iter().collect();
        let mut last_rows = OrdMap::new();
        let mut reread_at = 0;
        for chunk in &chunks {
            let mut number = chunk.first;
            for linked in chunk.iter() {
                if ends_copies(&linked.row, settings.get(&number).map(AsRef::as_ref)) {
                    reread_at = number;
                }
                last_rows.insert(linked.row.object, number);
                number += 1;
            }
            assert_eq!(number, chunk.first + u64::from(chunk.rows), "a chunk holds its rows");
        }
        Self {
            chunks: chunks.into_iter().map(|chunk| (chunk.first, chunk)).collect(),
            settings,
            last_rows,
            last,
            reread_at,
        }
    }

    /// Adds a row. The stamps of rows never decrease.
    pub(crate) fn add(&mut self, row: HistoryRow, settings: Option<SettingsChange>) {
        self.last += 1;
        let number = self.last;
        let at = row.at;
        if ends_copies(&row, settings.as_ref()) {
            self.reread_at = number;
        }
        let previous = self.last_rows.insert(row.object, number).unwrap_or(0);
        let bytes = pack(&LinkedRow { row, previous });
        if let Some(settings) = settings {
            self.settings.insert(number, Arc::new(settings));
        }
        match self.chunks.get_max() {
            Some((first, chunk)) if chunk.bytes.len() + bytes.len() <= CHUNK_BYTES => {
                let first = *first;
                let chunk = self.chunks.get_mut(&first).expect("the last chunk exists");
                let chunk = Arc::make_mut(chunk);
                chunk.rows += 1;
                chunk.last_at = at;
                chunk.bytes.extend_from_slice(&bytes);
            }
            _ => {
                let bytes = bytes.to_vec();
                let chunk = HistoryChunk { first: number, rows: 1, last_at: at, bytes };
                self.chunks.insert(number, Arc::new(chunk));
            }
        }
        // A row more ends at most two chunks, so that no row costs much.
        let kept = at.plus_seconds(-KEPT_DAYS_MIN * DAY);
        for _ in 0..2 {
            if self.len() > ROWS_MAX && self.has_rows_before(kept) {
                self.drop_first_chunk();
            }
        }
    }

    /// Returns the number below which all rows are of before a moment, as far as one step ends
    /// them: about 1,000 rows at most. Some dozens end together, if all are old. `None` if there
    /// are none to end.
    pub fn end_of_step(&self, moment: Instant) -> Option<u64> {
        let old = self.chunks.values().take_while(|chunk| chunk.last_at < moment);
        let last = old.take(ENDED_CHUNKS_MAX).last()?;
        Some(last.first + u64::from(last.rows))
    }

    /// Ends the rows below a number, as far as whole chunks hold nothing above.
    pub(crate) fn end_below(&mut self, below: u64) {
        while let Some((first, chunk)) = self.chunks.get_min()
            && first + u64::from(chunk.rows) <= below
        {
            self.drop_first_chunk();
        }
    }

    fn drop_first_chunk(&mut self) {
        let Some((first, chunk)) = self.chunks.get_min() else { return };
        let first = *first;
        let chunk = Arc::clone(chunk);
        self.chunks.remove(&first);
        for (number, linked) in (first..).zip(chunk.iter()) {
            self.settings.remove(&number);
            if self.reread_at == number {
                self.reread_at = 0;
            }
            if self.last_rows.get(&linked.row.object) == Some(&number) {
                self.last_rows.remove(&linked.row.object);
            }
        }
    }

    /// Finds a row with its link.
    fn linked(&self, number: u64) -> Option<LinkedRow> {
        let (first, chunk) = self.chunks.get_prev(&number)?;
        chunk.iter().nth(usize::try_from(number - first).ok()?)
    }

    fn numbered(&self, number: u64, row: HistoryRow) -> NumberedRow {
        NumberedRow { number, row, settings: self.settings.get(&number).cloned() }
    }
}

/// Whether copies of the group's objects end with a row: what was before is not known, or local
/// times have other instants without a row of each event.
fn ends_copies(row: &HistoryRow, settings: Option<&SettingsChange>) -> bool {
    let has_other_instants = || row.fields.iter().any(|it| it.field == HistoryField::Tzdata);
    row.verb == HistoryVerb::Begun
        || has_other_instants()
        || settings.is_some_and(SettingsChange::changes_time_zone)
}

impl HistoryChunk {
    fn iter(&self) -> impl Iterator<Item = LinkedRow> {
        self.iter_bytes().map(|(linked, _)| linked)
    }

    /// Returns the rows, each with its bytes.
    fn iter_bytes(&self) -> impl Iterator<Item = (LinkedRow, &[u8])> {
        let mut rest = self.bytes.as_slice();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let bytes = rest;
            let linked = unpack(&mut rest).expect("a chunk holds rows");
            Some((linked, &bytes[..bytes.len() - rest.len()]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::author::Author;
    use crate::domain::state::history::row::ObjectKind;
    use crate::domain::state::history::settings::Versions;

    fn vevent(id: u64) -> HistoryObject {
        HistoryObject { kind: ObjectKind::Vevent, id }
    }

    fn change(at: i64, id: u64) -> HistoryRow {
        let field = HistoryField::Start;
        HistoryRow {
            at: Instant(at),
            sequence: at.cast_unsigned(),
            author: Some(Author::Server),
            object: vevent(id),
            verb: HistoryVerb::Changed,
            fields: vec![FieldChange { field, before: Some(at - 1), after: Some(at) }],
        }
    }

    fn filled(rows: i64) -> History {
        let mut history = History::default();
        for at in 1..=rows {
            history.add(change(at * DAY, at.cast_unsigned() % 7), None);
        }
        history
    }

    fn numbers(rows: impl Iterator<Item = NumberedRow>) -> Vec<u64> {
        rows.map(|row| row.number).collect()
    }

    #[test]
    fn rows_come_latest_first_for_all_objects_and_for_one() {
        let history = filled(700);
        assert!(history.chunks.len() > 5, "{}", history.chunks.len());
        assert_eq!(numbers(history.latest_first(u64::MAX)), (1..=700).rev().collect::<Vec<_>>());
        assert_eq!(numbers(history.latest_first(300).take(3)), [299, 298, 297]);
        let of_three: Vec<u64> = (1..=700).filter(|at| at % 7 == 3).rev().collect();
        assert_eq!(numbers(history.of_object(vevent(3), u64::MAX)), of_three);
        assert_eq!(numbers(history.of_object(vevent(3), 24)), [17, 10, 3]);
        assert_eq!(numbers(history.of_object(vevent(8), u64::MAX)), [0; 0]);
        assert_eq!(history.latest_first(6).next().expect("a row").row, change(5 * DAY, 5));
    }

    #[test]
    fn ended_rows_leave_nothing_behind() {
        let mut history = filled(700);
        while let Some(below) = history.end_of_step(Instant(650 * DAY)) {
            history.end_below(below);
        }
        let first = history.chunks.keys().next().copied().expect("a chunk");
        assert!((600..=650).contains(&first), "{first}");
        assert_eq!(history.len(), 700 - first + 1);
        let kept = numbers(history.of_object(vevent(3), u64::MAX));
        assert!(kept.iter().all(|number| *number >= first) && !kept.is_empty());
        let below = history.end_of_step(Instant(701 * DAY)).expect("old rows");
        history.end_below(below);
        assert!(history.is_empty() && history.last_rows.is_empty());
        history.add(change(702 * DAY, 3), None);
        assert_eq!(numbers(history.latest_first(u64::MAX)), [701]);
    }

    #[test]
    fn a_stored_history_is_the_same_one() {
        let history = filled(100);
        let chunks = history.chunks().cloned().collect();
        let settings = history.settings().map(|(number, it)| (number, Arc::clone(it))).collect();
        assert_eq!(History::from_stored(chunks, settings, history.last()), history);
    }

    #[test]
    fn a_row_counts_120_bytes_and_its_settings_4096_more() {
        let mut history = History::default();
        assert_eq!(history.space_bytes(), 0);
        for (at, has_settings) in [(1, false), (2, true), (3, false), (4, true), (5, false)] {
            let versions = || Versions { before: None, after: None };
            let settings = has_settings.then(|| SettingsChange::Group(versions()));
            history.add(change(at, 1), settings);
        }
        assert_eq!(history.space_bytes(), 5 * 120 + 2 * 4_096);
    }

    #[test]
    fn chunks_are_filled_before_another_begins() {
        let history = filled(700);
        let sizes: Vec<usize> = history.chunks().map(|chunk| chunk.bytes.len()).collect();
        let [full @ .., _] = &sizes[..] else { panic!("there are chunks") };
        // A row of these takes at most 30 bytes.
        assert!(full.iter().all(|size| (2_018..=2_048).contains(size)), "{sizes:?}");
        assert_eq!(history.packed_bytes(), sizes.iter().sum::<usize>());
    }

    /// A row that fills a chunk, `days` days after the first moment.
    fn large(days: i64) -> HistoryRow {
        let row = change(days * DAY, 1);
        HistoryRow { fields: row.fields.repeat(CHUNK_BYTES / 4), ..row }
    }

    #[test]
    fn a_search_by_time_begins_with_the_chunk_that_reaches_the_moment() {
        let mut of_one_row = History::default();
        for days in 1..=20 {
            of_one_row.add(large(days), None);
        }
        for history in [filled(700), of_one_row, History::default()] {
            let last_day = i64::try_from(history.last()).expect("small");
            for moment in (0..=last_day + 1).flat_map(|days| [days * DAY, days * DAY + 1]) {
                let moment = Instant(moment);
                let reaching = history.chunks().find(|chunk| chunk.last_at >= moment);
                let end = reaching.map(|chunk| chunk.first + u64::from(chunk.rows));
                let expected = end.unwrap_or(history.last() + 1);
                assert_eq!(history.below_moment(moment), expected, "{moment:?}");
            }
        }
    }

    /// A history that begins with rows of the days 10 to 13, and goes on after a gap: the number
    /// of its rows is this once one more is added.
    fn grown_to(rows: u64) -> History {
        let mut history = History::default();
        for day in 10..14 {
            history.add(large(day), None);
        }
        history.last = rows - 1;
        history
    }

    #[test]
    fn beyond_the_maximum_a_new_row_ends_the_oldest_of_before_four_days() {
        let add = |history: &mut History, day: i64, second: i64| {
            let row = large(day);
            history.add(HistoryRow { at: row.at.plus_seconds(second), ..row }, None);
            let first = history.chunks().next().expect("the row is kept").first;
            (first, history.len())
        };
        let mut history = grown_to(ROWS_MAX);
        assert_eq!(add(&mut history, 30, 0), (1, ROWS_MAX));
        assert_eq!(add(&mut history, 30, 0), (2, ROWS_MAX));
        // With more than that of four days none end, and then two chunks for each new row.
        let mut history = grown_to(ROWS_MAX + 4);
        assert_eq!(add(&mut history, 14, 0), (1, ROWS_MAX + 4));
        assert_eq!(add(&mut history, 14, 1), (2, ROWS_MAX + 4));
        assert_eq!(add(&mut history, 20, 0), (4, ROWS_MAX + 3));
    }
}
