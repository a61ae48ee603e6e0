//! The parts of a history, and the report of the first violation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::call::{Answer, Call, Request, Row};
use super::checker::{STEPS_MAX, Verdict, check};
use super::specification::{Scope, Shop};

/// Largest number of clients of a group whose whole is checked. The search takes steps by the
/// subsets of the calls that are under way together; those of a part are few.
const WHOLE_CLIENTS_MAX: usize = 16;

/// Figures of a history that was checked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) calls: usize,
    pub(crate) lost: usize,
    /// Bookings without an answer that lists show.
    pub(crate) found: usize,
    pub(crate) refused: usize,
    /// Calls of stragglers, who ask a server after its life.
    pub(crate) stray: usize,
    /// Groups of which the whole was checked.
    pub(crate) wholes: usize,
    /// Most steps of one check.
    pub(crate) steps: u64,
}

/// Decides the answers of lost bookings by the lists. A booking stands in each list that begins
/// after it, if it was carried out: no call removes a row. So the next list shows it, or it was not
/// carried out. Returns the number of lost bookings that were.
///
/// # Errors
/// Two appointments of one request, or the refusal of a repetition whose booking was shown before.
pub(crate) fn resolve(calls: &mut [Call]) -> Result<usize, String> {
    let mut lists: Vec<(u64, u64, BTreeMap<u64, Row>)> = Vec::new();
    for call in calls.iter() {
        if let Answer::Rows(rows) = &call.answer {
            lists.push((call.group, call.began, rows.clone()));
        }
    }
    check_repetitions(calls)?;
    let mut found = 0;
    for call in calls.iter_mut() {
        if !matches!(call.request, Request::Book { .. }) {
            continue;
        }
        let mut booked = BTreeMap::new();
        let mut is_listed = false;
        for (_, began, rows) in lists.iter().filter(|(group, ..)| *group == call.group) {
            is_listed |= *began > call.ended;
            let mine = rows.iter().filter(|(_, row)| row.booked_by == call.number);
            booked.extend(mine.map(|(id, row)| (*id, row.shown.span.calendar)));
        }
        if booked.len() > 1 {
            return Err(format!("two appointments of one request, {booked:?}: {call}"));
        }
        if call.answer != Answer::Lost {
            continue;
        }
        match booked.into_iter().next() {
            Some((id, listed)) => {
                // The first list shows where it was booked, unless it was moved before.
                let calendar = first_calendar(&lists, call, id).unwrap_or(listed);
                call.answer = Answer::Booked { id, calendar };
                found += 1;
            }
            None if is_listed => call.answer = Answer::Nothing,
            None => {}
        }
    }
    Ok(found)
}

/// Checks that no repetition is refused of a booking that a list had shown. Reference 6.6.
fn check_repetitions(calls: &[Call]) -> Result<(), String> {
    for call in calls {
        let Some(first) = call.repeats else { continue };
        if !matches!(call.answer, Answer::Refused(_)) {
            continue;
        }
        for list in calls.iter().filter(|list| list.ended < call.began) {
            if let Answer::Rows(rows) = &list.answer
                && let Some((id, _)) = rows.iter().find(|(_, row)| row.booked_by == first)
            {
                return Err(format!(
                    "a repetition was refused of #{first}, which made {id}: {call}"
                ));
            }
        }
    }
    Ok(())
}

/// Returns the calendar of an appointment in the first list that has it.
fn first_calendar(lists: &[(u64, u64, BTreeMap<u64, Row>)], call: &Call, id: u64) -> Option<u64> {
    let mut first = None;
    for (group, began, rows) in lists {
        if *group == call.group
            && let Some(row) = rows.get(&id)
            && first.is_none_or(|(earliest, _)| began < earliest)
        {
            first = Some((began, row.shown.span.calendar));
        }
    }
    first.map(|(_, calendar)| calendar)
}

/// Returns the parts of a group: each calendar, each client, and the whole if it has few clients.
pub(crate) fn scopes(calls: &[Call], shop: &Shop) -> Vec<Scope> {
    let mut by_calendar: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut by_client: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for call in calls {
        match (&call.request, &call.answer) {
            (Request::Book { client, .. }, Answer::Booked { id, calendar }) => {
                by_calendar.entry(*calendar).or_default().insert(*id);
                by_client.entry(*client).or_default().insert(*id);
            }
            (Request::Book { client, calendar: Some(calendar), .. }, Answer::Lost) => {
                let id = call.appointment().expect("a lost booking has one");
                by_calendar.entry(*calendar).or_default().insert(id);
                by_client.entry(*client).or_default().insert(id);
            }
            (Request::Shift { id, calendar, .. }, _) => {
                by_calendar.entry(*calendar).or_default().insert(*id);
            }
            (Request::Book { client, .. }, _) => drop(by_client.entry(*client).or_default()),
            _ => {}
        }
    }
    let mut scopes = Vec::new();
    for calendar in &shop.calendars {
        scopes.push(Scope {
            name: format!("calendar {calendar}"),
            calendars: BTreeSet::from([*calendar]),
            clients: Some(BTreeSet::new()),
            appointments: Some(by_calendar.remove(calendar).unwrap_or_default()),
        });
    }
    for (client, appointments) in by_client {
        scopes.push(Scope {
            name: format!("client {client}"),
            calendars: BTreeSet::new(),
            clients: Some(BTreeSet::from([client])),
            appointments: Some(appointments),
        });
    }
    let threads: BTreeSet<u64> = calls.iter().map(|call| call.thread).collect();
    // One of the threads is the audit.
    if threads.len() <= WHOLE_CLIENTS_MAX + 1 {
        scopes.push(Scope {
            name: "the whole group".to_owned(),
            calendars: shop.calendars.clone(),
            clients: None,
            appointments: None,
        });
    }
    scopes
}

/// Checks the history of a group. Returns the figures of its checks.
///
/// # Errors
/// A violation with the shortest prefix that has it, or a check beyond its bound.
pub(crate) fn check_group(calls: &[Call], shop: &Shop) -> Result<Figures, String> {
    let mut figures = Figures::default();
    for scope in scopes(calls, shop) {
        match check(calls, shop, &scope, STEPS_MAX) {
            Verdict::Linearizable(count) => {
                figures.steps = figures.steps.max(count);
                figures.wholes += usize::from(scope.appointments.is_none());
            }
            Verdict::Undecided => {
                return Err(format!("{} is not decided within {STEPS_MAX} steps", scope.name));
            }
            Verdict::Violated => return Err(report(calls, shop, &scope)),
        }
    }
    Ok(figures)
}

/// Returns the history up to a tick: what ended later is lost.
fn prefix(calls: &[Call], tick: u64) -> Vec<Call> {
    let mut kept = Vec::new();
    for call in calls {
        if call.began > tick {
            continue;
        }
        let mut call = call.clone();
        if call.ended > tick && !call.is_pure() {
            // A booking is carried out with the calendar of its later answer, or not at all.
            if !matches!(call.request, Request::Book { .. }) {
                call.answer = Answer::Lost;
            }
            call.ended = u64::MAX;
        } else if call.ended > tick {
            call.answer = Answer::Nothing;
        }
        kept.push(call);
    }
    kept
}

/// Returns the shortest prefix of a violated history that is violated, one call a line.
fn report(calls: &[Call], shop: &Shop, scope: &Scope) -> String {
    let mut ends: Vec<u64> = calls.iter().map(|call| call.ended).collect();
    ends.sort_unstable();
    let mut first = 0;
    let mut last = ends.len() - 1;
    while first < last {
        let middle = usize::midpoint(first, last);
        if check(&prefix(calls, ends[middle]), shop, scope, STEPS_MAX) == Verdict::Violated {
            last = middle;
        } else {
            first = middle + 1;
        }
    }
    let tick = ends[last];
    let mut report = format!(
        "no order explains {}: calls up to the first answer that fits none, by ticks\n",
        scope.name
    );
    let mut kept = prefix(calls, tick);
    kept.sort_by_key(|call| call.began);
    for call in &kept {
        if scope.concerns(call) && call.answer != Answer::Nothing {
            let is_last = call.ended == tick;
            writeln!(report, "{} {call}", if is_last { ">" } else { " " }).expect("a string");
        }
    }
    report
}

impl Figures {
    pub(crate) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.lost += other.lost;
        self.found += other.found;
        self.refused += other.refused;
        self.stray += other.stray;
        self.wholes += other.wholes;
        self.steps = self.steps.max(other.steps);
    }
}
