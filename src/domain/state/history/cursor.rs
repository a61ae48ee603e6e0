//! Places in the feed of a group's changes. Reference 18.1.

use std::fmt;
use std::str::FromStr;

use crate::domain::state::history::packed::LinkedRow;
use crate::domain::state::history::row::HistoryRow;
use crate::domain::state::history::{History, HistoryChunk};
use crate::planted_faults::PlantedFault;

/// Number of digits of a row's bits.
const BITS_DIGITS: usize = 8;
/// Bits of a place that names no row.
const NO_ROW: u32 = 0;

/// A place in the feed of changes: behind one row of the history. Its text is
/// `<sequence>-<number>-<bits>`, which callers keep as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeCursor {
    /// The number of the event that made the row.
    sequence: u64,
    /// The number of the row, by which the rows of one event differ.
    number: u64,
    /// 32 bits of the row. Another store has other rows of that number.
    bits: u32,
}

/// A row of the history with the place behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedRow {
    /// The number of the row.
    pub number: u64,
    /// The place behind the row.
    pub cursor: ChangeCursor,
    /// The row.
    pub row: HistoryRow,
}

/// A text that is no cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCursor;

/// A cursor whose place the history no longer has, or never had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoneCursor;

impl ChangeCursor {
    /// The number of the row behind which the place is.
    pub const fn number(&self) -> u64 {
        self.number
    }
}

impl fmt::Display for ChangeCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{:08x}", self.sequence, self.number, self.bits)
    }
}

impl FromStr for ChangeCursor {
    type Err = NoCursor;

    fn from_str(text: &str) -> Result<Self, NoCursor> {
        let mut parts = text.split('-');
        let (Some(sequence), Some(number), Some(bits), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(NoCursor);
        };
        let is_bits = bits.len() == BITS_DIGITS
            && bits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        if !is_bits {
            return Err(NoCursor);
        }
        let bits = u32::from_str_radix(bits, 16).map_err(|_| NoCursor)?;
        Ok(Self { sequence: parse_digits(sequence)?, number: parse_digits(number)?, bits })
    }
}

/// Parses a number as it is written: without a sign or zeros before it.
fn parse_digits(text: &str) -> Result<u64, NoCursor> {
    let number: u64 = text.parse().map_err(|_| NoCursor)?;
    if number.to_string() == text { Ok(number) } else { Err(NoCursor) }
}

impl History {
    /// Returns the rows behind the row with a number, ascending. The cost is that of the rows that
    /// are taken, and of the chunk with the first.
    pub fn rows_after(&self, number: u64) -> impl Iterator<Item = PlacedRow> {
        let next = number.saturating_add(1);
        let begin = self.chunks.get_prev(&next).map_or(next, |(first, _)| *first);
        let chunks = self.chunks.range(begin..);
        let rows = chunks.flat_map(|(first, chunk)| (*first..).zip(chunk.with_bits()));
        rows.skip_while(move |(number, _)| *number < next).map(|(number, (linked, bits))| {
            let row = linked.row;
            let cursor = ChangeCursor { sequence: row.sequence, number, bits };
            PlacedRow { number, cursor, row }
        })
    }

    /// Returns the place behind the last row. `sequence` is the number of the group's last event,
    /// for a history without rows.
    pub fn end(&self, sequence: u64) -> ChangeCursor {
        match self.rows_after(self.last.saturating_sub(1)).last() {
            Some(placed) => placed.cursor,
            None => ChangeCursor { sequence, number: self.last, bits: NO_ROW },
        }
    }

    /// Returns the number of the row behind which the feed begins: the oldest that is kept, or the
    /// last after which everything is to be read anew.
    pub fn feed_begin(&self) -> u64 {
        let kept = self.chunks.keys().next().map_or(self.last, |first| first - 1);
        kept.max(self.reread_at)
    }

    /// Whether a reader that knows all rows up to one can go on with those behind it: none of them
    /// has ended, and none says that everything is to be read anew.
    pub fn goes_on_behind(&self, number: u64) -> bool {
        // A first row that says `begun` tells of no other change.
        number >= self.feed_begin() || number == 0 && self.begun_after(0)
    }

    /// Returns the number of the row that a cursor names.
    ///
    /// # Errors
    /// A row that is no longer kept, is another one in this store, or after which everything is to
    /// be read anew, as after an import.
    pub fn find_place(&self, cursor: ChangeCursor) -> Result<u64, GoneCursor> {
        let ChangeCursor { sequence, number, bits } = cursor;
        if bits == NO_ROW {
            // The place behind the rows that have ended, with all that was made since.
            let is_ended = self.linked(number).is_none() && number == self.feed_begin();
            let is_begin = number == 0 && self.begun_after(sequence);
            return if is_ended || is_begin { Ok(number) } else { Err(GoneCursor) };
        }
        if number < self.feed_begin() {
            return Err(GoneCursor);
        }
        let same = self.rows_after(number.saturating_sub(1)).next().is_some_and(|placed| {
            let found = placed.cursor;
            found.number == number
                && found.sequence == sequence
                && (found.bits == bits || PlantedFault::CursorBitsIgnored.is_active())
        });
        if same { Ok(number) } else { Err(GoneCursor) }
    }

    /// Whether its first row came with an event after that with a number. So it says `begun` for
    /// want of earlier rows, and what was read before that is as it was.
    fn begun_after(&self, sequence: u64) -> bool {
        let first = self.rows_after(0).next();
        self.reread_at == 1
            && first.is_some_and(|it| it.number == 1 && it.cursor.sequence > sequence)
    }
}

impl HistoryChunk {
    /// Returns the rows with 32 bits of each, none of which is [`NO_ROW`].
    fn with_bits(&self) -> impl Iterator<Item = (LinkedRow, u32)> {
        self.iter_bytes().map(|(linked, bytes)| {
            let bits = crc32fast::hash(bytes);
            (linked, if bits == NO_ROW { !NO_ROW } else { bits })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::author::Author;
    use crate::domain::state::history::row::{
        FieldChange, HistoryField, HistoryObject, HistoryVerb, ObjectKind,
    };
    use crate::domain::time::{DAY, Instant};

    fn change(at: i64, id: u64) -> HistoryRow {
        HistoryRow {
            at: Instant(at),
            // Three rows an event.
            sequence: at.cast_unsigned() / 3,
            author: Some(Author::Server),
            object: HistoryObject { kind: ObjectKind::Vevent, id },
            verb: HistoryVerb::Changed,
            fields: Vec::new(),
        }
    }

    fn filled(ids: impl IntoIterator<Item = u64>) -> History {
        let mut history = History::default();
        for (at, id) in (1..).zip(ids) {
            history.add(change(at * DAY, id), None);
        }
        history
    }

    fn cursors(history: &History) -> Vec<ChangeCursor> {
        history.rows_after(0).map(|placed| placed.cursor).collect()
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is() {
        let cursor = ChangeCursor { sequence: 12, number: 345, bits: 0xa0b };
        assert_eq!(cursor.to_string(), "12-345-00000a0b");
        assert_eq!("12-345-00000a0b".parse(), Ok(cursor));
        for text in [
            "",
            "now",
            "12-345",
            "12-345-a0b",
            "12-345-00000A0B",
            "12-345-0000+a0b",
            "+12-345-00000a0b",
            "012-345-00000a0b",
            "12--345-00000a0b",
            "12-345-00000a0b-",
            "12-345-00000a0b-1",
            "12-18446744073709551616-00000a0b",
        ] {
            assert_eq!(text.parse::<ChangeCursor>(), Err(NoCursor), "{text:?}");
        }
    }

    #[test]
    fn the_rows_behind_each_row_are_those_with_higher_numbers() {
        let history = filled((1..=700).map(|at| at % 7));
        for number in [0, 1, 44, 45, 46, 350, 698, 699, 700, 701, u64::MAX] {
            let behind: Vec<u64> = history.rows_after(number).map(|placed| placed.number).collect();
            let expected: Vec<u64> = (1..=700).filter(|it| *it > number).collect();
            assert_eq!(behind, expected, "behind {number}");
        }
        for (number, cursor) in (1..).zip(cursors(&history)) {
            assert_eq!(history.find_place(cursor), Ok(number));
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        assert_eq!(Some(&history.end(233)), cursors(&history).last());
    }

    #[test]
    fn the_place_of_another_row_with_the_same_number_and_sequence_is_gone() {
        let one = filled([1, 2, 3, 4]);
        let other = filled([1, 2, 9, 4]);
        let found: Vec<_> =
            cursors(&one).into_iter().map(|cursor| other.find_place(cursor)).collect();
        // The fourth row is the same one, but for the number of its event.
        assert_eq!(found, [Ok(1), Ok(2), Err(GoneCursor), Ok(4)]);
        let later = cursors(&filled([1, 2, 3, 4, 5])).pop().expect("a cursor");
        assert_eq!(one.find_place(later), Err(GoneCursor), "the store is older");
    }

    #[test]
    fn the_places_of_rows_that_have_ended_are_gone_but_for_the_last_end() {
        let mut history = filled((1..=700).map(|at| at % 7));
        let all = cursors(&history);
        let below = history.end_of_step(Instant(701 * DAY)).expect("old rows");
        history.end_below(below);
        let kept = usize::try_from(below - 1).expect("few");
        assert!(all[..kept].iter().all(|it| history.find_place(*it) == Err(GoneCursor)));
        assert!(all[kept..].iter().all(|it| history.find_place(*it).is_ok()));
        assert_eq!(history.feed_begin(), below - 1);
        while let Some(below) = history.end_of_step(Instant(701 * DAY)) {
            history.end_below(below);
        }
        let end = history.end(9);
        assert_eq!(end.to_string(), "9-700-00000000");
        assert_eq!(history.find_place(end), Ok(700));
        history.add(change(702 * DAY, 3), None);
        assert_eq!(history.find_place(end), Ok(700), "nothing is left out behind it");
    }

    #[test]
    fn the_place_before_the_first_row_of_all_stays() {
        let mut history = History::default();
        let begin = history.end(1);
        let import = history.end(2);
        assert_eq!(history.find_place(begin), Ok(0));
        let first = HistoryRow { verb: HistoryVerb::Begun, sequence: 2, ..change(DAY, 1) };
        history.add(first, None);
        history.add(change(2 * DAY, 1), None);
        assert_eq!(history.find_place(begin), Ok(0));
        // A row that is kept is named by its bits.
        assert_eq!("2-1-00000000".parse().map(|it| history.find_place(it)), Ok(Err(GoneCursor)));
        // Of another history, which had more events when the rows began.
        assert_eq!(history.find_place(import), Err(GoneCursor));
    }

    #[test]
    fn places_before_an_import_and_before_other_instants_are_gone() {
        let other_instants = |row: HistoryRow| HistoryRow {
            fields: vec![FieldChange { field: HistoryField::Tzdata, before: None, after: None }],
            ..row
        };
        let begun = |row: HistoryRow| HistoryRow { verb: HistoryVerb::Begun, ..row };
        for end_copies in [other_instants, begun] {
            let mut history = filled([1, 2, 3]);
            let before = cursors(&history);
            history.add(end_copies(change(4 * DAY, 1)), None);
            let end = history.end(1);
            history.add(change(5 * DAY, 1), None);
            assert!(before.iter().all(|it| history.find_place(*it) == Err(GoneCursor)));
            assert_eq!((history.find_place(end), history.feed_begin()), (Ok(4), 4));
            let chunks = history.chunks().cloned().collect();
            assert_eq!(History::from_stored(chunks, Vec::new(), history.last()), history);
        }
    }
}
