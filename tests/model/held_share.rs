//! The share of a day that callers with a key alone may hold, against a naive list: who holds how much, who is refused,
//! and whose hold ends for another.

use proptest::prelude::*;
use slotbook::domain::records::hold::HoldId;
use slotbook::domain::records::text::Bounded;
use slotbook::domain::records::vevent::Permits;
use slotbook::domain::state::command::{Command, HoldTime};
use slotbook::domain::state::invariants;
use slotbook::domain::state::refusal::{HoldBound, Refusal};
use slotbook::domain::time::interval_set::Interval;
use slotbook::domain::time::{HOUR, Instant, MINUTE};

use super::shop::{Draws, Shop, calendar, civil, intervention};

/// Minutes that the calendar is open, from eight on, and minutes that may be held.
const OPEN_MINUTES: i64 = 600;
const SHARE_MINUTES: i64 = 120;

#[derive(Clone, Debug)]
enum Step {
    Hold { source: u8, half_hour: i64, intervention: u64, renews: Option<prop::sample::Index> },
    Release(prop::sample::Index),
    Wait(i64),
}

fn a_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..36_u8, 0..20_i64, 1..4_u64, proptest::option::weighted(0.2, any::<prop::sample::Index>()))
            .prop_map(|(source, half_hour, intervention, renews)| Step::Hold { source, half_hour, intervention, renews }),
        1 => any::<prop::sample::Index>().prop_map(Step::Release),
        1 => (0..400_i64).prop_map(Step::Wait),
    ]
}

/// The hash of a source: of twelve of a /48 four have the same /56. The last third are IPv4.
fn hash_of(source: u8) -> [u8; 16] {
    let (widest, middle) = (source / 12, source / 4);
    let is_ipv4 = source >= 24;
    let middle = if is_ipv4 { widest } else { middle + 100 };
    let mut hash = [source; 16];
    hash[..4].fill(widest);
    hash[4..8].fill(middle);
    hash
}

#[derive(Clone, Copy, Debug)]
struct NaiveHold {
    id: HoldId,
    source: [u8; 16],
    interval: Interval,
    made_at: Instant,
    live: bool,
}

impl NaiveHold {
    fn minutes(&self) -> i64 {
        self.interval.end.seconds_since(self.interval.start) / MINUTE
    }
}

/// The number and the minutes of the holds whose sources begin so.
fn total(holds: &[NaiveHold], begin: &[u8]) -> (usize, i64) {
    let mut minutes = Vec::new();
    for hold in holds.iter().filter(|hold| hold.source.starts_with(begin)) {
        minutes.push(hold.minutes());
    }
    (minutes.len(), minutes.iter().sum())
}

/// The bound of the caller's own network that a hold would pass.
fn network_bound(others: &[NaiveHold], source: [u8; 16], minutes: i64) -> Option<HoldBound> {
    let is_ipv4 = source[..4] == source[4..8];
    for (length, times) in [(16, 1), (8, 2), (4, 4)] {
        if length == 8 && is_ipv4 {
            continue;
        }
        let (count, held) = total(others, &source[..length]);
        let times_minutes = i64::try_from(times).expect("small") * 180;
        if count >= 3 * times || count > 0 && held + minutes > times_minutes {
            return Some(if length == 16 { HoldBound::Source } else { HoldBound::Network });
        }
    }
    None
}

/// The holds that are left once some have ended for one of this source; `None` if it gets no room.
fn after_making_room(
    mut others: Vec<NaiveHold>,
    source: [u8; 16],
    minutes: i64,
) -> Option<Vec<NaiveHold>> {
    while !others.is_empty() && total(&others, &[]).1 + minutes > SHARE_MINUTES {
        let mut begin: Vec<u8> = Vec::new();
        let mut wins = false;
        for length in [4, 8, 16] {
            let most = |hold: &&NaiveHold| {
                let (count, minutes) = total(&others, &hold.source[..length]);
                (count > 1, minutes, hold.source)
            };
            let within = others.iter().filter(|hold| hold.source.starts_with(&begin));
            begin = within.max_by_key(most)?.source[..length].to_vec();
            if !wins && !source.starts_with(&begin) {
                let (count, held) = total(&others, &begin);
                let own = total(&others, &source[..length]).1;
                if count == 1 || held <= own + minutes {
                    return None;
                }
                wins = true;
            }
        }
        let of_source = others.iter().filter(|hold| hold.source.starts_with(&begin));
        let newest = of_source.map(|hold| (hold.made_at, hold.id)).max().filter(|_| wins)?;
        others.retain(|hold| hold.id != newest.1);
    }
    Some(others)
}

struct Pair {
    shop: Shop,
    holds: Vec<NaiveHold>,
}

impl Pair {
    fn live(&self) -> Vec<NaiveHold> {
        self.holds.iter().copied().filter(|hold| hold.live).collect()
    }

    fn one_of(&self, which: prop::sample::Index) -> Option<HoldId> {
        if self.holds.is_empty() {
            None
        } else {
            Some(self.holds[which.index(self.holds.len())].id)
        }
    }

    fn hold(
        &mut self,
        source: u8,
        half_hour: i64,
        wanted: u64,
        own: Option<HoldId>,
    ) -> Result<(), TestCaseError> {
        let source = hash_of(source);
        let date = civil("2026-03-03 08:00").plus_seconds(half_hour * 30 * MINUTE);
        let command = HoldTime {
            date,
            intervention_ids: vec![intervention(wanted)],
            calendar_id: Some(calendar(1)),
            hold: own,
            source: Some(source),
            is_by_key: true,
        };
        let minutes = [30, 60, 15][usize::try_from(wanted - 1).expect("small")];
        let zone = self.shop.group_state.catalogue.zone();
        let start = zone.instant_of(date);
        let interval = Interval { start, end: start.plus_minutes(minutes) };
        let mut others = self.live();
        others.retain(|hold| own != Some(hold.id));
        let is_open = half_hour * 30 + minutes <= OPEN_MINUTES;
        let is_free = is_open && !others.iter().any(|hold| hold.interval.overlaps(interval));
        let bound = network_bound(&others, source, minutes);
        let left = after_making_room(others, source, minutes);
        let made = self.shop.holds(&command);
        let refused = |bound| matches!(&made, Err(refusals) if matches!(refusals[..], [Refusal::TooManyHolds { bound: by, .. }] if by == bound));
        match (bound, left) {
            (Some(bound), _) => prop_assert!(refused(bound), "{bound:?}: {made:?}"),
            (None, _) if !is_free => {
                let is_taken = matches!(&made, Err(refusals) if matches!(refusals[..], [Refusal::NotAvailable { .. }]));
                prop_assert!(is_taken, "{made:?}");
            }
            (None, None) => prop_assert!(refused(HoldBound::Day), "{made:?}"),
            (None, Some(left)) => {
                let id = made.map_err(|refusals| TestCaseError::fail(format!("{refusals:?}")))?;
                for hold in &mut self.holds {
                    hold.live = hold.live && left.iter().any(|other| other.id == hold.id);
                }
                let made_at = self.shop.now;
                self.holds.push(NaiveHold { id, source, interval, made_at, live: true });
            }
        }
        Ok(())
    }

    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Hold { source, half_hour, intervention, renews } => {
                let own = renews.and_then(|which| self.one_of(which));
                self.hold(*source, *half_hour, *intervention, own)?;
            }
            Step::Release(which) => {
                let Some(id) = self.one_of(*which) else { return Ok(()) };
                let hold = self.holds.iter_mut().find(|hold| hold.id == id).expect("it was made");
                prop_assert_eq!(self.shop.releases(id), hold.live);
                hold.live = false;
            }
            Step::Wait(seconds) => {
                self.shop.now = self.shop.now.plus_seconds(*seconds);
                for hold in &mut self.holds {
                    let made = self.shop.group_state.holds().get(hold.id);
                    hold.live &= made.is_some_and(|made| made.is_live(self.shop.now));
                }
            }
        }
        Ok(())
    }

    fn agrees(&self) -> Result<(), TestCaseError> {
        let (state, now) = (&self.shop.group_state, self.shop.now);
        let live = state.holds().iter().filter(|hold| hold.is_live(now)).map(|hold| hold.id());
        let mut expected: Vec<HoldId> = self.live().iter().map(|hold| hold.id).collect();
        expected.sort();
        prop_assert_eq!(live.collect::<Vec<_>>(), expected);
        prop_assert!(total(&self.live(), &[]).1 <= SHARE_MINUTES);
        prop_assert_eq!(invariants::find_broken(state), vec![]);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn networks_share_what_may_be_held_of_a_day(steps in proptest::collection::vec(a_step(), 1..60)) {
        let shop = Shop::in_zone("Paris", "2026-03-02 08:00");
        let shop = shop.opened(1, "2026-03-03 08:00", "2026-03-03 18:00", "", Permits::All);
        let mut pair = Pair { shop, holds: Vec::new() };
        for step in &steps {
            pair.take(step)?;
            pair.agrees()?;
        }
    }
}

#[test]
fn a_short_day_takes_one_hold_of_any_length() {
    let mut shop = Shop::open_on_tuesday();
    let wish = |half_hour: i64, source: u8| HoldTime {
        date: civil("2026-03-03 09:00").plus_seconds(half_hour * 30 * MINUTE),
        intervention_ids: vec![intervention(2)],
        calendar_id: Some(calendar(1)),
        hold: None,
        source: Some(hash_of(source)),
        is_by_key: true,
    };
    let first = shop.holds(&wish(0, 0)).expect("an hour is a third of the day");
    let second = shop.holds(&wish(2, 20));
    let is_refused = |refusals: &Vec<Refusal>| {
        matches!(
            refusals[..],
            [Refusal::TooManyHolds { bound: HoldBound::Day, retry_seconds: 600 }]
        )
    };
    assert!(second.as_ref().is_err_and(is_refused), "{second:?}");
    // Neither accounts nor keys of a server are bound.
    shop.holds(&HoldTime { is_by_key: false, ..wish(2, 20) }).expect("by an account");
    shop.holds(&HoldTime { source: None, ..wish(4, 20) }).expect("by a server");
    shop.releases(first);
    shop.holds(&wish(0, 20)).expect("the other one has ended");
}

#[test]
fn a_source_holds_three_hours_and_its_networks_two_or_four_times_that() {
    // A fifth of a whole day is 288 minutes, on each of two calendars.
    let shop = Shop::in_zone("Paris", "2026-03-02 08:00")
        .opened(1, "2026-03-03 00:00", "2026-03-04 00:00", "", Permits::All)
        .opened(2, "2026-03-03 00:00", "2026-03-04 00:00", "", Permits::All);
    let hold = |shop: &mut Shop, source: u8, on: u64, hour: i64, chain: &[u64]| {
        let command = HoldTime {
            date: civil("2026-03-03 00:00").plus_seconds(hour * HOUR),
            intervention_ids: chain.iter().map(|id| intervention(*id)).collect(),
            calendar_id: Some(calendar(on)),
            hold: None,
            source: Some(hash_of(source)),
            is_by_key: true,
        };
        match shop.holds(&command) {
            Ok(_) => None,
            Err(refusals) => match refusals[..] {
                [Refusal::TooManyHolds { bound, .. }] => Some(bound),
                _ => panic!("{refusals:?}"),
            },
        }
    };
    let hour = 2;
    let quarter = 3;
    // Sources 0 to 3 have one /56, and 24 to 35 are IPv4 addresses of one network.
    for (first, of_network) in [(0, Some(HoldBound::Network)), (24, None)] {
        let mut shop = shop.clone();
        assert_eq!(hold(&mut shop, first, 1, 0, &[hour, hour]), None);
        assert_eq!(hold(&mut shop, first, 1, 2, &[hour]), None, "three hours are not too many");
        assert_eq!(hold(&mut shop, first, 1, 3, &[quarter]), Some(HoldBound::Source));
        assert_eq!(hold(&mut shop, first + 1, 2, 0, &[hour, hour, hour]), None);
        assert_eq!(hold(&mut shop, first + 1, 2, 3, &[quarter]), Some(HoldBound::Source));
        assert_eq!(hold(&mut shop, first + 2, 1, 4, &[quarter]), of_network);
        // Another /56 of the same /48 is free of that bound.
        assert_eq!(hold(&mut shop, first + 4, 1, 5, &[quarter]), None);
    }
}

/// A hold by a source for a key alone, at an hour of Tuesday.
fn at_hour(hour: i64, minute: i64, source: u8, on: Option<u64>, wanted: u64) -> HoldTime {
    HoldTime {
        date: civil("2026-03-03 00:00").plus_seconds(hour * HOUR + minute * MINUTE),
        intervention_ids: vec![intervention(wanted)],
        calendar_id: on.map(calendar),
        hold: None,
        source: Some(hash_of(source)),
        is_by_key: true,
    }
}

#[test]
fn a_source_without_holds_holds_time_of_any_length() {
    let mut shop = Shop::in_zone("Paris", "2026-03-02 08:00")
        .with(|catalogue| {
            let row = catalogue.interventions.get_mut(&intervention(2)).expect("there");
            std::sync::Arc::make_mut(row).length = Bounded::known(240);
        })
        .opened(1, "2026-03-03 00:00", "2026-03-04 00:00", "", Permits::All);
    shop.holds(&at_hour(8, 0, 0, Some(1), 2)).expect("four hours are fine for one hold");
    let refused = shop.holds(&at_hour(14, 0, 0, Some(1), 3)).expect_err("it holds enough");
    assert!(matches!(refused[..], [Refusal::TooManyHolds { bound: HoldBound::Source, .. }]));
}

#[test]
fn a_hold_anywhere_gets_the_calendar_whose_share_has_room() {
    for full in [1, 2] {
        let (from, to) = ("2026-03-03 09:00", "2026-03-03 12:00");
        let mut shop = Shop::open_on_tuesday().opened(2, from, to, "", Permits::All);
        shop.holds(&at_hour(9, 0, 0, Some(full), 2)).expect("a hold of any length");
        let refused = shop.holds(&at_hour(11, 0, 20, Some(full), 1)).expect_err("its day is full");
        assert!(matches!(refused[..], [Refusal::TooManyHolds { bound: HoldBound::Day, .. }]));
        let held = shop.holds(&at_hour(11, 0, 20, None, 1)).expect("the other calendar has room");
        let hold = shop.group_state.holds().get(held).expect("it was made");
        assert_eq!(hold.calendar_id, calendar(3 - full));
    }
}

#[test]
fn a_hold_until_midnight_takes_nothing_of_the_next_day() {
    let mut shop = Shop::in_zone("Paris", "2026-03-02 08:00").opened(
        1,
        "2026-03-03 20:00",
        "2026-03-04 01:00",
        "",
        Permits::All,
    );
    shop.holds(&at_hour(24, 0, 0, Some(1), 2)).expect("a hold of any length");
    shop.holds(&at_hour(23, 30, 20, Some(1), 1)).expect("a fifth of four hours is 48 minutes");
}

#[test]
fn a_hold_tells_how_many_others_have_ended_for_it() {
    let mut shop = Shop::in_zone("Paris", "2026-03-02 08:00").opened(
        1,
        "2026-03-03 08:00",
        "2026-03-03 18:00",
        "",
        Permits::All,
    );
    let mut pushed_out = |command: HoldTime| {
        let draws = Draws { token: shop.id(), ..Draws::none(shop.now) };
        let outcome = shop.does(Command::HoldTime(Box::new(command)), draws).expect("it has room");
        (outcome.pushed_out, shop.group_state.holds().iter().len())
    };
    // The source with both hours of the share gives one of them to the next source.
    assert_eq!(pushed_out(at_hour(8, 0, 0, Some(1), 2)), (0, 1));
    assert_eq!(pushed_out(at_hour(10, 0, 0, Some(1), 2)), (0, 2));
    assert_eq!(pushed_out(at_hour(12, 0, 20, Some(1), 1)), (1, 2));
}

#[test]
fn the_bounds_of_held_time_have_names_of_their_own_in_the_metrics() {
    let names = [HoldBound::Source, HoldBound::Network, HoldBound::Day].map(HoldBound::name);
    assert_eq!(names, ["holds_source", "holds_network", "holds_day"]);
}
