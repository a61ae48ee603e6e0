//! A practice served by an engine over a store on disk, without HTTP.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use slotbook::clock::ManualClock;
use slotbook::domain::directory::Directory;
use slotbook::domain::state::group_state::GroupState;
use slotbook::engine::admission::AdmissionLimits;
use slotbook::engine::journal::JournalError;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::engine::recovery;
use slotbook::engine::{Engine, EngineParts};
use slotbook::store::Generations;

pub(crate) fn say(text: &str) {
    use std::io::Write as _;
    writeln!(std::io::stdout().lock(), "{text}").expect("somebody reads");
}

/// Makes a store that holds a practice.
pub(crate) fn store(data: &Path, group_state: &GroupState) {
    let mut directory = Directory::default();
    group_state.claim_ids(&mut directory);
    drop(
        recovery::create(data, &directory, std::slice::from_ref(group_state)).expect("a new store"),
    );
}

/// A field of what the system says about this process, such as its memory.
pub(crate) fn of_process(field: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or("?").trim().to_owned()
}

pub(crate) struct Serving {
    pub(crate) engine: Engine,
    journal: JoinHandle<Result<(), JournalError>>,
}

impl Serving {
    /// Serves the store in `data`.
    pub(crate) async fn on(data: &Path, clock: Arc<ManualClock>) -> (Self, Generations) {
        let loaded = recovery::load(data).expect("it was just made");
        let log = loaded.store.into_log().expect("it opens");
        let generations = log.generations().expect("it stands");
        let parts = EngineParts {
            directory: loaded.directory,
            group_states: loaded.group_states.into_iter().collect(),
            clock,
            randomness: Randomness::seeded([7; 32]),
            transport: Transport::direct(),
            admission_limits: AdmissionLimits::default(),
            decision_timeout: Duration::from_secs(60),
        };
        let (engine, journal) = Engine::start(parts, log).await;
        let journal = std::thread::spawn(move || journal.run());
        (Self { engine, journal }, generations)
    }

    pub(crate) async fn end(self) {
        self.engine.shut_down().await;
        let journal = self.journal;
        let ended = tokio::task::spawn_blocking(move || journal.join().expect("no panic"));
        ended.await.expect("joined").expect("it closes");
    }
}

/// Runs with as many threads as a small machine has.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    runtime.expect("a runtime").block_on(future)
}
