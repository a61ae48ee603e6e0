//! Many who want the same: nobody gets what another has.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::Value;

use super::server::{Served, booking, half_hour, practice, store_of};

/// Books over HTTP; the status, and the codes of the errors.
async fn ask(http: reqwest::Client, base: String, body: Value) -> (u16, Vec<i64>) {
    let url = format!("{base}/api/v1/groups/1/appointments?apikey=test-key");
    let answer = http.post(url).json(&body).send().await.expect("an answer");
    let status = answer.status().as_u16();
    let json: Value = answer.json().await.expect("JSON");
    let errors = json["errors"].as_array().into_iter().flatten();
    (status, errors.map(|error| error["code"].as_i64().expect("a code")).collect())
}

/// Asks for all at once and counts the answers.
async fn ask_all(
    http: &reqwest::Client,
    base: &str,
    wishes: impl Iterator<Item = Value>,
) -> BTreeMap<(u16, Vec<i64>), usize> {
    let asked: Vec<_> =
        wishes.map(|wish| tokio::spawn(ask(http.clone(), base.to_owned(), wish))).collect();
    let mut answers = BTreeMap::new();
    for answer in asked {
        *answers.entry(answer.await.expect("no panic")).or_default() += 1;
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_clients_at_32_starts_each_start_goes_to_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let server = Served::on(&data, &[]);
    let http = reqwest::Client::new();
    for round in 0..200_u64 {
        let wish = |client: u64| {
            // Who comes first for a start differs from round to round.
            let start = (client * 7 + round) % 32;
            booking(&format!("r{round}c{client}"), &half_hour(round * 32 + start), 1, &[1])
        };
        let answers = ask_all(&http, &server.base, (0..64).map(wish)).await;
        let expected = BTreeMap::from([((201, vec![]), 32), ((400, vec![14]), 32)]);
        assert_eq!(answers, expected, "round {round}");
    }
    assert_eq!(server.terminate(), Some(0));
    let document = super::server::exported(&data);
    let mut starts: Vec<&str> = super::server::appointments(&document)
        .map(|row| super::server::text(row, "start"))
        .collect();
    starts.sort_unstable();
    let all: Vec<String> = (0..200 * 32).map(half_hour).collect();
    assert_eq!(starts, all, "every start exactly once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_client_on_two_calendars_at_once_gets_exactly_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(2));
    let server = Served::on(&data, &[]);
    let from =
        |address: [u8; 4]| reqwest::Client::builder().local_address(IpAddr::from(address)).build();
    for round in 0..1_000_u64 {
        // One source books ten times an hour at most.
        let last = u8::try_from(round / 10 + 1).expect("small");
        let http = from([127, 0, 0, last]).expect("a client");
        let wish = |calendar: u64| booking(&format!("c{round}"), &half_hour(round), calendar, &[1]);
        let answers = ask_all(&http, &server.base, (1..=2).map(wish)).await;
        assert_eq!(
            answers,
            BTreeMap::from([((201, vec![]), 1), ((400, vec![12]), 1)]),
            "round {round}"
        );
    }
    assert_eq!(server.terminate(), Some(0));
    assert_eq!(super::server::appointments(&super::server::exported(&data)).count(), 1_000);
}
