//! TLS between the parts of a cluster: to PostgreSQL, as `sslmode` says, and between its servers.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::postgres::{Pair, database_url};
use super::servers::{ServerOptions, Servers};
use crate::authority::Authority;
use crate::server::{booking, complaint, half_hour, practice, run, slotbook};

/// Longest time until PostgreSQL follows a setting.
const SETTING_MAX: Duration = Duration::from_secs(30);

/// Has PostgreSQL take connections by TLS only, as `localhost`.
fn require_tls(pair: &Pair, authority: &Authority) {
    let (certificate, key) = authority.certify("localhost");
    for (name, setting, pem) in [
        ("server.pem", "ssl_cert_file", certificate.pem()),
        ("server.key", "ssl_key_file", key.serialize_pem()),
    ] {
        let file = pair.folder.path().join(name);
        fs::write(&file, pem).expect("there is room");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");
        if let Some((user, group)) = pair.account {
            chown(&file, Some(user), Some(group)).expect("root may");
        }
        pair.set(setting, file.to_str().expect("a plain path"));
    }
    pair.set("ssl", "on");
    pair.allow("hostnossl slots slotbook_server all reject\n");
    // Each look takes a connection and a process of its own.
    let began = Instant::now();
    while pair.query("SHOW ssl") != "on" {
        assert!(began.elapsed() < SETTING_MAX, "PostgreSQL begins no TLS");
    }
}

#[test]
fn postgresql_is_reached_by_tls_as_sslmode_says() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let [ours, theirs] = ["ours.pem", "theirs.pem"].map(|name| Authority::new(folder.path(), name));
    let port = pair.ports[pair.primary];
    let nowhere = folder.path().join("none");
    let owner = format!("postgres://postgres@localhost:{port}/slots?sslmode=disable");
    let init = ["cluster", "init", "--role", "slotbook_server", "--shared", &owner];
    let made = run(&init, &nowhere);
    assert!(made.status.success(), "{}", complaint(&made));
    require_tls(&pair, &ours);
    let (ours, theirs) = (ours.file.display(), theirs.file.display());
    let status = |host: &str, mode: String| {
        let url = format!("postgres://slotbook_server@{host}:{port}/slots?sslmode={mode}");
        run(&["cluster", "status", "--shared", &url], &nowhere)
    };
    for (host, mode) in [
        ("localhost", "allow".to_owned()),
        ("localhost", "prefer".to_owned()),
        ("localhost", "require".to_owned()),
        ("127.0.0.1", "require".to_owned()),
        ("127.0.0.1", format!("require&sslrootcert={ours}")),
        ("127.0.0.1", format!("verify-ca&sslrootcert={ours}")),
        ("localhost", format!("verify-full&sslrootcert={ours}")),
    ] {
        let output = status(host, mode.clone());
        assert!(output.status.success(), "{host} {mode}: {}", complaint(&output));
    }
    for (host, mode, reason) in [
        ("localhost", "disable".to_owned(), "no encryption"),
        ("localhost", format!("require&sslrootcert={theirs}"), "UnknownIssuer"),
        ("localhost", format!("verify-ca&sslrootcert={theirs}"), "UnknownIssuer"),
        ("localhost", format!("verify-full&sslrootcert={theirs}"), "UnknownIssuer"),
        ("127.0.0.1", format!("verify-full&sslrootcert={ours}"), "not valid for"),
        // By the authorities of this machine, of which none is ours.
        ("localhost", "verify-full".to_owned(), "UnknownIssuer"),
    ] {
        let output = status(host, mode.clone());
        assert_eq!(output.status.code(), Some(1), "{host} {mode}");
        assert!(complaint(&output).contains(reason), "{host} {mode}: {}", complaint(&output));
    }
    // It knows TLS still, and takes none of it for this role.
    pair.allow(
        "hostssl slots slotbook_server all reject\nhostnossl slots slotbook_server all trust\n",
    );
    let began = Instant::now();
    while status("localhost", "require".to_owned()).status.success() {
        assert!(began.elapsed() < SETTING_MAX, "PostgreSQL goes on to take TLS");
    }
    for mode in ["disable", "allow", "prefer"] {
        let output = status("localhost", mode.to_owned());
        assert!(output.status.success(), "{mode}: {}", complaint(&output));
    }
}

#[test]
fn the_password_of_the_role_comes_from_a_file_or_the_environment() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let owner = database_url("postgres", &pair.ports);
    let init = ["cluster", "init", "--role", "slotbook_server", "--shared", &owner];
    let made = run(&init, folder.path());
    assert!(made.status.success(), "{}", complaint(&made));
    pair.query("ALTER ROLE slotbook_server PASSWORD 'as it is'");
    pair.allow("host slots slotbook_server all scram-sha-256\n");
    let url = database_url("slotbook_server", &pair.ports);
    let file = folder.path().join("password");
    let path = file.to_str().expect("a plain path");
    let status = ["cluster", "status", "--shared", &url];
    let with_file = [status.as_slice(), &["--shared-password-file", path]].concat();
    let with_variable = |password: &str| {
        let mut command = slotbook();
        command.args(status).env("SLOTBOOK_SHARED_PASSWORD", password);
        command.current_dir(folder.path()).output().expect("the program runs")
    };
    let began = Instant::now();
    while run(&status, folder.path()).status.success() {
        assert!(began.elapsed() < SETTING_MAX, "PostgreSQL asks for no password");
    }
    for (password, is_right) in [("as it is", true), ("as it was", false)] {
        fs::write(&file, format!("{password}\n")).expect("there is room");
        for output in [run(&with_file, folder.path()), with_variable(password)] {
            let said = complaint(&output);
            assert_eq!(output.status.success(), is_right, "{password}: {said}");
            assert!(is_right || said.contains("password authentication failed"), "{said}");
            assert!(!said.contains(password), "{said}");
        }
    }
}

/// A port that takes TLS as `localhost`, and passes it on once its server is known.
async fn relay(authority: &Authority) -> (u16, watch::Sender<Option<SocketAddr>>) {
    let acceptor = authority.vouches("localhost");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let (to, known) = watch::channel(None);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (acceptor, mut known) = (acceptor.clone(), known.clone());
            tokio::spawn(async move {
                let Ok(mut client) = acceptor.accept(client).await else { return };
                let Ok(to) = known.wait_for(Option::is_some).await.map(|to| *to) else { return };
                let to = to.expect("it was waited for");
                let Ok(mut server) = TcpStream::connect(to).await else { return };
                // An end of either side ends both.
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    (port, to)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_reach_each_other_by_tls() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let authority = Authority::new(folder.path(), "ours.pem");
    let mut relays = Vec::new();
    let mut options = Vec::new();
    for _ in 0..2 {
        let (port, to) = relay(&authority).await;
        let arguments = vec!["--advertise".to_owned(), format!("https://localhost:{port}")];
        let environment = vec![("SSL_CERT_FILE", authority.file.clone())];
        options.push(ServerOptions { arguments, environment });
        relays.push(to);
    }
    let mut servers = Servers::start_with(&pair.ports, &practice(1), &options).await;
    for (member, to) in servers.members.iter().zip(&relays) {
        let address = member.base()["http://".len()..].parse().expect("an address");
        to.send_replace(Some(address));
    }
    let deciding = servers.deciding().await;
    let following = &servers.members[1 - deciding];
    servers.expect_answering(1 - deciding).await;
    let url = format!("{}/api/v1/groups/1/appointments", following.base());
    let wish = booking("anna", &half_hour(0), 1, &[2]);
    let request = reqwest::Client::new().post(url).query(&[("apikey", "test-key")]).json(&wish);
    let answer = request.send().await.expect("it is answered");
    assert_eq!(answer.status(), StatusCode::CREATED, "{}", answer.text().await.expect("text"));
    let said = servers.members[deciding].said();
    assert!(said.contains("url=\"https://localhost:"), "{said}");
}
