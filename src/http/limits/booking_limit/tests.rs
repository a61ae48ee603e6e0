use super::*;
use crate::http::limits::client_hash::mailbox;

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
    assert!(book("192.0.2.9".to_owned()).expect("no refusal").asks_code());
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
