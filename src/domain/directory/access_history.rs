//! The history of access: logins, exports, and changes of keys and professionals. Reference 16.5.
//!
//! Rows of changes are made by `apply` from the event and the directory before it.

use std::sync::Arc;

use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use crate::domain::records::author::{Author, KeyId};
use crate::domain::records::ids::{FicheId, GroupId, ProId};
use crate::domain::records::text::Name;
use crate::domain::time::Instant;

/// Maximum number of rows of the store but for failed logins. Beyond it the oldest end.
pub const ACCESS_ROWS_MAX: usize = 200_000;
/// Maximum number of rows of failed logins, which strangers cause. Beyond it the oldest end, so
/// that strangers push out no others.
pub const FAILURE_ROWS_MAX: usize = 50_000;
/// Maximum number of rows that the search of one page looks at.
const LOOKED_AT_MAX: usize = 5_000;

/// One act: who did it, when, and what it was about. It holds ids, and of logins the source, but
/// no address that was typed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessRow {
    /// The time of the act.
    pub at: Instant,
    /// The author; `None` if that is not known, as of a login that failed.
    pub author: Option<Author>,
    /// The act.
    pub act: AccessAct,
    /// The groups that it concerns, ascending; `None` for all.
    pub groups: Option<Vec<GroupId>>,
}

/// An act on keys or professionals, a login or an export. The order of the variants is the format
/// on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessAct {
    /// An application key was added.
    KeyAdded(KeyId),
    /// An application key was changed.
    KeyChanged(KeyId),
    /// An application key was revoked.
    KeyRevoked(KeyId),
    /// A professional is new, or new in a group.
    ProAdded(ProId),
    /// A professional has left a group.
    ProRemoved(ProId),
    /// A professional got another password.
    PasswordSet(ProId),
    /// A professional got a role.
    RoleSet {
        /// The professional.
        pro: ProId,
        /// The place of the role among its names.
        role: u8,
    },
    /// An address was invited.
    Invited {
        /// The number of the invitation.
        number: u64,
    },
    /// An invitation was withdrawn or accepted.
    InvitationEnded {
        /// The number of the invitation.
        number: u64,
        /// The professional who accepted it.
        by: Option<ProId>,
    },
    /// A person has logged in.
    LoggedIn {
        /// The person.
        person: LoginPerson,
        /// The address that it came from.
        source: Name<45>,
    },
    /// Logins of a person have failed, once in an hour from one source.
    LoginFailed {
        /// The person whose address was given.
        person: LoginPerson,
        /// The address that they came from.
        source: Name<45>,
    },
    /// The group, or the whole store, was exported.
    Exported,
    /// Everything about a client was exported.
    ClientExported(FicheId),
    /// A professional has set up a second factor, or made other recovery codes.
    FactorSet(ProId),
    /// A second factor was removed.
    FactorRemoved(ProId),
    /// A person was logged out everywhere by another one.
    LoggedOut(LoginPerson),
}

/// A person with a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LoginPerson {
    /// A professional.
    Pro(ProId),
    /// The account of a client of a group, by the client.
    Account(GroupId, FicheId),
}

/// The history of access of a store. Rows have numbers from 1, ascending in time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccessHistory {
    /// All rows but those of failed logins.
    acts: AccessRows,
    /// The rows of failed logins.
    failures: AccessRows,
    /// The number of the last row ever made; 0 before the first.
    last: u64,
}

/// Rows by number.
type AccessRows = OrdMap<u64, Arc<AccessRow>>;

/// A choice of rows.
#[derive(Clone, Copy, Debug)]
pub struct AccessQuery {
    /// Only rows that concern this group.
    pub group: GroupId,
    /// Only rows from this moment on.
    pub from: Instant,
    /// Only rows before this moment.
    pub to: Instant,
    /// Only rows with a lower number.
    pub below: u64,
    /// Maximum number of rows.
    pub results: usize,
}

/// A page of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessPage {
    /// The rows with their numbers, latest first.
    pub rows: Vec<(u64, Arc<AccessRow>)>,
    /// The number below which to go on; `None` if there is nothing more.
    pub next: Option<u64>,
}

impl AccessRow {
    /// Whether it concerns a group.
    pub fn concerns(&self, group: GroupId) -> bool {
        self.groups.as_ref().is_none_or(|groups| groups.binary_search(&group).is_ok())
    }
}

impl AccessHistory {
    /// The number of the last row ever made; 0 before the first.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// Sets the number of the last row ever made, as a snapshot holds it.
    pub fn set_last(&mut self, last: u64) {
        self.last = last;
    }

    /// All rows with their numbers. Those of failed logins follow the others; both ascend.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Arc<AccessRow>)> {
        self.acts.iter().chain(&self.failures).map(|(number, row)| (*number, row))
    }

    /// Adds a row. Of its kind the oldest one ends if there are too many.
    pub(crate) fn add(&mut self, row: AccessRow) {
        self.last += 1;
        self.insert(self.last, Arc::new(row));
    }

    fn insert(&mut self, number: u64, row: Arc<AccessRow>) {
        let (rows, most) = match row.act {
            AccessAct::LoginFailed { .. } => (&mut self.failures, FAILURE_ROWS_MAX),
            AccessAct::KeyAdded(_)
            | AccessAct::KeyChanged(_)
            | AccessAct::KeyRevoked(_)
            | AccessAct::ProAdded(_)
            | AccessAct::ProRemoved(_)
            | AccessAct::PasswordSet(_)
            | AccessAct::RoleSet { .. }
            | AccessAct::Invited { .. }
            | AccessAct::InvitationEnded { .. }
            | AccessAct::LoggedIn { .. }
            | AccessAct::Exported
            | AccessAct::ClientExported(_)
            | AccessAct::FactorSet(_)
            | AccessAct::FactorRemoved(_)
            | AccessAct::LoggedOut(_) => (&mut self.acts, ACCESS_ROWS_MAX),
        };
        rows.insert(number, row);
        if rows.len() > most
            && let Some((oldest, _)) = rows.get_min()
        {
            let oldest = *oldest;
            rows.remove(&oldest);
        }
    }

    /// Removes all rows with a lower number.
    pub(crate) fn end_below(&mut self, below: u64) {
        for rows in [&mut self.acts, &mut self.failures] {
            let kept = rows.split(&below.saturating_sub(1)).1;
            *rows = kept;
        }
    }

    /// Returns the number of the first row that is not older than a moment, if older ones are
    /// there. Times ascend but for steps of the clock, so a later row may be older.
    pub fn first_since(&self, moment: Instant) -> Option<u64> {
        let oldest = [&self.acts, &self.failures].into_iter().filter_map(|rows| rows.get_min());
        if oldest.map(|(_, row)| row.at).min()? >= moment {
            return None;
        }
        let since = |rows: &AccessRows| {
            rows.iter().find(|(_, row)| row.at >= moment).map(|(number, _)| *number)
        };
        let first = [since(&self.acts), since(&self.failures)].into_iter().flatten().min();
        Some(first.unwrap_or(self.last + 1))
    }

    /// The rows below a number, the latest first.
    fn latest_below(&self, below: u64) -> impl Iterator<Item = (u64, &Arc<AccessRow>)> {
        let mut acts = self.acts.range(..below).rev().peekable();
        let mut failures = self.failures.range(..below).rev().peekable();
        std::iter::from_fn(move || {
            let is_failure = match (acts.peek(), failures.peek()) {
                (Some((act, _)), Some((failure, _))) => failure > act,
                (None, Some(_)) => true,
                (Some(_) | None, None) => false,
            };
            let next = if is_failure { failures.next() } else { acts.next() };
            next.map(|(number, row)| (*number, row))
        })
    }

    /// Returns a page of rows. It looks at 5,000 rows at most.
    pub fn page(&self, query: &AccessQuery) -> AccessPage {
        let mut rows = Vec::new();
        for (looked_at, (number, row)) in self.latest_below(query.below).enumerate() {
            if rows.len() == query.results || looked_at == LOOKED_AT_MAX {
                return AccessPage { rows, next: Some(number + 1) };
            }
            if row.concerns(query.group) && query.from <= row.at && row.at < query.to {
                rows.push((number, Arc::clone(row)));
            }
        }
        AccessPage { rows, next: None }
    }
}

impl Extend<(u64, Arc<AccessRow>)> for AccessHistory {
    fn extend<I: IntoIterator<Item = (u64, Arc<AccessRow>)>>(&mut self, rows: I) {
        for (number, row) in rows {
            self.insert(number, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at: i64, is_failure: bool, group: u64) -> AccessRow {
        let pro = ProId::new(1).expect("an id");
        let (person, source) = (LoginPerson::Pro(pro), Name::default());
        let act = if is_failure {
            AccessAct::LoginFailed { person, source }
        } else {
            AccessAct::LoggedIn { person, source }
        };
        let groups = Some(vec![GroupId::new(group).expect("an id")]);
        AccessRow { at: Instant(at), author: None, act, groups }
    }

    fn query(below: u64) -> AccessQuery {
        let group = GroupId::new(4).expect("an id");
        AccessQuery { group, from: Instant(0), to: Instant(i64::MAX), below, results: 3 }
    }

    #[test]
    fn pages_have_the_rows_of_a_group_in_their_order_and_each_once() {
        let mut history = AccessHistory::default();
        for at in 1..=20 {
            history.add(row(at, at % 3 == 0, if at % 5 == 0 { 5 } else { 4 }));
        }
        let mut seen = Vec::new();
        let mut below = u64::MAX;
        loop {
            let page = history.page(&query(below));
            assert!(page.rows.len() <= 3);
            seen.extend(page.rows.iter().map(|(number, _)| *number));
            let Some(next) = page.next else { break };
            below = next;
        }
        let expected: Vec<u64> = (1..=20).rev().filter(|number| number % 5 != 0).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn failed_logins_push_out_no_other_rows() {
        let mut history = AccessHistory::default();
        history.add(row(1, false, 4));
        for at in 0..=i64::try_from(FAILURE_ROWS_MAX).expect("small") {
            history.add(row(2 + at, true, 4));
        }
        assert_eq!(history.failures.len(), FAILURE_ROWS_MAX);
        assert_eq!(history.failures.get_min().map(|(number, _)| *number), Some(3));
        assert_eq!(history.acts.len(), 1);
    }

    #[test]
    fn rows_that_are_older_end_and_others_stay() {
        let mut history = AccessHistory::default();
        for at in 1..=10 {
            history.add(row(at * 10, at % 2 == 0, 4));
        }
        assert_eq!(history.first_since(Instant(10)), None);
        let below = history.first_since(Instant(51)).expect("older ones");
        assert_eq!(below, 6);
        history.end_below(below);
        assert_eq!(history.iter().map(|(_, row)| row.at.0).min(), Some(60));
        assert_eq!(history.first_since(Instant(1_000)), Some(11));
    }

    #[test]
    fn a_page_has_the_rows_before_its_end() {
        let mut history = AccessHistory::default();
        for at in 1..=5 {
            history.add(row(at * 10, at == 3, 4));
        }
        let numbers = |from, to| {
            let page = history.page(&AccessQuery {
                from: Instant(from),
                to: Instant(to),
                results: 10,
                ..query(u64::MAX)
            });
            page.rows.iter().map(|(number, _)| *number).collect::<Vec<_>>()
        };
        assert_eq!(numbers(20, 40), [3, 2]);
        assert_eq!(numbers(20, 41), [4, 3, 2]);
        assert_eq!(numbers(21, 40), [3]);
    }

    #[test]
    fn a_history_is_restored_from_its_rows_and_last_number() {
        let mut history = AccessHistory::default();
        for at in 1..=9 {
            history.add(row(at, at % 4 == 0, 4));
        }
        history.end_below(3);
        let mut restored = AccessHistory::default();
        restored.extend(history.iter().map(|(number, row)| (number, Arc::clone(row))));
        restored.set_last(history.last());
        assert_eq!(restored, history);
        assert_eq!(restored.iter().count(), 7);
        // The number of a row that has ended is not given again.
        history.end_below(10);
        let mut empty = AccessHistory::default();
        empty.set_last(history.last());
        empty.add(row(10, false, 4));
        assert_eq!(empty.iter().map(|(number, _)| number).collect::<Vec<_>>(), [10]);
    }
}
