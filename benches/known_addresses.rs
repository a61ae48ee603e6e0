//! Time of an answer to an invitation, and to a forgotten password, over HTTP: for addresses that a
//! professional of another group has, and for unknown ones, in turn. Both have to cost the same.
//!
//! `cargo bench --bench known_addresses` prints medians of 500 each; `-- --test` asks twice.

#[path = "../tests/abuse/fixture.rs"]
#[expect(dead_code, reason = "tests use the rest")]
mod fixture;
#[path = "../tests/abuse/mailbox.rs"]
#[expect(dead_code, reason = "tests use the rest")]
mod mailbox;

use std::time::{Duration, Instant};

use fixture::{ANNA, Practice, answer};
use mailbox::Mailbox;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use slotbook::password;

/// Number of addresses of each kind.
const ADDRESSES: usize = 500;
/// Pairs of requests after which the clock goes on, as a source may ask for 200 links an hour.
const PAIRS_AN_HOUR: usize = 90;
/// Most standard deviations by which the number of pairs with a slower known address may differ
/// from half of them.
const DEVIATIONS_MAX: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Asked {
    Invitation,
    Reset,
}

fn main() {
    // Tests of the benchmarks ask twice, without a judgement.
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let addresses = if is_measured { ADDRESSES } else { 2 };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().expect("a runtime");
    for asked in [Asked::Invitation, Asked::Reset] {
        let (known, unknown) = runtime.block_on(compare(asked, addresses));
        let pairs = known.iter().zip(&unknown);
        let slower = pairs.filter(|(known, unknown)| known > unknown).count();
        eprintln!(
            "known_addresses: {asked:?}: median of {addresses} known {:.1} µs, unknown {:.1} µs; \
             known ones were slower in {slower} pairs",
            median(known),
            median(unknown)
        );
        // Other work on the machine hits both alike, whatever it does to the medians.
        // The variance of that number is a quarter of the pairs.
        let off = slower.abs_diff(addresses / 2);
        let is_told = 4 * off.pow(2) > DEVIATIONS_MAX.pow(2) * addresses;
        assert!(!is_measured || !is_told, "{asked:?} tells which are known");
    }
}

/// The times in microseconds for known and for unknown addresses, pair by pair.
async fn compare(asked: Asked, addresses: usize) -> (Vec<f64>, Vec<f64>) {
    let mailbox = Mailbox::open().await;
    let practice = Practice::with(
        |document| add_colleagues(document, addresses),
        |server| server.with_gateways(mailbox.gateways()),
    )
    .await;
    let visitor = practice.visitor("127.0.0.2");
    let as_anna = |request: RequestBuilder| request.basic_auth(ANNA.0, Some(ANNA.1));
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for nth in 0..addresses {
        if nth % PAIRS_AN_HOUR == 0 {
            practice.pass(3_600);
        }
        let mut pair = [(address("known", nth), true), (address("other", nth), false)];
        // Neither kind is always the second one.
        if nth % 2 == 1 {
            pair.reverse();
        }
        for (email, is_known) in pair {
            let request = match asked {
                Asked::Invitation => {
                    let body = json!({"pro": {"email": email, "role": "reception"}});
                    as_anna(visitor.request(Method::POST, "/groups/1/pros")).json(&body)
                }
                Asked::Reset => visitor.form("/login/forgotten", &[("email", &email)]),
            };
            let mails = count_mails(&practice);
            let began = Instant::now();
            let made = answer(request).await;
            let took = began.elapsed().as_secs_f64() * 1e6;
            assert!(made.status.is_success(), "{email}: {}", made.text);
            if is_known {
                known.push(took)
            } else {
                unknown.push(took)
            }
            // The mail is written beside the answer, and takes no time of the next one.
            await_mail(&practice, mails).await;
            if matches!(asked, Asked::Invitation) {
                let path = format!("/groups/1/invitations/{}", made.json()["id"]);
                let withdrawn = answer(as_anna(visitor.request(Method::DELETE, &path))).await;
                assert_eq!(withdrawn.status, 200, "{}", withdrawn.text);
            }
        }
    }
    (known, unknown)
}

fn address(kind: &str, nth: usize) -> String {
    format!("{kind}{nth:03}@example.org")
}

/// Adds a group whose professionals have the known addresses.
fn add_colleagues(document: &mut Value, count: usize) {
    let hash = password::hash_password(&password::sha1_hex("three plain words"));
    let pro = |nth| json!({"email": address("known", nth), "password_hash": hash.as_str()});
    let pros: Vec<Value> = (0..count).map(pro).collect();
    let groups = document["groups"].as_array_mut().expect("a list");
    groups.push(json!({"name": "Another shop", "timezone": "Europe/Paris", "pros": pros}));
}

/// The number of mails ever queued, of all groups.
fn count_mails(practice: &Practice) -> u64 {
    let published = practice.engine.published();
    let states = published.groups().filter_map(|group| published.group_state(group));
    states.map(|state| state.outbox.last_id()).sum()
}

/// Waits until one more mail is queued.
async fn await_mail(practice: &Practice, before: u64) {
    for _ in 0..10_000 {
        if count_mails(practice) == before + 1 {
            return;
        }
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    panic!("no mail was queued");
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
