//! `slotbook serve --shared`: a server that follows its cluster, and takes over. Reference 11.1.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;

use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Runtime;

use crate::cli::error::CommandError;
use crate::cli::joined_cluster::{
    JoinedCluster, OpenedCluster, ServedCluster, TakenOver, check_advertise, follow_until_takeover,
    open_cluster, own_url,
};
use crate::cli::messages;
use crate::cli::metrics::MetricsExporter;
use crate::cli::operator::socket::OperatorSocket;
use crate::cli::runtime::start_thread;
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
use crate::engine::RecoveredStates;
use crate::engine::randomness::Randomness;
use crate::engine::recovery;
use crate::engine::steady_clock::{find_last_stamp, initial_time};
use crate::http::{self, Departure, Forwarder, StartProof};
use crate::notify::Gateways;

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
    let Some(joined) = join(options, runtime, &listener, &mut signals)? else {
        tracing::info!("stopped before it had joined the cluster: no request was answered");
        return Ok(());
    };
    let store = joined.store.clone();
    let membership = Arc::clone(&joined.membership);
    let tail_bytes = Arc::new(AtomicU64::new(0));
    runtime.block_on(async { metrics.serve_cluster(joined.lease(), Arc::clone(&tail_bytes)) });
    let is_stopping = Arc::new(AtomicBool::new(false));
    let stopping = Arc::clone(&is_stopping);
    let follow = move || follow_until_takeover(&store, &membership, tail_bytes, &stopping);
    let mut following = start_thread("follow", move || catch_unwind(AssertUnwindSafe(follow)))?;
    let followed_or_stopped = async {
        tokio::select! {
            biased;
            () = signals.received() => None,
            followed = &mut following => Some(followed),
        }
    };
    let has_taken_over = Arc::new(AtomicBool::new(false));
    let forwarder = Arc::new(create_forwarder(options, &joined, &has_taken_over));
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
            is_stopping.store(true, Ordering::SeqCst);
            drop(listener);
            runtime.block_on(connections.finish());
            // In case that it has taken over at the last moment.
            joined.prepare_leave().leave();
            tracing::info!("stopped while following the cluster");
            return Ok(());
        }
        Some(Ok(Ok(taken))) => taken?.expect("it follows until the signal to stop"),
        Some(Ok(Err(panic))) => resume_unwind(panic),
        Some(Err(_)) => unreachable!("the thread sends what it has read, or its panic"),
    };
    // Requests of these connections are forwarded to this server's own port, from which none is
    // accepted any more without the states.
    has_taken_over.store(true, Ordering::SeqCst);
    runtime.spawn(connections.finish_slowly());
    serve_taken(
        options,
        runtime,
        joined,
        taken,
        WaitingServer { listener, gateways, metrics, signals, operator, forwarder },
    )
}

/// Joins the cluster once its store and the address of this server are checked. Meanwhile health
/// checks are answered. Returns `None` if a signal to stop comes first.
fn join(
    options: &ServeOptions,
    runtime: &Runtime,
    listener: &TcpListener,
    signals: &mut StopSignals,
) -> Result<Option<JoinedCluster>, CommandError> {
    let proof = StartProof::new(Randomness::from_os().bytes());
    let address = listener.local_addr()?;
    let given = options.clone();
    let opening = start_thread("open", move || open_cluster(&given))?;
    let checking = async {
        let opened = opening.await.expect("the thread sends what it has opened")?;
        check_advertise(options, address, &proof).await?;
        Ok(opened)
    };
    let checked: Option<Result<OpenedCluster, CommandError>> = runtime.block_on(async {
        tokio::select! {
            biased;
            () = signals.received() => None,
            opened = http::serve_until_recovered(checking, listener, Some(&proof)) => Some(opened),
        }
    });
    checked.map(|opened| opened?.join(options, proof)).transpose()
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

/// Returns what forwards requests to the server that decides: to this one itself, once it
/// `has_taken_over`.
fn create_forwarder(
    options: &ServeOptions,
    joined: &JoinedCluster,
    has_taken_over: &Arc<AtomicBool>,
) -> Forwarder {
    // Each connection of a client needs one to the other server.
    let connections_max = (limit_connections(options.connections_max) / 2).max(1);
    let lease = joined.lease();
    let own_url = own_url(options).to_owned();
    let has_taken_over = Arc::clone(has_taken_over);
    let holder = {
        let own_url = own_url.clone();
        move || {
            let is_ready = |url: &String| *url != own_url || has_taken_over.load(Ordering::SeqCst);
            lease.holder_url().filter(is_ready)
        }
    };
    Forwarder::new(&joined.store.secret, connections_max, holder)
        .reached_at(own_url)
        .behind(options.trusted_proxies.0.clone(), options.forwarding_header)
        .limited_per_source(source_connections_max(options, connections_max))
        .proving(joined.start_proof.clone())
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
    let TakenOver { states, mut log, snapshot_bytes } = taken;
    let WaitingServer { listener, mut gateways, metrics, signals, operator, forwarder } = waiting;
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
    let departure = Arc::new(Departure::new(forwarder));
    let tail_bytes = log.tail_bytes();
    let cluster = Some(ServedCluster { joined, departure, tail_bytes, snapshot_bytes });
    let recovery_time = began.elapsed();
    let started =
        StartedServer { listener, gateways, signals, recovery_time, metrics, operator, cluster };
    let parts = engine_parts(directory, group_states, randomness);
    let log = ServedLog::Shared(Box::new(log));
    // Files of a store are never made.
    let (_, made) = mpsc::channel();
    runtime.block_on(serve_until_signal(options, parts, quarantined, log, made, started))
}
