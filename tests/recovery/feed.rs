//! Followers of a group's changes while 64 clients write, the server is killed again and again, and new generations are
//! made: each change comes once, and each follower has the same agenda. Reference 18.

use std::path::Path;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::followers::{Followers, Way, failing_receiver};
use super::receivers::Receiver;
use super::rounds;
use super::server::{Served, exported, practice, store_of};
use super::witness::{CALENDARS, Witness};

/// Loads a server with 64 clients until some hundred answers have come.
async fn load(witness: &Arc<Witness>, base: &str, answers: usize) -> tokio::task::JoinSet<()> {
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let mut clients = witness.load(base, 0).await;
        all.spawn(async move { while clients.join_next().await.is_some() {} });
    }
    let mut clients = witness.load(base, answers).await;
    all.spawn(async move { while clients.join_next().await.is_some() {} });
    all
}

fn serve(data: &Path) -> Served {
    // A new generation is looked for each second.
    Served::on(data, &["--journal-mib", "0", "--webhook-allow", "127.0.0.0/8"])
}

#[test]
fn each_follower_gets_each_change_once_through_kills_and_compactions() {
    let receiver = failing_receiver();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let figures = runtime.block_on(follow_through_kills(&receiver));
    println!("{figures}: each follower has each change once");
}

/// Returns the figures of the run.
async fn follow_through_kills(receiver: &Receiver) -> String {
    let kills = rounds(4, 50);
    let mut chance = StdRng::seed_from_u64(33);
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(CALENDARS));
    let witness = Arc::new(Witness::brief());
    let mut server = serve(&data);
    let way = Way::to(vec![server.base.clone()]);
    let followers = Followers::begin(way.clone(), way.clone(), receiver).await;
    for life in 0..kills {
        let lasting = if life % 4 == 3 { 1_000..1_500 } else { 50..200 };
        let clients = load(&witness, &server.base, chance.random_range(lasting)).await;
        server.end("KILL");
        clients.join_all().await;
        server = serve(&data);
        way.leads_to(&server.base);
    }
    let agreement = followers.agree(&way).await;
    assert_eq!(server.terminate(), Some(0));
    let document = exported(&data);
    witness.examine(&document);
    agreement.examine(&document);
    let current = std::fs::read_to_string(data.join("CURRENT")).expect("it is there");
    let generations: u64 = current.split(' ').next().and_then(|n| n.parse().ok()).expect("one");
    assert!(generations > 2, "two compactions at least");
    let (changes, resets, answered) = (agreement.changes, agreement.resets, witness.answered());
    format!(
        "{kills} kills, {answered} answered writes, {changes} changes, {resets} resets, \
         generation {generations}"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_of_a_later_day_is_gone_in_a_restored_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(CALENDARS));
    let witness = Arc::new(Witness::brief());
    let write = async |answers| {
        let server = serve(&data);
        let clients = witness.load(&server.base, answers).await;
        server.end("KILL");
        clients.join_all().await;
    };
    let way = Way::default();
    let end = async || {
        let server = serve(&data);
        way.leads_to(&server.base);
        way.end().await
    };
    write(50).await;
    let earlier = end().await;
    let backup = super::reads::copy_of(&data, &folder.path().join("backup"));
    write(50).await;
    let later = end().await;
    std::fs::remove_dir_all(&data).expect("it was there");
    std::fs::rename(backup, &data).expect("it takes its place");
    // Before and after as many other changes were made.
    for answers in [0, 100] {
        if answers > 0 {
            write(answers).await;
        }
        let server = serve(&data);
        way.leads_to(&server.base);
        let status = async |cursor: &str| {
            let answer = way.get(&format!("changes?since={cursor}")).send().await;
            answer.expect("an answer").status().as_u16()
        };
        assert_eq!((status(&earlier).await, status(&later).await), (200, 410));
    }
}
