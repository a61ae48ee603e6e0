//! Tests of what is kept of a search, and of what a later one takes of it. That both find the right
//! starts is for a property test of `tests/model`, which sees no difference where nothing is kept.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::*;
use crate::domain::availability::day_table::DayTable;
use crate::domain::availability::free_days::CHUNK_DAYS;
use crate::domain::availability::free_places::DayStarts;
use crate::domain::availability::searched::{OPENINGS, Searched, at, chain_of, daily, days, hours};
use crate::domain::availability::slot_request::OwnTime;
use crate::domain::availability::slots::free_starts;
use crate::domain::availability::taken_time::{TakenInterval, TimeHolder};
use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::VeventId;
use crate::domain::records::text::Bounded;
use crate::domain::time::MINUTE;
use crate::domain::time::zone_names::ZoneName;

impl Searched {
    /// Returns the number of starts on any of the calendars, if all of them are kept.
    fn count_by(&self, search: ChainSearch<'_>, window: Interval) -> Option<usize> {
        let kept = KeptSearch::new(&self.catalogue, search, window, self.now)?;
        let mut table = DayTable::default();
        table.fill(&kept, window, self.views.iter()).then(|| table.count())
    }

    fn count(&self, minutes: i64, window: Interval) -> Option<usize> {
        self.count_by(ChainSearch::new(&chain_of(minutes), BookingMode::Module), window)
    }

    /// Returns the kinds of the first calendar: the length in minutes, and the chunks that are
    /// found, from that of the present day.
    fn kept(&self) -> Vec<(i64, Vec<usize>)> {
        let kinds = self.views[0].free_days().kinds();
        let kinds = kinds.as_deref().map(Vec::as_slice).unwrap_or_default();
        let found = |days: &KeptDays| {
            let chunks = days.chunks.iter().enumerate();
            chunks.filter(|(_, chunk)| chunk.get().is_some()).map(|(nth, _)| nth).collect()
        };
        let minutes = |days: &KeptDays| days.kind.chain.length_seconds() / MINUTE;
        kinds.iter().map(|days| (minutes(days), found(days))).collect()
    }

    fn kept_chunks(&self) -> Vec<usize> {
        let [(_, chunks)] = self.kept().try_into().expect("one kind is kept");
        chunks
    }

    /// Takes time of the first calendar.
    fn take(&mut self, day: i32, minute: i64, minutes: i64) {
        let start = at(day, minute);
        let interval = Interval { start, end: start.plus_minutes(minutes) };
        let id = VeventId::new(99).expect("an id");
        self.views[0].add_taken(TakenInterval { interval, id }, false);
    }
}

#[test]
fn a_search_of_four_days_finds_the_chunks_that_it_meets_and_keeps_them() {
    let searched = Searched::new();
    let too_short = Interval { end: at(5, -1), ..days(1, 5) };
    assert_eq!(searched.count(15, too_short), None);
    assert_eq!(searched.kept(), []);
    // From 9 to 13 a start each quarter of an hour, on one calendar or both.
    assert_eq!(searched.count(15, days(1, 5)), Some(4 * 16));
    assert_eq!(searched.kept(), [(15, vec![0])]);
    assert_eq!(searched.count(15, days(6, 17)), Some(11 * 16));
    assert_eq!(searched.kept_chunks(), [0, 1, 2]);
    assert_eq!(searched.count(15, days(32, 40)), Some(8 * 16));
    assert_eq!(searched.kept_chunks(), [0, 1, 2, 4]);
}

#[test]
fn a_short_search_takes_what_is_kept_and_finds_no_more() {
    let searched = Searched::new();
    searched.count(15, days(8, 16));
    assert_eq!(searched.count(15, days(9, 10)), Some(16));
    let morning = Interval { start: at(9, 9 * 60 + 30), end: at(9, 10 * 60) };
    assert_eq!(searched.count(15, morning), Some(2));
    for window in [days(7, 9), days(15, 17)] {
        assert_eq!(searched.count(15, window), None);
    }
    assert_eq!(searched.count(30, days(9, 10)), None, "another length is another kind");
    assert_eq!(searched.kept(), [(15, vec![1])]);
}

#[test]
fn an_appointment_empties_the_chunks_of_its_days_alone() {
    for (day, minute, minutes, left) in [
        (12, 540, 15, vec![0, 2, 3]),
        // A long start of the evening before would meet it.
        (8, 0, 15, vec![2, 3]),
        (9, 0, 15, vec![0, 2, 3]),
        (15, 23 * 60, 60, vec![0, 2, 3]),
        (15, 23 * 60, 61, vec![0, 3]),
        (-1, 540, 15, vec![0, 1, 2, 3]),
        (200, 540, 15, vec![0, 1, 2, 3]),
    ] {
        let mut searched = Searched::new();
        searched.count(15, days(0, 32));
        assert_eq!(searched.kept_chunks(), [0, 1, 2, 3]);
        let before = searched.views[0].clone();
        searched.take(day, minute, minutes);
        assert_eq!(searched.kept_chunks(), left, "after {minutes} minutes at {minute} of {day}");
        searched.views[0] = before;
        assert_eq!(searched.kept_chunks(), [0, 1, 2, 3], "the state before keeps its own");
    }
}

#[test]
fn time_that_is_taken_or_given_back_is_seen_by_the_next_search() {
    let mut searched = Searched::new();
    assert_eq!(searched.count(15, days(0, 8)), Some(8 * 16));
    // The other calendar opens at 10.
    searched.take(3, 9 * 60, 30);
    assert_eq!(searched.count(15, days(0, 8)), Some(8 * 16 - 2));
    assert_eq!(searched.count(15, days(3, 4)), Some(14));
    searched.views[0].change_rules(|rules| rules.remove(&hours(1, OPENINGS[0])));
    assert_eq!(searched.kept(), []);
    assert_eq!(searched.count(15, days(0, 8)), Some(8 * 12));
}

#[test]
fn four_kinds_are_kept_and_the_newest_comes_first() {
    let searched = Searched::new();
    for minutes in [15, 30, 45, 60] {
        searched.count(minutes, days(0, 8));
    }
    let lengths = || searched.kept().iter().map(|(minutes, _)| *minutes).collect::<Vec<_>>();
    assert_eq!(lengths(), [60, 45, 30, 15]);
    searched.count(15, days(8, 16));
    assert_eq!(searched.kept()[3], (15, vec![0, 1]));
    searched.count(90, days(0, 8));
    assert_eq!(lengths(), [90, 60, 45, 30]);
}

#[test]
fn another_grid_zone_or_share_of_the_public_is_another_kind() {
    let mut searched = Searched::new();
    let chain = chain_of(15);
    let by_key = ChainSearch::new(&chain, BookingMode::Module);
    let by_account = ChainSearch::new(&chain, BookingMode::ModuleByAccount);
    let by_pro = ChainSearch::new(&chain, BookingMode::ModuleByPro);
    searched.count_by(by_key, days(0, 8));
    searched.count_by(by_account, days(0, 8));
    assert_eq!(searched.kept().len(), 1, "none is bound by a share");
    searched.catalogue.group.unverified_day_percent = const { Bounded::known(50) };
    searched.count_by(by_account, days(0, 8));
    searched.count_by(by_pro, days(0, 8));
    assert_eq!(searched.kept().len(), 1);
    searched.count_by(by_key, days(0, 8));
    assert_eq!(searched.kept().len(), 2);
    searched.catalogue.group.timezone = ZoneName::from_name("Paris").expect("a zone");
    searched.count_by(by_key, days(0, 8));
    assert_eq!(searched.kept().len(), 3);
    for calendar in searched.catalogue.calendars.values_mut() {
        Arc::make_mut(calendar).generate_interval = const { Bounded::known(20) };
    }
    searched.count_by(by_key, days(0, 8));
    assert_eq!(searched.kept().len(), 4);
}

#[test]
fn what_was_kept_on_a_day_of_another_chunk_goes_with_the_next_search() {
    let mut searched = Searched::new();
    searched.count(15, days(0, 16));
    searched.count(30, days(0, 16));
    searched.now = at(7, 1_439);
    assert_eq!(searched.count(15, days(9, 10)), Some(16));
    searched.now = at(8, 0);
    assert_eq!(searched.count(15, days(9, 10)), None);
    assert_eq!(searched.count(15, days(9, 13)), Some(4 * 16));
    assert_eq!(searched.kept(), [(15, vec![0])]);
}

#[test]
fn days_far_ahead_or_gone_are_not_kept() {
    let mut searched = Searched::new();
    let last = 14 * i32::try_from(CHUNK_DAYS).expect("few");
    assert_eq!(searched.count(15, days(last - 8, last)), Some(8 * 16));
    assert_eq!(searched.kept_chunks(), [13]);
    assert_eq!(searched.count(15, days(last - 7, last + 1)), None);
    searched.now = at(10, 9 * 60 + 30);
    // What is past is no start.
    assert_eq!(searched.count(15, days(4, 14)), Some(3 * 16 + 14));
}

#[test]
fn starts_on_no_five_minutes_are_not_kept() {
    let searched = Searched::open_from([9 * 60 + 2, 10 * 60]);
    assert_eq!(searched.count(15, days(0, 8)), None);
    assert_eq!(searched.kept_chunks(), [0], "that there are none is known");
    assert_eq!(searched.count(15, days(0, 1)), None);
}

#[test]
fn a_search_of_the_back_office_or_of_a_move_is_not_kept() {
    let searched = Searched::new();
    let chain = chain_of(15);
    let search = ChainSearch::new(&chain, BookingMode::BackOffice);
    assert_eq!(searched.count_by(search, days(0, 8)), None);
    let own = OwnTime { appointment: VeventId::new(5), hold: None };
    let search = ChainSearch { own, ..ChainSearch::new(&chain, BookingMode::Module) };
    assert_eq!(searched.count_by(search, days(0, 8)), None);
    assert_eq!(searched.kept(), []);
}

#[test]
fn a_table_is_bounded() {
    let searched = Searched::new();
    let chain = chain_of(15);
    let search = ChainSearch::new(&chain, BookingMode::Module);
    let window = days(0, 32);
    let kept = KeptSearch::new(&searched.catalogue, search, window, searched.now);
    let kept = kept.expect("its starts are kept");
    let mut table = DayTable::default();
    let mut fill =
        |views| table.fill(&kept, window, std::iter::repeat_n(&searched.views[0], views));
    assert!(fill(2_048));
    assert!(!fill(2_049));
}

/// Zones, each with the midnight before a change of its clocks.
const CHANGES: [(&str, &str); 6] = [
    ("Europe/Paris", "2026-03-28"),
    ("Europe/Paris", "2026-10-24"),
    ("Africa/Cairo", "2026-04-23"),
    ("Africa/Cairo", "2026-10-28"),
    ("Australia/Lord_Howe", "2026-10-03"),
    ("America/Havana", "2026-10-31"),
];

/// The first calendar is open at all times but for an hour a day, the second from 22:30 to 1:30.
/// On the first one an appointment stands in the first night, and a hold in the second.
fn open_at_night(zone: Zone, name: &str, first: CivilDay) -> Searched {
    let mut searched = Searched::new();
    let iana = ZoneName::from_name(name).expect("a zone");
    searched.catalogue.group.timezone = iana;
    searched.now = zone.instant_of(first.midnight());
    let before = first.plus_days(-3).midnight();
    for (view, (minute, length)) in searched.views.iter_mut().zip([(5 * 60, 23), (22 * 60 + 30, 3)])
    {
        let number = view.id.number();
        let start = before.plus_seconds(minute * MINUTE);
        view.change_rules(|rules| {
            rules.remove(&hours(number, OPENINGS[usize::from(number > 1)]));
            rules.add(&daily(number, zone, start, length * 60 * MINUTE));
        });
    }
    let at = |minute| zone.instant_of(first.midnight().plus_seconds(minute * MINUTE));
    let id = VeventId::new(99).expect("an id");
    let interval = Interval { start: at(1_400), end: at(1_500) };
    searched.views[0].add_taken(TakenInterval { interval, id }, false);
    let interval = Interval { start: at(2_860), end: at(2_935) };
    let holder = TimeHolder { expires_at: at(100_000), id: HoldId([1; 32]) };
    searched.views[0].held.add(TakenInterval { interval, id: holder });
    searched
}

#[test]
fn what_is_kept_of_days_of_any_length_are_the_starts_of_the_walk() {
    for (name, first) in CHANGES {
        let zone = Zone::from_iana(name).expect("a zone");
        let first = crate::wire::datetime::parse(first).expect("a day").day();
        let searched = open_at_night(zone, name, first);
        let chain = chain_of(30);
        let search = ChainSearch::new(&chain, BookingMode::Module);
        let midnight = zone.instant_of(first.midnight());
        // Whole days, and windows that begin and end within a day, and between two units.
        for (from, minutes) in
            [(0, 5 * 1_440), (1_410, 4_380), (61, 1), (1_501, 1_440), (1_439, 77), (600, 2_040)]
        {
            let start = midnight.plus_minutes(from);
            let window = Interval { start, end: start.plus_minutes(minutes) };
            let kept = KeptSearch::new(&searched.catalogue, search, window, searched.now);
            let mut table = DayTable::default();
            assert!(table.fill(&kept.expect("kept"), window, searched.views.iter()));
            let mut expected: BTreeMap<Instant, Vec<usize>> = BTreeMap::new();
            for (place, view) in searched.views.iter().enumerate() {
                let mut starts = Vec::new();
                let now = searched.now;
                free_starts(&searched.catalogue, view, search, window, now, &mut starts);
                for start in starts {
                    expected.entry(start).or_default().push(place);
                }
            }
            let mut found = BTreeMap::new();
            let end = table.each_run(zone, |run, free| {
                found.extend(run.map(|start| (start, free.iter().collect())));
                ControlFlow::Continue(())
            });
            assert!(end.is_continue());
            assert_eq!(found, expected, "{name}, {minutes} minutes from {from}");
            assert_eq!(table.count(), expected.len());
            let mut days: Vec<DayStarts> = Vec::new();
            for (start, places) in expected {
                let day = zone.civil_of(start).day();
                match days.last_mut() {
                    Some(last) if last.day == day => last.count += 1,
                    _ => days.push(DayStarts { day, count: 1, first: start, places }),
                }
            }
            let mut found = Vec::new();
            table.each_day(zone, |day| found.push(day));
            assert_eq!(found, days, "{name}, {minutes} minutes from {from}");
        }
    }
}
