//! `slotbook serve --shared`: a server that follows its cluster, and takes over. Reference 11.1.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Runtime;

use crate::cli::error::CommandError;
use crate::cli::messages;
use crate::cli::operator::socket::OperatorSocket;
use crate::cli::runtime::start_thread;
use crate::cli::serve::{
    StartedServer, StopSignals, limit_connections, listen_to_commands, serve_until_signal,
    source_connections_max, warn_of_open_keys, warn_of_unknown_holders,
};
use crate::cli::serve_threads::{end_fenced, end_process};
use crate::cli::served_log::ServedLog;
use crate::cli::service_parts::engine_parts;
use crate::clock::{Clock as _, SystemClock};
use crate::config::options::{ServeOptions, SharedStoreOptions};
use crate::domain::directory::link_secret::LinkSecret;
use crate::engine::randomness::Randomness;
use crate::engine::recovery;
use crate::engine::steady_clock::{find_last_stamp, initial_time};
use crate::engine::{RecoveredStates, StateRebuilder};
use crate::http::{self, Forwarder};
use crate::notify::Gateways;
use crate::store::{
    EmptyDirectory, Lease, Membership, SharedAddress, SharedLog, SharedStore, Store, StoreError,
    Takeover,
};

/// Interval at which a follower reads what was added.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(100);

/// A server that has joined its cluster.
pub(crate) struct JoinedCluster {
    pub(crate) store: SharedStore,
    pub(crate) membership: Arc<Membership>,
    /// Dropped, it ends the beats.
    _beats: Sender<()>,
    /// Excludes other processes from the directory of the operator's socket.
    _directory: EmptyDirectory,
}

/// A server that has taken over.
pub(crate) struct TakenOver {
    pub(crate) states: RecoveredStates,
    pub(crate) log: SharedLog,
    /// Bytes of the newest snapshot.
    pub(crate) snapshot_bytes: u64,
}

/// What a server of a cluster starts its threads from.
pub(crate) struct ServedCluster {
    pub(crate) joined: JoinedCluster,
    /// Bytes of the journal since the newest snapshot.
    pub(crate) tail_bytes: Arc<AtomicU64>,
    /// Bytes of the newest snapshot.
    pub(crate) snapshot_bytes: u64,
}

/// Joins a cluster, follows it, and serves its store once this server decides. Until then it
/// forwards requests to the server that does.
///
/// # Errors
/// What stands against joining, with the remedy; or the shared store is damaged.
pub(crate) fn serve(
    options: &ServeOptions,
    runtime: &Runtime,
    listener: TcpListener,
    gateways: Gateways,
    mut signals: StopSignals,
) -> Result<(), CommandError> {
    let joined = join(options)?;
    let (store, membership) = (joined.store.clone(), Arc::clone(&joined.membership));
    let follow = move || follow_until_takeover(&store, &membership);
    let following = start_thread("follow", move || catch_unwind(AssertUnwindSafe(follow)))?;
    let followed_or_stopped = async {
        tokio::select! {
            biased;
            () = signals.received() => None,
            followed = following => Some(followed),
        }
    };
    let forwarder = Arc::new(create_forwarder(options, &joined));
    let operator = runtime.block_on(async { listen_to_commands(&options.store.data) })?;
    let serving = http::serve_following(followed_or_stopped, &listener, &forwarder);
    let (followed, connections) = runtime.block_on(async {
        tokio::select! {
            served = serving => served,
            () = forward_commands(operator.as_ref(), &forwarder) => unreachable!("it never ends"),
        }
    });
    let taken = match followed {
        None => {
            tracing::info!("stopping: requests under way are finished");
            drop(listener);
            runtime.block_on(connections.finish());
            tracing::info!("stopped while following the cluster");
            return Ok(());
        }
        Some(Ok(Ok(taken))) => taken?,
        Some(Ok(Err(panic))) => resume_unwind(panic),
        Some(Err(_)) => unreachable!("the thread sends what it has read, or its panic"),
    };
    // Their clients connect anew, to the server that decides.
    runtime.spawn(connections.finish());
    serve_taken(
        options,
        runtime,
        joined,
        taken,
        WaitingServer { listener, gateways, signals, operator },
    )
}

/// Forwards the operator's commands for ever. Without a socket there are none.
async fn forward_commands(
    operator: Option<&(UnixListener, OperatorSocket)>,
    forwarder: &Arc<Forwarder>,
) {
    match operator {
        Some((listener, _)) => http::serve_operator_following(listener, forwarder).await,
        None => std::future::pending().await,
    }
}

/// Returns what forwards requests to the server that decides.
fn create_forwarder(options: &ServeOptions, joined: &JoinedCluster) -> Forwarder {
    // Each connection of a client needs one to the other server.
    let connections_max = (limit_connections(options.connections_max) / 2).max(1);
    let lease = joined.lease();
    let own_url = own_url(options).to_owned();
    let holder = move || lease.holder_url().filter(|url| *url != own_url);
    Forwarder::new(&joined.store.secret, connections_max, holder)
        .behind(options.trusted_proxies.0.clone(), options.forwarding_header)
        .limited_per_source(source_connections_max(options, connections_max))
}

/// The address at which the other servers reach this one.
fn own_url(options: &ServeOptions) -> &str {
    options.advertise.trim_end_matches('/')
}

/// A server that has its port, and no states yet.
struct WaitingServer {
    listener: TcpListener,
    gateways: Gateways,
    signals: StopSignals,
    /// Commands wait in it until they are answered here.
    operator: Option<(UnixListener, OperatorSocket)>,
}

/// Serves the states of a cluster that this server has taken over.
fn serve_taken(
    options: &ServeOptions,
    runtime: &Runtime,
    joined: JoinedCluster,
    taken: TakenOver,
    waiting: WaitingServer,
) -> Result<(), CommandError> {
    let TakenOver { states, mut log, snapshot_bytes } = taken;
    let WaitingServer { listener, mut gateways, signals, operator } = waiting;
    let began = tokio::time::Instant::now();
    let RecoveredStates { mut directory, mut group_states, quarantined } = states;
    warn_of_unknown_holders(&directory);
    warn_of_open_keys(&directory);
    messages::warn_of_missing_gateways(&gateways, &group_states);
    let last_stamp = find_last_stamp(group_states.iter());
    let now = initial_time(SystemClock.now(), last_stamp);
    let mut randomness = Randomness::from_os();
    recovery::update_time_zones(&mut log, &mut group_states, now)?;
    let new_secret = || LinkSecret::new(randomness.bytes());
    recovery::ensure_link_secret(&mut log, &mut directory, new_secret)?;
    gateways.link_secret.clone_from(&directory.link_secret);
    let cluster = Some(ServedCluster { joined, tail_bytes: log.tail_bytes(), snapshot_bytes });
    let recovery_time = began.elapsed();
    let started = StartedServer { listener, gateways, signals, recovery_time, operator, cluster };
    let parts = engine_parts(directory, group_states, randomness);
    let log = ServedLog::Shared(Box::new(log));
    // Files of a store are never made.
    let (_, made) = mpsc::channel();
    runtime.block_on(serve_until_signal(options, parts, quarantined, log, made, started))
}

/// Reads the address of the shared store from its options.
///
/// # Errors
/// It is no address, or its password cannot be read.
pub(crate) fn shared_address(options: &SharedStoreOptions) -> Result<SharedAddress, CommandError> {
    if options.shared.is_empty() {
        let what = "name the shared store: --shared postgres://USER@HOST,HOST/DATABASE";
        return Err(CommandError::Refused(what.to_owned()));
    }
    let file = &options.shared_password_file;
    let password = options.shared_password.reveal("--shared-password-file", file)?;
    Ok(SharedAddress::parse(&options.shared, &password)?)
}

/// Checks the shared store, joins its cluster and begins to beat.
///
/// # Errors
/// What stands against it, with the remedy.
pub(crate) fn join(options: &ServeOptions) -> Result<JoinedCluster, CommandError> {
    let refuse = |what: &str| Err(CommandError::Refused(what.to_owned()));
    if options.demo {
        return refuse("--demo and --shared: the demonstration has a store of its own; leave one");
    }
    let url = options.advertise.as_str();
    if !(url.starts_with("http://") || url.starts_with("https://")) {
        return refuse(
            "--shared needs --advertise URL: http:// with the address at which the other servers \
             of the cluster reach this one",
        );
    }
    let directory = claim_directory(&options.store.data)?;
    let store = SharedStore::open(shared_address(&options.shared)?)?;
    let membership = store.join(own_url(options))?;
    let beats = store.beats(&membership)?;
    let (running, stop) = mpsc::channel();
    start_thread("beats", move || match beats.run(&stop) {
        Ok(()) => {}
        Err(StoreError::Fenced) => end_fenced(),
        Err(error) => end_process(&error),
    })?;
    tracing::info!(cluster = %store.id, url, "joined the cluster; following it");
    Ok(JoinedCluster { store, membership, _beats: running, _directory: directory })
}

/// Claims the directory of the operator's socket, which has to hold no store.
fn claim_directory(data: &Path) -> Result<EmptyDirectory, CommandError> {
    if !Store::is_empty(data)? {
        let what = format!(
            "{} holds a store, which --shared would leave unused: name another directory by \
             --data, and fill the cluster from this one by `slotbook cluster import`",
            data.display()
        );
        return Err(CommandError::Refused(what));
    }
    Ok(EmptyDirectory::claim(data)?)
}

impl JoinedCluster {
    /// The lease of this server.
    pub(crate) fn lease(&self) -> Arc<Lease> {
        Arc::clone(&self.membership.lease)
    }

    /// Leaves the cluster to the others, who need not wait then. Nothing may be answered any more.
    pub(crate) fn leave(self) {
        if let Err(error) = self.store.release(&self.membership) {
            tracing::warn!(%error, "the others take over after some seconds of silence");
        }
    }
}

/// Follows the cluster until this server decides, and returns all states. It blocks its thread.
///
/// # Errors
/// Damage, with its place; or another server has taken over right after this one.
pub(crate) fn follow_until_takeover(
    store: &SharedStore,
    membership: &Arc<Membership>,
) -> Result<TakenOver, StoreError> {
    let mut follower = store.follower::<StateRebuilder>(membership)?;
    let mut has_warned = false;
    let owned = loop {
        match follower.follow().and_then(|()| follower.take_over()) {
            Ok(Some(owned)) => break owned,
            Ok(None) => has_warned = false,
            Err(error @ StoreError::Shared { .. }) => {
                if !std::mem::replace(&mut has_warned, true) {
                    tracing::warn!(%error, "the shared store cannot be followed; trying on");
                }
            }
            Err(error) => return Err(error),
        }
        std::thread::park_timeout(FOLLOW_INTERVAL);
    };
    let Takeover { visitor, log, snapshot_bytes } = follower.into_takeover(owned)?;
    let states = visitor.into_recovered();
    tracing::warn!(groups = states.group_states.len(), "this server has taken over the cluster");
    Ok(TakenOver { states, log, snapshot_bytes })
}
