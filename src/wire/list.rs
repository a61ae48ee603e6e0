//! Lists: which part of which order was asked for, and the envelope it comes in. Reference 1.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use crate::domain::state::refusal::Fault;
use crate::wire::field::{Audience, Column, ColumnValue, Scope, Table};
use crate::wire::filter::Condition;
use crate::wire::params::Params;
use crate::wire::search::Search;
use crate::wire::top_k::TopK;

/// Records of a page where `results` does not say how many.
const PAGE_DEFAULT: usize = 25;
/// Records whose values are fetched from memory side by side: one after another, the waits for memory are most of what a
/// long list takes.
const FETCHED_TOGETHER: usize = 32;
/// What a search costs for a record, in times of looking at it.
const SEARCH_COST: usize = 10;

/// What a list was asked for.
pub struct Query<'t, R> {
    table: &'t Table<R>,
    /// Records on a page; `None` for all.
    results: Option<usize>,
    /// How many records of the order come before the page.
    start_index: usize,
    /// The field to sort by, under its name.
    sort: Option<(String, Column<'t, R>)>,
    /// Whether it was asked for, and whether downwards.
    dir: Option<Direction>,
    /// What every record of the list meets.
    conditions: Vec<Condition<'t, R>>,
    /// What finds every record of the list.
    search: Option<Search<'t, R>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Ascending,
    Descending,
}

/// A part of a list, in order.
pub struct Page<'r, R> {
    /// The records of the page.
    pub records: Vec<&'r R>,
    /// How many there are on all pages.
    pub total: usize,
}

/// A record with what decides its place in the order.
struct Placed<'r, R> {
    /// Its value of the field to sort by; null in the order of the resource.
    key: ColumnValue<'r>,
    id: u64,
    record: &'r R,
}

impl<'t, R: 'static> Query<'t, R> {
    /// What the parameters ask for.
    ///
    /// # Errors
    /// All parameters that are wrong: a `results` or `startIndex` that is no such number, a `sort` that is no field the
    /// audience sees, a `dir` other than asc and desc, conditions that [`Condition::parse_all`] refuses, a
    /// `search` that is too long.
    pub fn parse(
        params: &Params,
        table: &'t Table<R>,
        scope: &Scope<'_>,
        audience: Audience,
    ) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let results = match params.one("results") {
            None => Some(PAGE_DEFAULT),
            Some("all") => None,
            Some(text) => text.parse().ok().filter(|number| *number > 0).or_else(|| {
                faults.push(Fault::new("results", "must be a positive whole number or all"));
                None
            }),
        };
        let start_index = params.one("startIndex").map_or(Some(0), |text| text.parse().ok());
        if start_index.is_none() {
            faults.push(Fault::new("startIndex", "must be a whole number from 0"));
        }
        let sort = params.one("sort").and_then(|name| match table.column(name, scope, audience) {
            Some(column) => Some((name.to_owned(), column)),
            None => {
                faults.push(Fault::new("sort", format!("must be a field of {}", table.resource)));
                None
            }
        });
        let dir = match params.one("dir").map(str::to_ascii_lowercase).as_deref() {
            None => None,
            Some("asc") => Some(Direction::Ascending),
            Some("desc") => Some(Direction::Descending),
            Some(_) => {
                faults.push(Fault::new("dir", "must be asc or desc"));
                None
            }
        };
        let conditions =
            Condition::parse_all(params, table, scope, audience).unwrap_or_else(|wrong| {
                faults.extend(wrong);
                Vec::new()
            });
        let search = Search::parse(params, table, audience).unwrap_or_else(|wrong| {
            faults.push(wrong);
            None
        });
        let start_index = start_index.unwrap_or(0);
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self { table, results, start_index, sort, dir, conditions, search })
    }

    /// The same, searched in the fields of another table of the same records, as far as an audience sees them: that of
    /// appointments has no names.
    ///
    /// # Errors
    /// A `search` that is too long.
    pub fn searching(
        self,
        params: &Params,
        table: &'t Table<R>,
        audience: Audience,
    ) -> Result<Self, Fault> {
        Ok(Self { search: Search::parse(params, table, audience)?, ..self })
    }

    /// The page that was asked for of those of these records that meet all conditions and are found. Only as many are put
    /// in order as it takes, and the field to sort by is read once of each.
    #[must_use]
    pub fn page<'r>(&self, records: Vec<&'r R>, scope: &Scope<'r>) -> Page<'r, R> {
        if self.sort.is_none() && self.results.is_none() {
            return self.whole(records, scope);
        }
        let until =
            self.results.map_or(usize::MAX, |results| self.start_index.saturating_add(results));
        let compare = |a: &Placed<'r, R>, b: &Placed<'r, R>| self.compare(a, b, scope);
        let mut foremost = TopK::new(until, records.len(), compare);
        let (mut total, mut room) = (0, String::new());
        let mut placed = Vec::with_capacity(FETCHED_TOGETHER);
        for records in records.chunks(FETCHED_TOGETHER) {
            self.wanted(records, scope, &mut room, |record| placed.push(self.place(record, scope)));
            placed.iter().for_each(|placed| placed.key.fetch());
            total += placed.len();
            placed.drain(..).for_each(|placed| foremost.offer(placed));
        }
        let records = foremost
            .sorted()
            .into_iter()
            .skip(self.start_index)
            .map(|placed| placed.record)
            .collect();
        Page { records, total }
    }

    /// The same of all there are in the order of the resource, which takes no room but theirs.
    fn whole<'r>(&self, mut records: Vec<&'r R>, scope: &Scope<'r>) -> Page<'r, R> {
        let mut room = String::new();
        records.retain(|record| self.wants(record, scope, &mut room));
        let total = records.len();
        let order = |a: &&R, b: &&R| self.directed((self.table.order)(a, b, scope));
        records
            .sort_unstable_by(|a, b| order(a, b).then_with(|| self.number(a).cmp(&self.number(b))));
        records.drain(..self.start_index.min(total));
        Page { records, total }
    }

    /// Takes those of at most [`FETCHED_TOGETHER`] records that meet all conditions and are found.
    fn wanted<'r>(
        &self,
        records: &[&'r R],
        scope: &Scope<'r>,
        room: &mut String,
        mut take: impl FnMut(&'r R),
    ) {
        let Some((first, others)) = self.conditions.split_first() else {
            records
                .iter()
                .filter(|record| self.is_found(record, scope, room))
                .for_each(|record| take(record));
            return;
        };
        let mut cells = [const { ColumnValue::Null }; FETCHED_TOGETHER];
        for (cell, record) in cells.iter_mut().zip(records) {
            *cell = first.cell(record, scope);
            cell.fetch();
        }
        for (cell, record) in cells.into_iter().zip(records) {
            if first.admits(cell, scope, room)
                && others.iter().all(|condition| condition.holds(record, scope, room))
                && self.is_found(record, scope, room)
            {
                take(record);
            }
        }
    }

    /// Whether a record meets all conditions and is found.
    fn wants(&self, record: &R, scope: &Scope<'_>, room: &mut String) -> bool {
        self.conditions.iter().all(|condition| condition.holds(record, scope, room))
            && self.is_found(record, scope, room)
    }

    fn is_found(&self, record: &R, scope: &Scope<'_>, room: &mut String) -> bool {
        self.search.as_ref().is_none_or(|search| search.finds(record, scope, room))
    }

    /// What it costs to try whether a record is wanted and where it stands, in times of looking at the record.
    #[must_use]
    pub fn cost(&self) -> usize {
        let search = if self.search.is_some() { SEARCH_COST } else { 0 };
        1 + search + self.conditions.iter().map(Condition::cost).sum::<usize>()
    }

    /// Whether a condition names a field.
    #[must_use]
    pub fn names(&self, field: &str) -> bool {
        self.conditions.iter().any(|condition| condition.field == field)
    }

    fn place<'r>(&self, record: &'r R, scope: &Scope<'r>) -> Placed<'r, R> {
        let key =
            self.sort.as_ref().map_or(ColumnValue::Null, |(_, column)| column.key(record, scope));
        Placed { key, id: (self.table.id)(record), record }
    }

    fn compare<'r>(&self, a: &Placed<'r, R>, b: &Placed<'r, R>, scope: &Scope<'r>) -> Ordering {
        let by_field = match &self.sort {
            Some(_) => a.key.compare(&b.key),
            None => (self.table.order)(a.record, b.record, scope),
        };
        self.directed(by_field).then_with(|| a.id.cmp(&b.id))
    }

    /// An order, turned round where that was asked for.
    fn directed(&self, order: Ordering) -> Ordering {
        match self.dir {
            Some(Direction::Descending) => order.reverse(),
            Some(Direction::Ascending) | None => order,
        }
    }

    /// The number of a record, by which it is found again.
    #[must_use]
    pub fn number(&self, record: &R) -> u64 {
        (self.table.id)(record)
    }

    /// The bytes of an envelope up to its first record. After the last stands `]}`.
    #[must_use]
    pub fn head(&self, returned: usize, total: usize) -> Vec<u8> {
        let mut bytes = Value::Object(self.counts(returned, total)).to_string().into_bytes();
        bytes.pop();
        bytes.extend_from_slice(b",\"records\":[");
        bytes
    }

    /// What an envelope says of its records.
    fn counts(&self, returned: usize, total: usize) -> Map<String, Value> {
        let dir = self.dir.map(|dir| match dir {
            Direction::Ascending => "asc",
            Direction::Descending => "desc",
        });
        let mut counts = Map::new();
        counts.insert("recordsReturned".into(), returned.into());
        counts.insert("totalRecords".into(), total.into());
        counts.insert("startIndex".into(), self.start_index.into());
        counts.insert("pageSize".into(), self.results.unwrap_or(total).max(1).into());
        counts.insert("sort".into(), self.sort.as_ref().map(|(name, _)| name.as_str()).into());
        counts.insert("dir".into(), dir.into());
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::domain::records::calendar::Calendar;
    use crate::domain::records::catalogue::Catalogue;
    use crate::domain::records::group::Group;
    use crate::domain::records::ids::{CalendarId, GroupId};
    use crate::domain::records::text::{Bounded, Name};
    use crate::domain::state::group_state::GroupState;
    use crate::domain::time::Instant;
    use crate::domain::time::zone_names::ZoneName;
    use crate::wire::calendar::CALENDAR;

    fn state() -> GroupState {
        let paris = ZoneName::from_name("Paris").expect("a zone");
        let mut catalogue =
            Catalogue::new(Group::new(GroupId::new(4).expect("an id"), paris, Instant(0)));
        for (id, sort, name) in [(1, 3, "c"), (2, 1, "b"), (3, 2, "a"), (4, 1, "a")] {
            let id = CalendarId::new(id).expect("an id");
            let mut calendar = Calendar::new(id, Instant(0));
            calendar.sort = Bounded::new(sort).expect("a sort");
            calendar.name = Name::new(name).expect("a name");
            catalogue.calendars.insert(id, calendar.into());
        }
        GroupState::new(catalogue)
    }

    fn asked(query: &str) -> Result<(Vec<u64>, Value), Vec<String>> {
        let state = state();
        let scope = Scope::of(&state);
        let query = Query::parse(&Params::of_query(query), &CALENDAR, &scope, Audience::Pro)
            .map_err(|faults| faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>())?;
        let page =
            query.page(state.catalogue.calendars.values().map(AsRef::as_ref).collect(), &scope);
        let ids: Vec<u64> = page.records.iter().map(|calendar| query.number(calendar)).collect();
        let mut envelope = query.head(ids.len(), page.total);
        envelope.extend_from_slice(b"]}");
        Ok((ids, serde_json::from_slice(&envelope).expect("JSON")))
    }

    #[test]
    fn ties_are_broken_by_id_in_every_order() {
        assert_eq!(asked("").expect("a list").0, [2, 4, 3, 1]);
        assert_eq!(asked("sort=name").expect("a list").0, [3, 4, 2, 1]);
        assert_eq!(asked("sort=name&dir=desc").expect("a list").0, [1, 2, 3, 4]);
        assert_eq!(asked("sort=name&results=2&startIndex=1").expect("a list").0, [4, 2]);
        assert_eq!(asked("results=all&startIndex=1").expect("a list").0, [4, 3, 1]);
        assert_eq!(asked("results=all&dir=desc").expect("a list").0, [1, 3, 2, 4]);
        assert_eq!(asked("results=all&startIndex=9").expect("a list").0, [0_u64; 0]);
    }

    #[test]
    fn the_envelope_counts() {
        let envelope = asked("sort=name&dir=DESC&results=3&startIndex=2").expect("a list").1;
        assert_eq!(envelope["records"], json!([]), "they come after what is counted");
        assert_eq!(
            (&envelope["totalRecords"], &envelope["recordsReturned"]),
            (&json!(4), &json!(2))
        );
        assert_eq!((&envelope["startIndex"], &envelope["pageSize"]), (&json!(2), &json!(3)));
        assert_eq!((&envelope["sort"], &envelope["dir"]), (&json!("name"), &json!("desc")));
        assert_eq!(asked("").expect("a list").1["sort"], Value::Null);
    }

    #[test]
    fn what_cannot_be_asked_for_is_named() {
        let faults =
            asked("results=0&startIndex=-1&sort=colour&dir=up").expect_err("all are wrong");
        assert_eq!(faults, ["results", "startIndex", "sort", "dir"]);
    }
}
