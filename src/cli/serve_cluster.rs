//! `slotbook serve --shared`: a server that follows its cluster, and takes over. Reference 11.1.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Runtime;

use crate::cli::error::CommandError;
use crate::cli::joined_cluster::{
    JoinedCluster, OpenedCluster, ServedCluster, TakenOver, check_advertise, follow_until_takeover,
    open_cluster, own_url,
};
use crate::cli::metrics::MetricsExporter;
use crate::cli::operator::socket::OperatorSocket;
use crate::cli::runtime::{start_lingering_thread, start_thread};
use crate::cli::served_log::ServedLog;
use crate::cli::service_parts::engine_parts;
use crate::cli::serving::{
    StartedServer, StopSignals, limit_connections, listen_to_commands, serve_until_signal,
    source_connections_max,
};
use crate::cli::startup_warnings::{warn_of_open_keys, warn_of_unknown_holders};
use crate::clock::{Clock as _, SystemClock};
use crate::config::options::ServeOptions;
use crate::domain::directory::link_secret::LinkSecret;
use crate::engine::randomness::Randomness;
use crate::engine::recovery;
use crate::engine::steady_clock::initial_time;
use crate::engine::{RecoveredStates, SharedSizes};
use crate::http::{self, Departure, Forwarder};
use crate::notify::Gateways;
use crate::web;

/// Time for which the thread that has read all states stays after a takeover. Its end gives them to
/// the other threads, which takes some milliseconds.
const FOLLOWER_LINGERING: Duration = Duration::from_secs(5);

/// Joins a cluster, follows it, and serves its store once this server decides. Until then it
/// forwards requests to the server that does.
///
/// # Errors
/// The first reason against joining, with the remedy; or the shared store is damaged.
pub(crate) fn serve(
    options: &ServeOptions,
    runtime: &Runtime,
    listener: TcpListener,
    gateways: Gateways,
    mut metrics: MetricsExporter,
    mut signals: StopSignals,
) -> Result<(), CommandError> {
    let Some(opened) = open(options, runtime, &mut signals)? else {
        tracing::info!("stopped before it had joined the cluster: no request was answered");
        return Ok(());
    };
    // Nothing waits for it.
    drop(start_thread("prepare", web::prepare)?);
    let tail_bytes = Arc::new(AtomicU64::new(0));
    let lease = Arc::clone(&opened.lease);
    runtime.block_on(async { metrics.serve_cluster(lease, Arc::clone(&tail_bytes)) });
    let forwarder = Arc::new(create_forwarder(options, &opened));
    let operator = runtime.block_on(async { listen_to_commands(&options.store.data) })?;
    let is_stopping = Arc::new(AtomicBool::new(false));
    let address = listener.local_addr()?;
    let mut joined = None;
    let followed_or_stopped = async {
        let follow = FollowedJournal { tail_bytes, is_stopping: Arc::clone(&is_stopping) };
        let following = join_and_follow(options, address, opened, follow, &mut joined);
        tokio::select! {
            biased;
            () = signals.received() => None,
            followed = following => Some(followed),
        }
    };
    let serving = http::serve_following(followed_or_stopped, &listener, &forwarder);
    let (followed, connections) = runtime.block_on(async {
        tokio::select! {
            served = serving => served,
            () = forward_commands(operator.as_ref(), &forwarder) => unreachable!("it never ends"),
        }
    });
    let Some(taken) = followed.transpose()? else {
        tracing::info!("stopping: requests under way are finished");
        is_stopping.store(true, Ordering::SeqCst);
        drop(listener);
        runtime.block_on(connections.finish());
        // In case that it has taken over at the last moment.
        if let Some(joined) = joined {
            joined.prepare_leave().leave();
        }
        tracing::info!("stopped while following the cluster");
        return Ok(());
    };
    let joined = joined.expect("a server that has taken over has joined");
    // Requests of these connections are forwarded to this server's own port, from which none is
    // accepted any more without the states.
    joined.lease().note_serving();
    runtime.spawn(connections.finish_slowly());
    serve_taken(
        options,
        runtime,
        joined,
        taken,
        WaitingServer { listener, gateways, metrics, signals, operator, forwarder },
    )
}

/// Opens the cluster on a thread of its own. Returns `None` if a signal to stop comes first.
fn open(
    options: &ServeOptions,
    runtime: &Runtime,
    signals: &mut StopSignals,
) -> Result<Option<OpenedCluster>, CommandError> {
    let given = options.clone();
    let opening = start_thread("open", move || open_cluster(&given))?;
    let opened = runtime.block_on(async {
        tokio::select! {
            biased;
            () = signals.received() => None,
            opened = opening => Some(opened.expect("the thread sends what it has opened")),
        }
    });
    opened.transpose()
}

/// The journal that a server follows.
struct FollowedJournal {
    /// Gets its bytes since the newest snapshot.
    tail_bytes: Arc<AtomicU64>,
    is_stopping: Arc<AtomicBool>,
}

/// Joins the cluster, once `--advertise` leads to this server, and follows it until this server has
/// taken over. `joined` gets the membership meanwhile.
async fn join_and_follow(
    options: &ServeOptions,
    address: SocketAddr,
    opened: OpenedCluster,
    journal: FollowedJournal,
    joined: &mut Option<JoinedCluster>,
) -> Result<TakenOver, CommandError> {
    check_advertise(options, address, &opened.start_proof).await?;
    let url = own_url(options).to_owned();
    let joining = start_thread("join", move || opened.join(&url))?;
    let joined = joined.insert(joining.await.expect("the thread sends how it has joined")?);
    let store = joined.store.clone();
    let membership = Arc::clone(&joined.membership);
    let FollowedJournal { tail_bytes, is_stopping } = journal;
    let follow = move || follow_until_takeover(&store, &membership, tail_bytes, &is_stopping);
    let follow = move || catch_unwind(AssertUnwindSafe(follow));
    let following = start_lingering_thread("follow", FOLLOWER_LINGERING, follow)?;
    match following.await {
        Ok(Ok(taken)) => Ok(taken?.expect("it follows until the signal to stop")),
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => unreachable!("the thread sends what it has read, or its panic"),
    }
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

/// Returns what forwards requests to the server that decides: to this one itself, once it takes
/// requests.
fn create_forwarder(options: &ServeOptions, opened: &OpenedCluster) -> Forwarder {
    // Each connection of a client needs one to the other server.
    let connections_max = (limit_connections(options.connections_max) / 2).max(1);
    Forwarder::new(&opened.store.secret, connections_max, opened.lease.watch_holder())
        .reached_at(own_url(options).to_owned())
        .behind(options.trusted_proxies.0.clone(), options.forwarding_header)
        .limited_per_source(source_connections_max(options, connections_max))
        .behind_tls(options.behind_tls)
        .proving(opened.start_proof.clone())
}

/// A server that has its port, and no states yet.
struct WaitingServer {
    listener: TcpListener,
    gateways: Gateways,
    metrics: MetricsExporter,
    signals: StopSignals,
    /// Commands wait in it until they are answered here.
    operator: Option<(UnixListener, OperatorSocket)>,
    forwarder: Arc<Forwarder>,
}

/// Serves the states of a cluster that this server has taken over.
fn serve_taken(
    options: &ServeOptions,
    runtime: &Runtime,
    joined: JoinedCluster,
    taken: TakenOver,
    waiting: WaitingServer,
) -> Result<(), CommandError> {
    let TakenOver { states, mut log, snapshot } = taken;
    let saved = joined.read_saved()?;
    let WaitingServer { listener, mut gateways, metrics, signals, operator, forwarder } = waiting;
    let began = tokio::time::Instant::now();
    let RecoveredStates { mut directory, mut group_states, quarantined } = states;
    warn_of_unknown_holders(&directory);
    warn_of_open_keys(&directory);
    let now = initial_time(SystemClock.now(), group_states.last_stamp());
    let mut randomness = Randomness::from_os();
    recovery::update_time_zones(&mut log, &mut group_states, now)?;
    let new_secret = || LinkSecret::new(randomness.bytes());
    recovery::ensure_link_secret(&mut log, &mut directory, new_secret)?;
    gateways.link_secret.clone_from(&directory.link_secret);
    let departure = Arc::new(Departure::new(forwarder));
    let sizes = Arc::new(SharedSizes::new(snapshot, log.tail_bytes()));
    let cluster = Some(ServedCluster { joined, departure, sizes, snapshot, saved });
    let recovery_time = began.elapsed();
    let started =
        StartedServer { listener, gateways, signals, recovery_time, metrics, operator, cluster };
    let parts = engine_parts(directory, group_states, randomness);
    let log = ServedLog::Shared(Box::new(log));
    // Files of a store are never made.
    let (_, made) = mpsc::channel();
    runtime.block_on(serve_until_signal(options, parts, quarantined, log, made, started))
}
