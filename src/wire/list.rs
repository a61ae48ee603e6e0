//! Lists: parameters, order, pages and the envelope. Reference 1.4.

use std::cmp::Ordering;

use itertools::Itertools as _;
use serde_json::{Map, Value};

use crate::domain::records::fault::Fault;
use crate::wire::field::{Audience, Column, ColumnValue, Scope, Table};
use crate::wire::filter::Condition;
use crate::wire::params::Params;
use crate::wire::query::FaultCollector;
use crate::wire::search::Search;

/// Number of records on a page without `results`.
const PAGE_DEFAULT: usize = 25;
/// Number of records whose values are prefetched together. Cache misses dominate long lists, and
/// the misses of one batch overlap.
const BATCH_RECORDS: usize = 32;
/// Cost of a search on one record, relative to a comparison.
const SEARCH_COST: usize = 10;

/// Parsed parameters of a list.
pub struct Query<'t, R> {
    table: &'t Table<R>,
    /// Number of records on a page; `None` for all.
    results: Option<usize>,
    /// Number of records before the page.
    start_index: usize,
    /// The column to sort by and its name; `None` for the default order.
    sort: Option<(String, Column<'t, R>)>,
    /// The direction, if it is given; ascending otherwise.
    dir: Option<Direction>,
    /// Conditions that every record of the list meets.
    conditions: Vec<Condition<'t, R>>,
    /// Search that matches every record of the list.
    search: Option<Search<'t, R>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Ascending,
    Descending,
}

/// One page of a list.
pub struct ListPage<'r, R> {
    /// The records of the page, in order.
    pub records: Vec<&'r R>,
    /// Number of records on all pages.
    pub total: usize,
}

/// The envelope of a page up to its first record.
pub struct EnvelopeHead {
    /// The JSON.
    pub bytes: Vec<u8>,
    /// The place of the page in its list.
    pub place: PagePlace,
}

/// The place of a page in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagePlace {
    /// Number of records before the page.
    pub start: usize,
    /// Maximum number of records on a page; 0 for all.
    pub size: usize,
    /// Number of records on all pages.
    pub total: usize,
}

/// Record with its sort key.
struct SortEntry<'r, R> {
    /// Comparable value of the column to sort by; null in the default order.
    key: ColumnValue<'r>,
    id: u64,
    record: &'r R,
}

impl<'t, R: 'static> Query<'t, R> {
    /// Parses `results`, `startIndex`, `sort`, `dir`, `conditions` and `search`.
    ///
    /// # Errors
    /// A fault for each parameter that is wrong. The audience must see the column of `sort`. See
    /// [`Condition::parse_all`] and [`Search::parse`] for the others.
    pub fn parse(
        params: &Params,
        table: &'t Table<R>,
        scope: &Scope<'_>,
        audience: Audience,
    ) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut results = Some(PAGE_DEFAULT);
        if let Some(text) = params.value("results") {
            match text.parse() {
                Ok(number) if number > 0 => results = Some(number),
                _ if text == "all" => results = None,
                _ => faults.push(Fault::new("results", "must be a whole number from 1, or all")),
            }
        }
        let mut start_index = 0;
        if let Some(text) = params.value("startIndex") {
            match text.parse() {
                Ok(number) => start_index = number,
                Err(_) => faults.push(Fault::new("startIndex", "must be a whole number from 0")),
            }
        }
        let mut sort = None;
        if let Some(name) = params.value("sort") {
            match table.column(name, scope, audience) {
                Some(column) => sort = Some((name.to_owned(), column)),
                None => {
                    let rule = format!("must be a field of {}", table.resource);
                    faults.push(Fault::new("sort", rule));
                }
            }
        }
        let mut dir = None;
        if let Some(text) = params.value("dir") {
            match text.to_ascii_lowercase().as_str() {
                "asc" => dir = Some(Direction::Ascending),
                "desc" => dir = Some(Direction::Descending),
                _ => faults.push(Fault::new("dir", "must be asc or desc")),
            }
        }
        let mut faults = FaultCollector(faults);
        let conditions = faults.keep_faults(Condition::parse_all(params, table, scope, audience));
        let search = faults.keep_fault(Search::parse(params, table, audience));
        if !faults.0.is_empty() {
            return Err(faults.0);
        }
        Ok(Self { table, results, start_index, sort, dir, conditions, search })
    }

    /// Replaces the search by one in the fields of another table of the same records.
    ///
    /// The table of appointments has no name fields, so that it searches those of vevents.
    ///
    /// # Errors
    /// As [`Search::parse`].
    pub fn with_search_table(
        self,
        params: &Params,
        table: &'t Table<R>,
        audience: Audience,
    ) -> Result<Self, Fault> {
        Ok(Self { search: Search::parse(params, table, audience)?, ..self })
    }

    /// Returns the requested page of the records that meet all conditions and the search.
    ///
    /// Each record's sort key is read once. A bounded page keeps at most twice as many records as
    /// it and the pages before it hold.
    pub fn select_page<'r>(&self, records: Vec<&'r R>, scope: &Scope<'r>) -> ListPage<'r, R> {
        if self.sort.is_none() && self.results.is_none() {
            return self.select_all(records, scope);
        }
        let results = self.results.unwrap_or(usize::MAX);
        let page_end = self.start_index.saturating_add(results);
        let compare = |a: &SortEntry<'r, R>, b: &SortEntry<'r, R>| self.compare(a, b, scope);
        let mut total = 0;
        let mut buffer = String::new();
        let entries = records.chunks(BATCH_RECORDS).flat_map(|batch| {
            let entries = self.read_sort_entries(batch, scope, &mut buffer);
            total += entries.len();
            entries
        });
        let sorted: Vec<SortEntry<'r, R>> = if page_end < records.len() / 2 {
            entries.k_smallest_relaxed_by(page_end, compare).collect()
        } else {
            // A selection would keep all of them too. Reserving once avoids holding two copies.
            let mut all = Vec::with_capacity(records.len());
            all.extend(entries);
            all.sort_unstable_by(compare);
            all
        };
        let page = sorted.into_iter().skip(self.start_index).take(results);
        ListPage { records: page.map(|entry| entry.record).collect(), total }
    }

    /// Selects all records in the default order. It sorts in place and reads no keys.
    fn select_all<'r>(&self, mut records: Vec<&'r R>, scope: &Scope<'r>) -> ListPage<'r, R> {
        let mut buffer = String::new();
        records.retain(|record| self.meets(&self.conditions, record, scope, &mut buffer));
        let total = records.len();
        records.sort_unstable_by(|a, b| {
            let order = self.apply_direction((self.table.order)(a, b, scope));
            order.then_with(|| self.record_id(a).cmp(&self.record_id(b)))
        });
        records.drain(..self.start_index.min(total));
        ListPage { records, total }
    }

    /// Reads the sort keys of the matching records in a batch of at most [`BATCH_RECORDS`].
    fn read_sort_entries<'r>(
        &self,
        batch: &[&'r R],
        scope: &Scope<'r>,
        buffer: &mut String,
    ) -> Vec<SortEntry<'r, R>> {
        let mut entries = Vec::with_capacity(batch.len());
        if let Some((first, others)) = self.conditions.split_first() {
            let mut values = [const { ColumnValue::Null }; BATCH_RECORDS];
            for (value, record) in values.iter_mut().zip(batch) {
                *value = first.read_value(record, scope);
                value.prefetch();
            }
            for (value, record) in values.into_iter().zip(batch) {
                if first.matches_value(value, scope, buffer)
                    && self.meets(others, record, scope, buffer)
                {
                    entries.push(self.make_sort_entry(record, scope));
                }
            }
        } else {
            for record in batch {
                if self.meets(&[], record, scope, buffer) {
                    entries.push(self.make_sort_entry(record, scope));
                }
            }
        }
        for entry in &entries {
            entry.key.prefetch();
        }
        entries
    }

    /// Returns whether a record meets these conditions and the search.
    fn meets(
        &self,
        conditions: &[Condition<'t, R>],
        record: &R,
        scope: &Scope<'_>,
        buffer: &mut String,
    ) -> bool {
        conditions.iter().all(|condition| condition.matches_record(record, scope, buffer))
            && self.search.as_ref().is_none_or(|search| search.matches(record, scope, buffer))
    }

    /// Returns the places of the page among all `total` records in the default order. `None` if the
    /// query selects or sorts records.
    pub fn plain_places(&self, total: usize) -> Option<std::ops::Range<usize>> {
        let is_plain = self.conditions.is_empty() && self.search.is_none() && self.sort.is_none();
        if !is_plain || self.dir.is_some() {
            return None;
        }
        let end = self.start_index.saturating_add(self.results.unwrap_or(total));
        Some(self.start_index.min(total)..end.min(total))
    }

    /// Returns the cost of one record in this query, relative to a comparison.
    pub fn cost_per_record(&self) -> usize {
        let search = if self.search.is_some() { SEARCH_COST } else { 0 };
        1 + search + self.conditions.iter().map(Condition::cost_per_record).sum::<usize>()
    }

    /// Returns whether a condition names a field.
    pub fn filters_by_field(&self, field: &str) -> bool {
        self.conditions.iter().any(|condition| condition.field == field)
    }

    fn make_sort_entry<'r>(&self, record: &'r R, scope: &Scope<'r>) -> SortEntry<'r, R> {
        let key = match &self.sort {
            Some((_, column)) => column.sort_key(record, scope),
            None => ColumnValue::Null,
        };
        SortEntry { key, id: self.record_id(record), record }
    }

    fn compare<'r>(
        &self,
        a: &SortEntry<'r, R>,
        b: &SortEntry<'r, R>,
        scope: &Scope<'r>,
    ) -> Ordering {
        let order = match &self.sort {
            Some(_) => a.key.compare(&b.key),
            None => (self.table.order)(a.record, b.record, scope),
        };
        // The id breaks ties ascending in both directions.
        self.apply_direction(order).then_with(|| a.id.cmp(&b.id))
    }

    /// Reverses an order if `dir` is descending.
    fn apply_direction(&self, order: Ordering) -> Ordering {
        match self.dir {
            Some(Direction::Descending) => order.reverse(),
            Some(Direction::Ascending) | None => order,
        }
    }

    /// Returns the unique number of a record.
    pub fn record_id(&self, record: &R) -> u64 {
        (self.table.id)(record)
    }

    /// Renders the envelope up to its first record. The last record is followed by `]}`.
    pub fn envelope_head(&self, returned: usize, total: usize) -> EnvelopeHead {
        let mut bytes =
            Value::Object(self.envelope_counts(returned, total)).to_string().into_bytes();
        bytes.pop();
        bytes.extend_from_slice(b",\"records\":[");
        let place = PagePlace { start: self.start_index, size: self.results.unwrap_or(0), total };
        EnvelopeHead { bytes, place }
    }

    /// Returns the fields of the envelope before `records`.
    fn envelope_counts(&self, returned: usize, total: usize) -> Map<String, Value> {
        let dir = match self.dir {
            Some(Direction::Ascending) => Some("asc"),
            Some(Direction::Descending) => Some("desc"),
            None => None,
        };
        let sort = self.sort.as_ref().map(|(name, _)| name.as_str());
        let mut counts = Map::new();
        counts.insert("recordsReturned".into(), returned.into());
        counts.insert("totalRecords".into(), total.into());
        counts.insert("startIndex".into(), self.start_index.into());
        counts.insert("pageSize".into(), self.results.unwrap_or(total).max(1).into());
        counts.insert("sort".into(), sort.into());
        counts.insert("dir".into(), dir.into());
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::domain::availability::catalogue::Catalogue;
    use crate::domain::records::calendar::Calendar;
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

    fn list(query: &str) -> Result<(Vec<u64>, Value), Vec<String>> {
        let state = state();
        let scope = Scope::for_group(&state);
        let query = Query::parse(&Params::from_query(query), &CALENDAR, &scope, Audience::Pro)
            .map_err(|faults| faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>())?;
        let page = query
            .select_page(state.catalogue.calendars.values().map(AsRef::as_ref).collect(), &scope);
        let ids: Vec<u64> = page.records.iter().map(|calendar| query.record_id(calendar)).collect();
        let mut envelope = query.envelope_head(ids.len(), page.total).bytes;
        envelope.extend_from_slice(b"]}");
        Ok((ids, serde_json::from_slice(&envelope).expect("JSON")))
    }

    #[test]
    fn ties_are_broken_by_id_in_every_order() {
        assert_eq!(list("").expect("a list").0, [2, 4, 3, 1]);
        assert_eq!(list("sort=name").expect("a list").0, [3, 4, 2, 1]);
        assert_eq!(list("sort=name&dir=desc").expect("a list").0, [1, 2, 3, 4]);
        assert_eq!(list("sort=name&results=2&startIndex=1").expect("a list").0, [4, 2]);
        assert_eq!(list("results=all&startIndex=1").expect("a list").0, [4, 3, 1]);
        assert_eq!(list("results=all&dir=desc").expect("a list").0, [1, 3, 2, 4]);
        assert_eq!(list("results=all&startIndex=9").expect("a list").0, [0_u64; 0]);
    }

    #[test]
    fn a_short_page_of_a_long_list_is_a_part_of_the_sorted_list() {
        let mut catalogue = Catalogue::clone(&state().catalogue);
        for number in 5..=100 {
            let id = CalendarId::new(number).expect("an id");
            let mut calendar = Calendar::new(id, Instant(0));
            calendar.name = Name::new(&format!("{}", number * 37 % 11)).expect("a name");
            catalogue.calendars.insert(id, calendar.into());
        }
        let state = GroupState::new(catalogue);
        let scope = Scope::for_group(&state);
        let select = |query: &str| {
            let params = Params::from_query(query);
            let query = Query::parse(&params, &CALENDAR, &scope, Audience::Pro).expect("legal");
            let records = state.catalogue.calendars.values().map(AsRef::as_ref).collect();
            let page = query.select_page(records, &scope);
            assert_eq!(page.total, 100, "the total counts the records of all pages");
            page.records.into_iter().map(|record| query.record_id(record)).collect::<Vec<_>>()
        };
        for order in ["sort=name", "sort=name&dir=desc"] {
            let all = select(&format!("{order}&results=all"));
            for (start, length) in [(0, 1), (0, 25), (7, 13), (30, 19), (45, 10), (95, 25)] {
                let page = select(&format!("{order}&results={length}&startIndex={start}"));
                let end = (start + length).min(100);
                assert_eq!(page, all[start..end], "{order} from {start}, {length} records");
            }
        }
    }

    #[test]
    fn the_envelope_counts() {
        let envelope = list("sort=name&dir=DESC&results=3&startIndex=2").expect("a list").1;
        assert_eq!(envelope["records"], json!([]), "the records follow the counts");
        assert_eq!(
            (&envelope["totalRecords"], &envelope["recordsReturned"]),
            (&json!(4), &json!(2))
        );
        assert_eq!((&envelope["startIndex"], &envelope["pageSize"]), (&json!(2), &json!(3)));
        assert_eq!((&envelope["sort"], &envelope["dir"]), (&json!("name"), &json!("desc")));
        assert_eq!(list("").expect("a list").1["sort"], Value::Null);
    }

    #[test]
    fn each_wrong_parameter_is_reported() {
        let faults = list("results=0&startIndex=-1&sort=colour&dir=up").expect_err("all are wrong");
        assert_eq!(faults, ["results", "startIndex", "sort", "dir"]);
    }
}
