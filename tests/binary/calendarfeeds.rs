//! The secret of a calendar feed is in no log, no figure and no file. Reference 19.1.

use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};

use super::server::{Served, exported, practice, run, store_of};

/// Whether a file below a folder holds some bytes.
fn is_in_files(folder: &Path, wanted: &[u8]) -> bool {
    std::fs::read_dir(folder).expect("a folder").any(|entry| {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            return is_in_files(&path, wanted);
        }
        let bytes = std::fs::read(path).expect("a file");
        bytes.windows(wanted.len()).any(|part| part == wanted)
    })
}

#[tokio::test]
async fn the_secret_of_a_link_is_in_no_log_no_figure_no_export_and_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let figures = free.local_addr().expect("it is bound").to_string();
    drop(free);
    let served = Served::heard(&data, &["--log", "trace", "--metrics-listen", &figures]);
    let http = reqwest::Client::new();
    let feeds = format!("{}/api/v1/groups/1/calendarfeeds?apikey=test-key", served.base);
    let wish = json!({"calendarfeed": {"calendar_id": 1, "details": "full"}});
    let made = http.post(&feeds).basic_auth("pro@example.org", Some("secret")).json(&wish);
    let made: Value = made.send().await.expect("an answer").json().await.expect("JSON");
    let url = made["url"].as_str().expect("a link");
    let link = &url[url.find("/ics/").expect("a path")..];
    let secret = link.trim_start_matches("/ics/1-").trim_end_matches(".ics").to_owned();
    assert_eq!(secret.len(), 43, "{url}");
    for wanted in [link.to_owned(), link.replace(".ics", "A.ics")] {
        let status = if wanted == link { 200 } else { 404 };
        let answer = http.get(format!("{}{wanted}", served.base)).send().await.expect("an answer");
        assert_eq!(answer.status(), status);
    }
    let text = http.get(format!("http://{figures}/metrics")).send().await.expect("an answer");
    assert!(!text.text().await.expect("text").contains(&secret));
    let (code, said) = served.end("TERM");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("answered"), "requests are logged: {said}");
    assert!(!said.contains(&secret));
    assert!(!exported(&data).to_string().contains(&secret));
    let history = run(&["history", "--group", "1"], &data);
    let history = String::from_utf8_lossy(&history.stdout).into_owned();
    assert!(history.contains("calendarfeed:1") && !history.contains(&secret), "{history}");
    assert!(!is_in_files(&data, secret.as_bytes()));
}
