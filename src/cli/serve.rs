//! `slotbook serve`: recovery, start, service and shutdown of the server. Reference 11.1.

use std::io::{self, IsTerminal as _};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{self};

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use crate::cli::documents::{self, OpenedDirectory};
use crate::cli::error::CommandError;
use crate::cli::logging::log_to_stderr;
use crate::cli::messages;
use crate::cli::runtime::{CommandRuntime, start_thread};
use crate::cli::serve_cluster;
use crate::cli::served_log::{AwaitedStore, ServedLog, StoreParts};
use crate::cli::service_parts::engine_parts;
use crate::cli::serving::{StartedServer, StopSignals, bind, bind_metrics, serve_until_signal};
use crate::cli::startup_warnings::{
    warn_of_access, warn_of_demo, warn_of_open_keys, warn_of_unknown_holders,
};
use crate::clock::{Clock as _, SystemClock};
use crate::config::options::ServeOptions;
use crate::domain::directory::Directory;
use crate::domain::directory::link_secret::LinkSecret;
use crate::engine::GroupStates;
use crate::engine::randomness::Randomness;
use crate::engine::recovery::{self, Loaded};
use crate::engine::steady_clock::initial_time;
use crate::http::{self};
use crate::store::{EmptyDirectory, free_bytes};

/// The ways to the first group of a store.
const FIRST_STEPS: &str = "`slotbook first-run` prints a link that sets one up in a browser; or add \
     one with `slotbook group add NAME --timezone ZONE`; or stop, then fill the store with `slotbook \
     import FILE`, for which `slotbook import --example` prints a document, or serve with --demo";

/// Free space below which a start writes nothing, in bytes: room for a journal and its directory.
const START_WRITES_BYTES: u64 = 8 << 20;

/// Reads the store and serves the API until SIGTERM or SIGINT.
///
/// # Errors
/// An option cannot work, an address cannot be used, or the store cannot be read or written.
pub(crate) fn serve(options: &ServeOptions) -> Result<(), CommandError> {
    log_to_stderr(&options.log)?;
    // Checked before the store is read, which may take long.
    let gateways = messages::create_gateways(&options.messages)?;
    messages::warn_of_local_names(&options.messages);
    if options.behind_tls && options.trusted_proxies.0.is_empty() {
        tracing::warn!(
            "--behind-tls without --trusted-proxies: all clients of the proxy count as one source, \
             and share its limits; give the address of the proxy"
        );
    }
    let runtime = CommandRuntime::start(Builder::new_multi_thread())?;
    let mut signals = runtime.block_on(async { StopSignals::new() })?;
    let listener = runtime.block_on(async { bind(options.listen, "--listen") })?;
    let metrics = runtime.block_on(async { bind_metrics(options) })?;
    let began = tokio::time::Instant::now();
    if !options.shared.shared.is_empty() {
        return serve_cluster::serve(options, &runtime, listener, gateways, metrics, signals);
    }
    let Some(opened) = read_store(options, &runtime, &listener, &mut signals)? else {
        tracing::info!("stopped while the store was read: no request was answered");
        return Ok(());
    };
    let recovery_time = began.elapsed();
    warn_of_access(&options.store.data);
    let started = StartedServer {
        listener,
        gateways,
        signals,
        recovery_time,
        metrics,
        operator: None,
        cluster: None,
    };
    match opened {
        OpenedDirectory::Store(loaded) => serve_store(options, &runtime, *loaded, started),
        OpenedDirectory::Empty(directory) => serve_empty(options, &runtime, directory, started),
    }
}

/// Reads the store on a thread of its own, and answers 503 meanwhile. Returns `None` if a signal to
/// stop comes first.
fn read_store(
    options: &ServeOptions,
    runtime: &Runtime,
    listener: &TcpListener,
    signals: &mut StopSignals,
) -> Result<Option<OpenedDirectory>, CommandError> {
    let data = options.store.data.clone();
    let demo = options.demo;
    let is_at_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    let create = options.create || is_at_terminal;
    let open = move || documents::open_to_serve(&data, demo, create);
    let read = move || catch_unwind(AssertUnwindSafe(open));
    let reading = start_thread("read", read)?;
    let read = runtime.block_on(async {
        tokio::select! {
            biased;
            () = signals.received() => None,
            read = http::serve_until_recovered(reading, listener) => Some(read),
        }
    });
    match read {
        None => Ok(None),
        Some(Ok(Ok(opened))) => Ok(Some(opened?)),
        Some(Ok(Err(panic))) => resume_unwind(panic),
        Some(Err(_)) => unreachable!("the thread sends what it has read, or its panic"),
    }
}

/// Logs the size of the store that was read.
fn log_recovery(loaded: &Loaded) {
    let report = loaded.store.report();
    tracing::info!(
        groups = loaded.group_states.len(),
        clean = report.clean,
        batches = report.batches,
        records = report.records,
        "the store is read"
    );
    if loaded.group_states.is_empty() {
        tracing::warn!("the store holds no group: {FIRST_STEPS}");
    }
}

fn serve_store(
    options: &ServeOptions,
    runtime: &Runtime,
    loaded: Loaded,
    mut started: StartedServer,
) -> Result<(), CommandError> {
    log_recovery(&loaded);
    let Loaded { mut directory, group_states, quarantined, store } = loaded;
    let mut group_states: GroupStates = group_states.into_iter().collect();
    warn_of_demo(options, &directory);
    warn_of_unknown_holders(&directory);
    warn_of_open_keys(&directory);
    let mut log = store.into_log()?;
    let now = initial_time(SystemClock.now(), group_states.last_stamp());
    let mut randomness = Randomness::from_os();
    if free_bytes(&options.store.data)? >= START_WRITES_BYTES {
        recovery::update_time_zones(&mut log, &mut group_states, now)?;
        let new_secret = || LinkSecret::new(randomness.bytes());
        recovery::ensure_link_secret(&mut log, &mut directory, new_secret)?;
    } else {
        tracing::warn!("the disk is full: reads are served, and writes once there is free space");
    }
    started.gateways.link_secret.clone_from(&directory.link_secret);
    let (send, made) = mpsc::channel();
    send.send(StoreParts::of_log(&log)?).expect("the receiver is here");
    let log = ServedLog::Store(Box::new(log));
    let parts = engine_parts(directory, group_states, randomness);
    runtime.block_on(serve_until_signal(options, parts, quarantined, log, made, started))
}

/// Serves a directory without a store, which is made with the first record.
fn serve_empty(
    options: &ServeOptions,
    runtime: &Runtime,
    directory: EmptyDirectory,
    mut started: StartedServer,
) -> Result<(), CommandError> {
    tracing::warn!("there is no store yet; it is made with its first group: {FIRST_STEPS}");
    let mut randomness = Randomness::from_os();
    let link_secret = Some(LinkSecret::new(randomness.bytes()));
    let content = Directory { link_secret, ..Directory::default() };
    started.gateways.link_secret.clone_from(&content.link_secret);
    let parts = engine_parts(content.clone(), GroupStates::default(), randomness);
    let (send, made) = mpsc::channel();
    let awaited = AwaitedStore { directory, content, made: send };
    let log = ServedLog::Awaited(Some(Box::new(awaited)));
    runtime.block_on(serve_until_signal(options, parts, Vec::new(), log, made, started))
}
