//! Held time against a naive list: free for its holder, taken for every other web caller, and gone when it has expired
//! or a professional has written over it.

use proptest::prelude::*;
use slotbook::domain::availability::bookable::bookable;
use slotbook::domain::availability::obstacle::Obstacle;
use slotbook::domain::availability::slot_request::{
    BookingMode, ChainSearch, OwnTime, SlotRequest,
};
use slotbook::domain::availability::slots::free_starts;
use slotbook::domain::records::booking_origin::{BookingOrigin, ClientProof};
use slotbook::domain::records::group::{Group, VerifyBookings};
use slotbook::domain::records::hold::{HoldId, HoldState};
use slotbook::domain::records::ids::VeventId;
use slotbook::domain::records::message::MessageContent;
use slotbook::domain::records::text::Bounded;
use slotbook::domain::records::vevent::{Availability, Permits, VeventKind};
use slotbook::domain::recurrence::Series;
use slotbook::domain::state::command::{Command, HoldTime, Patch, PutVevent, RecordChange};
use slotbook::domain::state::event::Event;
use slotbook::domain::state::invariants;
use slotbook::domain::state::refusal::Refusal;
use slotbook::domain::time::interval_set::Interval;
use slotbook::domain::time::zone_names::ZoneName;
use slotbook::domain::time::{DAY, HOUR, Instant, MINUTE};

use super::shop::{Draws, Shop, booking_of, by_pro, calendar, civil, decide_at_once, intervention};

fn wish(half_hour: i64, chain: &[u64]) -> HoldTime {
    HoldTime {
        date: civil("2026-03-03 09:00").plus_seconds(half_hour * 30 * MINUTE),
        intervention_ids: chain.iter().map(|id| intervention(*id)).collect(),
        calendar_id: Some(calendar(1)),
        hold: None,
        source: None,
        is_by_key: true,
    }
}

/// A plage that a professional writes: each day from `days_before` days before the holds on, at the same time.
#[derive(Clone, Copy, Debug)]
struct NaivePlage {
    on: u64,
    days_before: i64,
    days: i64,
    /// Half hours after eight.
    half_hour: i64,
    minutes: i64,
    /// Whether it does not take place on the day of the holds.
    excepted: bool,
    deleted: bool,
}

/// Half an hour at nine, on the day of the holds alone.
const AT_NINE: NaivePlage = NaivePlage {
    on: 1,
    days_before: 0,
    days: 1,
    half_hour: 2,
    minutes: 30,
    excepted: false,
    deleted: false,
};

impl NaivePlage {
    fn series(self, shop: &Shop) -> Series {
        let first = civil("2026-03-03 08:00").plus_seconds(-self.days_before * DAY);
        let start = first.plus_seconds(self.half_hour * 30 * MINUTE);
        let end = start.plus_seconds(self.minutes * MINUTE);
        let mut rule = None;
        if self.days > 1 {
            rule = Some(format!("FREQ=DAILY;COUNT={}", self.days).parse().expect("a rule"));
        }
        let excepted = if self.excepted { "2026-03-03" } else { "" };
        let exceptions = excepted.parse().expect("dates");
        Series::new(shop.group_state.catalogue.zone(), start, end, rule, exceptions).expect("legal")
    }

    fn kind(self, shop: &Shop) -> VeventKind {
        VeventKind::Plage(Box::new(self.series(shop)))
    }

    /// Whether it takes time of calendar 1 within an interval, day by day.
    fn meets(self, interval: Interval) -> bool {
        let paris = ZoneName::from_name("Paris").expect("a zone").zone();
        let day = paris.instant_of(civil("2026-03-03 08:00"));
        (0..self.days).any(|number| {
            let days = number - self.days_before;
            let start = day.plus_seconds(days * DAY + self.half_hour * 30 * MINUTE);
            let taken = Interval { start, end: start.plus_minutes(self.minutes) };
            taken.overlaps(interval) && !(self.excepted && days == 0)
        }) && self.on == 1
            && !self.deleted
    }
}

#[derive(Clone, Debug)]
enum Step {
    Hold {
        half_hour: i64,
        chain: Vec<u64>,
    },
    Release(prop::sample::Index),
    Book {
        half_hour: i64,
        pro: bool,
        by: Option<prop::sample::Index>,
    },
    /// A plage made, or one of those there changed, moved, deleted or restored.
    Plage {
        which: Option<prop::sample::Index>,
        plage: NaivePlage,
    },
    Wait(i64),
}

fn a_plage() -> impl Strategy<Value = NaivePlage> {
    (1..3_u64, 0..3_i64, 1..4_i64, 0..8_i64, 1..5_i64, any::<bool>(), any::<bool>()).prop_map(
        |(on, days_before, days, half_hour, quarters, excepted, deleted)| {
            let minutes = quarters * 15;
            NaivePlage { on, days_before, days, half_hour, minutes, excepted, deleted }
        },
    )
}

fn a_step() -> impl Strategy<Value = Step> {
    let chain = prop_oneof![Just(vec![1]), Just(vec![2]), Just(vec![1, 3]), Just(vec![3, 2])];
    prop_oneof![
        4 => (0..6_i64, chain).prop_map(|(half_hour, chain)| Step::Hold { half_hour, chain }),
        1 => any::<prop::sample::Index>().prop_map(Step::Release),
        2 => (0..6_i64, any::<bool>(), any::<Option<prop::sample::Index>>())
            .prop_map(|(half_hour, pro, by)| Step::Book { half_hour, pro, by }),
        2 => (any::<Option<prop::sample::Index>>(), a_plage())
            .prop_map(|(which, plage)| Step::Plage { which, plage }),
        2 => (0..700_i64).prop_map(Step::Wait),
    ]
}

/// A hold as the naive list has it.
#[derive(Clone, Copy, Debug)]
struct NaiveHold {
    id: HoldId,
    interval: Interval,
    expires_at: Instant,
}

/// The shop, and beside it every hold that was neither given back nor overwritten.
struct Pair {
    shop: Shop,
    holds: Vec<NaiveHold>,
    appointments: Vec<Interval>,
    plages: Vec<(VeventId, NaivePlage)>,
    made: Vec<HoldId>,
}

impl Pair {
    fn is_free(&self, interval: Interval, own: Option<HoldId>) -> bool {
        let now = self.shop.now;
        let is_held = self.holds.iter().any(|hold| {
            hold.interval.overlaps(interval) && now < hold.expires_at && own != Some(hold.id)
        });
        !is_held
            && !self.appointments.iter().any(|other| other.overlaps(interval))
            && !self.plages.iter().any(|(_, plage)| plage.meets(interval))
    }

    fn interval(&self, half_hour: i64, chain: &[u64]) -> Interval {
        let zone = self.shop.group_state.catalogue.zone();
        let minutes: i64 =
            chain.iter().map(|id| [30, 60, 15][usize::try_from(id - 1).expect("small")]).sum();
        let start = zone.instant_of(wish(half_hour, chain).date);
        Interval { start, end: start.plus_minutes(minutes) }
    }

    fn fits(&self, interval: Interval) -> bool {
        let zone = self.shop.group_state.catalogue.zone();
        interval.end <= zone.instant_of(civil("2026-03-03 12:00"))
    }

    fn one_of(&self, which: prop::sample::Index) -> Option<HoldId> {
        if self.made.is_empty() { None } else { Some(self.made[which.index(self.made.len())]) }
    }

    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Hold { half_hour, chain } => {
                let interval = self.interval(*half_hour, chain);
                let expected = self.fits(interval) && self.is_free(interval, None);
                let held = self.shop.holds(&wish(*half_hour, chain));
                prop_assert_eq!(held.is_ok(), expected, "{:?}", held);
                if let Ok(id) = held {
                    let expires_at = self.shop.now.plus_minutes(10);
                    self.holds.push(NaiveHold { id, interval, expires_at });
                    self.made.push(id);
                }
            }
            Step::Release(which) => {
                let Some(id) = self.one_of(*which) else { return Ok(()) };
                let now = self.shop.now;
                let is_live = self.holds.iter().any(|hold| hold.id == id && now < hold.expires_at);
                prop_assert_eq!(self.shop.releases(id), is_live);
                if is_live {
                    self.holds.retain(|hold| hold.id != id);
                }
            }
            Step::Book { half_hour, pro, by } => {
                let interval = self.interval(*half_hour, &[1]);
                let own = by.and_then(|which| self.one_of(which));
                let is_taken = self.appointments.iter().any(|other| other.overlaps(interval))
                    || self.plages.iter().any(|(_, plage)| plage.meets(interval));
                let expected = if *pro { !is_taken } else { self.is_free(interval, own) };
                let mut command =
                    booking_of(&format!("c{}", self.appointments.len()), "2026-03-03 09:00");
                command.date = wish(*half_hour, &[1]).date;
                command.hold = own;
                let command = if *pro { by_pro(command, false) } else { command };
                let booked = self.shop.book(&command);
                prop_assert_eq!(booked.is_ok(), expected, "{:?}", booked);
                if expected {
                    self.appointments.push(interval);
                    self.holds.retain(|hold| !hold.interval.overlaps(interval));
                }
            }
            Step::Plage { which, plage } => {
                let before = match which {
                    Some(which) if !self.plages.is_empty() => Some(which.index(self.plages.len())),
                    _ => None,
                };
                let id = before.map(|at| self.plages[at].0);
                let kind = plage.kind(&self.shop);
                let id = self.shop.puts(id, plage.on, kind, plage.deleted).expect("legal");
                match before {
                    Some(at) => self.plages[at] = (id, *plage),
                    None => self.plages.push((id, *plage)),
                }
                self.holds.retain(|hold| !plage.meets(hold.interval));
            }
            Step::Wait(seconds) => self.shop.now = self.shop.now.plus_seconds(*seconds),
        }
        Ok(())
    }

    /// The search offers what one start permits, to others and to each holder.
    fn agrees(&self) -> Result<(), TestCaseError> {
        let state = &self.shop.group_state;
        let view = state.calendars.get(&calendar(1)).expect("a calendar");
        let mut callers = vec![None];
        callers.extend(self.made.iter().copied().map(Some));
        for chain in [vec![1], vec![3, 2]] {
            let ids: Vec<_> = chain.iter().map(|id| intervention(*id)).collect();
            let legs = state.catalogue.chain(&ids, BookingMode::Module).expect("a chain");
            for hold in &callers {
                let own = OwnTime { hold: *hold, appointment: None };
                let search = ChainSearch { own, ..ChainSearch::new(&legs, BookingMode::Module) };
                let whole =
                    Interval { end: self.interval(6, &[1]).start, ..self.interval(0, &[1]) };
                let mut offered = Vec::new();
                free_starts(&state.catalogue, view, search, whole, self.shop.now, &mut offered);
                let mut expected = Vec::new();
                for half_hour in 0..6 {
                    let interval = self.interval(half_hour, &chain);
                    let is_free = self.fits(interval) && self.is_free(interval, *hold);
                    if is_free {
                        expected.push(interval.start);
                    }
                    let request = SlotRequest {
                        own,
                        ..SlotRequest::new(legs.clone(), interval.start, BookingMode::Module)
                    };
                    let verdict = bookable(&state.catalogue, view, &request, self.shop.now);
                    prop_assert_eq!(verdict.is_ok(), is_free, "{:?}", verdict);
                }
                prop_assert_eq!(&offered, &expected);
            }
        }
        let now = self.shop.now;
        let live = state.holds().iter().filter(|hold| hold.is_live(now)).map(|hold| hold.id());
        let mut expected: Vec<HoldId> =
            self.holds.iter().filter(|hold| now < hold.expires_at).map(|hold| hold.id).collect();
        expected.sort();
        prop_assert_eq!(live.collect::<Vec<_>>(), expected);
        prop_assert_eq!(invariants::find_broken(state), vec![]);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn held_time_is_offered_to_its_holder_alone(steps in proptest::collection::vec(a_step(), 1..25)) {
        let mut shop = Shop::open_on_tuesday();
        shop.group_state = shop.group_state.clone();
        let mut pair = Pair {
            shop, holds: Vec::new(), appointments: Vec::new(), plages: Vec::new(), made: Vec::new(),
        };
        for step in &steps {
            pair.take(step)?;
            pair.agrees()?;
        }
    }
}

#[test]
fn holds_are_removed_by_events_an_hour_after_they_were_made() {
    let mut shop = Shop::open_on_tuesday();
    let first = shop.holds(&wish(0, &[1])).expect("it is free");
    shop.now = shop.now.plus_seconds(HOUR - 1);
    shop.holds(&wish(1, &[1])).expect("it is free");
    assert!(shop.group_state.holds().get(first).is_some());
    shop.now = shop.now.plus_seconds(1);
    shop.book(&booking_of("Ada", "2026-03-03 11:00")).expect("it is free");
    assert!(shop.group_state.holds().get(first).is_none());
    assert_eq!(shop.group_state.holds().iter().len(), 1);
    let view = shop.group_state.calendars.get(&calendar(1)).expect("a calendar");
    assert_eq!(view.held.iter().count(), 1, "its time went with it");
}

#[test]
fn a_confirmed_booking_stays_a_day_for_a_lost_answer() {
    let mut shop =
        Shop::open_on_tuesday().with_group(|group| group.verify_bookings = VerifyBookings::Mail);
    shop.announces = true;
    let made = shop.book_until_code(&booking_of("Ada", "2026-03-03 09:00")).expect("it is free");
    let message = shop.group_state.outbox.open().next().expect("a code is mailed");
    assert!(matches!(message.content, MessageContent::BookingCode { hold, .. } if hold == made));
    assert_eq!(message.recipient.as_str(), "ada@example.org");
    assert_eq!(shop.confirms(made, false), Ok(Vec::new()), "a wrong code");
    let booked = shop.confirms(made, true).expect("the code is right");
    assert_eq!(booked.len(), 1);
    shop.now = shop.now.plus_seconds(23 * HOUR);
    shop.holds(&wish(2, &[1])).expect("it is free");
    assert_eq!(shop.confirms(made, true), Ok(booked));
    shop.now = shop.now.plus_seconds(HOUR);
    let late = wish(4, &[1]);
    drop(shop.holds(&late));
    shop.book(&by_pro(booking_of("Bob", "2026-03-03 11:30"), false)).expect("it is free");
    assert!(shop.group_state.holds().get(made).is_none());
}

#[test]
fn a_move_by_a_professional_ends_the_hold_of_that_time() {
    let mut shop =
        Shop::open_on_tuesday().opened(2, "2026-03-03 09:00", "2026-03-03 12:00", "", Permits::All);
    let id = shop.book(&booking_of("Ada", "2026-03-03 11:00")).expect("it is free")[0];
    let held = shop.holds(&wish(0, &[1])).expect("it is free");
    shop.moves(id, 1, "2026-03-03 09:15").expect("only appointments stand in the way");
    let hold = shop.group_state.holds().get(held).expect("it is kept for an answer");
    assert_eq!(hold.state, HoldState::Overwritten);
    assert_eq!(shop.refusal_of(&booking_of("Bob", "2026-03-03 09:00")), {
        let mut other = shop.clone();
        other.releases(held);
        other.refusal_of(&booking_of("Bob", "2026-03-03 09:00"))
    });
    assert!(matches!(
        shop.holds(&wish(0, &[1])),
        Err(refusals) if matches!(refusals[..], [Refusal::NotAvailable { .. }])
    ));
}

#[test]
fn a_plage_written_over_a_hold_ends_it() {
    let weeks = NaivePlage { days_before: 2, days: 3, ..AT_NINE };
    let deleted = NaivePlage { deleted: true, ..AT_NINE };
    let excepted = NaivePlage { excepted: true, ..weeks };
    let elsewhere = NaivePlage { on: 2, ..AT_NINE };
    let later = NaivePlage { half_hour: 3, ..AT_NINE };
    let past = NaivePlage { days_before: 2, days: 2, ..AT_NINE };
    // The plage when the hold is made, the plage that is written then, whether it ends the hold.
    let cases = [
        ("made", None, AT_NINE, true),
        ("a series made", None, weeks, true),
        ("a part of the time", None, NaivePlage { minutes: 15, ..AT_NINE }, true),
        ("moved onto it", Some(later), AT_NINE, true),
        (
            "lengthened",
            Some(NaivePlage { half_hour: 1, ..AT_NINE }),
            NaivePlage { half_hour: 1, minutes: 45, ..AT_NINE },
            true,
        ),
        ("moved from another calendar", Some(elsewhere), AT_NINE, true),
        ("restored", Some(deleted), AT_NINE, true),
        ("a series restored", Some(NaivePlage { deleted: true, ..weeks }), weeks, true),
        ("its exception taken back", Some(excepted), weeks, true),
        ("more occurrences", Some(past), weeks, true),
        ("touching", None, later, false),
        ("another calendar", None, elsewhere, false),
        ("deleted", None, deleted, false),
        ("an exception on that day", None, excepted, false),
        ("over before that day", None, past, false),
        ("moved away and deleted", Some(later), deleted, false),
    ];
    for (case, before, written, ends) in cases {
        let mut shop = Shop::open_on_tuesday();
        let mut id = None;
        if let Some(before) = before {
            id = Some(shop.puts(None, before.on, before.kind(&shop), before.deleted).expect(case));
        }
        let held = shop.holds(&wish(0, &[1])).expect(case);
        shop.puts(id, written.on, written.kind(&shop), written.deleted).expect(case);
        let expected = if ends { HoldState::Overwritten } else { HoldState::Chosen };
        assert_eq!(shop.group_state.holds().get(held).expect(case).state, expected, "{case}");
        let view = shop.group_state.calendars.get(&calendar(1)).expect("a calendar");
        assert_eq!(view.held.iter().count(), usize::from(!ends), "{case}");
        let mut booking = booking_of("Ada", "2026-03-03 09:00");
        booking.hold = Some(held);
        match shop.book(&booking) {
            Ok(_) => assert!(!ends, "{case}"),
            Err(refusals) => {
                assert!(ends && matches!(refusals[..], [Refusal::NotAvailable { .. }]), "{case}");
            }
        }
    }
}

#[test]
fn an_event_that_takes_no_time_ends_no_hold() {
    let mut shop = Shop::open_on_tuesday();
    let held = shop.holds(&wish(0, &[1])).expect("it is free");
    let series = AT_NINE.series(&shop);
    let note = VeventKind::Note(Box::new(series.clone()));
    let opening =
        VeventKind::Availability(Box::new(Availability { series, permits: Permits::All }));
    for kind in [note, opening] {
        shop.puts(None, 1, kind, false).expect("legal");
        assert!(shop.group_state.holds().get(held).expect("it is there").is_live(shop.now));
    }
}

#[test]
fn a_hold_that_a_plage_has_ended_does_not_come_back_with_its_time() {
    let mut shop =
        Shop::open_on_tuesday().with_group(|group| group.verify_bookings = VerifyBookings::Mail);
    let chosen = shop.holds(&wish(0, &[1])).expect("it is free");
    let waiting = shop.book_until_code(&booking_of("Ada", "2026-03-03 10:00")).expect("free");
    let whole = NaivePlage { minutes: 180, ..AT_NINE };
    let id = shop.puts(None, 1, whole.kind(&shop), false).expect("legal");
    assert!(!shop.releases(chosen), "it has ended");
    assert!(matches!(
        shop.confirms(waiting, true).expect_err("its time is taken")[..],
        [Refusal::NotAvailable { .. }]
    ));
    shop.by_hand(&PutVevent::Delete(id)).expect("legal");
    assert_eq!(offered_to_strangers(&shop), 6);
    shop.confirms(waiting, true).expect_err("the booking has ended");
}

#[test]
fn a_hold_ends_the_one_that_it_takes_over_while_that_keeps_its_time() {
    let mut shop = Shop::open_on_tuesday();
    let held = shop.holds(&wish(0, &[1])).expect("it is free");
    let replaced = |shop: &Shop| {
        let command = HoldTime { hold: Some(held), ..wish(2, &[1]) };
        let command = Command::HoldTime(Box::new(command));
        let mut draws = Draws { token: 99, ..Draws::none(shop.now) };
        match decide_at_once(&shop.group_state, &command, &mut draws, shop.now) {
            Ok((Some(Event::HoldMade { replaced, .. }), _)) => replaced,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(replaced(&shop), Some(held));
    shop.book(&by_pro(booking_of("Ada", "2026-03-03 09:00"), false)).expect("no hold binds it");
    assert_eq!(replaced(&shop), None, "the time is the shop's");
}

#[test]
fn a_plage_leaves_a_hold_that_has_expired() {
    let mut shop = Shop::open_on_tuesday();
    let held = shop.holds(&wish(0, &[1])).expect("it is free");
    shop.now = shop.now.plus_minutes(10);
    shop.puts(None, 1, AT_NINE.kind(&shop), false).expect("legal");
    assert_eq!(shop.group_state.holds().get(held).expect("kept").state, HoldState::Chosen);
}

#[test]
fn a_time_zone_in_which_a_plage_meets_a_hold_ends_it() {
    let mut shop = Shop::open_on_tuesday();
    let early = NaivePlage { half_hour: 0, ..AT_NINE };
    shop.puts(None, 1, early.kind(&shop), false).expect("legal");
    let met = shop.holds(&wish(0, &[1])).expect("it is free");
    let free = shop.holds(&wish(1, &[1])).expect("it is free");
    // Eight in London is nine in Paris.
    let mut fields = Patch::default();
    let london = ZoneName::from_name("London").expect("a zone");
    fields.push(move |group: &mut Group| group.timezone = london);
    shop.changes(&RecordChange::Group(fields)).expect("no appointment moves");
    let state = |id| shop.group_state.holds().get(id).expect("it is kept").state.clone();
    assert_eq!((state(met), state(free)), (HoldState::Overwritten, HoldState::Chosen));
}

/// The hours of a day that strangers could still take, on one calendar.
fn offered_to_strangers(shop: &Shop) -> usize {
    shop.offers(1, &[1], BookingMode::Module, "2026-03-03 00:00", "2026-03-04 00:00").len()
}

#[test]
fn bookings_by_a_key_alone_take_no_more_of_a_day_than_their_share_and_holds_do_not_fill_it() {
    // Open for three hours: two starts of half an hour are a third.
    let mut shop = Shop::open_on_tuesday()
        .with_group(|group| group.unverified_day_percent = Bounded::known(34));
    let unverified = |name: &str, date: &str| {
        let (source, apikey) = ([1; 16], [1; 16]);
        let origin = BookingOrigin { source, apikey, proof: ClientProof::KeyAlone };
        let mut booking = booking_of(name, date);
        booking.booking_origin = Some(Box::new(origin));
        booking
    };
    let held = shop.holds(&wish(0, &[1])).expect("it is free");
    let mut asking = shop.clone().with_group(|group| group.verify_bookings = VerifyBookings::Mail);
    let waiting = asking.book_until_code(&unverified("Ada", "2026-03-03 10:00")).expect("free");
    assert_eq!(offered_to_strangers(&asking), 4, "what is held is taken, and fills no share");
    // The code proves the client: the booking leaves the share to others.
    asking.confirms(waiting, true).expect("the code is right");
    assert_eq!(offered_to_strangers(&asking), 4);
    shop.book(&unverified("Bob", "2026-03-03 10:00")).expect("half of the share is left");
    assert_eq!(offered_to_strangers(&shop), 4);
    shop.book(&unverified("Cid", "2026-03-03 11:00")).expect("the share");
    assert_eq!(offered_to_strangers(&shop), 0);
    let obstacles = vec![Obstacle::UnverifiedShare { percent: 34 }];
    let refused = shop.refusal_of(&unverified("Dan", "2026-03-03 11:30"));
    assert_eq!(refused, Refusal::NotAvailable { obstacles });
    shop.releases(held);
    assert_eq!(offered_to_strangers(&shop), 0);
    let by_account = HoldTime { is_by_key: false, ..wish(0, &[1]) };
    shop.holds(&by_account).expect("an account is not bound");
    shop.book(&by_pro(booking_of("Eve", "2026-03-03 11:30"), true)).expect("nor is the shop");
}

#[test]
fn a_booking_that_waits_for_its_code_gets_its_minutes_once_more() {
    let mut shop =
        Shop::open_on_tuesday().with_group(|group| group.verify_bookings = VerifyBookings::Mail);
    let extend = |shop: &mut Shop, hold| {
        let draws = Draws::none(shop.now);
        shop.does(Command::ExtendHold(hold), draws).map(drop)
    };
    let expires_at = |shop: &Shop, hold: HoldId| {
        let hold = shop.group_state.holds().get(hold).expect("it is there");
        hold.expires_at.seconds_since(shop.now) / MINUTE
    };
    let chosen = shop.holds(&wish(4, &[1])).expect("it is free");
    assert_eq!(extend(&mut shop, chosen), Err(Refusal::NoResult.into()), "it waits for no code");
    let waiting = shop.book_until_code(&booking_of("Ada", "2026-03-03 09:30")).expect("it is free");
    let late = shop.book_until_code(&booking_of("Bob", "2026-03-03 10:30")).expect("it is free");
    let moved = shop.book_until_code(&booking_of("Cid", "2026-03-03 11:30")).expect("it is free");
    assert_eq!(expires_at(&shop, waiting), 15);
    shop.now = shop.now.plus_minutes(10);
    extend(&mut shop, waiting).expect("it waits");
    assert_eq!(expires_at(&shop, waiting), 15);
    assert_eq!(extend(&mut shop, waiting), Err(Refusal::NoResult.into()), "it has got its minutes");
    shop.now = shop.now.plus_minutes(-20);
    extend(&mut shop, moved).expect("it waits");
    assert_eq!(expires_at(&shop, moved), 25, "a clock that was set back takes nothing away");
    shop.now = shop.now.plus_minutes(25);
    assert_eq!(extend(&mut shop, late), Err(Refusal::NoResult.into()), "it has expired");
}

#[test]
fn a_professional_books_over_the_hold_of_a_web_caller() {
    let mut shop = Shop::open_on_tuesday();
    shop.holds(&wish(1, &[1])).expect("it is free");
    let held = || booking_of("Ada", "2026-03-03 09:30");
    let refusal = shop.refusal_of(&held());
    assert!(matches!(refusal, Refusal::NotAvailable { .. }), "{refusal:?}");
    for from_web in [true, false] {
        let mut shop = shop.clone();
        shop.book(&by_pro(held(), from_web)).expect("no hold binds the shop");
    }
}
