//! What is served where: the unit, the container file, and the options that the program refuses or warns of.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use super::server::{
    Served, booking, complaint, exported, half_hour, practice, run, signal, store_of,
    without_access,
};

const UNIT: &str = include_str!("../../data/service/slotbook.service");
const CONTAINER: &str = include_str!("../../data/service/Containerfile");
const README: &str = include_str!("../../README.md");

#[test]
fn unit_and_container_have_a_place_for_backups_and_authorities_and_the_readme_names_it() {
    assert!(
        UNIT.contains("StateDirectory=slotbook slotbook-backups\n")
            && UNIT.contains("ProtectSystem=strict")
    );
    assert!(!UNIT.contains("DynamicUser"), "commands are run as the user while no server runs");
    assert!(UNIT.contains("#LoadCredential=smtp-password:/etc/slotbook/smtp\n"));
    let (_, image) =
        CONTAINER.split_once("FROM docker.io/library/debian").expect("the image that runs");
    assert!(image.contains("ca-certificates") && image.contains("--no-create-home"));
    assert!(image.contains("VOLUME /var/lib/slotbook /var/backups/slotbook\n"));
    for place in ["/var/lib/slotbook-backups", "/var/backups/slotbook", "LoadCredential"] {
        assert!(README.contains(place), "{place}");
    }
    let ignored = include_str!("../../.dockerignore");
    assert!(
        ignored.lines().any(|line| line == ".git") && ignored.lines().any(|line| line == "target/")
    );
}

#[test]
fn systemd_takes_the_unit_and_finds_little_exposure() {
    for line in ["MemoryMax=", "UMask=0077\n", "CapabilityBoundingSet=\n", "SystemCallFilter="] {
        assert!(UNIT.contains(line), "{line}");
    }
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("skipped: systemd-analyze is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let unit = folder.path().join("slotbook.service");
    let program = env!("CARGO_BIN_EXE_slotbook");
    fs::write(&unit, UNIT.replace("/usr/local/bin/slotbook", program)).expect("it is written");
    for arguments in [&["verify"][..], &["security", "--offline=true", "--threshold=20"]] {
        let mut command = Command::new("systemd-analyze");
        let checked = command.args(arguments).arg(&unit).output().expect("it runs");
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success() && !said.contains("slotbook.service:"), "{said}");
    }
}

#[test]
fn a_password_is_not_taken_from_the_command_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let refused = run(&["serve", "--smtp-password", "hunter2"], &data);
    assert_eq!(refused.status.code(), Some(2));
    let said = complaint(&refused);
    assert!(said.contains("give --smtp-password-file") && !said.contains("hunter2"), "{said}");
    let help = run(&["serve", "--help"], &data);
    assert!(!String::from_utf8_lossy(&help.stdout).contains("--smtp-password "));
}

#[tokio::test]
async fn deployments_that_strangers_can_abuse_are_warned_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let public = ["--demo", "--public-url", "https://rdv.example.org", "--behind-tls"];
    let (_, said) = Served::heard(&folder.path().join("one"), &public).end("TERM");
    for warning in ["the demonstration is served on a public address", "without --trusted-proxies"]
    {
        assert!(said.contains(warning), "{warning}: {said}");
    }
    let proxied = ["--create", "--behind-tls", "--trusted-proxies", "10.0.0.1"];
    let served = Served::heard(&folder.path().join("two"), &proxied);
    for _ in 0..3 {
        let request = reqwest::Client::new().get(format!("{}/healthz", served.base));
        let request = request.header("X-Forwarded-For", "203.0.113.7");
        assert_eq!(request.send().await.expect("an answer").status(), 200);
    }
    let (_, said) = served.end("TERM");
    assert_eq!(said.matches("is not believed").count(), 1, "{said}");
    assert!(!said.contains("demonstration") && !said.contains("without --trusted"), "{said}");
    let other_header = ["--create", "--trusted-proxies", "127.0.0.1"];
    let served = Served::heard(&folder.path().join("three"), &other_header);
    for name in ["X-Forwarded-For", "Forwarded", "Forwarded"] {
        let request = reqwest::Client::new().get(format!("{}/healthz", served.base));
        let request = request.header(name, "for=203.0.113.7");
        assert_eq!(request.send().await.expect("an answer").status(), 200);
    }
    let (_, said) = served.end("TERM");
    assert_eq!(said.matches("give --forwarding-header forwarded").count(), 1, "{said}");
}

#[tokio::test]
async fn a_failed_login_is_logged_as_the_documented_filter_reads_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::heard(&store_of(folder.path(), &practice(1)), &[]);
    let url = format!("{}/api/v1/groups/1/calendars?apikey=test-key", served.base);
    let guess = reqwest::Client::new().get(url).basic_auth("Ann@example.org", Some("a guess"));
    assert_eq!(guess.send().await.expect("an answer").status(), 401);
    let (_, said) = served.end("TERM");
    let line = said.lines().find(|line| line.contains("login failed")).expect("a line");
    let expected =
        "WARN slotbook::http::auth::authenticator: login failed source=127.0.0.1 email=\"";
    let (_, hash) = line.split_once(expected).unwrap_or_else(|| panic!("{line}"));
    assert_eq!(hash.trim_end_matches('"').len(), 12, "{line}");
    assert!(!line.to_lowercase().contains("ann@"), "{line}");
    let filter = include_str!("../../docs/operations.md");
    let documented = "WARN slotbook::http::auth::authenticator: login failed source=<HOST> email=";
    assert!(filter.contains(documented));
}

/// Runs the program on a machine that believes no authority.
fn unbelieving(arguments: &[&str], empty: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotbook"));
    command
        .args(arguments)
        .env_clear()
        .env("SSL_CERT_FILE", empty)
        .output()
        .expect("the program runs")
}

#[test]
fn a_gateway_without_tls_needs_no_authority() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("none.pem");
    fs::write(&empty, "").expect("it is written");
    let test =
        |url| unbelieving(&["message-test", "--to", "+33600000000", "--sms-url", url], &empty);
    let plain = test("http://127.0.0.1:1/send");
    assert_eq!(plain.status.code(), Some(1), "{}", complaint(&plain));
    assert!(complaint(&plain).contains("cannot be reached"), "{}", complaint(&plain));
    assert_eq!(test("https://127.0.0.1:1/send").status.code(), Some(2));
}

#[test]
fn options_without_sense_are_refused_by_name_before_the_store_is_touched() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    for (option, value) in [
        ("--public-url", "rdv"),
        ("--public-url", "javascript:x"),
        ("--public-url", "https://a b"),
        ("--connections-max", "0"),
        ("--disk-reserve-mib", "99999999999999"),
        ("--journal-mib", "99999999999999"),
        ("--message-seconds-max", "0"),
        ("--smtp-port", "0"),
        ("--keep-deleted-days", "4294967295"),
    ] {
        let refused = run(&["serve", option, value], &data);
        assert_eq!(refused.status.code(), Some(2), "{option} {value}: {}", complaint(&refused));
        assert!(complaint(&refused).contains(option), "{option} in {}", complaint(&refused));
    }
    let file = folder.path().join("slotbook.toml");
    fs::write(&file, "connections_max = 0\n").expect("it is written");
    let refused = run(&["serve", "--config", file.to_str().expect("a plain path")], &data);
    assert_eq!(refused.status.code(), Some(2));
    assert!(complaint(&refused).contains("0 is not in 1..=1000000"), "{}", complaint(&refused));
    for (more, why) in [
        (["--sms-url", "gateway", "--log", "warn"], "its address"),
        (
            ["--smtp-host", "localhost", "--mail-from", "nobody"],
            "the sender's mail address is invalid",
        ),
        (
            ["--smtp-host", "localhost", "--smtp-password-file", "/nope"],
            "--smtp-password-file: /nope cannot be read",
        ),
    ] {
        let refused = run(&[&["serve"][..], &more].concat(), &data);
        assert_eq!(refused.status.code(), Some(2), "{}", complaint(&refused));
        assert!(complaint(&refused).contains(why), "{why} in {}", complaint(&refused));
    }
    assert!(!data.exists(), "nothing was begun");
}

#[test]
fn mails_that_would_name_this_machine_alone_are_warned_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let post = ["--create", "--smtp-host", "127.0.0.1", "--smtp-tls", "none"];
    let (code, said) = Served::heard(&folder.path().join("one"), &post).end("TERM");
    assert_eq!(code, Some(0));
    assert!(said.contains("give --public-url") && said.contains("give --mail-from"), "{said}");
    let named = ["--public-url", "https://rdv.example.org", "--mail-from", "rdv@example.org"];
    let (_, said) =
        Served::heard(&folder.path().join("two"), &[&post[..], &named].concat()).end("TERM");
    assert!(!said.contains("give --"), "{said}");
}

#[test]
fn codes_that_no_gateway_can_send_are_warned_of_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, field, value, more, warning) in [
        ("mail", "verify_bookings", json!("mail"), &[][..], Some("no mail server")),
        ("sms", "verify_bookings", json!("sms"), &[], Some("no SMS gateway")),
        ("proof", "validateEmail", json!(true), &[], Some("no mail server")),
        ("off", "verify_bookings", json!("off"), &[], None),
        ("sent", "verify_bookings", json!("mail"), &["--smtp-host", "127.0.0.1"], None),
    ] {
        let mut document = practice(1);
        document["groups"][0][field] = value;
        let place = folder.path().join(name);
        fs::create_dir(&place).expect("a folder");
        let (code, said) = Served::heard(&store_of(&place, &document), more).end("TERM");
        assert_eq!(code, Some(0));
        let told = said.lines().find(|line| line.contains("need a code"));
        match (warning, told) {
            (Some(warning), Some(line)) => {
                assert!(line.contains(warning) && line.contains("1 Practice"), "{line}");
            }
            (None, None) => {}
            other => panic!("{name}: {other:?} in {said}"),
        }
    }
}

#[test]
fn a_document_goes_through_stdout_and_stdin_and_may_begin_with_a_mark() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(2));
    let document = run(&["export", "-"], &data);
    assert!(document.status.success(), "{}", complaint(&document));
    let other = folder.path().join("other");
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotbook"));
    let mut child = command
        .args(["import", "-"])
        .env("SLOTBOOK_DATA", &other)
        .stdin(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin
        .write_all("\u{feff}".as_bytes())
        .and_then(|()| stdin.write_all(&document.stdout))
        .expect("it reads");
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
    assert_eq!(without_access(exported(&other)), without_access(exported(&data)));
}

#[test]
fn a_backup_says_where_it_stands_and_leaves_free_what_the_server_is_to_leave() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let to = folder.path().join("backup");
    let name = to.to_str().expect("a plain path");
    // More than any disk has.
    let much = "1000000000";
    let served = Served::on(&data, &["--disk-reserve-mib", much]);
    let refused = run(&["backup", name], &data);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        complaint(&refused).contains("beside 1000000000 MiB of reserve"),
        "{}",
        complaint(&refused)
    );
    served.terminate();
    let _served = Served::on(&data, &["--disk-reserve-mib", "0"]);
    let done = run(&["backup", "--disk-reserve-mib", much, name], &data);
    assert!(done.status.success(), "{}", complaint(&done));
    let place = to.canonicalize().expect("it is there");
    assert_eq!(
        String::from_utf8_lossy(&done.stdout),
        format!("the backup stands in {}\n", place.display())
    );
}

#[test]
fn a_server_that_is_told_to_stop_while_it_reads_ends_well() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    // Who opens this for reading waits until somebody writes.
    let current = data.join("CURRENT");
    let line = fs::read(&current).expect("it stands");
    fs::remove_file(&current).expect("ours");
    assert!(Command::new("mkfifo").arg(&current).status().expect("mkfifo is there").success());
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotbook"));
    let command = command.args(["serve", "--listen", "127.0.0.1:0"]).env("SLOTBOOK_DATA", &data);
    let mut child = command.spawn().expect("the program starts");
    // Opened once the reader has opened it too: the signals are heard by then.
    let mut writer = fs::OpenOptions::new().write(true).open(&current).expect("it reads");
    signal(child.id(), "TERM");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    drop(writer.write_all(&line));
}

#[tokio::test]
async fn a_server_whose_log_cannot_be_written_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotbook"));
    let command = command
        .args(["serve", "--log", "trace", "--listen", "127.0.0.1:0"])
        .env("SLOTBOOK_DATA", &data);
    let mut child =
        command.stdout(Stdio::piped()).stderr(full).spawn().expect("the program starts");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("text");
    let base = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("said {line:?}"));
    let wish = booking("Ada", &half_hour(1), 1, &[1]);
    let url = format!("{base}/api/v1/groups/1/appointments?apikey=test-key");
    let answer = reqwest::Client::new().post(url).json(&wish).send().await.expect("an answer");
    assert_eq!(answer.status().as_u16(), 201);
    signal(child.id(), "TERM");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}
