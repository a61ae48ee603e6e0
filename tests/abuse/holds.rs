//! Strangers who hold time that they never book: most of the agenda stays free for others.

use std::collections::{BTreeMap, VecDeque};

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use slotbook::domain::records::hold::HoldToken;
use slotbook::http::BookingLimits;
use slotbook::wire::datetime;

use crate::fixture::{ANNA, Answer, Practice, Visitor, answer};
use crate::mailbox::{Mailbox, mailing_practice};

/// The client of the demonstration who has an account.
const LOUISE: (&str, &str) = ("louise.thomas@example.org", "demo-password");
pub(crate) const HOLDS: &str = "/groups/1/holds";
/// Seconds after which a hold has ended.
const ENDED_SECONDS: i64 = 600;

pub(crate) fn holding(
    visitor: &Visitor,
    (date, calendar): &(String, u64),
    hold: Option<&str>,
) -> RequestBuilder {
    visitor.request(Method::POST, HOLDS).json(&json!({"hold": {
        "date": date, "intervention_ids": [1], "calendar_id": calendar, "hold": hold,
    }}))
}

pub(crate) async fn hold(visitor: &Visitor, start: &(String, u64)) -> Answer {
    answer(holding(visitor, start, None)).await
}

pub(crate) fn token(made: &Value) -> String {
    made["token"].as_str().expect("a token").to_owned()
}

/// The live holds of the group.
fn live_holds(practice: &Practice) -> usize {
    let (state, now) = (practice.state(), practice.engine.clock().now());
    state.holds().iter().filter(|hold| hold.is_live(now)).count()
}

/// The demonstration, where strangers may take this percentage of a day.
async fn with_share(percent: i64) -> Practice {
    Practice::with(
        |document| document["groups"][0]["unverified_day_percent"] = json!(percent),
        |server| server,
    )
    .await
}

/// Free starts of one calendar on one day, the day with most of them, each 20 minutes or more after
/// the one before.
pub(crate) async fn starts_of_a_day(practice: &Practice) -> Vec<(String, u64)> {
    let mut days: BTreeMap<(String, u64), Vec<(String, u64)>> = BTreeMap::new();
    for start in practice.free_starts().await {
        let day = days.entry((start.0[..10].to_owned(), start.1)).or_default();
        let minute = |start: &str| {
            start[11..13].parse::<i64>().expect("an hour") * 60
                + start[14..16].parse::<i64>().expect("a minute")
        };
        if day.last().is_none_or(|last| minute(&start.0) - minute(&last.0) >= 20) {
            day.push(start);
        }
    }
    days.into_values().max_by_key(Vec::len).expect("a free day")
}

/// The free starts of seven days.
async fn starts_of_the_week(practice: &Practice) -> VecDeque<(String, u64)> {
    let mut starts = practice.free_starts().await;
    let first = starts[0].0.clone();
    let monday = datetime::parse(&first).expect("a time").day();
    starts.retain(|(start, _)| {
        datetime::parse(start).expect("a time") < monday.plus_days(7).midnight()
    });
    starts
}

/// The first free start of each day.
async fn one_start_of_each_day(practice: &Practice) -> Vec<(String, u64)> {
    let mut starts: Vec<_> = practice.free_starts().await.into();
    starts.dedup_by(|one, other| one.0[..10] == other.0[..10]);
    starts
}

#[tokio::test]
async fn one_source_holds_three_times_however_it_renews_its_holds() {
    let practice = Practice::open().await;
    let free = practice.hourly_starts().await;
    let stranger = practice.visitor("127.0.0.2");
    let mut tokens = VecDeque::new();
    for start in free.range(..3) {
        tokens.push_back(token(&hold(&stranger, start).await.is(201)));
    }
    hold(&stranger, &free[3]).await.refused(429, 4);
    // Each renewal counts: all in all thirty in an hour.
    for number in 3..40 {
        let renewed = tokens.pop_front().expect("three are held");
        let place = number % 3;
        let made = answer(holding(&stranger, &free[place], Some(&renewed))).await;
        if number < 30 {
            tokens.push_back(token(&made.is(201)));
        } else {
            made.refused(429, 4);
            assert!(made.headers.contains_key("retry-after"));
            tokens.push_back(renewed);
        }
        assert_eq!(live_holds(&practice), 3);
    }
    practice.visitor("127.0.0.3").book(&free[3], "other@example.org").await.is(201);
    practice.pass(ENDED_SECONDS);
    assert_eq!(live_holds(&practice), 0);
    practice.visitor("127.0.0.3").book(&free[0], "again@example.org").await.is(201);
}

#[tokio::test]
async fn a_source_without_places_for_bookings_holds_nothing() {
    let practice = Practice::open().await;
    let mut free = practice.hourly_starts().await;
    let stranger = practice.visitor("127.0.0.2");
    for number in 0..10 {
        let start = free.pop_front().expect("a start");
        stranger.book(&start, &format!("c{number}@example.org")).await.is(201);
    }
    hold(&stranger, &free[0]).await.refused(429, 4);
    assert_eq!(live_holds(&practice), 0);
}

#[tokio::test]
async fn a_home_line_of_many_addresses_leaves_the_week_to_others() {
    let practice = Practice::open().await;
    let free = starts_of_the_week(&practice).await;
    // 43 networks of /64, all of one /56, each as many holds as it gets.
    for number in 0..43 {
        let stranger = practice.forwarded(&format!("2001:db8:0:{number:x}::1"));
        for start in starts_of_the_week(&practice).await {
            if hold(&stranger, &start).await.status == 429 {
                break;
            }
        }
    }
    assert_eq!(live_holds(&practice), 6, "twice those of one source");
    let still_free = starts_of_the_week(&practice).await.len();
    assert!(still_free * 5 >= free.len() * 4, "{still_free} of {}", free.len());
    let newcomer = practice.forwarded("2001:db8:9::1");
    let last = free.back().expect("a start");
    hold(&newcomer, last).await.is(201);
    let other = starts_of_the_week(&practice).await.pop_front().expect("a start");
    newcomer.book(&other, "new@example.org").await.is(201);
}

#[tokio::test]
async fn networks_of_sources_hold_twice_and_four_times_as_much_as_one() {
    for (sources, most) in [
        (["2001:db8::", "2001:db8:0:1::", "2001:db8:0:2::", "2001:db8:0:3::", "2001:db8:0:4::"], 6),
        (
            [
                "2001:db8::",
                "2001:db8:0:100::",
                "2001:db8:0:200::",
                "2001:db8:0:300::",
                "2001:db8:0:400::",
            ],
            12,
        ),
        (["203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4", "203.0.113.5"], 12),
        (["2001:db8::", "2001:db8:1::", "2001:db8:2::", "192.0.2.1", "203.0.113.5"], 15),
    ] {
        let practice = Practice::open().await;
        let mut free = one_start_of_each_day(&practice).await.into_iter();
        let mut refused = None;
        for source in sources {
            let stranger = practice.forwarded(source);
            for _ in 0..3 {
                let made = hold(&stranger, &free.next().expect("a day")).await;
                if made.status != 201 {
                    made.refused(429, 4);
                    refused = Some(made);
                }
            }
        }
        assert_eq!(live_holds(&practice), most, "{sources:?}");
        let Some(refused) = refused else { continue };
        assert!(
            refused.text.contains("from this network") && refused.text.contains("needs no hold")
        );
        assert_eq!(refused.headers["retry-after"], "600");
        let stranger = practice.forwarded(sources[4]);
        stranger.book(&free.next().expect("a day"), "late@example.org").await.is(201);
    }
}

#[tokio::test]
async fn beyond_its_first_hold_a_source_holds_three_hours() {
    let practice = Practice::open().await;
    let stranger = practice.visitor("127.0.0.2");
    let hold = async |date: &str, interventions: &[u64]| {
        let body = json!({"hold": {
            "date": date, "intervention_ids": interventions, "calendar_id": 3,
        }});
        answer(stranger.request(Method::POST, HOLDS).json(&body)).await
    };
    let path = "/groups/1/availabletimeslots?intervention_ids[]=7&intervention_ids[]=7&calendar_id=3&nDays=30";
    let found = stranger.get(path).await.is(200);
    let mut days: BTreeMap<&str, &str> = BTreeMap::new();
    for slot in found["availabletimeslots"].as_array().expect("a list") {
        let start = slot["start"].as_str().expect("a time");
        days.entry(&start[..10]).or_insert(start);
    }
    let days: Vec<&str> = days.into_values().collect();
    hold(days[0], &[7, 7]).await.is(201);
    let refused = hold(days[1], &[7, 7]).await;
    refused.refused(429, 4);
    assert!(refused.text.contains("3 hours together"), "{}", refused.text);
    hold(days[1], &[7]).await.is(201);
    hold(days[2], &[6]).await.refused(429, 4);
}

#[tokio::test]
async fn many_networks_hold_a_fifth_of_a_day_and_bookings_need_no_hold() {
    let practice = with_share(40).await;
    let starts = starts_of_a_day(&practice).await;
    let (mut held, mut refused) = (0, Vec::new());
    for (number, start) in starts.iter().enumerate() {
        let made = hold(&practice.forwarded(&format!("2001:db8:{number:x}::1")), start).await;
        if made.status == 201 {
            held += 1;
        } else {
            made.refused(429, 4);
            assert!(made.text.contains("too much time of this day"), "{}", made.text);
            assert_eq!(made.headers["retry-after"], "600");
            refused.push(start);
        }
    }
    assert!(held > 1 && held * 3 < refused.len() * 2, "{held} of {}", starts.len());
    // Holds do not fill the share of bookings: 40 % of the day are left for them.
    let mut booked = 0;
    for (number, start) in refused.iter().enumerate() {
        let stranger = practice.forwarded(&format!("198.51.{number}.1"));
        let made = stranger.book(start, &format!("c{number}@example.org")).await;
        if made.status == 201 {
            booked += 1;
        } else {
            made.refused(400, 14);
            assert!(made.text.contains("without a login"), "{}", made.text);
        }
    }
    assert!(booked > held && booked < refused.len(), "{booked} booked, {held} held");
    // An account and the shop are not bound.
    let stranger = practice.visitor("127.0.0.2");
    let last = refused[refused.len() - 1];
    let body = json!({"hold": {
        "date": last.0, "intervention_ids": [1], "calendar_id": last.1,
    }});
    let by_account = stranger.request(Method::POST, HOLDS).basic_auth(LOUISE.0, Some(LOUISE.1));
    answer(by_account.json(&body)).await.is(201);
    let by_anna = stranger.booking(last, "guest@example.org");
    answer(by_anna.basic_auth(ANNA.0, Some(ANNA.1))).await.is(201);
}

#[tokio::test]
async fn the_network_with_the_most_gives_its_newest_hold_up_for_a_newcomer() {
    let practice = Practice::open().await;
    let starts = starts_of_a_day(&practice).await;
    let mut starts = starts.iter();
    let mut next = || starts.next().expect("a start of the day");
    let honest = practice.forwarded("203.0.113.9");
    let first = token(&hold(&honest, next()).await.is(201));
    let mut tokens = Vec::new();
    for number in 0.. {
        let stranger = practice.forwarded(&format!("2001:db8:0:{:x}00::1", number / 2));
        let start = next();
        let made = hold(&stranger, start).await;
        if made.status != 201 {
            made.refused(429, 4);
            break;
        }
        tokens.push((token(&made.json()), start));
    }
    assert!(tokens.len() > 1, "the network has filled the day");
    let before = live_holds(&practice);
    let newcomer = practice.forwarded("192.0.2.1");
    hold(&newcomer, next()).await.is(201);
    assert_eq!(live_holds(&practice), before, "one ended, one is new");
    let release = |token: &str| {
        let request = honest.request(Method::DELETE, &format!("{HOLDS}?token={token}"));
        answer(request)
    };
    let state = practice.state();
    let has_ended = |(token, _): &(String, _)| {
        let id = HoldToken::new(token).expect("a token").id();
        state.holds().get(id).is_none()
    };
    let place = tokens.iter().position(has_ended).expect("one of the network has ended");
    let (pushed_out, start) = tokens.swap_remove(place);
    release(&pushed_out).await.refused(404, 3);
    // The booking goes on without it.
    let mut body = json!({"appointment": {
        "date": start.0, "intervention_ids": [1], "calendar_id": start.1, "hold": pushed_out,
        "fiche": {"lastname": "Durand", "firstname": "Ada", "firstphone": "0639980001",
            "email": "ada@example.org"},
    }});
    let booking =
        |body: &Value| answer(newcomer.request(Method::POST, "/groups/1/appointments").json(body));
    booking(&body).await.is(201);
    body["appointment"]["hold"] = json!("A".repeat(32));
    body["appointment"]["fiche"]["email"] = json!("late@example.org");
    booking(&body).await.refused(400, 14);
    // The only hold of a network stays, however many newcomers there are.
    for number in 0..20 {
        let made = hold(&practice.forwarded(&format!("198.51.{number}.1")), next()).await;
        if made.status != 201 {
            made.refused(429, 4);
            break;
        }
    }
    release(&first).await.is(200);
}

#[tokio::test]
async fn bookings_of_many_sources_take_no_more_of_a_day_than_the_share_of_strangers() {
    let practice = with_share(25).await;
    let starts = starts_of_a_day(&practice).await;
    let (mut booked, mut refused) = (0, 0);
    for (number, start) in starts.iter().enumerate() {
        let stranger = practice.forwarded(&format!("203.0.113.{number}"));
        let made = stranger.book(start, &format!("c{number}@example.org")).await;
        if made.status == 201 {
            booked += 1;
        } else {
            made.refused(400, 14);
            refused += 1;
        }
    }
    assert!(booked > 0 && booked < refused, "{booked} of {}", starts.len());
}

#[tokio::test]
async fn a_hold_is_made_once_for_an_idempotency_key_and_counts_for_each_key() {
    let practice = Practice::open().await;
    let free = practice.hourly_starts().await;
    let stranger = practice.visitor("127.0.0.2");
    let keyed = |start, key: &str| holding(&stranger, start, None).header("idempotency-key", key);
    let first = answer(keyed(&free[0], "the-first-key-of-all")).await.is(201);
    for _ in 0..40 {
        assert_eq!(answer(keyed(&free[0], "the-first-key-of-all")).await.is(201), first);
    }
    assert_eq!(live_holds(&practice), 1);
    for (number, start) in free.iter().enumerate().take(5).skip(1) {
        let made = answer(keyed(start, &format!("another-long-key-{number}"))).await;
        if number < 3 {
            made.is(201);
        } else {
            made.refused(429, 4);
        }
    }
    assert_eq!(live_holds(&practice), 3);
}

#[tokio::test]
async fn the_shop_takes_held_time_by_an_appointment_and_by_a_plage() {
    let practice = Practice::open().await;
    let free = practice.hourly_starts().await;
    let stranger = practice.visitor("127.0.0.2");
    let as_anna = |request: RequestBuilder| answer(request.basic_auth(ANNA.0, Some(ANNA.1)));
    let booking = |start: &(String, u64), token: &str| {
        stranger.request(Method::POST, "/groups/1/appointments").json(&json!({"appointment": {
            "date": start.0, "intervention_ids": [1], "calendar_id": start.1, "hold": token,
            "fiche": {"lastname": "Durand", "firstname": "Ada", "firstphone": "0639980001",
                "email": "ada@example.org"},
        }}))
    };
    let taken = token(&hold(&stranger, &free[0]).await.is(201));
    as_anna(stranger.booking(&free[0], "guest@example.org")).await.is(201);
    answer(booking(&free[0], &taken)).await.refused(400, 14);
    assert_eq!(live_holds(&practice), 0, "the appointment has ended it");
    let closed = token(&hold(&stranger, &free[1]).await.is(201));
    let plage = stranger.request(Method::POST, "/groups/1/vevents").json(&json!({"vevent": {
        "calendar_id": free[1].1, "start": free[1].0, "end": free[1].0.replace(":00:00", ":30:00"),
        "text": "closed",
    }}));
    let made = as_anna(plage).await.is(201);
    assert_eq!(live_holds(&practice), 0, "the plage has ended it");
    answer(booking(&free[1], &closed)).await.refused(400, 14);
    // A series that is moved over a hold ends it, and the hold stays ended when the series goes.
    let series = format!("/groups/1/vevents/{}", made["id"]);
    let change = |vevent: Value| {
        as_anna(stranger.request(Method::PUT, &series).json(&json!({ "vevent": vevent })))
    };
    let held = token(&hold(&stranger, &free[2]).await.is(201));
    change(json!({"calendar_id": free[2].1, "start": free[2].0,
        "end": free[2].0.replace(":00:00", ":30:00"), "repeat_freq": "weekly"}))
    .await
    .is(200);
    assert_eq!(live_holds(&practice), 0, "the series has ended it");
    change(json!({"deleted": 1})).await.is(200);
    let release = stranger.request(Method::DELETE, &format!("{HOLDS}?token={held}"));
    answer(release).await.refused(404, 3);
    answer(booking(&free[2], &held)).await.is(201);
    // So does a series that is restored.
    hold(&stranger, &free[3]).await.is(201);
    change(json!({"calendar_id": free[3].1, "start": free[3].0,
        "end": free[3].0.replace(":00:00", ":30:00")}))
    .await
    .is(200);
    assert_eq!(live_holds(&practice), 1, "it is deleted");
    change(json!({"deleted": 0})).await.is(200);
    assert_eq!(live_holds(&practice), 0, "it is restored");
}

#[tokio::test]
async fn holds_with_a_key_of_a_server_count_for_no_source() {
    let practice =
        Practice::with(|document| document["apikeys"][0]["server"] = json!(true), |server| server)
            .await;
    let free = practice.hourly_starts().await;
    let site = practice.visitor("127.0.0.2");
    for start in free.range(..35) {
        hold(&site, start).await.is(201);
    }
    assert_eq!(live_holds(&practice), 35);
}

#[tokio::test]
async fn bookings_that_wait_for_a_code_count_in_the_limits() {
    let mailbox = Mailbox::open().await;
    let verifying = |document: &mut Value| document["groups"][0]["verify_bookings"] = json!("mail");
    let practice = mailing_practice(verifying, BookingLimits::DEFAULT, 500, Some(&mailbox)).await;
    let mut free = practice.hourly_starts().await;
    let mut book = async |source: &str, email: &str| {
        let start = free.pop_front().expect("a start");
        practice.forwarded(source).book(&start, email).await
    };
    for number in 0..52 {
        let waiting = book("203.0.113.7", &format!("c{number}@example.org")).await;
        if number < 50 {
            waiting.is(202);
        } else {
            waiting.refused(429, 4);
        }
    }
    for number in 0..7 {
        let waiting = book(&format!("198.51.100.{number}"), "one@example.org").await;
        if number < 5 {
            waiting.is(202);
        } else {
            waiting.refused(429, 4);
        }
    }
    assert_eq!(live_holds(&practice), 55);
    practice.pass(15 * 60);
    assert_eq!(live_holds(&practice), 0);
}
