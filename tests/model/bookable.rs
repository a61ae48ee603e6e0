//! Offered = bookable = what a naive search finds, minute by minute. Reference 4.

use proptest::prelude::*;
use slotbook::domain::availability::bookable::bookable;
use slotbook::domain::availability::merged_starts::StartSearch;
use slotbook::domain::availability::obstacle::Obstacle;
use slotbook::domain::availability::slot_request::{BookingMode, ChainSearch, SlotRequest};
use slotbook::domain::availability::slots::free_starts;
use slotbook::domain::records::booking_origin::{BookingOrigin, ClientProof};
use slotbook::domain::records::ids::FicheId;
use slotbook::domain::records::text::Bounded;
use slotbook::domain::records::vevent::{
    Appointment, AppointmentKey, Availability, Permits, Reminders, State, VeventKind,
};
use slotbook::domain::state::refusal::Refusal;
use slotbook::domain::time::interval_set::Interval;
use slotbook::domain::time::zone::Zone;
use slotbook::domain::time::{DAY, Instant, MINUTE};

use super::shop::{SECRET, Shop, booking_of, by_pro, calendar, intervention};

/// Minutes from the story's first midnight, and a length.
type Span = (i64, i64);

#[derive(Clone, Debug)]
struct Story {
    zone: &'static str,
    midnight: &'static str,
    /// The start, the length, for which intervention only, and whether on three days in a row.
    open: Vec<(Span, Option<u64>, bool)>,
    plages: Vec<Span>,
    /// The start, the length, and whether it was booked with a key alone.
    appointments: Vec<(i64, i64, bool)>,
    /// Percentage of the open time of a day that unverified bookings may hold.
    unverified_percent: i64,
    chain: Vec<u64>,
    generate_interval: i64,
    mintime_rdv: i64,
    maxrdv_period: i64,
    now: i64,
    window: Span,
    mode: BookingMode,
}

fn a_story() -> impl Strategy<Value = Story> {
    let span = || (0..3 * 1_440_i64, prop_oneof![5..120_i64, 5..900_i64]);
    let place = prop_oneof![
        Just(("Paris", "2026-03-28 00:00")),
        Just(("Paris", "2026-10-24 00:00")),
        Just(("London", "2026-10-23 00:00")),
        Just(("Newfoundland", "2026-03-07 00:00")),
        Just(("UTC", "2026-06-01 00:00")),
        // Midnight is left out, and shown after a second pass of 23:00.
        Just(("Africa/Cairo", "2026-04-23 00:00")),
        Just(("Africa/Cairo", "2026-10-28 00:00")),
    ];
    let mode = prop_oneof![
        2 => Just(BookingMode::Module),
        1 => Just(BookingMode::ModuleByAccount),
        1 => Just(BookingMode::ModuleByPro),
        1 => Just(BookingMode::BackOffice)
    ];
    let booked = (0..3 * 1_440_i64, prop_oneof![5..120_i64, 5..900_i64], any::<bool>());
    let percent = prop_oneof![Just(100), 1..100_i64];
    let opened = (span(), prop_oneof![Just(None), (1..4_u64).prop_map(Some)], any::<bool>());
    (
        (place, mode, proptest::collection::vec(1..4_u64, 1..4)),
        proptest::collection::vec(opened, 0..6),
        (proptest::collection::vec(span(), 0..3), proptest::collection::vec(booked, 0..6), percent),
        (
            (prop_oneof![Just(5), Just(7), Just(15), Just(20), Just(60)], any::<bool>()),
            0..600_i64,
            1_000..4_000_i64,
            -600..1_440_i64,
            span(),
        ),
    )
        .prop_map(
            |(((zone, midnight), mode, chain), open, (plages, appointments, percent), numbers)| {
                let (grid, mintime_rdv, maxrdv_period, now, window) = numbers;
                let (generate_interval, is_rounded) = grid;
                // Starts on five minutes are kept by day, and others found anew.
                let round = |minutes: i64| if is_rounded { minutes / 5 * 5 } else { minutes };
                let mut open = open;
                for ((start, length), ..) in &mut open {
                    (*start, *length) = (round(*start), round(*length));
                }
                Story {
                    zone,
                    midnight,
                    open,
                    plages,
                    appointments,
                    unverified_percent: percent,
                    chain,
                    generate_interval,
                    mintime_rdv,
                    maxrdv_period,
                    now,
                    window,
                    mode,
                }
            },
        )
}

impl Story {
    fn shop(&self) -> Shop {
        let mut shop = Shop::in_zone(self.zone, self.midnight).with_calendar(1, |calendar| {
            calendar.generate_interval = Bounded::new(self.generate_interval).expect("an interval");
            calendar.mintime_rdv = Bounded::new(self.mintime_rdv).expect("minutes");
            calendar.maxrdv_period = Bounded::new(self.maxrdv_period).expect("minutes");
        });
        shop = shop.with_group(|group| {
            group.unverified_day_percent = Bounded::new(self.unverified_percent).expect("legal");
        });
        let first = shop.now;
        let zone = shop.group_state.catalogue.zone();
        for (span, only, daily) in &self.open {
            let Some(series) = series(zone, first, *span, *daily) else { continue };
            let permits = Permits::only(only.iter().map(|id| intervention(*id)).collect());
            shop.put(1, VeventKind::Availability(Box::new(Availability { series, permits })));
        }
        for span in &self.plages {
            if let Some(series) = series(zone, first, *span, false) {
                shop.put(1, VeventKind::Plage(Box::new(series)));
            }
        }
        let fiche_id = shop.knows("Somebody else", "else@example.org");
        for (start, length, by_key) in &self.appointments {
            let mut kind = appointment(zone, first.plus_minutes(*start), *length, fiche_id);
            if let VeventKind::Appointment(booked) = &mut kind {
                let proof = if *by_key { ClientProof::KeyAlone } else { ClientProof::Account };
                let origin = BookingOrigin { source: [1; 16], apikey: [1; 16], proof };
                booked.booking_origin = Some(Box::new(origin));
            }
            shop.put(1, kind);
        }
        shop.now = first.plus_minutes(self.now);
        shop
    }
}

fn series(
    zone: Zone,
    first: Instant,
    span: Span,
    daily: bool,
) -> Option<slotbook::domain::recurrence::Series> {
    let start = zone.civil_of(first).plus_seconds(span.0 * MINUTE);
    let rule = daily.then(|| "FREQ=DAILY;COUNT=3".parse().expect("a rule"));
    let end = start.plus_seconds(span.1 * MINUTE);
    slotbook::domain::recurrence::Series::new(zone, start, end, rule, Default::default()).ok()
}

fn appointment(zone: Zone, start: Instant, minutes: i64, fiche_id: FicheId) -> VeventKind {
    VeventKind::Appointment(Appointment {
        civil_start: zone.civil_of(start),
        start,
        length_seconds: u32::try_from(minutes * MINUTE).expect("short"),
        intervention_id: intervention(1),
        fiche_id,
        key: AppointmentKey::new(SECRET).expect("20 letters"),
        state: State::default(),
        smsreminder: false,
        from_web: false,
        reminders: Reminders::since(Instant(0)),
        booking_origin: None,
    })
}

/// The rules read plainly: lists of occurrences, and every minute of every leg looked at.
struct Naive {
    story: Story,
    zone: Zone,
    now: Instant,
    open: Vec<(Interval, Option<u64>)>,
    taken: Vec<Interval>,
    plages: Vec<Interval>,
    unverified: Vec<Interval>,
}

impl Naive {
    fn new(story: &Story, shop: &Shop) -> Self {
        let zone = shop.group_state.catalogue.zone();
        let first = zone.instant_of(super::shop::civil(story.midnight));
        let on_the_wall = |span: Span, day: i64| {
            let start = zone.civil_of(first).plus_seconds(span.0 * MINUTE + day * DAY);
            Interval {
                start: zone.instant_of(start),
                end: zone.instant_of(start.plus_seconds(span.1 * MINUTE)),
            }
        };
        // An event whose own end is not after its start cannot be made at all.
        let makeable = |span: &Span| !on_the_wall(*span, 0).is_empty();
        let days = |daily: bool| if daily { 0..3 } else { 0..1 };
        let open = story.open.iter().filter(|(span, ..)| makeable(span));
        let open = open.flat_map(|(span, only, daily)| {
            days(*daily).map(|day| (on_the_wall(*span, day), *only))
        });
        let plages = story.plages.iter().filter(|span| makeable(span));
        let plages: Vec<Interval> = plages.map(|span| on_the_wall(*span, 0)).collect();
        let mut taken = plages.clone();
        let mut unverified = Vec::new();
        for (start, minutes, by_key) in &story.appointments {
            let start = first.plus_minutes(*start);
            let interval = Interval { start, end: start.plus_minutes(*minutes) };
            taken.push(interval);
            if *by_key {
                unverified.push(interval);
            }
        }
        taken.retain(|i| !i.is_empty());
        let open = open.filter(|(i, _)| !i.is_empty()).collect();
        Self { story: story.clone(), zone, now: shop.now, open, taken, plages, unverified }
    }

    fn length(intervention: u64) -> i64 {
        [30, 60, 15][usize::try_from(intervention).expect("small") - 1]
    }

    fn permitting(&self, intervention: u64) -> impl Iterator<Item = Interval> + '_ {
        self.open
            .iter()
            .filter(move |(_, only)| only.is_none_or(|only| only == intervention))
            .map(|(i, _)| *i)
    }

    /// The names of all rules that stand in the way.
    fn obstacles(&self, start: Instant) -> Vec<&'static str> {
        let story = &self.story;
        let mut found = Vec::new();
        let holds = |interval: &Interval, moment: Instant| {
            interval.start <= moment && moment < interval.end
        };
        if story.mode != BookingMode::BackOffice {
            if start < self.now.plus_minutes(story.mintime_rdv) {
                found.push("MintimeRdv");
            } else if start > self.now.plus_minutes(story.maxrdv_period) {
                found.push("MaxRdvPeriod");
            }
            // Web callers learn nothing else about the past.
            if story.mode.is_for_web_callers() && start < self.now {
                return found;
            }
            let mut anchors =
                self.permitting(story.chain[0]).filter(|o| holds(o, start)).peekable();
            let on_grid = |o: Interval| {
                start.seconds_since(o.start) % (story.generate_interval * MINUTE) == 0
            };
            if anchors.peek().is_some() && !anchors.any(on_grid) {
                found.push("off_grid");
            }
            let mut at = start;
            let open_throughout = story.chain.iter().all(|id| {
                let leg = at;
                at = at.plus_minutes(Self::length(*id));
                (0..Self::length(*id))
                    .all(|m| self.permitting(*id).any(|o| holds(&o, leg.plus_minutes(m))))
            });
            if !open_throughout {
                found.push("outside_availability");
            }
        }
        let whole: i64 = story.chain.iter().map(|id| Self::length(*id)).sum();
        if (0..whole).any(|m| self.taken.iter().any(|t| holds(t, start.plus_minutes(m)))) {
            found.push("taken");
        }
        // The second pass: the clock has shown this before.
        let shown = self.zone.civil_of(start);
        if (1..180).any(|m| self.zone.civil_of(start.plus_minutes(-m)) == shown) {
            found.push("repeated_hour");
        }
        if story.mode == BookingMode::Module && self.exceeds_share(start, whole) {
            found.push("unverified_share");
        }
        found
    }

    /// Whether unverified bookings would hold more of a day than they may, minute by minute.
    fn exceeds_share(&self, start: Instant, minutes: i64) -> bool {
        let day_of = |moment| self.zone.civil_of(moment).day();
        let mut days: Vec<_> = (0..minutes).map(|m| day_of(start.plus_minutes(m))).collect();
        days.sort();
        days.dedup();
        days.into_iter().any(|day| {
            let midnight = self.zone.instant_of(day.midnight());
            let (mut open, mut held, mut wanted) = (0, 0, 0);
            for minute in 0..26 * 60 {
                let moment = midnight.plus_minutes(minute);
                if day_of(moment) != day {
                    break;
                }
                let is_in = |intervals: &[Interval]| {
                    intervals.iter().filter(|i| i.start <= moment && moment < i.end).count()
                };
                let opened: Vec<Interval> = self.open.iter().map(|(i, _)| *i).collect();
                open += usize::from(is_in(&opened) > 0 && is_in(&self.plages) == 0);
                held += is_in(&self.unverified);
                let end = start.plus_minutes(minutes);
                wanted += is_in(&[Interval { start, end }]);
            }
            let percent = usize::try_from(self.story.unverified_percent).expect("legal");
            percent < 100 && wanted > 0 && (held + wanted) * 100 > open * percent
        })
    }

    /// Whether the back office's grid from midnight has a start.
    fn on_midnight_grid(&self, start: Instant) -> bool {
        let midnight = self.zone.instant_of(self.zone.civil_of(start).day().midnight());
        start.seconds_since(midnight) % (self.story.generate_interval * MINUTE) == 0
    }
}

/// Name of the rule that stands in the way, as explanations give it.
pub(crate) fn obstacle_name(obstacle: &Obstacle) -> &'static str {
    match obstacle {
        Obstacle::NotOffered(_) => "not_offered",
        Obstacle::MintimeRdv { .. } => "MintimeRdv",
        Obstacle::MaxRdvPeriod { .. } => "MaxRdvPeriod",
        Obstacle::OffGrid { .. } => "off_grid",
        Obstacle::OutsideAvailability { .. } => "outside_availability",
        Obstacle::Taken { .. } => "taken",
        Obstacle::Held { .. } => "held",
        Obstacle::RepeatedHour => "repeated_hour",
        Obstacle::UnverifiedShare { .. } => "unverified_share",
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn every_offered_start_books_and_every_other_is_refused_for_what_explain_names(story in a_story()) {
        let shop = story.shop();
        let naive = Naive::new(&story, &shop);
        let ids: Vec<_> = story.chain.iter().map(|id| intervention(*id)).collect();
        let chain = shop.group_state.catalogue.chain(&ids, story.mode).expect("a chain");
        let first = naive.zone.instant_of(super::shop::civil(story.midnight));
        let start = first.plus_minutes(story.window.0);
        let window = Interval { start, end: start.plus_minutes(story.window.1) };
        let view = shop.group_state.calendars.get(&calendar(1)).expect("a calendar");
        let mut offered = Vec::new();
        let search = StartSearch {
            catalogue: &shop.group_state.catalogue,
            views: &shop.group_state.calendars,
            search: ChainSearch::new(&chain, story.mode),
            calendars: &[calendar(1)],
            at_least: 1,
            now: shop.now,
        };
        // A long search keeps the days that the short one takes.
        let days = Interval { start: window.start, end: window.start.plus_minutes(5 * 1_440) };
        search.for_each_start(days, |_, _| {});
        search.for_each_start(window, |start, _| offered.push(start));
        let mut expected = Vec::new();
        for minute in 0..story.window.1 {
            let start = window.start.plus_minutes(minute);
            let obstacles = naive.obstacles(start);
            if obstacles.is_empty() && (story.mode != BookingMode::BackOffice || naive.on_midnight_grid(start)) {
                expected.push(start);
            }
            let request = SlotRequest::new(chain.clone(), start, story.mode);
            let found = bookable(&shop.group_state.catalogue, view, &request, shop.now);
            let mut names: Vec<_> = found.err().unwrap_or_default().iter().map(obstacle_name).collect();
            names.dedup();
            prop_assert_eq!(&names, &obstacles, "at {:?}", naive.zone.civil_of(start));
            if minute % 13 == 0 || obstacles.is_empty() {
                books_as_offered(&story, &shop, &naive, start)?;
            }
        }
        prop_assert_eq!(offered, expected);
    }
}

/// A booking of a new client at `start` goes through exactly where nothing stands in the way.
fn books_as_offered(
    story: &Story,
    shop: &Shop,
    naive: &Naive,
    start: Instant,
) -> Result<(), TestCaseError> {
    let mut command = booking_of("Ada", "2026-01-01 00:00");
    command.date = naive.zone.civil_of(start);
    if naive.zone.instant_of(command.date) != start {
        // The second pass cannot be asked for: its wall clock names the first.
        return Ok(());
    }
    command.intervention_ids = story.chain.iter().map(|id| intervention(*id)).collect();
    if story.mode == BookingMode::ModuleByAccount {
        return Ok(());
    }
    if story.mode != BookingMode::Module {
        command = by_pro(command, story.mode == BookingMode::ModuleByPro);
    }
    let names = naive.obstacles(start);
    match shop.clone().book(&command) {
        Ok(_) => prop_assert!(names.is_empty(), "booked in spite of {:?}", names),
        Err(refusals) => {
            let named = match &refusals[..] {
                [Refusal::MintimeRdv { .. }] => vec!["MintimeRdv"],
                [Refusal::MaxRdvPeriod { .. }] => vec!["MaxRdvPeriod"],
                [Refusal::NotAvailable { obstacles }] => {
                    let mut named: Vec<_> = obstacles.iter().map(obstacle_name).collect();
                    named.dedup();
                    named
                }
                other => return Err(TestCaseError::fail(format!("{other:?}"))),
            };
            prop_assert!(
                !named.is_empty() && named.iter().all(|n| names.contains(n)),
                "{:?} for {:?}",
                named,
                names
            );
        }
    }
    Ok(())
}

#[test]
fn a_search_that_begins_in_the_second_pass_offers_nothing_of_it() {
    let shop = Shop::in_zone("Paris", "2026-10-24 00:00");
    let zone = shop.group_state.catalogue.zone();
    // 03:00 summer time on the 25th, shown as 02:00 for the second time.
    let second_pass = shop.now.plus_minutes(27 * 60);
    assert!(!zone.is_first_pass(second_pass) && zone.is_first_pass(second_pass.plus_minutes(60)));
    let chain = shop
        .group_state
        .catalogue
        .chain(&[intervention(1)], BookingMode::BackOffice)
        .expect("a chain");
    let view = shop.group_state.calendars.get(&calendar(1)).expect("a calendar");
    for (begins, offered) in [
        (0, vec![60, 90]),
        (30, vec![60, 90]),
        (60, vec![60, 90]),
        (-90, vec![-90, -60, -30, 60, 90]),
    ] {
        let window = Interval {
            start: second_pass.plus_minutes(begins),
            end: second_pass.plus_minutes(120),
        };
        let mut starts = Vec::new();
        free_starts(
            &shop.group_state.catalogue,
            view,
            ChainSearch::new(&chain, BookingMode::BackOffice),
            window,
            shop.now,
            &mut starts,
        );
        let offered: Vec<Instant> =
            offered.into_iter().map(|minute| second_pass.plus_minutes(minute)).collect();
        let expected: Vec<Instant> =
            offered.into_iter().filter(|start| zone.is_first_pass(*start)).collect();
        assert_eq!(starts, expected, "from {begins}");
    }
}

#[test]
fn a_start_in_the_second_pass_is_refused() {
    let shop = Shop::in_zone("Paris", "2026-10-24 00:00");
    let catalogue = &shop.group_state.catalogue;
    let view = shop.group_state.calendars.get(&calendar(1)).expect("a calendar");
    let mode = BookingMode::BackOffice;
    let chain = catalogue.chain(&[intervention(1)], mode).expect("a chain");
    // 02:30 summer time on the 25th, and an hour later, when the clocks show 02:30 again.
    let cases = [(26 * 60 + 30, Ok(())), (27 * 60 + 30, Err(vec![Obstacle::RepeatedHour]))];
    for (minutes, verdict) in cases {
        let start = shop.now.plus_minutes(minutes);
        let request = SlotRequest::new(chain.clone(), start, mode);
        assert_eq!(bookable(catalogue, view, &request, shop.now), verdict, "{minutes}");
    }
}
