//! The checker on histories written by hand: those that no order explains are refused.

use std::collections::{BTreeMap, BTreeSet};

use super::call::{Answer, Call, Caller, HalfHour, Request, Row, Shown, Slots, Span};
use super::checker::{STEPS_MAX, Verdict, check};
use super::specification::{MINTIME_BETWEEN, NOT_AVAILABLE, SAME_TIME_RDV, Shop};
use super::verdicts::{check_group, resolve, scopes};

/// Opening hours of the histories: the half hours from 18 to 22.
const OPEN: (HalfHour, HalfHour) = (18, 22);

/// A history that is written down. Times are those of the test.
#[derive(Default)]
struct Hand {
    calls: Vec<Call>,
}

impl Hand {
    /// Adds a call; returns its number.
    fn call(&mut self, times: (u64, u64), request: Request, answer: Answer) -> usize {
        let number = self.calls.len();
        let (began, ended) = times;
        let (thread, group, sent, repeats) = (number as u64, 1, 1, None);
        let call = Call { number, thread, group, request, answer, began, ended, sent, repeats };
        self.calls.push(call);
        number
    }

    /// Adds a booking of half an hour on calendar 1 for a client of its own.
    fn books(&mut self, times: (u64, u64), start: HalfHour, answer: Answer) -> usize {
        let client = self.calls.len() as u64;
        self.call(times, booking(client, 1, start), answer)
    }

    /// Adds a search that shows these starts of calendar 1 as taken, and all others as free.
    fn sees(&mut self, times: (u64, u64), taken: &[HalfHour]) -> usize {
        self.sees_on(times, 1, taken)
    }

    fn sees_on(&mut self, times: (u64, u64), calendar: u64, taken: &[HalfHour]) -> usize {
        let mut slots = Slots::new();
        for start in (OPEN.0..OPEN.1).filter(|start| !taken.contains(start)) {
            slots.insert(start, BTreeSet::from([calendar]));
        }
        let search =
            Request::Search { calendar: Some(calendar), open: OPEN, length: 1, hold: None };
        self.call(times, search, Answer::Free(slots))
    }

    /// Adds a list that shows these rows.
    fn lists(&mut self, times: (u64, u64), rows: &[(u64, Row)]) -> usize {
        self.call(times, Request::List, Answer::Rows(BTreeMap::from_iter(rows.iter().copied())))
    }

    /// Checks the whole history.
    fn check(&self) -> Result<(), String> {
        let mut calls = self.calls.clone();
        resolve(&mut calls)?;
        check_group(&calls, &shop()).map(drop)
    }

    /// Fails unless the history is refused, with this text in the report.
    fn is_refused(&self, part: &str) {
        let refusal = self.check().expect_err("no order explains it");
        assert!(refusal.contains(part), "{refusal}");
    }

    fn is_explained(&self) {
        if let Err(refusal) = self.check() {
            panic!("{refusal}");
        }
    }
}

fn shop() -> Shop {
    Shop { calendars: BTreeSet::from([1, 2]), appointments_max: 2, gap_min: 1 }
}

fn booking(client: u64, calendar: u64, start: HalfHour) -> Request {
    let (caller, calendar) = (Caller::Public, Some(calendar));
    Request::Book { caller, client, calendar, start, length: 1, hold: None }
}

fn booked(id: u64) -> Answer {
    Answer::Booked { id, calendar: 1 }
}

fn refused(code: u64) -> Answer {
    Answer::Refused(BTreeSet::from([code]))
}

fn cancel(id: u64) -> Request {
    Request::Cancel { id, caller: Caller::Public }
}

fn shown(start: HalfHour, is_live: bool) -> Shown {
    Shown { span: Span { calendar: 1, start, length: 1 }, is_live }
}

fn row(start: HalfHour, is_live: bool, booked_by: usize) -> Row {
    Row { shown: shown(start, is_live), booked_by }
}

#[test]
fn a_search_that_shows_booked_time_as_free_is_refused() {
    let mut stale = Hand::default();
    stale.books((1, 2), 18, booked(100));
    stale.sees((3, 4), &[]);
    stale.is_refused("calendar 1");
    let mut meanwhile = Hand::default();
    meanwhile.books((1, 4), 18, booked(100));
    meanwhile.sees((2, 3), &[]);
    meanwhile.sees((5, 6), &[18]);
    meanwhile.is_explained();
}

#[test]
fn searches_that_see_a_booking_come_and_go_are_refused() {
    let mut hand = Hand::default();
    hand.books((1, 10), 18, booked(100));
    hand.sees((2, 3), &[18]);
    hand.sees((4, 5), &[]);
    hand.is_refused("calendar 1");
}

#[test]
fn a_booking_that_was_answered_and_is_lost_is_refused() {
    let mut hand = Hand::default();
    hand.books((1, 2), 18, booked(100));
    hand.lists((3, 4), &[]);
    hand.is_refused("calendar 1");
}

#[test]
fn two_bookings_of_one_time_are_refused() {
    let mut hand = Hand::default();
    hand.books((1, 3), 18, booked(100));
    hand.books((2, 4), 18, booked(101));
    hand.is_refused("calendar 1");
    // One of them was cancelled in between.
    hand.calls.clear();
    hand.books((1, 3), 18, booked(100));
    hand.call((4, 7), cancel(100), Answer::Done);
    hand.books((5, 6), 18, booked(101));
    hand.is_explained();
}

#[test]
fn a_refusal_without_a_reason_is_refused() {
    let mut hand = Hand::default();
    hand.books((1, 2), 18, refused(NOT_AVAILABLE));
    hand.is_refused("calendar 1");
    // The lost booking that would be the reason was not carried out, as the list shows.
    hand.calls.clear();
    hand.books((1, 4), 18, Answer::Lost);
    hand.books((2, 3), 18, refused(NOT_AVAILABLE));
    hand.is_explained();
    hand.lists((5, 6), &[]);
    hand.is_refused("calendar 1");
    // The list shows it: it is the reason.
    hand.calls.pop();
    hand.lists((5, 6), &[(100, row(18, true, 0))]);
    hand.is_explained();
}

#[test]
fn a_cancellation_that_is_undone_is_refused() {
    let mut hand = Hand::default();
    hand.books((1, 2), 18, booked(100));
    hand.call((3, 4), cancel(100), Answer::Done);
    hand.call((5, 6), Request::Read { id: 100 }, Answer::Seen(shown(18, false)));
    hand.is_explained();
    hand.lists((7, 8), &[(100, row(18, true, 0))]);
    hand.is_refused("calendar 1");
}

#[test]
fn a_lost_cancellation_is_carried_out_before_the_end_of_its_process_or_never() {
    let mut hand = Hand::default();
    hand.books((1, 2), 18, booked(100));
    hand.call((3, 8), cancel(100), Answer::Lost);
    hand.sees((4, 5), &[18]);
    hand.sees((6, 7), &[]);
    hand.sees((9, 10), &[]);
    hand.is_explained();
    hand.calls.pop();
    hand.calls.pop();
    hand.sees((9, 10), &[18]);
    hand.is_explained();
    hand.sees((11, 12), &[]);
    hand.is_refused("calendar 1");
}

#[test]
fn two_appointments_of_one_request_are_refused() {
    let mut hand = Hand::default();
    hand.books((1, 2), 18, booked(100));
    hand.lists((3, 4), &[(100, row(18, true, 0)), (101, row(20, true, 0))]);
    hand.is_refused("two appointments of one request");
}

#[test]
fn a_repetition_is_not_refused_after_a_list_has_shown_its_booking() {
    let mut hand = Hand::default();
    hand.books((1, 3), 18, Answer::Lost);
    hand.books((4, 5), 18, refused(SAME_TIME_RDV));
    hand.calls[1].request = hand.calls[0].request.clone();
    hand.calls[1].repeats = Some(0);
    let rows = [(100, row(18, true, 0))];
    hand.lists((6, 7), &rows);
    hand.is_explained();
    hand.calls[2].began = 2;
    hand.calls[2].ended = 3;
    hand.is_refused("a repetition was refused");
}

#[test]
fn an_appointment_that_no_request_made_is_refused() {
    let mut hand = Hand::default();
    hand.books((1, 2), 18, booked(100));
    hand.lists((3, 4), &[(100, row(18, true, 0)), (101, row(20, true, 7))]);
    hand.is_refused("the whole group");
}

#[test]
fn the_rules_of_a_client_hold_over_all_calendars() {
    let on_two = Answer::Booked { id: 101, calendar: 2 };
    // Starts of two bookings of one client, and the refusal that the second one must have got.
    for (first, second, code) in
        [(18, 18, Some(SAME_TIME_RDV)), (18, 19, Some(MINTIME_BETWEEN)), (18, 20, None)]
    {
        let mut hand = Hand::default();
        hand.call((1, 2), booking(7, 1, first), booked(100));
        hand.call((3, 4), booking(7, 2, second), on_two.clone());
        match code {
            Some(code) => {
                hand.is_refused("client 7");
                hand.calls[1].answer = refused(code);
                hand.is_explained();
            }
            None => hand.is_explained(),
        }
        // The calendar is free: this is no reason.
        hand.calls[1].answer = refused(NOT_AVAILABLE);
        assert!(hand.check().is_err());
    }
}

#[test]
fn searches_that_disagree_about_the_order_on_two_calendars_are_refused_by_the_whole_group() {
    let mut hand = Hand::default();
    hand.call((1, 20), booking(1, 1, 18), booked(100));
    hand.call((1, 20), booking(2, 2, 18), Answer::Booked { id: 101, calendar: 2 });
    // One client sees the first booking and then not the second, another the other way round.
    hand.sees_on((3, 4), 1, &[18]);
    hand.sees_on((5, 6), 2, &[]);
    hand.is_explained();
    let mut slots = Slots::new();
    for start in OPEN.0..OPEN.1 {
        let calendars: &[u64] = if start == 18 { &[1] } else { &[1, 2] };
        slots.insert(start, BTreeSet::from_iter(calendars.iter().copied()));
    }
    let both = Request::Search { calendar: None, open: OPEN, length: 1, hold: None };
    hand.call((2, 9), both, Answer::Free(slots));
    hand.is_refused("the whole group");
}

#[test]
fn a_hold_keeps_others_out_until_it_ends() {
    let span = Span { calendar: 1, start: 18, length: 1 };
    let mut hand = Hand::default();
    let hold = hand.call((1, 2), Request::Hold(span), Answer::Done);
    hand.sees((3, 4), &[18]);
    hand.books((5, 6), 18, refused(NOT_AVAILABLE));
    let (caller, calendar) = (Caller::Public, Some(1));
    let by_hold =
        Request::Book { caller, client: 9, calendar, start: 18, length: 1, hold: Some(hold) };
    hand.call((7, 8), by_hold, booked(100));
    hand.call((9, 10), Request::Release { hold, calendar: 1 }, Answer::Gone);
    hand.is_explained();
    hand.calls[4].answer = Answer::Done;
    hand.is_refused("calendar 1");
    hand.calls.truncate(2);
    hand.books((5, 6), 18, booked(100));
    hand.is_refused("calendar 1");
    // A professional does not notice the hold, and ends it.
    hand.calls.pop();
    let back_office = Request::Book {
        caller: Caller::BackOffice,
        client: 9,
        calendar,
        start: 18,
        length: 1,
        hold: None,
    };
    hand.call((5, 6), back_office, booked(100));
    hand.call((7, 8), cancel(100), Answer::Done);
    hand.sees((9, 10), &[]);
    hand.is_explained();
}

#[test]
fn a_move_across_calendars_is_seen_on_both() {
    let mut hand = Hand::default();
    hand.books((1, 2), 18, booked(100));
    hand.call((3, 4), Request::Shift { id: 100, calendar: 2, start: 19 }, Answer::Done);
    hand.sees_on((5, 6), 1, &[]);
    hand.sees_on((7, 8), 2, &[19]);
    hand.is_explained();
    hand.sees_on((9, 10), 1, &[18]);
    hand.is_refused("calendar 1");
}

#[test]
fn a_check_beyond_its_bound_is_undecided() {
    let mut hand = Hand::default();
    for number in 0..4 {
        hand.books((1, 20), 18 + number, booked(100 + number));
    }
    let shop = shop();
    let whole = scopes(&hand.calls, &shop).pop().expect("the whole group");
    assert_eq!(check(&hand.calls, &shop, &whole, 3), Verdict::Undecided);
    assert!(matches!(check(&hand.calls, &shop, &whole, STEPS_MAX), Verdict::Linearizable(5)));
}

#[test]
fn a_report_ends_with_the_first_answer_that_fits_no_order() {
    let mut hand = Hand::default();
    hand.books((1, 2), 18, booked(100));
    hand.sees((3, 4), &[]);
    hand.sees((5, 6), &[19]);
    let refusal = hand.check().expect_err("no order explains it");
    let last = refusal.lines().last().expect("a line");
    assert!(last.starts_with("> [    3     4] #1"), "{refusal}");
    assert!(!refusal.contains("#2"), "{refusal}");
}
