//! Pages of a history. Reference 16.2.

use crate::domain::records::author::Author;
use crate::domain::state::history::row::HistoryObject;
use crate::domain::state::history::{History, NumberedRow};
use crate::domain::time::Instant;

/// Maximum number of rows that one page looks at. So the cost of a page is bounded, however rare
/// the rows are that it asks for.
const LOOKED_AT_MAX: usize = 5_000;
/// The same for the rows of one object, of which each is read from another place.
const OBJECT_ROWS_MAX: usize = 400;

/// A choice of rows of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Only rows about this object.
    pub object: Option<HistoryObject>,
    /// Only rows of this author.
    pub author: Option<AuthorChoice>,
    /// Only rows from this moment on. Rows that are no longer kept are older.
    pub from: Instant,
    /// Only rows before this moment.
    pub to: Instant,
    /// Only rows with a lower number.
    pub below: u64,
    /// Maximum number of rows.
    pub results: usize,
}

/// An author whose rows are asked for, with any key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorChoice {
    /// Events of releases that recorded no author.
    Unknown,
    /// This author, whichever key it had; of applications, one with this key.
    Known(Author),
}

/// Rows of a history, latest first.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPage {
    /// The rows.
    pub rows: Vec<NumberedRow>,
    /// The number below which to go on; `None` if there is nothing more. Further rows need not
    /// exist.
    pub next: Option<u64>,
}

impl AuthorChoice {
    fn includes(self, author: Option<Author>) -> bool {
        match (self, author) {
            (Self::Unknown, None) => true,
            (Self::Known(one), Some(other)) => is_same_author(one, other),
            (Self::Unknown, Some(_)) | (Self::Known(_), None) => false,
        }
    }
}

fn is_same_author(one: Author, other: Author) -> bool {
    match (one, other) {
        (Author::Account { client: one, .. }, Author::Account { client: other, .. }) => {
            one == other
        }
        (Author::Professional { id: one, .. }, Author::Professional { id: other, .. }) => {
            one == other
        }
        (
            Author::Server
            | Author::Operator
            | Author::Visitor
            | Author::Application(_)
            | Author::Account { .. }
            | Author::Professional { .. },
            _,
        ) => one == other,
    }
}

impl History {
    /// Returns the rows that a query asks for, latest first.
    pub fn page(&self, query: &HistoryQuery) -> HistoryPage {
        match query.object {
            Some(object) => select(self.of_object(object, query.below), query, OBJECT_ROWS_MAX),
            None => {
                let below = query.below.min(self.below_moment(query.to));
                select(self.latest_first(below), query, LOOKED_AT_MAX)
            }
        }
    }
}

fn select(
    rows: impl Iterator<Item = NumberedRow>,
    query: &HistoryQuery,
    looked_at_max: usize,
) -> HistoryPage {
    let mut page = HistoryPage { rows: Vec::new(), next: None };
    for (looked_at, found) in rows.enumerate() {
        if found.row.at < query.from {
            return HistoryPage { next: None, ..page };
        }
        if page.rows.len() == query.results || looked_at == looked_at_max {
            return page;
        }
        page.next = Some(found.number);
        if is_wanted(&found, query) {
            page.rows.push(found);
        }
    }
    HistoryPage { next: None, ..page }
}

fn is_wanted(found: &NumberedRow, query: &HistoryQuery) -> bool {
    let author = found.row.author;
    found.number < query.below
        && found.row.at < query.to
        && query.author.is_none_or(|choice| choice.includes(author))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::records::author::KeyId;
    use crate::domain::records::ids::{FicheId, ProId};
    use crate::domain::state::history::row::{HistoryRow, HistoryVerb, ObjectKind};

    fn author(nth: u8) -> Option<Author> {
        let key = Some(KeyId::from_bytes([nth; KeyId::BYTES]));
        match nth {
            0 => None,
            1 => Some(Author::Server),
            _ => Some(Author::Professional { id: ProId::new(2).expect("an id"), key }),
        }
    }

    proptest! {
        #[test]
        fn pages_one_after_the_other_are_all_rows_that_were_asked_for(
            steps in proptest::collection::vec((0..3_u64, 0..4_u8, 0..3_i64), 0..200),
            object in proptest::option::of(0..3_u64),
            by in proptest::option::of(0..4_u8),
            (from, to) in (0..100_i64, 0..300_i64),
            results in 1..9_usize,
        ) {
            let vevent = |id| HistoryObject { kind: ObjectKind::Vevent, id };
            let mut history = History::default();
            let mut at = 0;
            for (id, nth, wait) in steps {
                at += wait;
                let row = HistoryRow {
                    at: Instant(at),
                    sequence: 1,
                    author: author(nth),
                    object: vevent(id),
                    verb: HistoryVerb::Changed,
                    fields: Vec::new(),
                };
                history.add(row, None);
            }
            let choice = by.map(|nth| match author(nth) {
                None => AuthorChoice::Unknown,
                Some(author) => AuthorChoice::Known(author),
            });
            let is_wanted = |row: &HistoryRow| {
                let by_it = choice.is_none_or(|choice| match (choice, row.author) {
                    (AuthorChoice::Unknown, author) => author.is_none(),
                    (AuthorChoice::Known(Author::Server), author) => author == Some(Author::Server),
                    (AuthorChoice::Known(_), author) => {
                        matches!(author, Some(Author::Professional { .. }))
                    }
                });
                by_it
                    && object.is_none_or(|id| row.object == vevent(id))
                    && (from..to).contains(&row.at.0)
            };
            let expected: Vec<NumberedRow> =
                history.latest_first(u64::MAX).filter(|found| is_wanted(&found.row)).collect();
            let mut found = Vec::new();
            let mut below = Some(u64::MAX);
            while let Some(number) = below {
                let page = history.page(&HistoryQuery {
                    object: object.map(vevent),
                    author: choice,
                    from: Instant(from),
                    to: Instant(to),
                    below: number,
                    results,
                });
                prop_assert!(page.rows.len() <= results);
                prop_assert!(page.next.is_none_or(|next| next < number));
                found.extend(page.rows);
                below = page.next;
            }
            prop_assert_eq!(found, expected);
        }
    }

    fn history(rows: impl Iterator<Item = (i64, Author)>) -> History {
        let mut history = History::default();
        for (at, author) in rows {
            history.add(
                HistoryRow {
                    at: Instant(at),
                    sequence: 1,
                    author: Some(author),
                    object: HistoryObject { kind: ObjectKind::Vevent, id: 1 },
                    verb: HistoryVerb::Changed,
                    fields: Vec::new(),
                },
                None,
            );
        }
        history
    }

    /// All rows, five at most.
    const LATEST: HistoryQuery = HistoryQuery {
        object: None,
        author: None,
        from: Instant(0),
        to: Instant(i64::MAX),
        below: u64::MAX,
        results: 5,
    };

    #[test]
    fn the_page_with_the_last_row_leads_to_no_other() {
        let history = history((1..=12).map(|at| (at, Author::Server)));
        for (below, from, next) in
            [(u64::MAX, 0, Some(8)), (8, 0, Some(3)), (3, 0, None), (8, 4, None), (8, 2, Some(3))]
        {
            let from = Instant(from);
            let page = history.page(&HistoryQuery { below, from, ..LATEST });
            assert_eq!(page.next, next, "below {below} from {from:?}");
        }
    }

    #[test]
    fn a_person_is_found_whatever_key_the_change_came_by() {
        let key = |seed| Some(KeyId::from_bytes([seed; KeyId::BYTES]));
        let client = |id| FicheId::new(id).expect("an id");
        let pro = |id| ProId::new(id).expect("an id");
        let authors = [
            Author::Account { client: client(1), key: key(1) },
            Author::Account { client: client(2), key: key(1) },
            Author::Account { client: client(1), key: None },
            Author::Professional { id: pro(1), key: key(1) },
            Author::Professional { id: pro(2), key: key(1) },
            Author::Professional { id: pro(1), key: key(2) },
        ];
        let history = history((1..).zip(authors));
        for (asked, expected) in [(0, [3, 1]), (3, [6, 4])] {
            let author = Some(AuthorChoice::Known(authors[asked]));
            let page = history.page(&HistoryQuery { author, ..LATEST });
            let numbers: Vec<u64> = page.rows.iter().map(|found| found.number).collect();
            assert_eq!(numbers, expected);
        }
    }
}
