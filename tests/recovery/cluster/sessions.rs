//! Sessions of the API, which pass from a server to the one that takes over.

use std::time::{Duration, Instant};

use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use super::postgres::Pair;
use super::servers::Servers;
use crate::server::{complaint, practice, run_with_input};

/// Longest time until something is seen to happen.
const WAITING_MAX: Duration = Duration::from_secs(60);

/// SHA-1 of the password of everyone here.
const PASSWORD: &str = "e5e9fa1ba31ecd1ae84f75caaa474f3a663f05f4";

fn url(servers: &Servers, index: usize, path: &str) -> String {
    format!("{}/api/v1/sessions{path}?apikey=test-key", servers.members[index].base())
}

/// Logs in. Returns the cookie of the session.
async fn log_in(servers: &Servers, index: usize, login: &Value) -> String {
    let answer = Client::new().post(url(servers, index, "/login")).json(login).send().await;
    let answer = answer.expect("it is answered");
    assert_eq!(answer.status(), 200);
    let cookies = answer.headers().get_all("set-cookie").iter();
    let mut cookies = cookies.map(|cookie| cookie.to_str().expect("a text"));
    let cookie = cookies.find(|cookie| cookie.starts_with("_session_id=")).expect("a session");
    cookie.split(';').next().expect("a first part").to_owned()
}

async fn log_out(servers: &Servers, index: usize, cookie: &str) {
    let request = Client::new().post(url(servers, index, "/logout")).header("cookie", cookie);
    assert_eq!(request.send().await.expect("it is answered").status(), 200);
}

/// The status of a session's list of sessions.
async fn status(servers: &Servers, index: usize, cookie: &str) -> StatusCode {
    let request = Client::new().get(url(servers, index, "")).header("cookie", cookie);
    request.send().await.expect("it is answered").status()
}

async fn expect_saved(pair: &Pair, wanted: &str) {
    let began = Instant::now();
    loop {
        let saved = pair.query("SELECT count(*) FROM slotbook.session");
        if saved == wanted {
            return;
        }
        assert!(began.elapsed() < WAITING_MAX, "{saved} sessions are saved");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_outlives_its_server_and_so_does_its_end() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut document = practice(1);
    let group = &mut document["groups"][0];
    group["fiches"] = json!([{"id": 1, "lastname": "Durand", "email": "zoe@example.org"}]);
    group["accounts"] = json!([{"email": "zoe@example.org", "password": "secret", "fiche_id": 1}]);
    let pro = json!({"pro": {"email": "pro@example.org", "password": PASSWORD}});
    let account = json!({"account": {"email": "zoe@example.org", "password": PASSWORD}});
    let mut servers = Servers::start(&pair, &document, 2).await;
    let first = servers.deciding().await;
    let kept = log_in(&servers, first, &pro).await;
    let client = log_in(&servers, first, &account).await;
    let ended = log_in(&servers, first, &pro).await;
    let unreadable = log_in(&servers, first, &pro).await;
    expect_saved(&pair, "4").await;
    assert_eq!(status(&servers, first, &ended).await, 200);
    // What was answered holds, though the server dies at once.
    log_out(&servers, first, &ended).await;
    servers.members[first].kill();
    assert_eq!(pair.query("SELECT count(*) FROM slotbook.session"), "3");
    let token = unreadable.strip_prefix("_session_id=").expect("its name");
    pair.query(&format!(
        "UPDATE slotbook.session SET bytes = set_byte(bytes, 9, 255 - get_byte(bytes, 9)) \
         WHERE token = sha256('{token}')"
    ));
    let second = servers.deciding().await;
    for cookie in [&kept, &client] {
        assert_eq!(status(&servers, second, cookie).await, 200);
    }
    assert_eq!(status(&servers, second, &ended).await, 403);
    assert_eq!(status(&servers, second, &unreadable).await, 403);
    let said = servers.members[second].said();
    assert!(said.contains("sessions cannot be read"), "{said}");
    // What cannot be read is removed.
    expect_saved(&pair, "2").await;

    // A server that stops leaves all that it has.
    let late = log_in(&servers, second, &pro).await;
    servers.members[second].signal("TERM");
    assert_eq!(servers.members[second].left(), Some(0));
    let third = servers.deciding().await;
    for cookie in [&kept, &client, &late] {
        assert_eq!(status(&servers, third, cookie).await, 200);
    }
    assert_eq!(status(&servers, third, &ended).await, 403);

    // A new password, set at the server that follows, ends sessions whose rows are still there.
    servers.members[second].restart();
    servers.expect_answering(second).await;
    let password = ["pro", "password", "pro@example.org"];
    let set = run_with_input(&password, &servers.members[second].data, "another secret\n");
    assert!(set.status.success(), "{}", complaint(&set));
    // It stays away: started again, it could take over before the other one.
    servers.members[third].signal("KILL");
    assert_eq!(servers.members[third].left(), None);
    assert_eq!(servers.deciding().await, second);
    for cookie in [&kept, &late] {
        assert_eq!(status(&servers, second, cookie).await, 403);
    }
    assert_eq!(status(&servers, second, &client).await, 200);
    expect_saved(&pair, "1").await;

    // Those that cannot be read at all are removed: a server that does not know them ends none.
    servers.members[third].restart();
    servers.expect_answering(third).await;
    pair.query("ALTER FUNCTION slotbook.read_sessions RENAME TO hidden");
    servers.members[second].signal("TERM");
    assert_eq!(servers.members[second].left(), Some(0));
    assert_eq!(servers.deciding().await, third);
    assert_eq!(status(&servers, third, &client).await, 403);
    expect_saved(&pair, "0").await;
}
