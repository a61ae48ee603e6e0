//! SIGKILL under load, again and again: what was answered is there.

use std::sync::Arc;

use super::server::{Served, exported, practice, store_of};
use super::witness::{CALENDARS, Witness};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_kills_under_load_lose_nothing_that_was_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(CALENDARS));
    let witness = Arc::new(Witness::default());
    for life in 0..10_usize {
        let server = Served::on(&data);
        let load = witness.load(&server.base, 37 + life * 61).await;
        server.kill();
        load.join_all().await;
        witness.examine(&exported(&data));
    }
    assert!(witness.booked() > 1_000, "only {} were answered", witness.booked());
}
