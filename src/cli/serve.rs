//! `slotbook serve`: recovery, start, service and shutdown of the server. Reference 11.1.

use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, TcpSocket, UnixListener};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::cli::documents::{self, OpenedDirectory};
use crate::cli::error::CommandError;
use crate::cli::logging::log_to_stderr;
use crate::cli::messages;
use crate::cli::metrics::MetricsExporter;
use crate::cli::operator::socket::{self, OperatorSocket};
use crate::cli::runtime::{CommandRuntime, start_thread};
use crate::cli::serve_cluster::{self, ServedCluster};
use crate::cli::serve_threads::StoreThreads;
use crate::cli::served_log::{AwaitedStore, ServedLog, StoreParts};
use crate::cli::service_parts::{engine_parts, served_store};
use crate::cli::terminal::{print, print_error};
use crate::cli::upkeep;
use crate::clock::{Clock as _, SystemClock};
use crate::config::options::ServeOptions;
use crate::domain::directory::Directory;
use crate::domain::directory::apikeys::ApikeyHolder;
use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::records::author::KeyId;
use crate::domain::state::recipient_quota::MessageQuota;
use crate::engine::quarantine::QuarantinedGroup;
use crate::engine::randomness::Randomness;
use crate::engine::recovery::{self, Loaded};
use crate::engine::steady_clock::{find_last_stamp, initial_time};
use crate::engine::{Engine, EngineParts};
use crate::http::{self, BookingLimits, Server};
use crate::notify::Gateways;
use crate::store::{EmptyDirectory, free_bytes};
use crate::transfer::demo;
use crate::web;

/// The ways to the first group of a store.
const FIRST_STEPS: &str = "`slotbook first-run` prints a link that sets one up in a browser; or add \
     one with `slotbook group add NAME --timezone ZONE`; or stop, then fill the store with `slotbook \
     import FILE`, for which `slotbook import --example` prints a document, or serve with --demo";
/// Maximum number of keys that a warning lists.
const KEYS_SHOWN_MAX: usize = 20;
/// Free space below which a start writes nothing, in bytes: room for a journal and its directory.
const START_WRITES_BYTES: u64 = 8 << 20;
/// Longest time that messages under way may take after the signal to stop, as long as connections.
const MESSAGES_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(7);
/// Longest time that the engine may take to stop once no connection is left.
const ENGINE_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Connections that wait to be accepted, as far as the system allows: a burst waits here while the
/// server is busy, and not for clients to try again.
const BACKLOG: u32 = 4_096;
/// File descriptors left for the store, the logs and everything else that is not a connection.
const RESERVED_FILES: usize = 128;

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
    let began = tokio::time::Instant::now();
    if !options.shared.shared.is_empty() {
        return serve_cluster::serve(options, &runtime, listener, gateways, signals);
    }
    let Some(opened) = read_store(options, &runtime, &listener, &mut signals)? else {
        tracing::info!("stopped while the store was read: no request was answered");
        return Ok(());
    };
    let recovery_time = began.elapsed();
    warn_of_access(&options.store.data);
    let (operator, cluster) = (None, None);
    let started = StartedServer { listener, gateways, signals, recovery_time, operator, cluster };
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

/// Warns if others can read the data directory.
fn warn_of_access(data: &Path) {
    if let Ok(found) = std::fs::metadata(data)
        && found.permissions().mode() & 0o077 != 0
    {
        tracing::warn!(data = %data.display(), "other users can read the data directory: chmod 700");
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

/// Warns if strangers can reach a server with the key of the demonstration, which is public.
fn warn_of_demo(options: &ServeOptions, directory: &Directory) {
    let is_public = !options.listen.ip().to_canonical().is_loopback()
        || !options.messages.links.public_url.is_loopback();
    let key_hash: [u8; 32] = Sha256::digest(demo::KEY.as_bytes()).into();
    if is_public && (options.demo || directory.apikeys.contains_key(&key_hash)) {
        tracing::warn!(
            "the demonstration is served on a public address, and its key and passwords are \
             public: revoke the key (`slotbook key revoke {}`) and change the passwords, or serve \
             another store",
            demo::KEY
        );
    }
}

/// Warns of keys that count as keys of servers only because the store comes from an earlier
/// release.
pub(crate) fn warn_of_unknown_holders(directory: &Directory) {
    let mut unknown = Vec::new();
    for (hash, apikey) in directory.apikeys.iter() {
        if apikey.holder == ApikeyHolder::Unknown {
            unknown.push(KeyId::of_hash(hash).to_string());
        }
    }
    if !unknown.is_empty() {
        tracing::warn!(
            keys = unknown.join(", "),
            "these keys of an earlier release count as keys of servers, so their bookings are not \
             limited by source address: `slotbook key set KEY --no-server` for a key that the \
             public can read, `slotbook key set KEY --server` for one of a server"
        );
    }
}

/// Warns of keys that pages of all sites may book with, because they come from an earlier release.
pub(crate) fn warn_of_open_keys(directory: &Directory) {
    let mut names = Vec::new();
    let mut count = 0;
    for (hash, apikey) in directory.apikeys.iter().filter(|(_, key)| key.is_open_to_pages()) {
        count += 1;
        if count <= KEYS_SHOWN_MAX {
            let id = KeyId::of_hash(hash);
            names.push(format!("{id} {}", apikey.label.as_str()).trim_end().to_owned());
        }
    }
    if count > 0 {
        tracing::warn!(
            count,
            keys = names.join(", "),
            "pages of any site may book through their visitors with these keys of an earlier \
             release: `slotbook key set KEY --origin https://shop.example` for a key of that \
             site's pages, `slotbook key set KEY --origin none` for a key that no page has; \
             `slotbook key list` shows all"
        );
    }
}

/// State of a server that is ready to serve a store.
pub(crate) struct StartedServer {
    pub(crate) listener: TcpListener,
    pub(crate) gateways: Gateways,
    pub(crate) signals: StopSignals,
    /// Duration of reading the store.
    pub(crate) recovery_time: Duration,
    /// The operator's socket, if it is open already.
    pub(crate) operator: Option<(UnixListener, OperatorSocket)>,
    /// The cluster of a server that has taken over in one.
    pub(crate) cluster: Option<ServedCluster>,
}

fn serve_store(
    options: &ServeOptions,
    runtime: &Runtime,
    loaded: Loaded,
    mut started: StartedServer,
) -> Result<(), CommandError> {
    log_recovery(&loaded);
    let Loaded { mut directory, mut group_states, quarantined, store } = loaded;
    warn_of_demo(options, &directory);
    warn_of_unknown_holders(&directory);
    warn_of_open_keys(&directory);
    messages::warn_of_missing_gateways(&started.gateways, &group_states);
    let mut log = store.into_log()?;
    let last_stamp = find_last_stamp(group_states.iter());
    let now = initial_time(SystemClock.now(), last_stamp);
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
    let parts = engine_parts(content.clone(), Vec::new(), randomness);
    let (send, made) = mpsc::channel();
    let awaited = AwaitedStore { directory, content, made: send };
    let log = ServedLog::Awaited(Some(Box::new(awaited)));
    runtime.block_on(serve_until_signal(options, parts, Vec::new(), log, made, started))
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
    let StartedServer { listener, gateways, mut signals, recovery_time, operator, cluster } =
        started;
    let gateways = Arc::new(gateways);
    let data = &options.store.data;
    let metrics = MetricsExporter::new(bind_metrics_listener(options)?);
    let (engine, journal) =
        Engine::start_with_quarantined(quarantined, parts, log, metrics.engine_metrics()).await;
    if let Some(cluster) = &cluster {
        engine.need_lease(cluster.joined.lease());
    }
    let threads = StoreThreads::start(options, &engine, journal, made, cluster.as_ref())?;
    let operator_socket =
        operator.map_or_else(|| listen_to_commands(data), |open| Ok(Some(open)))?;
    let quota = MessageQuota {
        recipient_daily_max: options.messages_daily_max,
        by_key_daily_max: options.messages_by_key_daily_max,
    };
    let sending = messages::sending_settings(quota, Arc::clone(&gateways));
    let connections_max = limit_connections(options.connections_max);
    let address = listener.local_addr()?;
    let served = cluster.as_ref();
    let server = create_server(options, &engine, gateways, quota, connections_max, served)
        .offering_first_run(first_run_site(options, address))
        .metered(metrics.http_metrics());
    let routes = web::service(server);
    let operator_socket = operator_socket.map(|(listener, socket)| {
        tokio::spawn(http::serve_operator(listener, routes.clone()));
        socket
    });
    metrics.serve(engine.clone(), data.clone(), recovery_time);
    print(&format!("listening on http://{address}\n"));
    print_first_run_link(&routes.server);
    // The server's own writes come after the start, which an operator sees fail or not.
    upkeep::start(&engine, options);
    let messages = engine.send_messages(sending).await;
    if options.demo {
        print_demo_pages(&engine, address);
    }
    let (stop_messages, messages_stopped) = oneshot::channel();
    let stop = async {
        signals.received().await;
        tracing::info!("stopping: requests under way are finished");
        // The receiver lives as long as this function.
        let _ = stop_messages.send(());
    };
    let finish_messages = async {
        let _ = messages_stopped.await;
        tokio::time::timeout(MESSAGES_SHUTDOWN_TIMEOUT, messages.stop()).await
    };
    let ((), messages_finished) =
        tokio::join!(http::serve(listener, routes, connections_max, stop), finish_messages);
    // Removed before the store is unlocked: the next server may create its own after that.
    drop(operator_socket);
    if messages_finished.is_err() {
        tracing::warn!(
            "some messages were being sent: they may arrive once more after the next start"
        );
    }
    let engine_stopped = async {
        engine.shut_down().await;
        threads.journal_ended.await
    };
    match tokio::time::timeout(ENGINE_SHUTDOWN_TIMEOUT, engine_stopped).await {
        Ok(_) => tracing::info!("stopped"),
        Err(_) => tracing::warn!("stopped with writes under way: none of them has been answered"),
    }
    if let Some(cluster) = cluster {
        // Blocks for the answer of PostgreSQL, after all of the server's own.
        tokio::task::block_in_place(|| cluster.joined.leave());
    }
    Ok(())
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
    cluster: Option<&ServedCluster>,
) -> Server {
    let per_source = source_connections_max(options, connections_max);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let server = Server::new(engine.clone(), cores);
    let server = match cluster {
        Some(cluster) => server.in_cluster(&cluster.joined.store.secret),
        None => server,
    };
    server
        .with_gateways(gateways)
        .with_message_quota(quota)
        .behind_tls(options.behind_tls)
        .behind(options.trusted_proxies.0.clone(), options.forwarding_header)
        .limited_per_source(per_source)
        .with_store(served_store(&options.store.data, options.disk.disk_reserve_mib))
        .with_group_bytes_max(upkeep::group_bytes_max(options))
        .limit_bookings(booking_limits(options))
        .listing_groups(options.list_groups)
}

/// The maximum number of connections of one source.
pub(crate) fn source_connections_max(options: &ServeOptions, connections_max: usize) -> usize {
    let per_source =
        usize::try_from(options.source_connections_max).expect("a usize has 32 bits at least");
    // One source leaves half of the connections to others, however few there are.
    per_source.min((connections_max / 2).max(1))
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
fn bind(address: SocketAddr, option: &'static str) -> Result<TcpListener, CommandError> {
    let listen = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    listen().map_err(|reason| CommandError::Listen { address, option, reason })
}

fn bind_metrics_listener(options: &ServeOptions) -> Result<Option<TcpListener>, CommandError> {
    let Some(address) = options.metrics_listen.0 else { return Ok(None) };
    let listener = bind(address, "--metrics-listen")?;
    tracing::info!("metrics are served on http://{}/metrics", listener.local_addr()?);
    Ok(Some(listener))
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
    fn new() -> io::Result<Self> {
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
