//! A dry run names the appointments that the write then displaces, against a naive reading of both agendas.

use std::collections::BTreeSet;

use proptest::prelude::*;
use slotbook::domain::availability::weekly_hours::{DayTimes, Rhythm, WeeklyRule, sort_ranges};
use slotbook::domain::decisions::displaced::{Displacement, find_displaced};
use slotbook::domain::decisions::foresee;
use slotbook::domain::decisions::record_change::deletion;
use slotbook::domain::records::calendar::Calendar;
use slotbook::domain::records::ids::VeventId;
use slotbook::domain::records::intervention::Intervention;
use slotbook::domain::records::text::Text;
use slotbook::domain::records::vevent::{Availability, Permits, Vevent, VeventKind};
use slotbook::domain::recurrence::{Exceptions, Series, WEEK};
use slotbook::domain::state::command::{
    Batch, Command, ExpectingCommand, Put, PutVevent, PutVevents, RecordChange, VeventDraft,
};
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::precondition::{ExpectedEffect, ShownObject};
use slotbook::domain::state::put_vevent::{ChangePart, PutHours, SeriesPart};
use slotbook::domain::state::refusal::Refusal;
use slotbook::domain::time::interval_set::Interval;
use slotbook::domain::time::{Civil, DAY, Instant, MINUTE};
use slotbook::store::state;

use super::shop::{
    Draws, Shop, booking_of, by_pro, calendar, civil, decide_at_once, intervention, redrawn,
};

/// A moment of the weeks around the clock change, in quarters of an hour from 7 o'clock of a day.
#[derive(Clone, Copy, Debug)]
struct Moment {
    day: i64,
    quarter: i64,
}

impl Moment {
    fn civil(self) -> Civil {
        civil("2026-03-16 07:00").plus_seconds(self.day * DAY + self.quarter * 15 * MINUTE)
    }
}

fn a_moment() -> impl Strategy<Value = Moment> {
    (0..28_i64, 0..44_i64).prop_map(|(day, quarter)| Moment { day, quarter })
}

/// A series: its start, its quarters of an hour, and its rule.
#[derive(Clone, Debug)]
struct Span {
    start: Moment,
    quarters: i64,
    rule: &'static str,
}

fn a_span() -> impl Strategy<Value = Span> {
    let rules =
        vec!["", "FREQ=DAILY", "FREQ=WEEKLY", "FREQ=WEEKLY;BYDAY=MO,TU,FR", "FREQ=WEEKLY;COUNT=2"];
    (a_moment(), 2..30_i64, proptest::sample::select(rules))
        .prop_map(|(start, quarters, rule)| Span { start, quarters, rule })
}

impl Span {
    fn series(&self, state: &GroupState) -> Series {
        let start = self.start.civil();
        let end = start.plus_seconds(self.quarters * 15 * MINUTE);
        let rule =
            if self.rule.is_empty() { None } else { Some(self.rule.parse().expect("a rule")) };
        let zone = state.catalogue.zone();
        Series::from_stored(zone, start, end, rule, Exceptions::default()).expect("a series")
    }
}

fn permits(number: u8) -> Permits {
    match number {
        0 => Permits::All,
        1 => Permits::only(vec![intervention(1)]),
        _ => Permits::only(vec![intervention(1), intervention(2)]),
    }
}

#[derive(Clone, Debug)]
struct Agenda {
    openings: Vec<(u64, Span, u8)>,
    bookings: Vec<(u64, u64, Moment)>,
    closures: Vec<(u64, Span)>,
}

fn an_agenda() -> impl Strategy<Value = Agenda> {
    (
        proptest::collection::vec((1..3_u64, a_span(), 0..3_u8), 0..5),
        proptest::collection::vec((1..3_u64, 1..4_u64, a_moment()), 0..15),
        proptest::collection::vec((1..3_u64, a_span()), 0..3),
    )
        .prop_map(|(openings, bookings, closures)| Agenda { openings, bookings, closures })
}

#[derive(Clone, Debug)]
enum Wish {
    Hours { on: u64, rows: Vec<(usize, u16, u16, u8)> },
    Close { on: u64, span: Span },
    CloseAll { span: Span },
    Delete { nth: usize },
    End { nth: usize, day: i64, is_one: bool },
    Move { nth: usize, to: Moment, on: u64 },
    DeleteCalendar(u64),
    DeleteIntervention(u64),
}

fn a_wish() -> impl Strategy<Value = Wish> {
    let row = (0..7_usize, 0..40_u16, 1..40_u16, 0..3_u8);
    prop_oneof![
        3 => (1..3_u64, proptest::collection::vec(row, 0..6)).prop_map(|(on, rows)| Wish::Hours { on, rows }),
        3 => (1..3_u64, a_span()).prop_map(|(on, span)| Wish::Close { on, span }),
        1 => a_span().prop_map(|span| Wish::CloseAll { span }),
        2 => (0..8_usize).prop_map(|nth| Wish::Delete { nth }),
        2 => (0..8_usize, 0..28_i64, any::<bool>()).prop_map(|(nth, day, is_one)| Wish::End { nth, day, is_one }),
        2 => (0..8_usize, a_moment(), 1..3_u64).prop_map(|(nth, to, on)| Wish::Move { nth, to, on }),
        1 => (1..3_u64).prop_map(Wish::DeleteCalendar),
        1 => (1..4_u64).prop_map(Wish::DeleteIntervention),
    ]
}

/// The nth row for which this holds, counted around.
fn nth_row(state: &GroupState, nth: usize, is_meant: impl Fn(&Vevent) -> bool) -> Option<VeventId> {
    let ids: Vec<VeventId> =
        state.rows.values().filter(|row| !row.deleted && is_meant(row)).map(|row| row.id).collect();
    ids.get(nth % ids.len().max(1)).copied()
}

/// Drafts a closure of a calendar.
fn closure(on: u64, span: Span) -> VeventDraft {
    VeventDraft::new(move |state, _, draws, at| {
        Ok(Vevent {
            id: draws.id,
            calendar_id: calendar(on),
            kind: VeventKind::Plage(Box::new(span.series(state))),
            deleted: false,
            created_at: at,
            updated_at: at,
            rare: None,
        })
    })
}

impl Wish {
    fn command(&self, state: &GroupState) -> Option<Command> {
        Some(match self.clone() {
            Self::Hours { on, rows } => {
                let mut ranges = Vec::new();
                for (weekday, start, length, permitted) in rows {
                    let times =
                        DayTimes::new(420 + start * 15, (420 + (start + length) * 15).min(1_440));
                    let rule = WeeklyRule {
                        weekday: WEEK[weekday],
                        rhythm: Rhythm::Weekly,
                        permits: permits(permitted),
                        from: civil("2026-03-16 00:00").day(),
                        until: None,
                    };
                    ranges.extend(rule.with_times(times?));
                }
                sort_ranges(&mut ranges);
                let hours = PutHours { calendar_id: calendar(on), ranges, taker: Text::default() };
                Command::PutVevents(Box::new(PutVevents::Hours(hours)))
            }
            Self::Close { on, span } => Command::PutVevent(PutVevent::Make(closure(on, span))),
            Self::CloseAll { span } => {
                let drafts = vec![closure(1, span.clone()), closure(2, span)];
                Command::PutVevents(Box::new(PutVevents::Make(drafts)))
            }
            Self::Delete { nth } => {
                Command::PutVevent(PutVevent::Delete(nth_row(state, nth, |row| {
                    row.series().is_some()
                })?))
            }
            Self::End { nth, day, is_one } => {
                let id = nth_row(state, nth, |row| row.series().is_some())?;
                let day = Moment { day, quarter: 0 }.civil().day();
                let part = if is_one { SeriesPart::One(day) } else { SeriesPart::Following(day) };
                let part = ChangePart { id, part, draft: None };
                Command::PutVevents(Box::new(PutVevents::Part(part)))
            }
            Self::Move { nth, to, on } => {
                let id = nth_row(state, nth, |row| row.appointment().is_some())?;
                let draft = redrawn(move |state, row| {
                    row.calendar_id = calendar(on);
                    if let VeventKind::Appointment(appointment) = &mut row.kind {
                        appointment.civil_start = to.civil();
                        appointment.start = state.catalogue.zone().instant_of(to.civil());
                    }
                });
                Command::PutVevent(PutVevent::Change(id, draft))
            }
            Self::DeleteCalendar(id) => {
                let fields = deletion(|row: &mut Calendar| row.deleted = true);
                let id = Some(calendar(id));
                Command::ChangeRecord(RecordChange::Calendar(Put { id, fields }))
            }
            Self::DeleteIntervention(id) => {
                let fields = deletion(|row: &mut Intervention| row.deleted = true);
                let id = Some(intervention(id));
                Command::ChangeRecord(RecordChange::Intervention(Put { id, fields }))
            }
        })
    }
}

fn shop_of(agenda: &Agenda) -> Shop {
    let mut shop = Shop::in_zone("Paris", "2026-03-20 12:00");
    for (number, (on, service, moment)) in agenda.bookings.iter().enumerate() {
        let start = moment.civil();
        let mut booking = by_pro(booking_of(&format!("Client{number}"), "2026-03-20 09:00"), false);
        booking.date = start;
        booking.calendar_id = Some(calendar(*on));
        booking.intervention_ids = vec![intervention(*service)];
        // A time that is taken stays with the one who has it.
        drop(shop.book(&booking));
    }
    let mut first = shop.group_state.highest_ids.vevent + 1;
    let mut put = |shop: &mut Shop, on: u64, kind: VeventKind| {
        let id = VeventId::new(first).expect("an id");
        first += 1;
        let (at, calendar_id) = (shop.now, calendar(on));
        let row = Vevent {
            id,
            calendar_id,
            kind,
            deleted: false,
            created_at: at,
            updated_at: at,
            rare: None,
        };
        shop.group_state.put_vevent(row.into());
    };
    for (on, span, permitted) in &agenda.openings {
        let availability =
            Availability { series: span.series(&shop.group_state), permits: permits(*permitted) };
        put(&mut shop, *on, VeventKind::Availability(Box::new(availability)));
    }
    for (on, span) in &agenda.closures {
        let series = span.series(&shop.group_state);
        put(&mut shop, *on, VeventKind::Plage(Box::new(series)));
    }
    shop
}

/// The conditions of a live appointment in a state, by a walk over its minutes.
fn conditions(state: &GroupState, row: &Vevent) -> BTreeSet<Displacement> {
    let mut found = BTreeSet::new();
    let Some(appointment) = row.appointment() else { return found };
    if row.deleted {
        return found;
    }
    let zone = state.catalogue.zone();
    let interval = appointment.interval();
    if state.catalogue.calendars[&row.calendar_id].deleted {
        found.insert(Displacement::CalendarDeleted);
    }
    if state.catalogue.interventions[&appointment.intervention_id].deleted {
        found.insert(Displacement::InterventionDeleted);
    }
    let window = Interval {
        start: interval.start.plus_seconds(-40 * DAY),
        end: interval.end.plus_seconds(DAY),
    };
    let others =
        state.rows.values().filter(|other| !other.deleted && other.calendar_id == row.calendar_id);
    let others: Vec<&Vevent> = others.map(AsRef::as_ref).collect();
    let mut minute = interval.start;
    while minute < interval.end {
        let mut is_open = false;
        for other in &others {
            let Some(series) = other.series() else { continue };
            let takes = series
                .intervals_overlapping(zone, window)
                .any(|it| it.start <= minute && minute < it.end);
            match &other.kind {
                VeventKind::Availability(availability) if takes => {
                    is_open |= availability.permits.permits(appointment.intervention_id);
                }
                VeventKind::Plage(_) if takes => drop(found.insert(Displacement::UnderPlage)),
                _ => {}
            }
        }
        if !is_open {
            found.insert(Displacement::OutsideAvailability);
        }
        minute = minute.plus_seconds(MINUTE * 5);
    }
    found
}

type Expected = (Instant, u64, u64, Vec<Displacement>);

/// The appointments of the state before, with the conditions that are new in the state after.
fn displaced_naively(before: &GroupState, after: &GroupState, now: Instant) -> Vec<Expected> {
    let mut displaced = Vec::new();
    for was in before.rows.values() {
        let row = &after.rows[&was.id];
        let Some(appointment) = row.appointment() else { continue };
        if appointment.interval().end <= now {
            continue;
        }
        let before = if was.calendar_id == row.calendar_id {
            conditions(before, was)
        } else {
            BTreeSet::new()
        };
        let after = conditions(after, row);
        let new: Vec<Displacement> = after.difference(&before).copied().collect();
        if !new.is_empty() {
            displaced.push((appointment.start, row.id.number(), row.calendar_id.number(), new));
        }
    }
    displaced.sort();
    displaced
}

fn found(before: &GroupState, after: &GroupState, now: Instant) -> Vec<Expected> {
    find_displaced(before, after, now)
        .into_iter()
        .map(|one| (one.start, one.id.number(), one.calendar_id.number(), one.conditions))
        .collect()
}

fn kept(state: &GroupState) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let write = |frame: &[u8]| {
        frames.push(frame.to_vec());
        Ok::<(), std::convert::Infallible>(())
    };
    state::write_group(state, write).expect("nothing fails");
    frames
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_dry_run_names_the_appointments_that_the_write_displaces(
        agenda in an_agenda(),
        wishes in proptest::collection::vec(a_wish(), 1..4),
    ) {
        let shop = shop_of(&agenda);
        let before = shop.group_state.clone();
        let commands: Vec<Command> = wishes.iter().filter_map(|wish| wish.command(&before)).collect();
        let command = if let [alone] = &commands[..] {
            alone.clone()
        } else {
            Command::Batch(Batch { commands: commands.into(), is_atomic: true })
        };
        let foreseen = foresee(&before, &command, shop.now);
        prop_assert_eq!(kept(&before), kept(&shop.group_state), "nothing is written");
        let first = before.highest_ids.vevent + 1;
        let mut draws = Draws { first, ..Draws::none(shop.now) };
        let done = decide_at_once(&before, &command, &mut draws, shop.now);
        let (foreseen, event) = match (foreseen, done) {
            (Ok(foreseen), Ok((event, _))) => (foreseen, event),
            (Err(foreseen), Err(done)) => {
                prop_assert_eq!(foreseen, done);
                return Ok(());
            }
            (foreseen, done) => panic!("{foreseen:?} {done:?}"),
        };
        let after = match &event {
            Some(event) => before.apply(event),
            None => before.clone(),
        };
        let wanted = displaced_naively(&before, &after, shop.now);
        prop_assert_eq!(found(&before, &foreseen.state, shop.now), wanted.clone());
        prop_assert_eq!(found(&before, &after, shop.now), wanted.clone());

        // The same write with what is expected is decided as without; with anything else it is refused.
        for (expected, is_right) in [(wanted.len(), true), (wanted.len() + 1, false)] {
            let expectation = ExpectedEffect::new(move |before, after, now| {
                let number = find_displaced(before, after, now).len();
                let shown = || ShownObject { json: number.to_string().into(), tag: String::new() };
                if number == expected { Ok(()) } else { Err(shown()) }
            });
            let expecting = ExpectingCommand { command: command.clone(), expectation };
            let expecting = Command::Expecting(Box::new(expecting));
            let mut draws = Draws { first, ..Draws::none(shop.now) };
            match decide_at_once(&before, &expecting, &mut draws, shop.now) {
                Ok((decided, _)) => {
                    prop_assert!(is_right || foreseen.is_refused());
                    prop_assert_eq!(&decided, &event);
                }
                Err(refusals) => {
                    prop_assert!(!is_right);
                    prop_assert!(matches!(&refusals[..], [Refusal::OtherEffect(_)]), "{refusals:?}");
                }
            }
        }
    }
}
