//! The history says who changed what: from its rows alone the agenda is made again. Reference 16.

use std::collections::BTreeMap;

use proptest::prelude::*;
use slotbook::domain::decisions::upkeep;
use slotbook::domain::records::author::{Author, KeyId};
use slotbook::domain::records::text::Bounded;
use slotbook::domain::records::vevent::{Vevent, VeventKind};
use slotbook::domain::state::command::{CancelRight, Command, EndHistory};
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::history::row::{
    HistoryField, HistoryObject, HistoryRow, HistoryVerb, ObjectKind,
};
use slotbook::domain::time::DAY;

use super::replay::{Story, a_step, again};
use super::shop::{Draws, Shop, booking_of};
use super::simulation_history::author_of;

/// What the rows tell of an event of a calendar.
type Told = BTreeMap<HistoryField, i64>;

/// The events as the rows tell of them, by id.
fn told(state: &GroupState) -> BTreeMap<u64, Told> {
    let mut rows: Vec<HistoryRow> =
        state.history.latest_first(u64::MAX).map(|found| found.row).collect();
    rows.reverse();
    let mut told: BTreeMap<u64, Told> = BTreeMap::new();
    for row in rows {
        if row.object.kind != ObjectKind::Vevent {
            continue;
        }
        if row.verb == HistoryVerb::Removed {
            told.remove(&row.object.id);
            continue;
        }
        let event = told.entry(row.object.id).or_default();
        for change in row.fields.iter().filter(|change| change.field <= HistoryField::VALUED) {
            let known = event.get(&change.field).copied();
            // Another zone gives other instants to the same local times, without a row for each.
            let is_kept = change.field != HistoryField::StartUtc;
            assert!(
                !is_kept || change.before.is_none() || known.is_none() || known == change.before
            );
            match change.after {
                Some(value) => event.insert(change.field, value),
                None => event.remove(&change.field),
            };
        }
    }
    told
}

/// The same of an event as it is.
fn seen(row: &Vevent) -> Told {
    let id = |number: u64| i64::try_from(number).expect("a small number");
    let mut seen = Told::from([(HistoryField::CalendarId, id(row.calendar_id.number()))]);
    if row.deleted {
        seen.insert(HistoryField::Deleted, 1);
    }
    match &row.kind {
        VeventKind::Appointment(appointment) => {
            seen.extend([
                (HistoryField::Start, appointment.civil_start.0),
                (HistoryField::Length, appointment.length_seconds.into()),
                (HistoryField::InterventionId, id(appointment.intervention_id.number())),
                (HistoryField::FicheId, id(appointment.fiche_id.number())),
                (HistoryField::State, appointment.state.number()),
            ]);
        }
        VeventKind::Plage(series) => {
            seen.extend([
                (HistoryField::Start, series.start().0),
                (HistoryField::End, series.end().0),
                (HistoryField::Plage, 1),
            ]);
        }
        VeventKind::Availability(_) | VeventKind::Note(_) => panic!("no step makes one"),
    }
    seen
}

/// Without what another zone changes, and without flags and states that are not set.
fn comparable(mut told: Told) -> Told {
    told.remove(&HistoryField::StartUtc);
    told.retain(|field, value| {
        !matches!(field, HistoryField::Deleted | HistoryField::State) || *value != 0
    });
    told
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn the_rows_alone_give_the_agenda(steps in proptest::collection::vec(a_step(), 1..60)) {
        let mut story = Story::new();
        let mut state = story.shop.group_state.clone();
        let first = state.rows.clone();
        for step in steps {
            story.take(step)?;
        }
        for (place, event) in story.shop.events.iter().enumerate() {
            state = state.apply_by(Some(author_of(place)), event);
            let rows = state.history.latest_first(u64::MAX);
            let of_event = rows.take_while(|found| found.row.sequence == state.sequence);
            for found in of_event.filter(|found| found.row.verb != HistoryVerb::Begun) {
                prop_assert_eq!(found.row.author, Some(author_of(place)));
                prop_assert_eq!(found.row.at, event.at());
            }
        }
        let told: BTreeMap<u64, Told> =
            told(&state).into_iter().map(|(id, told)| (id, comparable(told))).collect();
        let made = state.rows.values().filter(|row| !first.contains_key(&row.id));
        let seen: BTreeMap<u64, Told> =
            made.map(|row| (row.id.number(), comparable(seen(row)))).collect();
        prop_assert_eq!(told, seen);
        prop_assert_eq!(&again(&state).history, &state.history);
    }
}

/// The first row of a group that has records but no history.
#[test]
fn a_history_says_where_it_begins() {
    let mut shop = Shop::open_on_tuesday();
    shop.knows("Ada", "ada@example.org");
    let state = shop.group_state.clone();
    assert!(state.history.is_empty(), "records that are put are no events");
    shop.book(&booking_of("ada", "2026-03-03 09:00")).expect("a free time");
    let verbs: Vec<HistoryVerb> =
        shop.group_state.history.latest_first(u64::MAX).map(|found| found.row.verb).collect();
    assert_eq!(verbs.last(), Some(&HistoryVerb::Begun));
    assert_eq!(verbs.iter().filter(|verb| **verb == HistoryVerb::Begun).count(), 1);
    let object = |id| HistoryObject { kind: ObjectKind::Vevent, id };
    let booked = shop.group_state.rows.keys().next_back().expect("it was booked").number();
    let history = &shop.group_state.history;
    assert!(history.tells_of(object(booked)) && !history.tells_of(object(booked + 1)));
}

#[test]
fn values_of_fields_are_times_of_the_wall_clock_flags_or_numbers() {
    for (field, is_civil, is_flag) in [
        (HistoryField::Start, true, false),
        (HistoryField::End, true, false),
        (HistoryField::StartUtc, false, false),
        (HistoryField::Deleted, false, true),
        (HistoryField::Plage, false, true),
        (HistoryField::Availability, false, true),
        (HistoryField::Note, false, true),
        (HistoryField::Length, false, false),
    ] {
        assert_eq!((field.is_civil(), field.is_flag()), (is_civil, is_flag), "{field:?}");
    }
}

#[test]
fn old_rows_end_after_the_days_of_the_group_and_never_within_four() {
    for (days, kept) in [(0, 4), (30, 30)] {
        let mut shop = Shop::open_on_tuesday().with_group(|group| {
            group.history_days = Bounded::new(days).expect("legal");
        });
        shop.book(&booking_of("ada", "2026-03-03 09:00")).expect("a free time");
        let end = |shop: &mut Shop, after: i64| {
            let now = shop.group_state.last_stamp.plus_seconds(after);
            let had = shop.group_state.history.len();
            shop.does(Command::EndHistory(EndHistory { now }), Draws::none(now)).expect("legal");
            had > 0 && shop.group_state.history.is_empty()
        };
        assert!(!end(&mut shop, kept * DAY), "{days}");
        assert!(end(&mut shop, kept * DAY + 1), "{days}");
        assert_eq!(upkeep::history_end(&shop.group_state, shop.now).0, shop.now.0 - kept * DAY);
    }
}

/// What a row takes in memory and what counts of it.
#[test]
fn a_booking_takes_less_than_what_is_counted() {
    let mut shop = Shop::open_on_tuesday();
    let key = KeyId::of_hash(&[7; 32]);
    let author = Some(Author::Application(key));
    for nth in 0..20 {
        let booking = booking_of(&format!("c{nth}"), "2026-03-03 09:00");
        let made = shop.book(&booking).expect("a free time");
        shop.cancel(made[0], CancelRight::Pro).expect("it is live");
    }
    let mut state = Shop::open_on_tuesday().group_state;
    for event in &shop.events {
        state = state.apply_by(author, event);
    }
    let rows = state.history.len();
    assert!(rows > 10);
    let bytes = state.history.packed_bytes() as u64;
    assert!((20..=64).contains(&(bytes / rows)), "{bytes} bytes for {rows} rows");
}
