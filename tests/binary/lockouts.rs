//! Strangers who guess passwords, over a restart.

use std::path::Path;

use crate::server::{Served, practice, store_of};

/// Tries to log in by HTTP Basic from a source that the proxy names. Returns the status.
async fn log_in(served: &Served, source: &str, password: &str) -> u16 {
    let path = format!("{}/api/v1/groups/1/calendars?apikey=test-key", served.base);
    let request = reqwest::Client::new().get(path).header("x-forwarded-for", source);
    let request = request.basic_auth("pro@example.org", Some(password));
    request.send().await.expect("an answer").status().as_u16()
}

fn serve(data: &Path) -> Served {
    Served::on(data, &["--trusted-proxies", "127.0.0.1"])
}

#[tokio::test]
async fn a_restart_forgets_no_source_at_which_a_professional_has_logged_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let home = "198.51.100.7";
    let served = serve(&data);
    assert_eq!(log_in(&served, home, "secret").await, 200);
    // A login is recorded while its answer leaves.
    for _ in 0..50 {
        assert_eq!(log_in(&served, home, "secret").await, 200);
    }
    drop(served);
    let served = serve(&data);
    let mut refused = 0;
    for n in 0..60 {
        let guessed = log_in(&served, &format!("2001:db8:{n:x}::1"), "a guess").await;
        refused += usize::from(guessed == 429);
    }
    assert!(refused > 20, "strangers are delayed: {refused}");
    assert_eq!(log_in(&served, "203.0.113.7", "secret").await, 429, "as at any new source");
    assert_eq!(log_in(&served, home, "secret").await, 200);
}
