//! Notices about a professional's changes wait for further ones, through restarts and faults of the other side.
//! Reference 7.3.

use std::path::Path;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use slotbook::clock::Clock as _;
use slotbook::domain::records::ids::CalendarId;
use slotbook::domain::records::message::{Progress, SuppressionReason};
use slotbook::domain::records::text::{Bounded, ReminderLead};
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::Instant;
use slotbook::engine::Engine;

use super::fake_gateways::{Mood, Post, Taken};
use super::fixture::{House, cancel, group, settled, until, vevent};
use super::letters::{calendars, changes, moves, text};
use super::server::{Served, half_hour, store_of};

/// A house whose notices wait a minute. Client 1 has an appointment on Thursday at 10:00 with Ann.
fn house() -> House {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.notice_delay_seconds = Bounded::known(60);
    });
    house.knows(1, |_| {});
    let start = house.local("2026-03-05 10:00");
    house.holds(1, 1, start, 30);
    house.places(3, |calendar| {
        calendar.publicname = slotbook::domain::records::text::Name::new("Zoë").expect("a name");
    });
    house
}

async fn restore(engine: &Engine) {
    changes(engine, 1, |row| row.deleted = false).await;
}

fn wait(house: &House, seconds: i64) {
    house.clock.set(house.clock.now().plus_seconds(seconds));
}

/// The moment until which the only open message waits.
fn not_before(group_state: &GroupState) -> Instant {
    let open: Vec<_> = group_state.outbox.open().collect();
    match open.as_slice() {
        [message] => match message.progress {
            Progress::Waiting { not_before, attempts: 0, .. } => not_before,
            _ => panic!("{message:?}"),
        },
        _ => panic!("{open:?}"),
    }
}

/// Method and start of the appointment in a mail.
fn said(mail: &Taken) -> [String; 2] {
    let [method, _, _, start, _] = calendars(mail).remove(0);
    [method, start]
}

#[test]
fn four_moves_with_kills_between_them_are_one_mail_with_the_last_time() {
    let house = house();
    for hours in [1, 1, -3, 4] {
        house.live(async |engine| moves(engine, 1, hours * 3_600).await);
        wait(&house, 20);
    }
    assert_eq!(not_before(&house.group_state()), house.clock.now().plus_seconds(40));
    wait(&house, 39);
    house.live(async |engine| {
        let group_state = engine.published().group_state(group()).expect("the group");
        assert_eq!(not_before(&group_state), house.clock.now().plus_seconds(1));
        wait(&house, 1);
        until(engine, "it is told", |group_state| settled(group_state) == 1).await;
    });
    let taken = house.post.taken();
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].at, house.clock.now(), "not a second early");
    assert_eq!(said(&taken[0]), ["REQUEST", "20260305T120000Z"]);
    let text = text(&taken[0]);
    assert!(text.contains("5 mars 2026 à 13:00") && text.contains("5 mars 2026 à 10:00"), "{text}");
}

#[test]
fn what_is_undone_after_a_kill_is_not_told() {
    for is_cancelled in [false, true] {
        let house = house();
        house.live(async |engine| {
            if is_cancelled { cancel(engine, 1).await } else { moves(engine, 1, 3_600).await }
        });
        wait(&house, 59);
        house.live(async |engine| {
            if is_cancelled {
                restore(engine).await
            } else {
                moves(engine, 1, -3_600).await
            }
            wait(&house, 60);
            until(engine, "it is settled", |group_state| settled(group_state) == 1).await;
        });
        assert!(house.post.taken().is_empty());
        let group_state = house.group_state();
        let message = group_state.outbox.messages().next().expect("it stays in the list");
        assert!(
            matches!(
                message.progress,
                Progress::Suppressed { why: SuppressionReason::Unchanged, .. }
            ),
            "{message:?}"
        );
    }
}

#[test]
fn a_cancellation_after_a_move_is_of_the_appointment_that_the_client_knows() {
    let house = house();
    house.live(async |engine| {
        changes(engine, 1, |row| row.calendar_id = CalendarId::new(3).expect("an id")).await;
        moves(engine, 1, 86_400).await;
        wait(&house, 30);
        cancel(engine, 1).await;
        wait(&house, 60);
        until(engine, "it is told", |group_state| settled(group_state) == 1).await;
        restore(engine).await;
        wait(&house, 60);
        until(engine, "it is told", |group_state| settled(group_state) == 2).await;
    });
    let taken = house.post.taken();
    assert_eq!(taken.len(), 2);
    assert_eq!(said(&taken[0]), ["CANCEL", "20260305T090000Z"]);
    let cancelled = text(&taken[0]);
    assert!(cancelled.contains("jeudi 5 mars 2026 à 10:00"), "{cancelled}");
    assert!(cancelled.contains("Ann") && !cancelled.contains("Zoë"), "{cancelled}");
    assert_eq!(said(&taken[1]), ["REQUEST", "20260306T090000Z"]);
    assert!(text(&taken[1]).contains("Zoë"));
    let [first, second] = [calendars(&taken[0]), calendars(&taken[1])];
    assert_eq!(first[0][1], second[0][1], "one UID");
    let sequence = |it: &[String; 5]| it[2].parse::<u64>().expect("a number");
    assert!(sequence(&first[0]) < sequence(&second[0]));
}

#[test]
fn whatever_happens_the_last_mail_agrees_with_the_agenda() {
    let mut mails = 0;
    for seed in 0..12_u64 {
        let mut draws = StdRng::seed_from_u64(seed);
        let house = house();
        for _ in 0..draws.random_range(2..5) {
            let moods = [Mood::Takes, Mood::Takes, Mood::Busy, Mood::Drops];
            house.post.is(moods[draws.random_range(0..moods.len())]);
            let mut steps = Vec::new();
            for _ in 0..draws.random_range(1..5) {
                steps.push((draws.random_range(0..4), draws.random_range(-3..4_i64)));
                wait(&house, draws.random_range(0..70));
            }
            house.live(async |engine| {
                for (step, half_hours) in steps {
                    match step {
                        0 => cancel_or_restore(engine).await,
                        _ => moves(engine, 1, half_hours * 1_800).await,
                    }
                    wait(&house, 25);
                }
            });
        }
        house.post.is(Mood::Takes);
        house.live(async |engine| {
            for _ in 0..12 {
                wait(&house, 61);
                let now = house.clock.now();
                until(engine, "what is due is done", |group_state| {
                    group_state.outbox.open().all(|message| {
                        matches!(message.progress, Progress::Waiting { not_before, .. } if now < not_before)
                    })
                })
                .await;
            }
        });
        let group_state = house.group_state();
        assert_eq!(group_state.outbox.open().count(), 0, "seed {seed}");
        let row = &group_state.rows[&vevent(1)];
        let taken = house.post.taken();
        mails += taken.len();
        let believes = taken.last().map(said);
        let start = row.appointment().expect("an appointment").start;
        let utc = slotbook::domain::time::zone::utc_of(start);
        let text = slotbook::wire::datetime::format_civil(utc).replace(['-', ':'], "");
        let start = format!("{}Z", text.replace(' ', "T"));
        match believes {
            Some([method, told]) if method == "REQUEST" => {
                assert_eq!((told, row.deleted), (start, false), "seed {seed}");
            }
            Some(_) => assert!(row.deleted, "seed {seed}"),
            None => {
                assert_eq!((start.as_str(), row.deleted), ("20260305T090000Z", false), "{seed}");
            }
        }
    }
    assert!(mails >= 6, "only {mails} mails");
}

async fn cancel_or_restore(engine: &Engine) {
    let group_state = engine.published().group_state(group()).expect("the group");
    if group_state.rows[&vevent(1)].deleted {
        restore(engine).await;
    } else {
        cancel(engine, 1).await;
    }
}

/// A practice of one appointment, at 10:00 on the first day of 2030, whose notices wait for ten minutes.
fn practice() -> Value {
    json!({
        "apikeys": [{"key": "test-key", "label": "tests"}],
        "groups": [{
            "id": 1, "name": "Practice", "timezone": "UTC", "notice_delay_seconds": 600,
            "pros": [{"id": 1, "email": "pro@example.org", "password": "secret", "lastname": "Pro", "main": true}],
            "calendars": [{"id": 1, "name": "c", "publicname": "c"}],
            "interventions": [{"id": 1, "name": "i", "publicname": "i", "length": 30}],
            "fiches": [{"id": 1, "lastname": "Client", "email": "c1@example.org"}],
            "vevents": [{"id": 1, "calendar_id": 1, "fiche_id": 1, "intervention_id": 1,
                "start": half_hour(20), "end": half_hour(21)}],
        }]
    })
}

async fn moves_to(served: &Served, nth: u64) {
    let body = json!({"vevent": {"start": half_hour(nth), "end": half_hour(nth + 1)}});
    put(served, "/vevents/1", body).await;
}

async fn put(served: &Served, path: &str, body: Value) {
    let request = reqwest::Client::new()
        .put(format!("{}/api/v1/groups/1{path}", served.base))
        .header("X-Api-Key", "test-key")
        .basic_auth("pro@example.org", Some("secret"));
    let answer = request.json(&body).send().await.expect("an answer");
    assert_eq!(answer.status(), 200, "{}", answer.text().await.expect("text"));
}

fn serve(data: &Path, post: &Post) -> Served {
    let port = post.smtp.port().to_string();
    let options = ["--smtp-host", "127.0.0.1", "--smtp-port", &port, "--smtp-tls", "none"];
    let more = ["--mail-from", "rdv@shop.example", "--public-url", "https://rdv.example.org"];
    Served::on(data, &[&options[..], &more[..]].concat())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_neither_loses_nor_doubles_what_waits() {
    let clock = slotbook::clock::ManualClock::at(Instant(0));
    let post =
        tokio::task::spawn_blocking(move || Post::open(&clock.into())).await.expect("opened");
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice());
    let served = serve(&data, &post);
    moves_to(&served, 22).await;
    moves_to(&served, 24).await;
    served.end("KILL");
    let served = serve(&data, &post);
    moves_to(&served, 26).await;
    served.end("KILL");
    let served = serve(&data, &post);
    // Without a delay, the next change is told at once, and those before it with it.
    put(&served, "", json!({"group": {"notice_delay_seconds": 0}})).await;
    assert_eq!(post.count(), 0);
    moves_to(&served, 28).await;
    for _ in 0..1_000 {
        if post.count() > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(served.end("TERM").0, Some(0));
    let taken = post.taken();
    assert_eq!(taken.len(), 1);
    assert_eq!(said(&taken[0]), ["REQUEST", "20300101T140000Z"]);
    tokio::task::spawn_blocking(move || drop(post)).await.expect("closed");
}

#[test]
fn a_deleted_client_gets_no_message() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.mailreminder = ReminderLead::new(1_440).expect("a lead");
        group.mail_since = Instant(0);
    });
    house.knows(1, |fiche| fiche.deleted = true);
    house.knows(2, |_| {});
    for client in [1, 2] {
        let start = house.local("2026-03-05 10:00");
        house.holds(client, client, start, 30);
    }
    house.live(async |engine| {
        for client in [1, 2] {
            moves(engine, client, 3_600).await;
        }
        until(engine, "the change is told", |state| settled(state) >= 1).await;
        house.at("2026-03-04 12:00");
        until(engine, "the reminder is sent", |state| settled(state) >= 2).await;
        // Of the deleted client there is nothing to wait for: what it would get is due by now, too.
        cancel(engine, 1).await;
        cancel(engine, 2).await;
        until(engine, "all is told", |state| {
            settled(state) >= 3 && state.outbox.open().next().is_none()
        })
        .await;
    });
    let recipients: Vec<_> = house.post.taken().into_iter().map(|mail| mail.to).collect();
    assert_eq!(recipients, ["client2@example.org"; 3]);
}
