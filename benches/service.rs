//! The whole server on a loopback connection: long lists, what a long answer takes in memory, and what it costs to say
//! who asks.

mod practice;
#[path = "practice/trial.rs"]
mod trial;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use argon2::password_hash::PasswordHasher;
use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, Version};
use criterion::{Criterion, criterion_group, criterion_main};
use practice::{group, morning, practice};
use sha2::{Digest, Sha256};
use slotbook::clock::ManualClock;
use slotbook::domain::directory::Directory;
use slotbook::domain::directory::apikeys::{Apikey, ApikeyHolder};
use slotbook::domain::directory::professionals::Pro;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::ids::{FicheId, ProId, VeventId};
use slotbook::domain::records::text::{Email, Name, Text};
use slotbook::domain::records::vevent::{Vevent, VeventKind};
use slotbook::domain::recurrence::{Exceptions, Series};
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::{DAY, HOUR, MINUTE};
use slotbook::engine::admission::AdmissionLimits;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::engine::{Engine, EngineParts};
use slotbook::http::BookingLimits;
use slotbook::http::{Server, serve};
use slotbook::password;
use slotbook::store::SimulatedDisk;
use slotbook::web;
use trial::is_a_trial;

/// A hundred thousand clients; in a trial some.
fn many() -> u64 {
    if is_a_trial() { 5_000 } else { 100_000 }
}

/// A practice of a hundred thousand events; in a trial of some.
fn whole_practice() -> GroupState {
    practice(if is_a_trial() { 5 } else { 100 }, 84, 12)
}

/// Of ann@example.org, whose password is secret.
const BASIC: &str = "Authorization: Basic YW5uQGV4YW1wbGUub3JnOnNlY3JldA==\r\n";

/// A server of one group on so many threads that serve connections, and who may ask.
fn start(group_state: GroupState, workers: usize) -> (tokio::runtime::Runtime, SocketAddr) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let mut directory = Directory::default();
    let holder = ApikeyHolder::Server;
    directory.apikeys.insert(
        Sha256::digest("key").into(),
        Apikey {
            label: Text::default(),
            groups: None,
            holder,
            origins: Vec::new(),
            allows_any_origin: false,
            needs_contact: true,
        },
    );
    let pro = Pro {
        id: ProId::new(1).expect("an id"),
        email: Email::new("ann@example.org").expect("an address"),
        password_hash: hash_of_little_memory(&password::sha1_hex("secret")),
        lastname: Name::default(),
        firstname: Name::default(),
        cellphone: Text::default(),
        groups: vec![group()],
        main: group(),
        synched_at: None,
        created_at: morning(),
        updated_at: morning(),
    };
    directory.pros.insert(pro.id, pro);
    let address = runtime.block_on(async {
        let (log, _) = SimulatedDisk::new().recover(|_, _| Ok(())).expect("an empty disk recovers");
        let parts = EngineParts {
            directory,
            group_states: [group_state].into(),
            clock: Arc::new(ManualClock::at(morning())),
            randomness: Randomness::seeded([7; 32]),
            transport: Transport::direct(),
            admission_limits: AdmissionLimits::default(),
            decision_timeout: Duration::from_secs(60),
        };
        let (engine, journal) = Engine::start(parts, log).await;
        std::thread::spawn(move || journal.run());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let routes = web::service(Server::new(engine, 2).limit_bookings(BookingLimits::NONE));
        tokio::spawn(serve(listener, routes, 100, std::future::pending()));
        address
    });
    (runtime, address)
}

/// The form at rest of a password, verified in 8 KiB: the 19 MiB that it takes otherwise would be counted as a list's.
fn hash_of_little_memory(sha1_hex: &str) -> Text<255> {
    let least = Params::new(8, 1, 1, None).expect("the least there may be");
    let hasher = Argon2::new(Algorithm::Argon2id, Version::V0x13, least);
    let hash: PasswordHash = hasher.hash_password(sha1_hex.as_bytes()).expect("a password");
    Text::new(&hash.to_string()).expect("short enough")
}

/// One connection that asks again and again.
struct Client(BufReader<TcpStream>);

impl Client {
    fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("a socket");
        Self(BufReader::with_capacity(64 * 1_024, stream))
    }

    fn send(&mut self, path: &str, basic: bool) {
        let header = if basic { BASIC } else { "" };
        let request = format!("GET /api/v1/groups{path} HTTP/1.1\r\nHost: x\r\n{header}\r\n");
        self.0.get_mut().write_all(request.as_bytes()).expect("the server reads");
    }

    /// The length of the body of a 200, and whether it came in chunks; `None` of the length where it did.
    fn head(&mut self) -> Option<usize> {
        let mut length = None;
        for number in 0.. {
            let mut line = String::new();
            self.0.read_line(&mut line).expect("the server answers");
            assert!(number > 0 || line.starts_with("HTTP/1.1 200"), "{line}");
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok();
            }
        }
        length
    }

    /// The whole body of a short answer.
    fn get(&mut self, path: &str, basic: bool) -> Vec<u8> {
        self.send(path, basic);
        let mut body = vec![0; self.head().expect("a length")];
        self.0.read_exact(&mut body).expect("all of it");
        body
    }

    /// The whole body of an answer of any length.
    fn collect(&mut self, path: &str) -> Vec<u8> {
        self.send(path, true);
        let mut body = Vec::new();
        if let Some(length) = self.head() {
            body.resize(length, 0);
            self.0.read_exact(&mut body).expect("all of it");
            return body;
        }
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).expect("a chunk");
            let length = usize::from_str_radix(line.trim(), 16).expect("a length");
            let kept = body.len();
            body.resize(kept + length + 2, 0);
            self.0.read_exact(&mut body[kept..]).expect("all of it");
            body.truncate(kept + length);
            if length == 0 {
                return body;
            }
        }
    }

    /// How many bytes an answer has, none of which is kept.
    fn swallow(&mut self, path: &str) -> usize {
        self.send(path, true);
        if let Some(length) = self.head() {
            let copied =
                std::io::copy(&mut (&mut self.0).take(length as u64), &mut std::io::sink());
            assert_eq!(copied.expect("all of it"), length as u64);
            return length;
        }
        let mut total = 0;
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).expect("a chunk");
            let length = usize::from_str_radix(line.trim(), 16).expect("a length");
            let copied =
                std::io::copy(&mut (&mut self.0).take(length as u64 + 2), &mut std::io::sink());
            assert_eq!(copied.expect("all of it"), length as u64 + 2);
            if length == 0 {
                return total;
            }
            total += length;
        }
    }
}

fn clients(count: u64) -> GroupState {
    let mut group_state = practice(1, 1, 1);
    for number in 1..=count {
        let mut fiche = Fiche::new(FicheId::new(number + 10).expect("an id"), morning());
        let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        fiche.lastname = Name::new(&format!("Client {scattered:x}")).expect("a name");
        fiche.firstname =
            Name::new(["Marie", "Paul", "Zoé"][(scattered % 3) as usize]).expect("a name");
        fiche.email =
            Some(Email::new(&format!("client.{number}@example.org")).expect("an address"));
        fiche.firstphone = Text::new(&format!("06 {number:08}")).expect("a number");
        group_state.put_fiche(fiche.into());
    }
    group_state
}

/// Every relation, one of them with nothing, and a search: each looks at all rows and puts those it finds in order.
const SOUGHT: [(&str, &str, &str); 12] = [
    ("equal", "=", "Marie"),
    ("unequal", "!=", "Marie"),
    ("greater", ">", "Marie"),
    ("greater_or_equal", ">=", "Marie"),
    ("less", "<", "Paul"),
    ("less_or_equal", "<=", "Paul"),
    ("like", "like", "%25AR%25"),
    ("not_like", "not%20like", "%25AR%25"),
    ("in", "in", "Marie,Zo%C3%A9"),
    ("not_in", "not%20in", "Marie,Zo%C3%A9"),
    ("not_empty", "!=", ""),
    ("search", "", "marie%20clIent"),
];

fn lists(c: &mut Criterion) {
    let (_runtime, address) = start(clients(many()), 2);
    let mut client = Client::to(address);
    let mut group = c.benchmark_group("service");
    group
        .sample_size(30)
        .measurement_time(Duration::from_secs(3))
        .warm_up_time(Duration::from_secs(1));
    for (name, op, value) in SOUGHT {
        let sought = match op {
            "" => format!("search={value}"),
            op => format!(
                "conditions[0][field]=firstname&conditions[0][op]={op}&conditions[0][value]={value}"
            ),
        };
        let path = format!("/1/fiches?apikey=key&sort=lastname&dir=desc&{sought}");
        let found = client.get(&path, true);
        assert!(
            found.len() > 5_000 && !found.ends_with(b"[]}"),
            "a third of all is found at least"
        );
        group.bench_function(format!("25_of_100000_fiches_{name}_sorted"), |b| {
            b.iter(|| assert_eq!(client.get(&path, true), found));
        });
    }
    group.finish();
}

fn whole_list(c: &mut Criterion) {
    let (_runtime, address) = start(whole_practice(), 2);
    let mut client = Client::to(address);
    let path = "/1/vevents?apikey=key&results=all";
    // The credential is remembered.
    client.get("/1/calendarsets?apikey=key", true);
    let before = forget_peak();
    let bytes = client.swallow(path);
    let growth = kib("VmHWM:") - before;
    eprintln!(
        "service/all_of_100000_vevents: {} MiB sent, memory grew by {growth} KiB at most",
        bytes >> 20
    );
    let mut group = c.benchmark_group("service");
    group.sample_size(10);
    group.bench_function("all_of_100000_vevents", |b| {
        b.iter(|| assert_eq!(client.swallow(path), bytes))
    });
    group.finish();
}

/// Has the system count the most memory that the process has from now on; what it has now, in KiB.
fn forget_peak() -> usize {
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux lets a process do that for itself");
    kib("VmHWM:")
}

fn kib(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with(field)).expect("a line");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

/// How long the only thread that serves connections was kept by anything at a time, while lists of all kinds were asked
/// for.
fn holds(_: &mut Criterion) {
    let whole: &[&str] = &["/1/vevents?apikey=key&results=all"];
    let found: &[&str] = &[
        "/1/fiches?apikey=key&sort=lastname&conditions[0][field]=firstname&conditions[0][op]=like&conditions[0][value]=%25AR%25",
        "/1/fiches?apikey=key&search=marie%20clIent&results=50",
    ];
    let short: &[&str] = &["/1/fiches?apikey=key&sort=lastname&dir=desc&results=50"];
    let mut long_texts = clients(50);
    for fiche in long_texts.fiches.values().cloned().collect::<Vec<_>>() {
        let comments = Text::new(&"as \"said\" above\n".repeat(4_000)).expect("a text");
        long_texts.put_fiche(Arc::new(Fiche { comments, ..Fiche::clone(&fiche) }));
    }
    for (name, group_state, paths) in [
        ("all_of_100000_vevents", whole_practice(), whole),
        ("25_of_100000_fiches", clients(many()), found),
        ("50_of_1000_fiches", clients(1_000), short),
        ("50_fiches_of_long_texts", long_texts, short),
    ] {
        let (runtime, address) = start(group_state, 1);
        let mut client = Client::to(address);
        // The credential is remembered, and what is made once is made.
        for path in paths {
            client.swallow(path);
        }
        let over = Arc::new(AtomicBool::new(false));
        let watch = runtime.spawn(longest_hold(Arc::clone(&over)));
        for path in paths.iter().cycle().take(10) {
            client.swallow(path);
        }
        over.store(true, Ordering::Relaxed);
        let longest = runtime.block_on(watch).expect("it ends");
        eprintln!(
            "service/{name}: a thread that serves connections was kept for {longest:?} at most"
        );
    }
}

/// The longest time between two turns of a task that is always ready, on the only thread that could run it: by the wall or
/// by what the processor spent on the thread, whichever is less. The one counts what else the machine does, the other now
/// and then more than there was time for.
async fn longest_hold(over: Arc<AtomicBool>) -> Duration {
    let spent = || {
        let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(
            spent.tv_sec.unsigned_abs(),
            u32::try_from(spent.tv_nsec).expect("under a second"),
        )
    };
    let (mut longest, mut wall, mut last) = (Duration::ZERO, Instant::now(), spent());
    while !over.load(Ordering::Relaxed) {
        tokio::task::yield_now().await;
        longest = longest.max(wall.elapsed().min(spent() - last));
        (wall, last) = (Instant::now(), spent());
    }
    longest
}

/// The same answer to the key alone and to a professional whose credential is remembered, asked in turn, so that whatever
/// else the machine does falls on both: the difference is the cost of the credential.
fn credentials(c: &mut Criterion) {
    let turns = if is_a_trial() { 200 } else { 20_000 };
    let (_runtime, address) = start(practice(1, 1, 1), 2);
    let mut client = Client::to(address);
    let path = "/1/calendarsets?apikey=key";
    let answer = client.get(path, false);
    let mut taken = [const { Vec::new() }; 2];
    for turn in 0..turns {
        let basic = turn % 2 == 1;
        let began = Instant::now();
        assert_eq!(client.get(path, basic), answer);
        taken[usize::from(basic)].push(began.elapsed());
    }
    let [key_alone, basic] = taken.map(|mut taken| {
        taken.sort_unstable();
        taken[taken.len() / 2]
    });
    eprintln!(
        "service/an_empty_list: by the key alone {key_alone:?}, by a remembered credential {basic:?} (medians)"
    );
    for (name, basic) in [("key_alone", false), ("remembered_basic", true)] {
        c.bench_function(&format!("service/an_empty_list_by_{name}"), |b| {
            b.iter(|| assert_eq!(client.get(path, basic), answer));
        });
    }
}

/// A week of 1,250 events of 90,000 and more: 1,225 appointments, and a lunch of each calendar that began years before.
fn agenda_practice() -> GroupState {
    let mut group_state = practice(25, 515, 7);
    let zone = group_state.catalogue.zone();
    let last = group_state.highest_ids.vevent;
    for number in 1..=25 {
        let start = practice::MONDAY.plus_seconds(12 * HOUR + 30 * MINUTE - 2_002 * DAY);
        let rule = Some("FREQ=WEEKLY".parse().expect("a rule"));
        let lunch =
            Series::new(zone, start, start.plus_seconds(HOUR / 2), rule, Exceptions::default());
        let row = Vevent {
            id: VeventId::new(last + number).expect("an id"),
            calendar_id: practice::calendar(number),
            kind: VeventKind::Plage(Box::new(lunch.expect("a series"))),
            deleted: false,
            created_at: morning(),
            updated_at: morning(),
            rare: None,
        };
        group_state.put_vevent(row.into());
    }
    group_state
}

/// The agenda of a week, on one connection, without compression: near the first events, and a year later.
fn agenda(c: &mut Criterion) {
    let group_state = agenda_practice();
    assert!(group_state.rows.len() > 90_000);
    let (_runtime, address) = start(group_state, 2);
    let mut client = Client::to(address);
    let mut group = c.benchmark_group("service");
    for (name, from, to) in
        [("first", "2026-01-05", "2026-01-12"), ("later", "2027-01-04", "2027-01-11")]
    {
        let path = format!("/1/agenda?apikey=key&from={from}&to={to}");
        let body = client.collect(&path);
        let answer: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        let events = answer["events"].as_array().expect("events");
        assert_eq!(events.len(), 1_250);
        assert_eq!(events.iter().filter(|event| event["kind"] == "plage").count(), 25);
        group.bench_function(format!("agenda_of_1250_of_90000_events_{name}"), |b| {
            b.iter(|| assert_eq!(client.collect(&path), body));
        });
    }
    group.finish();
}

// Memory is measured before anything else has had some and given it back.
criterion_group!(benches, whole_list, lists, holds, credentials, agenda);
criterion_main!(benches);
