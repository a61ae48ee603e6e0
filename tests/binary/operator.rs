//! Keys, professionals and exports by the operator's commands, while a server runs and while none does.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::server::{
    Served, appointments, booking, complaint, exported, half_hour, practice, run, run_with_input,
    store_of, without_access,
};

const SOCKET: &str = "operator.sock";

/// What a command prints that must succeed.
#[track_caller]
fn printed(output: Output) -> String {
    assert!(output.status.success(), "{}", complaint(&output));
    String::from_utf8(output.stdout).expect("text")
}

#[track_caller]
fn refused(output: &Output, why: &str) {
    assert_eq!(output.status.code(), Some(1), "{}", complaint(output));
    assert!(complaint(output).contains(why), "{why:?} in {}", complaint(output));
    assert!(output.stdout.is_empty());
}

/// The status of a list of calendars, asked for with a key and perhaps a professional's credentials.
async fn status(served: &Served, key: &str, login: Option<(&str, &str)>) -> u16 {
    status_of(served, "vevents", key, login).await
}

async fn status_of(served: &Served, list: &str, key: &str, login: Option<(&str, &str)>) -> u16 {
    let url = format!("{}/api/v1/groups/1/{list}?apikey={key}", served.base);
    let request = reqwest::Client::new().get(url);
    let request = match login {
        Some((email, password)) => request.basic_auth(email, Some(password)),
        None => request,
    };
    request.send().await.expect("an answer").status().as_u16()
}

const PRO: Option<(&str, &str)> = Some(("pro@example.org", "secret"));

#[tokio::test]
async fn keys_are_made_shown_once_and_revoked_while_the_server_runs_and_outlive_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let served = Served::on(&data, &[]);
    let key = printed(run(&["key", "add", "--label", "web site", "--group", "1"], &data))
        .trim()
        .to_owned();
    assert!(key.len() == 40 && key.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{key}");
    assert_eq!(status(&served, &key, PRO).await, 200, "it opens the next request");
    let listed = printed(run(&["key", "list"], &data));
    let line =
        listed.lines().find(|line| line.ends_with("\tgroups 1\tpublic\tweb site")).expect("listed");
    assert!(!listed.contains(&key) && listed.lines().count() == 2, "{listed}");
    let id = line.split('\t').next().expect("an id").to_owned();
    drop(served.end("KILL"));

    let served = Served::on(&data, &[]);
    assert_eq!(status(&served, &key, PRO).await, 200);
    printed(run(&["key", "revoke", &id], &data));
    assert_eq!(status(&served, &key, PRO).await, 403, "it opens nothing any more");
    refused(&run(&["key", "revoke", &id], &data), "no key matches");
    refused(&run(&["key", "add", "--group", "9"], &data), "group 9 does not exist");
    drop(served.end("KILL"));
    assert_eq!(printed(run(&["key", "list"], &data)).lines().count(), 1, "offline the same holds");
}

#[tokio::test]
async fn a_first_group_is_added_while_the_server_runs_and_outlives_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let served = Served::on(&data, &["--create"]);
    let add = |name: &str| run(&["group", "add", name, "--timezone", "Paris"], &data);
    assert_eq!(printed(add("Chez Émile")), "1\n");
    assert_eq!(printed(add("chez emile")), "2\n");
    let listed = "1\tchez-emile\tParis\tChez Émile\n2\tchez-emile-2\tParis\tchez emile\n";
    assert_eq!(printed(run(&["group", "list"], &data)), listed);
    let key = printed(run(&["key", "add", "--group", "1"], &data)).trim().to_owned();
    printed(run_with_input(
        &["pro", "add", "ann@example.org", "--group", "1"],
        &data,
        "a long password\n",
    ));
    let ann = Some(("ann@example.org", "a long password"));
    assert_eq!(status(&served, &key, ann).await, 200);
    let calendar = reqwest::Client::new()
        .post(format!("{}/api/v1/groups/1/calendars?apikey={key}", served.base))
        .basic_auth("ann@example.org", Some("a long password"))
        .json(&serde_json::json!({"calendar": {"name": "Room"}}));
    assert_eq!(calendar.send().await.expect("an answer").status(), 201);
    drop(served.end("KILL"));

    let wrong =
        run(&["group", "add", "X", "--timezone", "Nowhere", "--set", "open=perhaps"], &data);
    refused(&wrong, "timezone: ");
    refused(&wrong, "open: ");
    let phone = ["group", "add", "Third", "--timezone", "UTC", "--set", "phone=0199001230"];
    assert_eq!(printed(run(&phone, &data)), "3\n", "offline the same holds");
    let served = Served::on(&data, &[]);
    assert_eq!(status(&served, &key, ann).await, 200);
    let document = exported(&data);
    assert_eq!(document["groups"][0]["calendars"][0]["name"], "Room");
    assert_eq!(document["groups"][2]["phone"], "0199001230");
    assert_eq!(served.end("TERM").0, Some(0));
}

#[test]
fn a_group_is_added_where_there_is_no_store_yet() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let unsaid = run(&["group", "add", "Shop"], &data);
    assert_eq!(unsaid.status.code(), Some(2), "{}", complaint(&unsaid));
    assert_eq!(printed(run(&["group", "add", "Shop", "--timezone", "UTC"], &data)), "1\n");
    printed(run(&["key", "add", "--operator", "--label", "portal"], &data));
    printed(run(&["key", "add", "--group", "1", "--label", "site"], &data));
    let listed = printed(run(&["key", "list"], &data));
    assert!(listed.contains("\tall groups\toperator\tportal"), "{listed}");
    refused(&run(&["key", "set", "site", "--operator"], &data), "covers all groups");
    let exported = exported(&data);
    let keys = exported["apikeys"].as_array().expect("a list");
    assert!(keys.iter().any(|key| key["operator"] == true && key["label"] == "portal"));
}

#[test]
fn the_operator_says_which_keys_are_held_by_a_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let holders = || {
        let listed = printed(run(&["key", "list"], &data));
        let column = |line: &str| line.split('\t').nth(2).map(str::to_owned);
        let mut holders: Vec<_> = listed.lines().filter_map(column).collect();
        holders.sort();
        holders
    };
    printed(run(&["key", "add", "--all-groups", "--label", "shop", "--server"], &data));
    let served = Served::on(&data, &[]);
    assert_eq!(holders(), ["public", "server"]);
    printed(run(&["key", "set", "tests", "--server"], &data));
    assert_eq!(holders(), ["server", "server"]);
    assert_eq!(served.end("TERM").0, Some(0));
    printed(run(&["key", "set", "shop", "--no-server"], &data));
    assert_eq!(holders(), ["public", "server"]);
    refused(&run(&["key", "set", "nothing", "--server"], &data), "no key matches");
    let unsaid = run(&["key", "set", "shop"], &data);
    assert_eq!(unsaid.status.code(), Some(2), "{}", complaint(&unsaid));
    let document = exported(&data);
    let marks: Vec<_> = document["apikeys"].as_array().expect("a list").iter().collect();
    assert!(marks.iter().any(|key| key["server"] == true && key["label"] == "tests"));
    assert!(marks.iter().any(|key| key.get("server").is_none() && key["label"] == "shop"));
}

#[tokio::test]
async fn the_bookings_of_one_source_are_counted_and_cancelled_through_the_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let served = Served::on(&data, &[]);
    let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", served.base);
    for nth in 0..3 {
        let wish = booking(&format!("c{nth}"), &half_hour(5_000 + nth), 1, &[1]);
        let made = reqwest::Client::new().post(&url).json(&wish).send().await.expect("an answer");
        assert_eq!(made.status(), 201);
    }
    let id = appointments(&exported(&data)).next().expect("one")["id"].to_string();
    let alike = |more: &[&str]| {
        let arguments = [&["cancel-alike", &id, "--group", "1", "--since", "2020-01-01"], more];
        run(&arguments.concat(), &data)
    };
    assert!(printed(alike(&[])).starts_with("3 appointments: give --count 3"));
    let of_some_time = |more: &[&str]| {
        let arguments = [&["cancel-alike", "--group", "1", "--since", "2020-01-01"], more];
        run(&arguments.concat(), &data)
    };
    let listed = printed(of_some_time(&["--unverified"]));
    assert!(listed.starts_with("3 appointments: give --count 3"), "{listed}");
    assert_eq!(listed.lines().filter(|line| line.contains("\tbooked 20")).count(), 3, "{listed}");
    let earlier = printed(of_some_time(&["--until", "2020-01-02"]));
    assert!(earlier.starts_with("0 appointments"), "{earlier}");
    assert!(printed(alike(&["--network", "48"])).starts_with("3 appointments"));
    assert_eq!(of_some_time(&["--network", "48"]).status.code(), Some(2));
    refused(&alike(&["--count", "2"]), "there are 3 such appointments now");
    assert_eq!(printed(alike(&["--count", "3", "--quietly"])), "3 appointments are cancelled\n");
    assert_eq!(printed(alike(&["--count", "0"])), "0 appointments are cancelled\n");
    let document = exported(&data);
    assert!(appointments(&document).all(|row| row["deleted"] == true));
    assert_eq!(served.end("TERM").0, Some(0));
    assert!(complaint(&alike(&[])).is_empty(), "counting needs no server");
    refused(
        &run(&["cancel-alike", "1", "--group", "9", "--since", "2020-01-01"], &data),
        "group 9",
    );
}

#[tokio::test]
async fn without_a_server_bookings_are_cancelled_in_the_store_with_their_messages() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    document["groups"][0]["sendmail"] = true.into();
    let data = store_of(folder.path(), &document);
    let served = Served::on(&data, &[]);
    let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", served.base);
    for nth in 0..2 {
        let wish = booking(&format!("c{nth}"), &half_hour(5_000 + nth), 1, &[1]);
        let made = reqwest::Client::new().post(&url).json(&wish).send().await.expect("an answer");
        assert_eq!(made.status(), 201);
    }
    assert_eq!(served.end("TERM").0, Some(0));
    let id = appointments(&exported(&data)).next().expect("one")["id"].to_string();
    let alike = ["cancel-alike", &id, "--group", "1", "--since", "2020-01-01", "--count", "2"];
    assert_eq!(printed(run(&alike, &data)), "2 appointments are cancelled\n");
    assert!(appointments(&exported(&data)).all(|row| row["deleted"] == true));
    let cancellations = || {
        let listed = printed(run(&["messages"], &data));
        listed.lines().filter(|line| line.contains("\"cancellation\"")).count()
    };
    assert_eq!(cancellations(), 2);
    let checked = run(&["check"], &data);
    assert!(checked.status.success(), "{}", complaint(&checked));
}

#[tokio::test]
async fn without_a_server_the_same_commands_change_the_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let key = printed(run(&["key", "add", "--all-groups"], &data)).trim().to_owned();
    printed(run_with_input(
        &["pro", "add", "ann@example.org", "--lastname", "Ann"],
        &data,
        "the first word\n",
    ));
    printed(run_with_input(&["pro", "password", "ANN@example.org"], &data, "the second word"));
    printed(run(&["key", "revoke", "tests"], &data));
    let served = Served::on(&data, &[]);
    assert_eq!(status(&served, &key, Some(("ann@example.org", "the second word"))).await, 200);
    assert_eq!(status(&served, &key, Some(("ann@example.org", "the first word"))).await, 401);
    assert_eq!(status(&served, "test-key", PRO).await, 403);
    assert_eq!(served.end("TERM").0, Some(0));
    let elsewhere = folder.path().join("nothing");
    refused(&run(&["key", "list"], &elsewhere), "holds no store");
    assert!(!elsewhere.exists());
}

#[tokio::test]
async fn roles_are_given_listed_exported_and_imported() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let calendar = practice(1)["groups"][0]["calendars"][0]["id"].to_string();
    let own = ["--role", "professional", "--calendar", &calendar];
    let add = [&["pro", "add", "paul@example.org", "--group", "1"][..], &own].concat();
    printed(run_with_input(&add, &data, "a good word\n"));
    let paul = Some(("paul@example.org", "a good word"));
    let served = Served::on(&data, &[]);
    let listed = || printed(run(&["pro", "list"], &data));
    let own = format!("groups 1, main 1, professional {calendar} in 1\t");
    assert!(listed().contains(&own), "{}", listed());
    assert_eq!(status_of(&served, "history", "test-key", paul).await, 403);
    refused(
        &run(&["pro", "set", "paul@example.org", "--role", "reception", "--reads-all"], &data),
        "reads_all",
    );
    refused(
        &run(
            &["pro", "set", "paul@example.org", "--role", "professional", "--calendar", "99"],
            &data,
        ),
        "99 is not the id of one of the group's calendars",
    );
    refused(
        &run(&["pro", "set", "x@example.org", "--role", "reception"], &data),
        "no professional",
    );
    printed(run(&["pro", "set", "paul@example.org", "--role", "reception"], &data));
    assert!(listed().contains("reception in 1"), "{}", listed());
    // The operator lowers the last administrator too.
    printed(run(&["pro", "set", PRO.expect("a login").0, "--role", "reception"], &data));
    assert_eq!(status_of(&served, "messages", "test-key", paul).await, 200);
    assert_eq!(status_of(&served, "history", "test-key", PRO).await, 403);
    assert_eq!(served.end("KILL").0, None);
    // The roles survive the kill, an export and an import.
    let exported = printed(run(&["export", "-"], &data));
    let document: Value = serde_json::from_str(&exported).expect("JSON");
    let roles: Vec<&Value> = document["groups"][0]["pros"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|pro| &pro["role"])
        .collect();
    assert_eq!(roles, ["reception", "reception"]);
    let add = ["pro", "set", "paul@example.org", "--role", "professional", "--reads-all"];
    printed(run(&[&add[..], &["--calendar", &calendar]].concat(), &data));
    let document: Value =
        serde_json::from_str(&printed(run(&["export", "-"], &data))).expect("JSON");
    let acts = document["groups"][0]["access_history"].as_array().expect("a list").clone();
    assert!(
        acts.iter().any(|row| row["verb"] == "role" && row["author"] == "operator"),
        "{acts:?}"
    );
    let again = tempfile::tempdir().expect("a folder");
    let again = store_of(again.path(), &document);
    assert_eq!(printed(run(&["pro", "list"], &again)), listed());
}

#[tokio::test]
async fn one_address_is_one_professional_whose_password_is_never_an_argument() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    let mut second = document["groups"][0].clone();
    second["id"] = 2.into();
    for section in ["pros", "calendars", "interventions", "vevents"] {
        second[section] = Value::Array(Vec::new());
    }
    document["groups"].as_array_mut().expect("a list").push(second);
    let data = store_of(folder.path(), &document);
    let served = Served::on(&data, &[]);
    refused(
        &run_with_input(&["pro", "add", "ann@example.org"], &data, "a good word\n"),
        "the group is missing: give one of 1, 2",
    );
    refused(
        &run_with_input(&["pro", "add", "ann@example.org", "--group", "2"], &data, "\n"),
        "must have at least 10",
    );
    refused(
        &run_with_input(&["pro", "add", "ann", "--group", "2"], &data, "a good word"),
        "e-mail address such as",
    );
    printed(run_with_input(
        &["pro", "add", "ann@example.org", "--group", "1", "--firstname", "Ann"],
        &data,
        "a good word\r\n",
    ));
    assert_eq!(status(&served, "test-key", Some(("ann@example.org", "a good word"))).await, 200);
    refused(
        &run_with_input(&["pro", "add", "Ann@Example.org", "--group", "1"], &data, ""),
        "works for these groups already",
    );
    printed(run_with_input(
        &["pro", "add", "Ann@Example.org", "--group", "2", "--main", "2"],
        &data,
        "not read",
    ));
    let listed = printed(run(&["pro", "list"], &data));
    assert!(listed.contains("ann@example.org\tgroups 1, 2, main 2\tAnn\n"), "{listed}");
    printed(run_with_input(&["pro", "password", "ann@example.org"], &data, "another word\n"));
    assert_eq!(
        status(&served, "test-key", Some(("ann@example.org", "a good word"))).await,
        401,
        "at once"
    );
    assert_eq!(status(&served, "test-key", Some(("ann@example.org", "another word"))).await, 200);
    printed(run(&["pro", "remove", "ann@example.org", "--group", "1"], &data));
    let listed = printed(run(&["pro", "list"], &data));
    assert!(listed.contains("ann@example.org\tgroups 2, main 2\tAnn\n"), "{listed}");
    printed(run(&["pro", "remove", "ann@example.org"], &data));
    assert!(!printed(run(&["pro", "list"], &data)).contains("ann@example.org"));
    assert_eq!(status(&served, "test-key", Some(("ann@example.org", "another word"))).await, 401);
    refused(&run(&["pro", "remove", "ann@example.org"], &data), "no professional has the address");
    refused(
        &run_with_input(&["pro", "password", "bob@example.org"], &data, "x"),
        "no professional has the address",
    );
    assert_eq!(
        run(&["pro", "add", "bob@example.org", "--password", "x"], &data).status.code(),
        Some(2)
    );
}

#[test]
fn the_socket_is_its_owners_alone_goes_with_the_server_and_is_made_anew_after_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    // Longer than a socket's name may be.
    let data = folder.path().join("d".repeat(120));
    let served = Served::heard(&data, &["--demo"]);
    let metadata = std::fs::metadata(data.join(SOCKET)).expect("it is there");
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    assert_eq!(
        printed(run(&["pro", "list"], &data))
            .lines()
            .next()
            .map(|line| line.contains("anna@example.org")),
        Some(true)
    );
    drop(served.end("KILL"));
    assert!(data.join(SOCKET).exists(), "a kill leaves it");
    assert!(
        printed(run(&["pro", "list"], &data)).contains("anna@example.org"),
        "nobody answers there, so the store is read"
    );
    let served = Served::heard(&data, &[]);
    assert!(printed(run(&["pro", "list"], &data)).contains("anna@example.org"));
    assert_eq!(served.end("TERM").0, Some(0));
    assert!(!data.join(SOCKET).exists());
}

/// Sends a request over the socket of a running server, and returns the status and the body.
fn at_socket(data: &Path, request: &str, body: &str) -> (u16, Value) {
    let mut stream = UnixStream::connect(data.join(SOCKET)).expect("it listens");
    let length = body.len();
    let head = format!(
        "{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
    (status, serde_json::from_str(body).unwrap_or_default())
}

#[test]
fn the_socket_serves_the_api_without_a_key_in_every_group() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let _served = Served::on(&data, &[]);
    let (status, listed) = at_socket(&data, "GET /api/v1/groups", "");
    assert_eq!((status, &listed["totalRecords"]), (200, &1.into()), "{listed}");
    let calendar = r#"{"calendar":{"name":"By the operator"}}"#;
    let (status, made) = at_socket(&data, "POST /api/v1/groups/1/calendars", calendar);
    assert_eq!((status, &made["name"]), (201, &"By the operator".into()), "{made}");
    let (status, fiches) = at_socket(&data, "GET /api/v1/groups/1/fiches", "");
    assert_eq!(status, 200, "{fiches}");
    let (status, absent) = at_socket(&data, "GET /api/v1/groups/9/fiches", "");
    assert_eq!(status, 404, "{absent}");
}

#[test]
fn a_wrong_body_at_the_socket_is_refused_by_field_and_rule() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let _served = Served::on(&data, &[]);
    let digits = "0".repeat(64);
    let key = |more: &str| format!(r#"{{"sha256":"{digits}","holder":"public"{more}}}"#);
    for (request, body, field, rule) in [
        ("POST keys", "{}".to_owned(), "sha256", "64 hexadecimal digits"),
        ("POST keys", key(r#","holder":"all""#), "holder", "public, server or operator"),
        ("POST keys", key(r#","groups":"one""#), "groups", "must be ids"),
        ("POST keys", key(r#","origins":["x"]"#), "origins", "https://"),
        ("POST pros", r#"{"email":"x"}"#.to_owned(), "email", "e-mail address such as"),
        (
            "PUT pros",
            r#"{"email":"pro@example.org","password_hash":"plain"}"#.to_owned(),
            "password_hash",
            "argon2id",
        ),
    ] {
        let (method, path) = request.split_once(' ').expect("both");
        let (status, answer) =
            at_socket(&data, &format!("{method} /api/v1/operator/{path}"), &body);
        let entry = &answer["errors"][0];
        let message = entry["message"].as_str().expect("a text");
        assert_eq!((status, &entry["field"]), (400, &field.into()), "{body}: {answer}");
        assert!(message.contains(rule), "{message}");
    }
    let (status, answer) = at_socket(&data, "POST /api/v1/operator/keys", "nonsense");
    assert_eq!((status, &answer["errors"][0]["code"]), (400, &2.into()), "{answer}");
    assert_eq!(printed(run(&["key", "list"], &data)).lines().count(), 1, "nothing was done");
}

#[test]
fn a_silent_or_nonsensical_connection_keeps_no_command_waiting() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::heard(folder.path(), &["--demo"]);
    let connect = || UnixStream::connect(folder.path().join(SOCKET)).expect("it listens");
    let silent = connect();
    let mut nonsensical = connect();
    nonsensical.write_all(b"nonsense\n\n").expect("it is sent");
    let mut reply = String::new();
    nonsensical.read_to_string(&mut reply).expect("an answer");
    assert!(reply.starts_with("HTTP/1.1 400 "), "{reply}");
    assert_eq!(printed(run(&["key", "list"], folder.path())).lines().count(), 1);
    // Nor does it keep the server from ending.
    assert_eq!(served.end("TERM").0, Some(0));
    drop(silent);
}

/// Starts a command, kills it after a moment, and waits until it has ended.
async fn killed_after(arguments: &[&str], data: &Path, micros: u64) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotbook"));
    command.args(arguments).env("SLOTBOOK_DATA", data);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    tokio::time::sleep(std::time::Duration::from_micros(micros)).await;
    drop(child.kill());
    child.wait().expect("it ends");
}

#[tokio::test]
async fn a_command_killed_in_the_middle_is_carried_out_or_not_and_harms_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let keys = || printed(run(&["key", "list"], &data)).lines().count();
    let kill_many = async || {
        let before = keys();
        for micros in (0..30_000).step_by(3_000) {
            killed_after(&["key", "add", "--group", "1"], &data, micros).await;
            killed_after(&["export", "/dev/null"], &data, micros).await;
        }
        assert!((before..=before + 10).contains(&keys()));
    };
    let served = Served::on(&data, &[]);
    kill_many().await;
    assert_eq!(served.end("TERM").0, Some(0));
    kill_many().await;
    let checked = run(&["check"], &data);
    assert!(checked.status.success(), "{}", complaint(&checked));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_from_a_running_server_holds_all_that_was_answered_before_and_imports() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let served = Served::on(&data, &[]);
    let http = reqwest::Client::new();
    let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", served.base);
    let book = async |number: u64| {
        let answer = http
            .post(&url)
            .json(&booking(&format!("c{number}"), &half_hour(number), 1, &[1]))
            .send()
            .await;
        assert_eq!(answer.expect("an answer").status(), 201);
    };
    for number in 0..50 {
        book(number).await;
    }
    let under_load = tokio::spawn({
        let data = data.clone();
        async move { tokio::task::spawn_blocking(move || exported(&data)).await.expect("no panic") }
    });
    for number in 50..100 {
        book(number).await;
    }
    let document = under_load.await.expect("no panic");
    assert!((50..=100).contains(&appointments(&document).count()));
    // A message is kept a moment after its booking is answered.
    let is_kept = |message: &Value| message["state"] == "kept";
    let mut online = exported(&data);
    for _ in 0..1_000 {
        if online["groups"][0]["messages"].as_array().expect("a list").iter().all(is_kept) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        online = exported(&data);
    }
    assert_eq!(served.end("TERM").0, Some(0));
    let mut online = without_access(online);
    assert_eq!(online, without_access(exported(&data)), "the same as the store says");
    let again = folder.path().join("again");
    let file = data.with_extension("export.json");
    printed(run(&["import", file.to_str().expect("a plain path")], &again));
    // The history of a store tells what that store has done, so an import does not read it.
    let of_store = online["groups"][0]["history"].take();
    assert!(of_store.as_array().is_some_and(|rows| rows.len() > 100), "{of_store}");
    let mut of_copy = without_access(exported(&again));
    assert_eq!(of_copy["groups"][0]["history"].take(), serde_json::json!([]));
    assert_eq!(of_copy, online);
    let mode = std::fs::metadata(&file).expect("it was written").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it holds secrets");
}

#[tokio::test]
async fn the_operator_reads_messages_that_nobody_carries_while_the_server_runs_and_after() {
    const URL: &str = "https://rdv.example.org";
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    document["groups"][0]["sendmail"] = true.into();
    let data = store_of(folder.path(), &document);
    let served = Served::on(&data, &["--public-url", URL]);
    let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", served.base);
    let answer = reqwest::Client::new()
        .post(url)
        .json(&booking("curie", &half_hour(20), 1, &[1]))
        .send()
        .await;
    assert_eq!(answer.expect("an answer").status(), 201);
    let mut online = Value::Null;
    for _ in 0..1_000 {
        let printed = printed(run(&["messages", "--group", "1"], &data));
        online = serde_json::from_str(printed.lines().next().expect("a line")).expect("JSON");
        // It is taken up once the booking has been answered.
        if online["state"] == "kept" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(
        (&online["kind"], &online["state"]),
        (&"confirmation".into(), &"kept".into()),
        "{online}"
    );
    assert_eq!(
        (&online["group_id"], &online["recipient"]),
        (&1.into(), &"curie@example.org".into())
    );
    let text = online["text"].as_str().expect("what it says");
    assert!(text.contains("10:00") && text.contains(&format!("{URL}/m/")), "{text}");
    refused(&run(&["messages", "--group", "9"], &data), "group 9 does not exist");
    drop(served.end("KILL"));
    let offline = printed(run(&["messages", "--public-url", URL], &data));
    assert_eq!(serde_json::from_str::<Value>(offline.trim()).expect("one line of JSON"), online);
}
