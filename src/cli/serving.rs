//! The service of a started server: until a signal to stop, and its shutdown. Reference 11.1.

use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use futures_util::FutureExt as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket, UnixListener};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::cli::error::CommandError;
use crate::cli::hand_over::{self, FORWARDING_TIME};
use crate::cli::joined_cluster::{SavedState, ServedCluster};
use crate::cli::messages;
use crate::cli::metrics::MetricsExporter;
use crate::cli::operator::socket::{self, OperatorSocket};
use crate::cli::passed_counts::PassedCounts;
use crate::cli::passed_sessions::PassedSessions;
use crate::cli::serve_threads::StoreThreads;
use crate::cli::served_log::{ServedLog, StoreParts};
use crate::cli::service_parts::served_store;
use crate::cli::terminal::{print, print_error};
use crate::cli::upkeep;
use crate::config::options::ServeOptions;
use crate::domain::state::recipient_quota::MessageQuota;
use crate::engine::quarantine::QuarantinedGroup;
use crate::engine::webhooks::{WebhookOptions, WebhooksHandle};
use crate::engine::{Engine, EngineParts, MessagingHandle};
use crate::http::{self, BookingLimits, Server};
use crate::notify::Gateways;
use crate::notify::webhook::addresses::AllowedNetworks;
use crate::web;

/// Longest time that messages under way may take after the signal to stop, as long as connections.
const MESSAGES_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(7);
/// Longest time that the pause before another try of a webhook sleeps before it reads the clock.
const WEBHOOK_SLEEP_MAX: Duration = Duration::from_secs(15);
/// Shortest time between two records of the place of a webhook.
const WEBHOOK_RECORD_INTERVAL: Duration = Duration::from_secs(1);
/// Longest time that the engine may take to stop once no connection is left.
const ENGINE_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Connections that wait to be accepted, as far as the system allows: a burst waits here while the
/// server is busy, and not for clients to try again.
const BACKLOG: u32 = 4_096;
/// File descriptors left for the store, the logs and everything else that is not a connection.
const RESERVED_FILES: usize = 128;

/// State of a server that is ready to serve a store.
pub(crate) struct StartedServer {
    pub(crate) listener: TcpListener,
    pub(crate) gateways: Gateways,
    pub(crate) signals: StopSignals,
    /// Duration of reading the store.
    pub(crate) recovery_time: Duration,
    pub(crate) metrics: MetricsExporter,
    /// The operator's socket, if it is open already.
    pub(crate) operator: Option<(UnixListener, OperatorSocket)>,
    /// The cluster of a server that has taken over in one.
    pub(crate) cluster: Option<ServedCluster>,
}

/// Starts the engine and its threads, serves until a signal to stop, and shuts down in order:
/// connections and messages, the operator's socket, the engine, the journal.
pub(crate) async fn serve_until_signal(
    options: &ServeOptions,
    parts: EngineParts,
    quarantined: Vec<QuarantinedGroup>,
    log: ServedLog,
    made: Receiver<StoreParts>,
    started: StartedServer,
) -> Result<(), CommandError> {
    let StartedServer {
        listener,
        gateways,
        mut signals,
        recovery_time,
        metrics,
        operator,
        mut cluster,
    } = started;
    let gateways = Arc::new(gateways);
    let data = &options.store.data;
    let (engine, journal) =
        Engine::start_with_quarantined(quarantined, parts, log, metrics.engine_metrics()).await;
    if let Some(cluster) = &cluster {
        engine.need_lease(cluster.joined.lease());
    }
    let threads = StoreThreads::start(options, &engine, journal, made, cluster.as_ref())?;
    let operator_socket = match operator {
        None => listen_to_commands(data)?,
        open => open,
    };
    let quota = message_quota(options);
    let sending = messages::sending_settings(quota, Arc::clone(&gateways));
    let connections_max = limit_connections(options.connections_max);
    let address = listener.local_addr()?;
    let server = create_server(options, &engine, gateways, quota, connections_max)
        .offering_first_run(first_run_site(options, address))
        .metered(metrics.http_metrics());
    let routes = web::service(with_store(server, options, cluster.as_ref()));
    let passed = take_over_passed(&routes.server, cluster.as_mut()).await?;
    let operator_socket = operator_socket.map(|(listener, socket)| {
        tokio::spawn(http::serve_operator(listener, routes.clone()));
        socket
    });
    metrics.serve(engine.clone(), data.clone(), recovery_time);
    print(&format!("listening on http://{address}\n"));
    print_first_run_link(&routes.server);
    let (stop_serving, serving_stopped) = oneshot::channel();
    let stopped = serving_stopped.map(drop);
    let webhook_options = webhook_options(&routes.server);
    // Before the messages of all groups are looked through: clients of a cluster wait.
    let served = tokio::spawn(http::serve(listener, routes, connections_max, stopped));
    start_upkeep(&engine, options, &sending.gateways);
    let messages = engine.send_messages(sending).await;
    let webhooks = engine.deliver_webhooks(webhook_options);
    if options.demo {
        print_demo_pages(&engine, address);
    }
    let running =
        RunningServer { engine, threads, messages, webhooks, passed, stop_serving, served };
    tokio::select! {
        biased;
        () = signals.received() => {}
        () = hand_over::asked(cluster.as_ref()) => {
            let cluster = cluster.expect("only in a cluster it is asked");
            running.hand_over(&cluster, signals, operator_socket).await;
            return Err(CommandError::HandedOver);
        }
    }
    tracing::info!("stopping: requests under way are finished");
    running.stop(operator_socket).await;
    if let Some(cluster) = cluster {
        // After all answers of this server.
        tokio::task::block_in_place(|| cluster.joined.prepare_leave().leave());
    }
    Ok(())
}

/// Looks at all groups once, on the thread of the start, which serves no client, and starts the
/// upkeep.
fn start_upkeep(engine: &Engine, options: &ServeOptions, gateways: &Gateways) {
    engine.published().index_urlnames();
    messages::warn_of_missing_gateways(gateways, engine.published());
    // The server's own writes come after the start, which an operator sees fail or not.
    upkeep::start(engine, options);
}

/// State of a server in a cluster that is passed on beside the history.
struct PassedState {
    counts: PassedCounts,
    sessions: PassedSessions,
}

/// A server that answers requests.
struct RunningServer {
    engine: Engine,
    threads: StoreThreads,
    messages: MessagingHandle,
    webhooks: WebhooksHandle,
    /// In a cluster.
    passed: Option<PassedState>,
    stop_serving: oneshot::Sender<()>,
    /// Ends after the last connection.
    served: JoinHandle<()>,
}

impl RunningServer {
    /// Stops in order: connections and messages, the operator's socket, the engine, the journal,
    /// what is passed on.
    async fn stop(self, operator_socket: Option<OperatorSocket>) {
        let Self { engine, threads, messages, webhooks, passed, stop_serving, served } = self;
        let _ = stop_serving.send(());
        let (served, ()) = tokio::join!(served, stop_sending(messages, webhooks));
        served.expect("it does not panic");
        // Removed before the store is unlocked: the next server may create its own after that.
        drop(operator_socket);
        stop_engine(engine, threads.journal_ended).await;
        if let Some(PassedState { counts, sessions }) = passed {
            tokio::join!(counts.finish(), sessions.finish());
        }
    }

    /// Passes the decision on: no more messages, then no more requests, then the engine stops and
    /// the cluster is left. What comes later is forwarded for a while, or until a signal to stop.
    async fn hand_over(
        self,
        cluster: &ServedCluster,
        mut signals: StopSignals,
        operator_socket: Option<OperatorSocket>,
    ) {
        let Self { engine, threads, messages, webhooks, passed, stop_serving, served } = self;
        stop_sending(messages, webhooks).await;
        // Requests wait from here on: what takes time comes before.
        let mut last_sessions = None;
        if let Some(PassedState { counts, sessions }) = passed {
            tokio::join!(counts.finish(), sessions.save());
            last_sessions = Some(sessions);
        }
        let leave = tokio::task::block_in_place(|| cluster.joined.prepare_leave());
        // Dropped after the forwarding: to free many states takes the cores from the successor.
        let states = engine.published_arc();
        let pass = async {
            stop_engine(engine, threads.journal_ended).await;
            if let Some(sessions) = last_sessions {
                sessions.finish().await;
            }
            tokio::task::block_in_place(|| leave.leave());
        };
        cluster.departure.hand_over(pass).await;
        tracing::info!("handed over; requests that come here are forwarded for a while");
        tokio::select! {
            () = signals.received() => {}
            () = tokio::time::sleep(FORWARDING_TIME) => {}
        }
        let _ = stop_serving.send(());
        served.await.expect("it does not panic");
        drop(operator_socket);
        drop(states);
    }
}

/// Starts no more messages and deliveries, and waits for those that are being sent.
async fn stop_sending(messages: MessagingHandle, webhooks: WebhooksHandle) {
    let stopped = async { tokio::join!(messages.stop(), webhooks.stop()) };
    if tokio::time::timeout(MESSAGES_SHUTDOWN_TIMEOUT, stopped).await.is_err() {
        tracing::warn!(
            "some messages were being sent: they may arrive once more after the next start"
        );
    }
}

/// Takes over the counts of limits and the sessions in a cluster, before the first request.
///
/// # Errors
/// A thread that saves them cannot be started.
async fn take_over_passed(
    server: &Arc<Server>,
    cluster: Option<&mut ServedCluster>,
) -> Result<Option<PassedState>, CommandError> {
    let Some(cluster) = cluster else { return Ok(None) };
    let saved = (&mut cluster.saved).await.expect("the thread sends what it has read");
    let SavedState { counts, sessions } = saved?;
    Ok(Some(PassedState {
        counts: PassedCounts::start(server, &cluster.joined.store.secret, counts)?,
        sessions: PassedSessions::start(server, sessions)?,
    }))
}

/// Stops the engine, and waits for the end of its journal.
async fn stop_engine(engine: Engine, journal_ended: oneshot::Receiver<()>) {
    let stopped = async {
        engine.shut_down().await;
        journal_ended.await
    };
    match tokio::time::timeout(ENGINE_SHUTDOWN_TIMEOUT, stopped).await {
        Ok(_) => tracing::info!("stopped"),
        Err(_) => tracing::warn!("stopped with writes under way: none of them has been answered"),
    }
}

/// Listens at the operator's socket; `None` on a full disk.
///
/// # Errors
/// The socket cannot be created for another reason.
pub(crate) fn listen_to_commands(
    data: &Path,
) -> io::Result<Option<(UnixListener, OperatorSocket)>> {
    match socket::listen(data) {
        Ok(socket) => Ok(Some(socket)),
        Err(error) if error.kind() == io::ErrorKind::StorageFull => {
            tracing::warn!("the disk is full: commands cannot reach this server");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Prints the addresses of the screens of the practice and of the pages for clients, for those who
/// try the demonstration. The last line has the address to open.
fn print_demo_pages(engine: &Engine, address: SocketAddr) {
    let login = "as anna@example.org with demo-password";
    print_error(&format!("demonstration: screens of the practice http://{address}/login {login}"));
    print_error(&format!("demonstration: try the API http://{address}/docs"));
    let published = engine.published();
    for id in published.groups() {
        if let Some(state) = published.group_state(id)
            && state.catalogue.group.web_page
        {
            let urlname = state.catalogue.group.urlname.as_str();
            print_error(&format!("demonstration: open http://{address}/b/{urlname}"));
        }
    }
}

/// The scheme, host and port at which a browser may set up the first group: the public address if
/// TLS protects it, otherwise the port of this machine.
fn first_run_site(options: &ServeOptions, address: SocketAddr) -> String {
    let public_url = options.messages.links.public_url.as_str();
    if options.behind_tls && public_url.starts_with("https://") {
        return public_url.trim_end_matches('/').to_owned();
    }
    format!("http://localhost:{}", address.port())
}

/// Prints a link of the first run on a terminal, if the server awaits one. A log never has it.
fn print_first_run_link(server: &Server) {
    if io::stderr().is_terminal()
        && let Some(url) = server.new_first_run_link()
    {
        print_error(&format!(
            "set up your shop in a browser; the link is valid once, for 24 hours:\n{url}"
        ));
    }
}

fn create_server(
    options: &ServeOptions,
    engine: &Engine,
    gateways: Arc<Gateways>,
    quota: MessageQuota,
    connections_max: usize,
) -> Server {
    let per_source = source_connections_max(options, connections_max);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let allowed = AllowedNetworks::new(options.webhook_allow.0.clone());
    Server::new(engine.clone(), cores)
        .with_gateways(gateways)
        .with_message_quota(quota)
        .behind_tls(options.behind_tls)
        .behind(options.trusted_proxies.0.clone(), options.forwarding_header)
        .limited_per_source(per_source)
        .with_group_bytes_max(upkeep::group_bytes_max(options))
        .limit_bookings(booking_limits(options))
        .listing_groups(options.list_groups)
        .with_webhooks(Arc::new(http::webhook_sender(allowed)))
}

/// Gives a server its store: that of its data directory, or the shared one of its cluster.
fn with_store(server: Server, options: &ServeOptions, cluster: Option<&ServedCluster>) -> Server {
    let sizes = cluster.map(|cluster| Arc::clone(&cluster.sizes));
    let store = served_store(&options.store.data, sizes, options.disk.disk_reserve_mib);
    let server = server.with_store(store);
    let Some(ServedCluster { joined, departure, .. }) = cluster else { return server };
    server.in_cluster(&joined.store.secret, Arc::clone(departure), joined.start_proof.clone())
}

/// The maximum number of connections of one source.
pub(crate) fn source_connections_max(options: &ServeOptions, connections_max: usize) -> usize {
    let per_source =
        usize::try_from(options.source_connections_max).expect("a usize has 32 bits at least");
    // One source leaves half of the connections to others, however few there are.
    per_source.min((connections_max / 2).max(1))
}

fn webhook_options(server: &Server) -> WebhookOptions {
    WebhookOptions {
        sender: server.webhook_sender(),
        poll_interval_max: WEBHOOK_SLEEP_MAX,
        record_interval: WEBHOOK_RECORD_INTERVAL,
        sends_mail: server.sends_mail(),
    }
}

fn message_quota(options: &ServeOptions) -> MessageQuota {
    MessageQuota {
        recipient_daily_max: options.messages_daily_max,
        by_key_daily_max: options.messages_by_key_daily_max,
    }
}

fn booking_limits(options: &ServeOptions) -> BookingLimits {
    let given = &options.booking_limits;
    let limits = BookingLimits {
        source_hourly_max: given.bookings_source_hourly_max,
        source_daily_max: given.bookings_source_daily_max,
        client_hourly_max: given.bookings_client_hourly_max,
        key_hourly_max: given.bookings_key_hourly_max,
        codes_daily_max: given.codes_daily_max,
    };
    let is_local = options.listen.ip().is_loopback() && options.trusted_proxies.0.is_empty();
    // A newcomer who tries the examples is no stranger.
    if options.demo && is_local && limits == BookingLimits::DEFAULT {
        return BookingLimits::DEMONSTRATION;
    }
    limits
}

/// Binds the address of an option. Only within a runtime.
pub(crate) fn bind(address: SocketAddr, option: &'static str) -> Result<TcpListener, CommandError> {
    let listen = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    listen().map_err(|reason| CommandError::Listen { address, option, reason })
}

/// Binds the address of the metrics. Only within a runtime.
///
/// # Errors
/// The address cannot be used.
pub(crate) fn bind_metrics(options: &ServeOptions) -> Result<MetricsExporter, CommandError> {
    let Some(address) = options.metrics_listen.0 else { return Ok(MetricsExporter::new(None)) };
    let listener = bind(address, "--metrics-listen")?;
    tracing::info!("metrics are served on http://{}/metrics", listener.local_addr()?);
    Ok(MetricsExporter::new(Some(listener)))
}

/// Raises the limit on open files as far as possible. Returns the number of connections that it
/// allows, at most `wanted` and at least 1. A store that cannot open its files would end the
/// process.
pub(crate) fn limit_connections(wanted: u32) -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if setrlimit(Resource::Nofile, raised).is_ok() {
        limit = raised;
    }
    let wanted = usize::try_from(wanted).expect("a usize has 32 bits at least");
    // `None` means that there is no limit.
    let Some(files) = limit.current else { return wanted };
    let files = usize::try_from(files).unwrap_or(usize::MAX);
    let allowed = wanted.min(files.saturating_sub(RESERVED_FILES).max(1));
    if allowed < wanted {
        tracing::warn!(
            allowed,
            wanted,
            "the limit on open files allows fewer connections than --connections-max: raise it \
             (ulimit -n)"
        );
    }
    allowed
}

/// The signals that stop a server. One that comes before [`StopSignals::received`] is kept.
pub(crate) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Returns once one of them has come.
    pub(crate) async fn received(&mut self) {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
