//! A server in this process over a store that takes its time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use slotbook::clock::{Clock as _, ManualClock, SystemClock};
use slotbook::domain::records::ids::GroupId;
use slotbook::domain::state::group_record::GroupRecord;
use slotbook::domain::state::group_state::GroupState;
use slotbook::engine::admission::AdmissionLimits;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::engine::{Engine, EngineParts};
use slotbook::http::BookingLimits;
use slotbook::http::{Server, serve};
use slotbook::password::hash_password;
use slotbook::store::codec;
use slotbook::store::{
    BatchNumber, Checkpoint, JournalRecord, Log, SimulatedDisk, SimulatedLog, StoreError, Stream,
};
use slotbook::transfer::StoreContent;
use slotbook::transfer::import::{Import, UsedIds};
use slotbook::web;

pub(crate) const CALENDARS: u64 = 8;

/// A running server.
pub(crate) struct Loaded {
    pub(crate) address: SocketAddr,
    pub(crate) engine: Engine,
    pub(crate) disk: SimulatedDisk,
    /// The group before anything happened.
    first: GroupState,
}

fn group() -> GroupId {
    GroupId::new(1).expect("an id")
}

/// A practice open day and night, with so many clients.
fn practice(clients: u64) -> StoreContent {
    let rows = |count: u64, row: &dyn Fn(u64) -> Value| (1..=count).map(row).collect::<Vec<_>>();
    let document = json!({
        "apikeys": [{"key": "test-key", "label": "tests"}],
        "groups": [{
            "id": 1, "name": "Practice", "timezone": "UTC", "validateEmail": false,
            "pros": [{"id": 1, "email": "pro@example.org", "password": "secret", "lastname": "Pro", "main": true}],
            "calendars": rows(CALENDARS, &|id| json!({
                "id": id, "name": "c", "publicname": "c", "generate_interval": 30, "maxrdv_period": 5_000_000,
            })),
            "interventions": [{"id": 1, "name": "i", "publicname": "i", "length": 30}],
            "fiches": rows(clients, &|id| json!({
                "id": id, "lastname": format!("Client {id}"), "comments": "remark ".repeat(100),
            })),
            "vevents": rows(CALENDARS, &|id| json!({
                "calendar_id": id, "type": "VfreebusyEvent", "rrule": "FREQ=DAILY",
                "start": "2020-01-01 00:00:00", "end": "2020-01-02 00:00:00",
            })),
        }]
    });
    let import = Import {
        now: SystemClock.now(),
        hash_password: &hash_password,
        draws: Randomness::seeded([1; 32]),
        used_ids: UsedIds::default(),
        progress: &mut |_, _| {},
    };
    import.read_document(document.to_string().as_bytes()).expect("a good document")
}

/// A log that takes so long for a batch.
struct Slow {
    log: SimulatedLog,
    batch: Duration,
}

impl Log for Slow {
    #[expect(clippy::disallowed_methods, reason = "what is waited for is the time a disk takes")]
    fn append(&mut self, records: &[JournalRecord]) -> Result<BatchNumber, StoreError> {
        std::thread::sleep(self.batch);
        self.log.append(records)
    }

    fn sync_watermark(&mut self) -> Result<(), StoreError> {
        self.log.sync_watermark()
    }

    fn checkpoint(&mut self) -> Result<Checkpoint, StoreError> {
        self.log.checkpoint()
    }

    fn close(self) -> Result<(), StoreError> {
        self.log.close()
    }
}

impl Loaded {
    /// A server whose store takes so long for a batch, and lets so many writes in.
    pub(crate) async fn start(batch: Duration, bound: usize, clients: u64) -> Self {
        let content = practice(clients);
        let disk = SimulatedDisk::new();
        let (log, _) = disk.recover(|_, _| Ok(())).expect("an empty disk recovers");
        let first = content.group_states[0].clone();
        let parts = EngineParts {
            directory: content.directory,
            group_states: content.group_states.into_iter().map(Arc::new).collect(),
            clock: Arc::new(ManualClock::at(SystemClock.now())),
            randomness: Randomness::seeded([7; 32]),
            transport: Transport::direct(),
            admission_limits: AdmissionLimits { writes_max: bound, group_writes_max: bound },
            decision_timeout: Duration::from_secs(10),
        };
        let (engine, journal) = Engine::start(parts, Slow { log, batch }).await;
        std::thread::spawn(move || journal.run());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let routes =
            web::service(Server::new(engine.clone(), 2).limit_bookings(BookingLimits::NONE));
        tokio::spawn(serve(listener, routes, 10_000, std::future::pending()));
        Self { address, engine, disk, first }
    }

    /// The group as readers see it.
    pub(crate) fn published(&self) -> Arc<GroupState> {
        self.engine.published().group_state(group()).expect("the group")
    }

    /// The group as the disk would give it after a power cut now.
    pub(crate) fn recovered(&self) -> GroupState {
        let mut group_state = self.first.clone();
        let replay = self.disk.recover(|_, record| {
            if record.stream == Stream::Group(group()) {
                group_state =
                    group_state.apply(&codec::decode::<GroupRecord>(&record.bytes)?.event);
            }
            Ok(())
        });
        replay.expect("what was written is read");
        group_state
    }
}
