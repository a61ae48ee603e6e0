use std::sync::Arc;

use super::*;
use crate::domain::availability::catalogue::Catalogue;
use crate::domain::decisions::decision::Outcome;
use crate::domain::directory::Directory;
use crate::domain::directory::apikeys::{Apikey, ApikeyHolder};
use crate::domain::records::account::Account;
use crate::domain::records::booking_origin::ClientProof;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{FicheId, ProId};
use crate::domain::records::text::Text;
use crate::domain::records::vevent::{Appointment, Vevent, VeventKind};
use crate::domain::time::zone_names::ZoneName;
use crate::http::auth::Person;
use crate::http::limits::client_hash::mailbox;
use crate::wire::appointment::APPOINTMENT;

const NOW: Instant = Instant(1_000);

fn limits(source: [u32; 2], client_hourly_max: u32, key_hourly_max: u32) -> BookingLimits {
    let [source_hourly_max, source_daily_max] = source;
    BookingLimits {
        source_hourly_max,
        source_daily_max,
        client_hourly_max,
        key_hourly_max,
        codes_daily_max: 0,
    }
}

fn subjects(source: Option<&str>, client: u8) -> LimitSubjects {
    LimitSubjects {
        networks: source
            .map(|address| SourceNetworks::around(address.parse().expect("an address"))),
        client: Some([client; 32]),
        origin: None,
        apikey: [1; 32],
        group: GroupId::new(4).expect("an id"),
        is_by_key: true,
        kind: LimitedWrite::Booking,
    }
}

/// The limit that refuses a booking, with its Retry-After.
fn refused(limit: &BookingLimit, subjects: &LimitSubjects, now: Instant) -> Option<&'static str> {
    limit.reserve(subjects, 1, now).err().map(|(name, _)| name)
}

#[test]
fn each_limit_refuses_by_itself() {
    for (limits, name) in [
        (limits([2, 0], 0, 0), "source_hourly"),
        (limits([0, 2], 0, 0), "source_daily"),
        (limits([0, 0], 2, 0), "client_hourly"),
        (limits([0, 0], 0, 2), "key_hourly"),
    ] {
        let limit = BookingLimit::new(limits);
        let subjects = subjects(Some("10.0.0.1"), 1);
        for _ in 0..2 {
            assert_eq!(refused(&limit, &subjects, NOW), None);
        }
        assert_eq!(refused(&limit, &subjects, NOW), Some(name));
        let hour_later = refused(&limit, &subjects, NOW.plus_seconds(HOUR));
        assert_eq!(hour_later.is_some(), name == "source_daily");
        assert_eq!(refused(&limit, &subjects, NOW.plus_seconds(2 * DAY)), None);
    }
}

#[test]
fn networks_have_multiples_and_a_24_is_asked_for_codes() {
    let limit = BookingLimit::new(limits([2, 0], 0, 0));
    let book = |from: String| limit.reserve(&subjects(Some(&from), 1), 1, NOW);
    for (sources, most) in [
        ((0..9).map(|n| format!("2001:db8:1:{n}::1")).collect::<Vec<_>>(), 4),
        ((1..9).map(|n| format!("2001:db8:1:{n}00::1")).collect(), 4),
        ((2..9).map(|n| format!("2001:db8:{n}::1")).collect(), 14),
    ] {
        let twice = sources.iter().chain(&sources);
        let made = twice.filter(|from| book((*from).clone()).is_ok());
        assert_eq!(made.count(), most, "{sources:?}");
    }
    for n in 0..4 {
        let made = [0, 1].map(|_| book(format!("192.0.2.{n}")).expect("a place").asks_code());
        assert_eq!(made, [false, false], "{n}");
    }
    let asked = book("192.0.2.9".to_owned()).expect("no refusal");
    assert!(asked.asks_code() && asked.needs_code());
    assert!(!book("192.0.3.9".to_owned()).expect("another network").asks_code());
}

#[test]
fn a_refused_booking_gives_back_the_places_of_every_limit() {
    let limit = BookingLimit::new(limits([3, 3], 1, 0));
    let busy = subjects(Some("10.0.0.1"), 1);
    limit.reserve(&busy, 1, NOW).expect("free").give_back();
    assert_eq!(refused(&limit, &busy, NOW), None);
    for _ in 0..9 {
        assert_eq!(refused(&limit, &busy, NOW), Some("client_hourly"));
    }
    for client in [2, 3] {
        assert_eq!(refused(&limit, &subjects(Some("10.0.0.1"), client), NOW), None);
    }
    assert_eq!(refused(&limit, &subjects(Some("10.0.0.1"), 4), NOW), Some("source_daily"));
    assert_eq!(refused(&limit, &subjects(None, 4), NOW), None, "a server has no source");
}

#[test]
fn a_chain_takes_one_place_for_each_appointment() {
    let limit = BookingLimit::new(limits([5, 0], 0, 0));
    let subjects = subjects(Some("10.0.0.1"), 1);
    assert!(limit.reserve(&subjects, 3, NOW).is_ok());
    assert!(limit.reserve(&subjects, 3, NOW).is_err());
    assert!(limit.reserve(&subjects, 2, NOW).is_ok());
    let later = NOW.plus_seconds(HOUR);
    assert!(limit.reserve(&subjects, 9, later).is_ok(), "longer than the limit, alone");
    assert!(limit.reserve(&subjects, 1, later).is_err());
}

#[test]
fn holds_count_by_themselves_and_need_a_free_place_for_their_booking() {
    let limit = BookingLimit::new(limits([2, 0], 0, 0));
    let booking = subjects(Some("10.0.0.1"), 1);
    let hold = booking.clone().for_hold();
    for _ in 0..5 {
        assert_eq!(refused(&limit, &hold, NOW), None);
    }
    for _ in 0..2 {
        assert_eq!(refused(&limit, &booking, NOW), None);
    }
    assert_eq!(refused(&limit, &hold, NOW), Some("source_hourly"), "no place for its booking");
    let networks = Some(SourceNetworks::around([10, 0, 0, 2].into()));
    let other = LimitSubjects { networks, ..hold };
    for _ in 0..6 {
        assert_eq!(refused(&limit, &other, NOW), None);
    }
    assert_eq!(refused(&limit, &other, NOW), Some("source_hourly"));
    let booking = LimitSubjects { kind: LimitedWrite::Booking, ..other };
    assert_eq!(refused(&limit, &booking, NOW), None, "holds take no place of bookings");
}

#[test]
fn moves_count_by_themselves_by_source_and_by_appointment() {
    let limit = BookingLimit::new(limits([2, 0], 1, 0));
    let moving =
        |source, number| subjects(Some(source), 1).for_move(VeventId::new(number).expect("an id"));
    for client in [8, 9] {
        assert_eq!(refused(&limit, &subjects(Some("10.0.0.1"), client), NOW), None);
    }
    for _ in 0..3 {
        assert_eq!(refused(&limit, &moving("10.0.0.1", 7), NOW), None, "bookings do not count");
    }
    assert_eq!(refused(&limit, &moving("10.0.0.1", 7), NOW), Some("client_hourly"));
    assert_eq!(refused(&limit, &moving("10.0.0.2", 7), NOW), Some("client_hourly"));
    for _ in 0..3 {
        assert_eq!(refused(&limit, &moving("10.0.0.1", 8), NOW), None);
    }
    assert_eq!(refused(&limit, &moving("10.0.0.1", 6), NOW), Some("source_hourly"));
    let none = BookingLimit::new(BookingLimits::NONE);
    for _ in 0..100 {
        assert_eq!(refused(&none, &moving("10.0.0.1", 7), NOW), None);
    }
}

#[test]
fn spellings_of_one_mailbox_are_one_client() {
    for (one, other, is_same) in [
        ("ann+a@example.org", "ann@example.org", true),
        ("a.n.n+x+y@gmail.com", "ann@googlemail.com", true),
        ("a.nn@example.org", "ann@example.org", false),
        ("+ann@example.org", "@example.org", false),
        ("ann@example.org", "ann@example.com", false),
    ] {
        assert_eq!(mailbox(one) == mailbox(other), is_same, "{one} {other}");
    }
}

const EMAIL: &str = "ann@example.org";

/// A booking for the address with a key alone. The first byte of the origin stands for the widest
/// network, the last one for the source.
fn for_address(network: u8, source: u8) -> LimitSubjects {
    let mut origin = [network; 16];
    origin[15] = source;
    let group = GroupId::new(4).expect("an id");
    let client = address_hash(group, &Email::new(EMAIL).expect("an address"));
    LimitSubjects { client: Some(client), origin: Some(origin), ..subjects(None, 1) }
}

#[test]
fn an_address_is_asked_for_codes_beyond_its_limit_in_a_network_and_twice_that_in_all() {
    let limit = BookingLimit::new(limits([0, 0], 1, 0));
    for (network, source, asks_code) in [(1, 1, false), (1, 2, true), (2, 1, false), (3, 1, true)] {
        let subjects = for_address(network, source);
        let booking = limit.reserve(&subjects, 1, NOW).expect("no refusal");
        assert_eq!(booking.asks_code(), asks_code, "{network} {source}");
        assert!(!booking.needs_code(), "strangers who use up the codes do not keep it out");
        booking.settle(!asks_code);
    }
}

#[test]
fn a_source_sees_the_limit_with_the_fewest_places_and_of_two_alike_the_longer() {
    for (hourly_and_daily, name, seconds) in [
        ([2, 3], "source_hourly", HOUR),
        ([3, 2], "source_daily", DAY),
        ([2, 2], "source_daily", DAY),
    ] {
        let limit = BookingLimit::new(limits(hourly_and_daily, 0, 0));
        let booking = limit.reserve(&subjects(Some("10.0.0.1"), 1), 1, NOW).expect("a place");
        let shown = booking.settle(true);
        assert_eq!(shown, Some(RateLimit { name, remaining: 1, seconds }));
    }
}

#[test]
fn a_write_knows_its_source_unless_it_comes_from_a_server() {
    for (from, source) in
        [("10.0.0.1", "10.0.0.1"), ("2001:db8::7", "2001:db8::"), ("::ffff:10.0.0.1", "10.0.0.1")]
    {
        let known = subjects(Some(from), 1).source();
        assert_eq!(known, Some(source.parse().expect("an address")));
    }
    assert_eq!(subjects(None, 1).source(), None);
}

#[test]
fn a_caller_without_an_account_shows_a_key_alone() {
    let group = GroupId::new(4).expect("an id");
    let account = Account {
        email: Email::new(EMAIL).expect("an address"),
        fiche_id: FicheId::new(1).expect("an id"),
        password_hash: Text::default(),
        former: Vec::new(),
        last_login: None,
    };
    let mut directory = Directory::default();
    let apikey = Apikey {
        label: Text::default(),
        groups: None,
        holder: ApikeyHolder::Public,
        origins: Vec::new(),
        allows_any_origin: false,
        needs_contact: false,
    };
    directory.apikeys.insert([1; 32], apikey);
    let directory = Arc::new(directory);
    let is_by_key = |person| {
        let identity = Identity::new(Arc::clone(&directory), [1; 32], person, true);
        let subjects = LimitSubjects::new(&identity, group, None, [10, 0, 0, 1].into());
        subjects.map(|subjects| subjects.is_by_key())
    };
    assert_eq!(is_by_key(None), Some(true));
    assert_eq!(is_by_key(Some(Person::Account(group, Arc::new(account)))), Some(false));
    assert_eq!(is_by_key(Some(Person::Pro(ProId::new(1).expect("an id")))), None, "is not limited");
    assert!(LimitSubjects::of_page(group, None, [10, 0, 0, 1].into()).is_by_key());
}

/// An appointment of the address, booked as [`for_address`] does in network 1 from source 1.
fn booked() -> Vevent {
    let source = for_address(1, 1).origin.expect("it has one");
    let origin = BookingOrigin { source, apikey: [1; 16], proof: ClientProof::KeyAlone };
    let mut row = Vevent { created_at: NOW, updated_at: NOW, ..APPOINTMENT.blank.clone() };
    appointment_of(&mut row).booking_origin = Some(Box::new(origin));
    row
}

fn appointment_of(row: &mut Vevent) -> &mut Appointment {
    let VeventKind::Appointment(appointment) = &mut row.kind else { panic!("is an appointment") };
    appointment
}

/// The same appointment, cancelled some seconds later.
fn cancelled_after(seconds: i64) -> Vevent {
    Vevent { deleted: true, updated_at: NOW.plus_seconds(seconds), ..booked() }
}

/// A group with an appointment and its client, who has the address.
fn group_with(row: Vevent) -> Arc<GroupState> {
    let zone = ZoneName::from_name("Paris").expect("a zone");
    let group = Group::new(GroupId::new(4).expect("an id"), zone, NOW);
    let mut state = GroupState::new(Catalogue::new(group));
    let mut client = Fiche::new(FicheId::new(1).expect("an id"), NOW);
    client.email = Some(Email::new(EMAIL).expect("an address"));
    state.put_fiche(Arc::new(client));
    state.rows.insert(Arc::new(row));
    Arc::new(state)
}

/// Books for the address until a limit is reached. Returns the number of bookings.
fn fill(limit: &BookingLimit) -> usize {
    let is_within = |places: BookingReservation<'_>| !places.asks_code();
    (0..9).take_while(|_| limit.reserve(&for_address(1, 1), 1, NOW).is_ok_and(is_within)).count()
}

#[test]
fn a_booking_with_a_key_alone_that_is_cancelled_within_the_hour_counts_no_more_for_its_address() {
    let by_account = |mut row: Vevent| {
        let origin = appointment_of(&mut row).booking_origin.as_mut();
        origin.expect("it has one").proof = ClientProof::Account;
        row
    };
    for (why, before, after, forgotten) in [
        ("cancelled within the hour", booked(), cancelled_after(HOUR - 1), 1),
        ("cancelled later", booked(), cancelled_after(HOUR), 0),
        ("moved", booked(), Vevent { deleted: false, ..cancelled_after(60) }, 0),
        ("cancelled before", cancelled_after(30), cancelled_after(60), 0),
        ("of an account", by_account(booked()), by_account(cancelled_after(60)), 0),
    ] {
        let limit = BookingLimit::new(limits([0, 0], 2, 0));
        assert_eq!(fill(&limit), 2);
        let id = before.id;
        limit.forget_if_cancelled(&group_with(before), &group_with(after), id);
        assert_eq!(fill(&limit), forgotten, "{why}");
    }
}

#[test]
fn a_cancellation_gives_one_place_back_by_itself_or_in_a_batch() {
    let before = group_with(booked());
    let after = group_with(cancelled_after(60));
    let id = booked().id;
    let done = |outcome| Committed {
        group_state: Arc::clone(&after),
        ..Committed::unchanged(&before, outcome)
    };
    let batch = Committed {
        steps: vec![Ok(done(Outcome::appointments(vec![id])))],
        ..done(Outcome::default())
    };
    for (what, done, forgotten) in [
        ("an event of any kind by its id", done(Outcome::object(id.number())), 1),
        ("an appointment", done(Outcome::appointments(vec![id])), 1),
        ("a batch", batch, 1),
        ("a command about nothing", done(Outcome::default()), 0),
    ] {
        let limit = BookingLimit::new(limits([0, 0], 2, 0));
        assert_eq!(fill(&limit), 2);
        limit.forget_cancelled(&done);
        assert_eq!(fill(&limit), forgotten, "{what}");
    }
}
