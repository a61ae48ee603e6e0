//! Secret connections to the other side, and who is told what over them: the program against servers with certificates.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use super::authority::Authority;
use super::server::{Served, booking, complaint, half_hour, practice, store_of};

const USER: &str = "rdv";
const PASSWORD: &str = "open-sesame";

/// What a server was told.
#[derive(Default)]
struct Heard {
    /// For all the network to read.
    plain: String,
    secret: String,
    /// Messages taken.
    taken: usize,
}

/// How a mail server meets its clients.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// It offers STARTTLS.
    Starttls,
    /// It speaks TLS from the first byte.
    Tls,
    /// It offers to be logged in to, and no TLS.
    Plain,
}

/// A server on the other side, running until dropped.
struct Other {
    address: SocketAddr,
    heard: Arc<Mutex<Heard>>,
    _runtime: Runtime,
}

impl Other {
    /// A server that deals so with each connection.
    fn opens<F>(deal: impl Fn(TcpStream, Arc<Mutex<Heard>>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = std::io::Result<()>> + Send + 'static,
    {
        let runtime = Runtime::new().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let (address, heard) =
            (listener.local_addr().expect("bound"), Arc::<Mutex<Heard>>::default());
        let theirs = Arc::clone(&heard);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let dealt = deal(stream, Arc::clone(&theirs));
                // A client that goes away in the middle has its reasons.
                tokio::spawn(async move { dealt.await.unwrap_or_default() });
            }
        });
        Self { address, heard, _runtime: runtime }
    }

    fn mails(manner: Manner, secrecy: TlsAcceptor) -> Self {
        Self::opens(move |stream, heard| {
            let secrecy = secrecy.clone();
            async move {
                if manner == Manner::Tls {
                    let mut stream = BufReader::new(secrecy.accept(stream).await?);
                    stream.write_all(b"220 other\r\n").await?;
                    return mail(&mut stream, &heard, true, manner).await.map(|_| ());
                }
                let mut stream = BufReader::new(stream);
                stream.write_all(b"220 other\r\n").await?;
                if mail(&mut stream, &heard, false, manner).await? {
                    let mut stream = BufReader::new(secrecy.accept(stream.into_inner()).await?);
                    mail(&mut stream, &heard, true, manner).await?;
                }
                Ok(())
            }
        })
    }

    fn texts(secrecy: TlsAcceptor) -> Self {
        Self::opens(move |stream, heard| {
            let secrecy = secrecy.clone();
            async move { text(&mut BufReader::new(secrecy.accept(stream).await?), &heard).await }
        })
    }

    fn heard<T>(&self, of: impl FnOnce(&Heard) -> T) -> T {
        of(&self.heard.lock().expect("nobody panicked"))
    }

    /// Whether the credentials went where all can read them.
    fn betrayed(&self) -> bool {
        self.heard(|it| it.plain.contains("AUTH") || it.plain.contains(&login()))
    }
}

/// User and password as SMTP has them.
fn login() -> String {
    STANDARD.encode(format!("\0{USER}\0{PASSWORD}"))
}

/// An SMTP session until it ends, or until it is to go on in secret.
async fn mail<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut BufReader<S>,
    heard: &Mutex<Heard>,
    secret: bool,
    manner: Manner,
) -> std::io::Result<bool> {
    let mut logged_in = false;
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(false);
        }
        {
            let mut heard = heard.lock().expect("nobody panicked");
            if secret { heard.secret.push_str(&line) } else { heard.plain.push_str(&line) }
        }
        let verb = line.get(..4).unwrap_or_default().to_ascii_uppercase();
        let answer: &[u8] = match verb.as_str() {
            "EHLO" if secret || manner == Manner::Plain => b"250-other\r\n250 AUTH PLAIN\r\n",
            "EHLO" => b"250-other\r\n250 STARTTLS\r\n",
            "STAR" if manner == Manner::Starttls && !secret => {
                stream.write_all(b"220 go on\r\n").await?;
                return Ok(true);
            }
            "AUTH" if line.trim().ends_with(&login()) => {
                logged_in = true;
                b"235 welcome\r\n"
            }
            "AUTH" => b"535 5.7.8 Authentication credentials invalid\r\n",
            "MAIL" if !logged_in => b"530 who are you?\r\n",
            "DATA" => {
                stream.write_all(b"354 go on\r\n").await?;
                while line != ".\r\n" {
                    line.clear();
                    if stream.read_line(&mut line).await? == 0 {
                        return Ok(false);
                    }
                }
                heard.lock().expect("nobody panicked").taken += 1;
                b"250 taken\r\n"
            }
            "QUIT" => {
                stream.write_all(b"221 bye\r\n").await?;
                return Ok(false);
            }
            _ => b"250 ok\r\n",
        };
        stream.write_all(answer).await?;
    }
}

/// One POST.
async fn text<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut BufReader<S>,
    heard: &Mutex<Heard>,
) -> std::io::Result<()> {
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let before = head.len();
        if stream.read_line(&mut head).await? == 0 {
            return Ok(());
        }
        if let Some(value) = head[before..].to_ascii_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().expect("a number");
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    {
        let mut heard = heard.lock().expect("nobody panicked");
        heard.secret.push_str(&head);
        heard.secret.push_str(&String::from_utf8_lossy(&body));
        heard.taken += 1;
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await?;
    stream.shutdown().await
}

/// `slotbook message-test`, by options of its own, on a machine that trusts an authority or the usual ones.
fn test_message(to: &str, options: &[&str], machine_trusts: Option<&Path>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotbook"));
    command
        .env_clear()
        .args(["message-test", "--to", to, "--message-seconds-max", "10"])
        .args(options);
    if let Some(file) = machine_trusts {
        command.env("SSL_CERT_FILE", file);
    }
    command.output().expect("the program runs")
}

/// The options for a mail server.
struct Way {
    port: String,
    tls: &'static str,
    trusts: String,
    password_file: String,
}

impl Way {
    fn to(other: &Other, tls: &'static str, authority: &Authority, password: &str) -> Self {
        let password_file = authority.file.with_extension("password");
        std::fs::write(&password_file, format!("{password}\n")).expect("it is written");
        let text = |path: &Path| path.to_str().expect("a plain path").to_owned();
        Self {
            port: other.address.port().to_string(),
            tls,
            trusts: text(&authority.file),
            password_file: text(&password_file),
        }
    }

    fn options(&self) -> Vec<&str> {
        let Self { port, tls, trusts, password_file } = self;
        [
            ["--smtp-host", "127.0.0.1"],
            ["--smtp-port", port],
            ["--smtp-tls", tls],
            ["--smtp-user", USER],
            ["--smtp-password-file", password_file],
            ["--smtp-ca-file", trusts],
            ["--mail-from", "rdv@shop.example"],
        ]
        .concat()
    }

    fn tried(&self) -> Output {
        test_message("you@example.org", &self.options(), None)
    }
}

fn is_not_taken(output: &Output, reason: &str) {
    let said = complaint(output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.starts_with("slotbook: the message was not taken: ") && said.contains(reason),
        "{said}"
    );
    assert!(
        output.stdout.is_empty() && !said.contains(PASSWORD) && !said.contains(&login()),
        "{said}"
    );
}

#[test]
fn mails_are_handed_over_in_secret_to_whom_the_authority_vouches_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let ours = Authority::new(folder.path(), "ours.pem");
    for (manner, tls) in [(Manner::Starttls, "starttls"), (Manner::Tls, "tls")] {
        let other = Other::mails(manner, ours.vouches("127.0.0.1"));
        let output = Way::to(&other, tls, &ours, PASSWORD).tried();
        assert_eq!(output.status.code(), Some(0), "{tls}: {}", complaint(&output));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "the message was taken\n");
        assert!(!other.betrayed() && other.heard(|it| it.secret.contains(&login())), "{tls}");
        assert_eq!(other.heard(|it| (it.taken, it.plain.contains("MAIL"))), (1, false), "{tls}");
    }
}

#[test]
fn nobody_else_is_told_the_password_or_the_mail() {
    let folder = tempfile::tempdir().expect("a folder");
    let [ours, theirs] = ["ours.pem", "theirs.pem"].map(|name| Authority::new(folder.path(), name));
    let strangers = [("starttls", Manner::Starttls), ("tls", Manner::Tls)];
    for (tls, manner) in strangers {
        let others = [
            (Other::mails(manner, theirs.vouches("127.0.0.1")), "UnknownIssuer"),
            (Other::mails(manner, ours.vouches("elsewhere.example")), "not valid for"),
        ];
        for (other, reason) in others {
            is_not_taken(&Way::to(&other, tls, &ours, PASSWORD).tried(), reason);
            assert!(!other.betrayed() && other.heard(|it| it.secret.is_empty()), "{tls}: {reason}");
        }
    }
    // A server, or somebody between, that offers no TLS but would gladly hear a password.
    let other = Other::mails(Manner::Plain, ours.vouches("127.0.0.1"));
    is_not_taken(&Way::to(&other, "starttls", &ours, PASSWORD).tried(), "STARTTLS");
    assert!(
        !other.betrayed()
            && other.heard(|it| !it.plain.contains("MAIL") && it.plain.contains("EHLO"))
    );
}

#[test]
fn a_wrong_password_and_a_file_without_authorities_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let ours = Authority::new(folder.path(), "ours.pem");
    let other = Other::mails(Manner::Starttls, ours.vouches("127.0.0.1"));
    is_not_taken(&Way::to(&other, "starttls", &ours, "wrong").tried(), "535");
    assert!(
        !other.betrayed() && other.heard(|it| it.taken == 0 && it.secret.contains("AUTH PLAIN"))
    );
    let mut way = Way::to(&other, "starttls", &ours, PASSWORD);
    for (file, reason) in [
        (way.password_file.clone(), "certificate"),
        ("/nonexistent.pem".to_owned(), "/nonexistent"),
    ] {
        way.trusts = file;
        let output = way.tried();
        assert!(
            !output.status.success() && complaint(&output).contains(reason),
            "{}",
            complaint(&output)
        );
    }
}

#[test]
fn text_messages_are_handed_over_in_secret_to_whom_the_machine_trusts() {
    let folder = tempfile::tempdir().expect("a folder");
    let [ours, theirs] = ["ours.pem", "theirs.pem"].map(|name| Authority::new(folder.path(), name));
    let send = |authority: &Authority, name: &str| {
        let other = Other::texts(authority.vouches(name));
        let url = format!("https://{}/send", other.address);
        let options = ["--sms-url", &url, "--sms-token", "the-token"];
        (test_message("+33612345678", &options, Some(&ours.file)), other)
    };
    let (output, other) = send(&ours, "127.0.0.1");
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "the message was taken\n");
    assert!(other.heard(|it| it.taken == 1 && it.secret.contains("Bearer the-token")));
    for (authority, name, reason) in
        [(&theirs, "127.0.0.1", "UnknownIssuer"), (&ours, "elsewhere.example", "not valid for")]
    {
        let (output, other) = send(authority, name);
        is_not_taken(&output, reason);
        assert!(
            complaint(&output).contains("the SMS gateway cannot be reached"),
            "{}",
            complaint(&output)
        );
        assert!(other.heard(|it| it.taken == 0 && it.secret.is_empty()));
    }
}

#[test]
fn the_ledger_says_why_nobody_takes_a_mail() {
    let folder = tempfile::tempdir().expect("a folder");
    let [ours, theirs] = ["ours.pem", "theirs.pem"].map(|name| Authority::new(folder.path(), name));
    let stranger = Other::mails(Manner::Tls, theirs.vouches("127.0.0.1"));
    let other = Other::mails(Manner::Tls, ours.vouches("127.0.0.1"));
    let runtime = Runtime::new().expect("a runtime");
    let stories = [
        // What the operator can mend is tried again; what the server refuses is final.
        (Way::to(&stranger, "tls", &ours, PASSWORD), "planned", "UnknownIssuer"),
        (Way::to(&other, "tls", &ours, "wrong"), "failed", "535"),
        (Way::to(&other, "tls", &ours, PASSWORD), "sent", ""),
    ];
    for (number, (way, state, reason)) in stories.into_iter().enumerate() {
        let folder = folder.path().join(number.to_string());
        std::fs::create_dir(&folder).expect("a folder");
        // The password's file is one, and is written for each.
        let password = if state == "failed" { "wrong" } else { PASSWORD };
        std::fs::write(&way.password_file, password).expect("it is written");
        let options = [way.options(), vec!["--log", "error"]].concat();
        let served = Served::on(&store_of(&folder, &practice(1)), &options);
        let line = runtime.block_on(line_of_a_booking(&served.base, state));
        assert!(line["reason"].as_str().expect("a text").contains(reason), "{line}");
        assert_eq!(
            line["attempts"].as_u64(),
            if state == "failed" { None } else { Some(1) },
            "{line}"
        );
        assert!(!line.to_string().contains(PASSWORD), "{line}");
        assert_eq!(served.terminate(), Some(0));
    }
    assert!(!stranger.betrayed() && !other.betrayed());
    assert_eq!(other.heard(|it| it.taken), 1);
}

/// The line of the ledger that tells of a booking, once it was tried and stands so.
async fn line_of_a_booking(base: &str, state: &str) -> Value {
    let http = reqwest::Client::new();
    let group = format!("{base}/api/v1/groups/1");
    let booked = http.post(format!("{group}/appointments")).query(&[("apikey", "test-key")]);
    let booked =
        booked.json(&booking("c1", &half_hour(0), 1, &[1])).send().await.expect("an answer");
    assert_eq!(booked.status(), 201);
    for _ in 0..2_000 {
        let ledger = http.get(format!("{group}/messages")).query(&[("apikey", "test-key")]);
        let ledger =
            ledger.basic_auth("pro@example.org", Some("secret")).send().await.expect("an answer");
        let ledger: Value = ledger.json().await.expect("JSON");
        let line = &ledger["records"][0];
        if line["state"] == state && (state != "planned" || line["attempts"].as_u64() > Some(0)) {
            return line.clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("no line stands at {state}");
}
