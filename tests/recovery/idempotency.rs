//! SIGKILL under load, then everything once more under the same keys: nothing is done twice, and who was answered before
//! gets the same answer, byte for byte.

use std::collections::BTreeMap;

use tokio::task::JoinSet;

use super::server::{Served, appointments, booking, exported, half_hour, practice, store_of, text};

const CLIENTS: u64 = 16;
const EACH: u64 = 60;

/// Sends every wish once, each client one after another; the answers by the number of the wish. When so many have come,
/// the server is killed.
async fn all_ask(
    server: Served,
    kill_after: Option<usize>,
) -> (BTreeMap<u64, String>, Option<Served>) {
    let http = reqwest::Client::new();
    let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let (http, base, sender) = (http.clone(), server.base.clone(), sender.clone());
        clients.spawn(async move {
            for number in (client * EACH)..(client + 1) * EACH {
                let wish = booking(&format!("c{number}"), &half_hour(number), 1, &[1]);
                let url = format!("{base}/api/v1/groups/1/appointments?apikey=test-key");
                let sent = http
                    .post(url)
                    .header("Idempotency-Key", format!("wish {number}"))
                    .json(&wish)
                    .send();
                let Ok(answer) = sent.await else { return };
                assert_eq!(answer.status(), 201);
                let Ok(answer) = answer.text().await else { return };
                drop(sender.send((number, answer)));
            }
        });
    }
    drop(sender);
    let mut server = Some(server);
    let mut answers = BTreeMap::new();
    while let Some((number, answer)) = told.recv().await {
        answers.insert(number, answer);
        if kill_after.is_some_and(|enough| answers.len() >= enough)
            && let Some(server) = server.take()
        {
            drop(server.end("KILL"));
        }
    }
    clients.join_all().await;
    (answers, server)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_asks_again_after_a_kill_is_booked_once_and_told_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let (mut before, _) = all_ask(Served::on(&data, &[]), Some(300)).await;
    assert!(before.len() >= 300 && before.len() < usize::try_from(CLIENTS * EACH).expect("small"));
    for round in 0..2 {
        let (after, server) = all_ask(Served::on(&data, &[]), None).await;
        assert_eq!(after.len(), 960, "everybody is answered");
        for (number, answer) in &before {
            assert_eq!(&after[number], answer, "wish {number}, round {round}");
        }
        before = after;
        assert_eq!(server.expect("it still runs").end("TERM").0, Some(0));
    }
    let document = exported(&data);
    let mut starts: Vec<&str> = appointments(&document).map(|row| text(row, "start")).collect();
    starts.sort_unstable();
    assert_eq!(starts, (0..960).map(half_hour).collect::<Vec<_>>(), "each wish came true once");
}
