//! Held time against a naive list: free for its holder, taken for every other web caller, and gone when it has expired.

use proptest::prelude::*;
use slotbook::domain::booking::bookable::bookable;
use slotbook::domain::booking::slot_request::{BookingMode, ChainSearch, OwnTime, SlotRequest};
use slotbook::domain::booking::slots::free_starts;
use slotbook::domain::messaging::message::MessageContent;
use slotbook::domain::records::group::VerifyBookings;
use slotbook::domain::records::hold::{HoldId, HoldState};
use slotbook::domain::records::text::Bounded;
use slotbook::domain::records::vevent::Permits;
use slotbook::domain::state::command::HoldTime;
use slotbook::domain::state::invariants;
use slotbook::domain::state::refusal::Refusal;
use slotbook::domain::time::interval_set::Interval;
use slotbook::domain::time::{HOUR, Instant, MINUTE};

use super::shop::{Shop, booking_of, by_pro, calendar, civil, intervention};

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

#[derive(Clone, Debug)]
enum Step {
    Hold { half_hour: i64, chain: Vec<u64> },
    Release(prop::sample::Index),
    Book { half_hour: i64, pro: bool, by: Option<prop::sample::Index> },
    Wait(i64),
}

fn a_step() -> impl Strategy<Value = Step> {
    let chain = prop_oneof![Just(vec![1]), Just(vec![2]), Just(vec![1, 3]), Just(vec![3, 2])];
    prop_oneof![
        4 => (0..6_i64, chain).prop_map(|(half_hour, chain)| Step::Hold { half_hour, chain }),
        1 => any::<prop::sample::Index>().prop_map(Step::Release),
        2 => (0..6_i64, any::<bool>(), any::<Option<prop::sample::Index>>())
            .prop_map(|(half_hour, pro, by)| Step::Book { half_hour, pro, by }),
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
    made: Vec<HoldId>,
}

impl Pair {
    fn is_free(&self, interval: Interval, own: Option<HoldId>) -> bool {
        let now = self.shop.now;
        let is_held = self.holds.iter().any(|hold| {
            hold.interval.overlaps(interval) && now < hold.expires_at && own != Some(hold.id)
        });
        !is_held && !self.appointments.iter().any(|other| other.overlaps(interval))
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
                let is_taken = self.appointments.iter().any(|other| other.overlaps(interval));
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
        let mut pair = Pair { shop, holds: Vec::new(), appointments: Vec::new(), made: Vec::new() };
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

/// The hours of a day that strangers could still take, on one calendar.
fn offered_to_strangers(shop: &Shop) -> usize {
    shop.offers(1, &[1], BookingMode::Module, "2026-03-03 00:00", "2026-03-04 00:00").len()
}

#[test]
fn holds_and_bookings_by_a_key_alone_take_no_more_of_a_day_than_their_share() {
    // Open for three hours: two starts of half an hour are a third.
    let mut shop = Shop::open_on_tuesday().with_group(|group| {
        group.unverified_day_percent = Bounded::known(34);
        group.verify_bookings = VerifyBookings::Mail;
    });
    let held = shop.holds(&wish(0, &[1])).expect("it is free");
    let waiting = shop.book_until_code(&booking_of("Ada", "2026-03-03 10:00")).expect("free");
    let refused = shop.book_until_code(&booking_of("Bob", "2026-03-03 11:00"));
    assert!(refused.is_err() && shop.holds(&wish(4, &[1])).is_err());
    assert_eq!(offered_to_strangers(&shop), 0);
    let by_account = HoldTime { is_by_key: false, ..wish(4, &[1]) };
    shop.holds(&by_account).expect("an account is not bound");
    shop.book(&by_pro(booking_of("Cid", "2026-03-03 11:30"), true)).expect("nor is the shop");
    assert_eq!(offered_to_strangers(&shop), 0);
    // The code proves the client: the booking leaves the share to others.
    shop.confirms(waiting, true).expect("the code is right");
    assert_eq!(offered_to_strangers(&shop), 2, "at 09:30 and 10:30");
    shop.releases(held);
    assert_eq!(offered_to_strangers(&shop), 3);
}
