//! The vevents of a group by id, packed for ids that are used in ascending order.
//!
//! A B-tree splits a full node in half, and later ids never fill the left half. Here a full run of
//! rows stays full when a later row follows it, so that a row costs half as much. A change copies
//! one run; a new state shares the others.

use std::ops::Index;
use std::sync::Arc;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;

use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::Vevent;

/// Maximum number of rows of a run.
const RUN_ROWS: usize = 16;

/// Rows that ascend by id; at least one.
type Run = Vec<Arc<Vevent>>;

/// The vevents of a group, ascending by id.
#[derive(Clone, Debug, Default)]
pub struct VeventRows {
    /// Each run by the id of its first row.
    runs: OrdMap<VeventId, Arc<Run>>,
    /// The number of rows of all runs.
    len: usize,
}

impl VeventRows {
    /// Finds a vevent.
    pub fn get(&self, id: &VeventId) -> Option<&Arc<Vevent>> {
        let (_, run) = self.last_run_up_to(id)?;
        match place_in(run, *id) {
            Ok(at) => Some(&run[at]),
            Err(_) => None,
        }
    }

    /// Finds a vevent, for a change that keeps its id.
    pub fn get_mut(&mut self, id: &VeventId) -> Option<&mut Arc<Vevent>> {
        let (first, run) = self.last_run_up_to(id)?;
        let first = *first;
        let at = place_in(run, *id).ok()?;
        Some(&mut self.own_run(first)[at])
    }

    /// Whether there is a vevent with this id.
    pub fn contains_key(&self, id: &VeventId) -> bool {
        self.get(id).is_some()
    }

    /// Their number.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All vevents, ascending by id.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Arc<Vevent>> {
        self.runs.values().flat_map(|run| run.iter())
    }

    /// Their ids, ascending.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &VeventId> {
        self.values().map(|row| &row.id)
    }

    /// Inserts a vevent, or replaces the one with its id. Returns the one before.
    pub fn insert(&mut self, row: Arc<Vevent>) -> Option<Arc<Vevent>> {
        let id = row.id;
        // A row before all others joins the first run.
        let Some((first, run)) = self.find_run(id) else {
            self.add_run(vec![row]);
            self.len = 1;
            return None;
        };
        let first = *first;
        let place = place_in(run, id);
        let is_full = run.len() == RUN_ROWS;
        match place {
            Ok(at) => return Some(std::mem::replace(&mut self.own_run(first)[at], row)),
            Err(RUN_ROWS) => self.add_run(vec![row]),
            Err(at) if is_full => {
                let mut left = self.take_run(first);
                let mut right = left.split_off(RUN_ROWS / 2);
                if at <= left.len() {
                    left.insert(at, row);
                } else {
                    right.insert(at - left.len(), row);
                }
                self.add_run(left);
                self.add_run(right);
            }
            Err(0) => {
                let mut run = self.take_run(first);
                run.insert(0, row);
                self.add_run(run);
            }
            Err(at) => self.own_run(first).insert(at, row),
        }
        self.len += 1;
        None
    }

    /// Removes a vevent, if it exists, and returns it.
    pub fn remove(&mut self, id: &VeventId) -> Option<Arc<Vevent>> {
        let (first, run) = self.last_run_up_to(id)?;
        let first = *first;
        let at = place_in(run, *id).ok()?;
        let mut run = self.take_run(first);
        let row = run.remove(at);
        self.len -= 1;
        // Small neighbours become one, so that removals leave no crowd of short runs.
        if let Some((before, left)) = self.runs.get_prev(&first)
            && left.len() + run.len() <= RUN_ROWS / 2
        {
            let before = *before;
            let mut left = self.take_run(before);
            left.append(&mut run);
            run = left;
        } else if let Some((after, right)) = self.runs.get_next(&first)
            && run.len() + right.len() <= RUN_ROWS / 2
        {
            let after = *after;
            run.append(&mut self.take_run(after));
        }
        if !run.is_empty() {
            self.add_run(run);
        }
        Some(row)
    }

    /// Returns the ids of the vevents that are new or changed since an earlier state, ascending.
    /// The cost is that of the runs that the states do not share.
    pub fn changed_since(&self, before: &Self) -> Vec<VeventId> {
        let mut changed = Vec::new();
        for item in before.runs.diff(&self.runs) {
            let run = match item {
                DiffItem::Add(_, run) | DiffItem::Update { new: (_, run), .. } => run,
                DiffItem::Remove(..) => continue,
            };
            for row in run.iter() {
                if before.get(&row.id) != Some(row) {
                    changed.push(row.id);
                }
            }
        }
        changed
    }

    /// Finds the run for a row with this id, and its first id. A row before all others belongs to
    /// the first run. `None` without any run.
    fn find_run(&self, id: VeventId) -> Option<(&VeventId, &Arc<Run>)> {
        match self.last_run_up_to(&id) {
            Some(found) => Some(found),
            None => self.runs.iter().next(),
        }
    }

    /// Finds the run that holds this id, if any does, and its first id.
    fn last_run_up_to(&self, id: &VeventId) -> Option<(&VeventId, &Arc<Run>)> {
        // A new row is looked up several times, and a range allocates.
        match self.runs.get_max() {
            Some((first, run)) if first <= id => Some((first, run)),
            _ => self.runs.get_prev(id),
        }
    }

    /// Returns the run with this first id, for a change that keeps that id.
    fn own_run(&mut self, first: VeventId) -> &mut Run {
        own(self.runs.get_mut(&first).expect("a found run exists"))
    }

    /// Removes the run with this first id.
    fn take_run(&mut self, first: VeventId) -> Run {
        let mut run = self.runs.remove(&first).expect("a found run exists");
        std::mem::take(own(&mut run))
    }

    fn add_run(&mut self, mut run: Run) {
        run.reserve_exact(RUN_ROWS - run.len());
        self.runs.insert(run[0].id, Arc::new(run));
    }
}

/// Returns a run for a change; a copy of one that another state shares.
fn own(run: &mut Arc<Run>) -> &mut Run {
    if Arc::get_mut(run).is_none() {
        let mut copy = Vec::with_capacity(RUN_ROWS);
        copy.extend_from_slice(run);
        *run = Arc::new(copy);
    }
    Arc::get_mut(run).expect("a copy is not shared")
}

/// Returns the place of an id in a run, or the place where it would be inserted.
fn place_in(run: &[Arc<Vevent>], id: VeventId) -> Result<usize, usize> {
    // Most ids of a run follow one another, so that no other row is read.
    let distance = id.number().saturating_sub(run[0].id.number());
    if let Ok(at) = usize::try_from(distance)
        && run.get(at).is_some_and(|row| row.id == id)
    {
        return Ok(at);
    }
    run.binary_search_by_key(&id, |row| row.id)
}

impl PartialEq for VeventRows {
    /// Compares the rows. In which runs they stand depends on how they came there.
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.values().eq(other.values())
    }
}

impl FromIterator<Arc<Vevent>> for VeventRows {
    fn from_iter<I: IntoIterator<Item = Arc<Vevent>>>(rows: I) -> Self {
        let mut all = Self::default();
        for row in rows {
            all.insert(row);
        }
        all
    }
}

impl Index<&VeventId> for VeventRows {
    type Output = Arc<Vevent>;

    fn index(&self, id: &VeventId) -> &Arc<Vevent> {
        self.get(id).expect("the vevent exists")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::domain::records::ids::CalendarId;
    use crate::domain::records::vevent::VeventKind;
    use crate::domain::recurrence::{Exceptions, Series};
    use crate::domain::time::zone_names::ZoneName;
    use crate::domain::time::{CivilDay, Instant};

    fn id(number: u64) -> VeventId {
        VeventId::new(number).expect("an id")
    }

    fn row(number: u64, stamp: i64) -> Arc<Vevent> {
        let zone = ZoneName::from_name("Paris").expect("a zone").zone();
        let note = Series::new_note(zone, CivilDay(1), None, Exceptions::default());
        Arc::new(Vevent {
            id: id(number),
            calendar_id: CalendarId::new(1).expect("an id"),
            kind: VeventKind::Note(Box::new(note.expect("legal"))),
            deleted: false,
            created_at: Instant(0),
            updated_at: Instant(stamp),
            rare: None,
        })
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Insert(u64),
        Append(u64),
        Change(u64),
        Remove(u64),
        Keep,
    }

    fn a_step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (1..200_u64).prop_map(Step::Insert),
            3 => (1..4_u64).prop_map(Step::Append),
            1 => (1..200_u64).prop_map(Step::Change),
            2 => (1..200_u64).prop_map(Step::Remove),
            1 => Just(Step::Keep),
        ]
    }

    proptest! {
        #[test]
        fn rows_agree_with_a_plain_map(steps in proptest::collection::vec(a_step(), 0..200)) {
            let mut rows = VeventRows::default();
            let mut plain = BTreeMap::new();
            let mut kept = (rows.clone(), plain.clone());
            for (step, stamp) in steps.into_iter().zip(1..) {
                match step {
                    Step::Insert(number) => {
                        let row = row(number, stamp);
                        prop_assert_eq!(rows.insert(Arc::clone(&row)), plain.insert(row.id, row));
                    }
                    Step::Append(distance) => {
                        let last = plain.keys().next_back().map_or(0, |id: &VeventId| id.number());
                        let row = row(last + distance, stamp);
                        prop_assert_eq!(rows.insert(Arc::clone(&row)), plain.insert(row.id, row));
                    }
                    Step::Change(number) => {
                        let found = rows.get_mut(&id(number));
                        let expected = plain.get_mut(&id(number));
                        prop_assert_eq!(&found, &expected);
                        if let (Some(found), Some(expected)) = (found, expected) {
                            *found = row(number, stamp);
                            *expected = Arc::clone(found);
                        }
                    }
                    Step::Remove(number) => {
                        prop_assert_eq!(rows.remove(&id(number)), plain.remove(&id(number)));
                    }
                    Step::Keep => kept = (rows.clone(), plain.clone()),
                }
                prop_assert_eq!(rows.len(), plain.len());
                prop_assert_eq!(rows.is_empty(), plain.is_empty());
                prop_assert!(rows.values().eq(plain.values()));
                prop_assert!(rows.keys().rev().eq(plain.keys().rev()));
                for number in 1..200 {
                    prop_assert_eq!(rows.get(&id(number)), plain.get(&id(number)));
                }
                prop_assert!(rows.runs.iter().all(|(first, run)| *first == run[0].id));
                prop_assert!(kept.0.values().eq(kept.1.values()), "a kept state does not change");
                let mut changed = Vec::new();
                for (id, row) in &plain {
                    if kept.1.get(id) != Some(row) {
                        changed.push(*id);
                    }
                }
                prop_assert_eq!(rows.changed_since(&kept.0), changed);
            }
            prop_assert_eq!(&plain.into_values().collect::<VeventRows>(), &rows);
        }
    }

    #[test]
    fn rows_with_ascending_ids_fill_their_runs() {
        let rows: VeventRows = (1..=1_000).map(|number| row(7 * number, 0)).collect();
        assert_eq!(rows.runs.len(), 1_000_usize.div_ceil(RUN_ROWS));
        let removed = (1..=1_000).filter(|number| number % 16 != 0).map(|number| id(7 * number));
        let mut ascending = rows.clone();
        let mut descending = rows;
        removed.clone().for_each(|id| drop(ascending.remove(&id)));
        removed.rev().for_each(|id| drop(descending.remove(&id)));
        for rows in [ascending, descending] {
            assert!(rows.runs.len() <= 62 / 4, "{} runs of 62 rows", rows.runs.len());
        }
    }

    #[test]
    fn short_neighbours_join_once_they_fill_half_a_run() {
        let two_runs = || (1..=2 * RUN_ROWS as u64).map(|number| row(number, 0));
        let quarter = RUN_ROWS as u64 / 4;
        let later_first = (RUN_ROWS as u64 + 1..).take(RUN_ROWS).chain(1..=RUN_ROWS as u64);
        let earlier_first = 1..=2 * RUN_ROWS as u64;
        for order in [later_first.collect::<Vec<_>>(), earlier_first.collect()] {
            let mut rows: VeventRows = two_runs().collect();
            let (first, second) = order.split_at(RUN_ROWS);
            let goes =
                |of: &[u64]| of.iter().skip(RUN_ROWS / 4).map(|number| id(*number)).collect();
            let (first, second): (Vec<_>, Vec<_>) = (goes(first), goes(second));
            first.iter().for_each(|id| drop(rows.remove(id)));
            let (last, others) = second.split_last().expect("some go");
            others.iter().for_each(|id| drop(rows.remove(id)));
            assert_eq!((rows.len() as u64, rows.runs.len()), (2 * quarter + 1, 2));
            rows.remove(last);
            assert_eq!((rows.len() as u64, rows.runs.len()), (2 * quarter, 1));
        }
    }

    #[test]
    fn rows_are_equal_only_with_the_same_events_in_the_same_form() {
        let rows = |stamps: &[i64]| -> VeventRows {
            (1..).zip(stamps).map(|(number, stamp)| row(number, *stamp)).collect()
        };
        assert_eq!(rows(&[1, 2]), rows(&[1, 2]));
        for others in [&[1][..], &[1, 3], &[1, 2, 3], &[]] {
            assert_ne!(rows(&[1, 2]), rows(others), "{others:?}");
        }
    }
}
