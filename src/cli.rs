//! The command line: serving, and the commands of the operator. Reference 11.

mod content;
mod maintenance;
mod messages;
mod metrics;
mod operator;
mod people;
mod socket;

use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use clap::{Parser, Subcommand};
use rustix::process::{Resource, Rlimit};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tracing_subscriber::EnvFilter;

use self::metrics::Figures;
use self::operator::Disk;
use self::people::{KeyCommand, ProCommand};
use crate::clock::{Clock as _, SystemClock};
use crate::config::{Config, ConfigError, Given};
use crate::domain::identity::access::AccessRefusal;
use crate::domain::identity::link_secret::LinkSecret;
use crate::engine::admission::Bounds;
use crate::engine::compaction::Compactor;
use crate::engine::health::Health;
use crate::engine::journal::Journal;
use crate::engine::mailbox::Transport;
use crate::engine::quarantine::QuarantinedGroup;
use crate::engine::randomness::Randomness;
use crate::engine::recovery::{self, Loaded};
use crate::engine::{Engine, Parts};
use crate::http::{Routes, Server, answer_while, serve};
use crate::notify::Carriers;
use crate::store::{Generations, Log, StoreError, free_bytes};
use crate::transfer::ImportFault;

/// How long a write may wait to be decided.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long messages under way may take, beside what connections are given to end.
const LAST_POST: Duration = Duration::from_secs(7);
/// How long the engine may take to end once no connection is left.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long the last line of a process that has to end may take to be logged.
const LAST_WORD: Duration = Duration::from_secs(1);
/// Files that are left to the store, the logs and whatever the process opens besides connections.
const FILES_OF_OUR_OWN: usize = 128;
const HOUR: Duration = Duration::from_secs(3_600);
/// How often the store's writer and the disk's room are looked at.
const WATCH: Duration = Duration::from_millis(200);

/// A shared agenda with online booking.
#[derive(Debug, Parser)]
#[command(name = "slotbook", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves the API until SIGTERM or SIGINT.
    Serve {
        #[command(flatten)]
        given: Given,
    },
    /// Fills a store from a JSON document, whole or not at all. No server may be using the store.
    Import {
        #[command(flatten)]
        given: Given,
        /// Replace the groups that the document names in a store that holds something.
        #[arg(long)]
        merge: bool,
        /// The document; `-` for stdin.
        file: PathBuf,
    },
    /// Writes all that a store holds as one JSON document, whether a server runs on it or not.
    Export {
        #[command(flatten)]
        given: Given,
        /// Where to; `-` for stdout.
        file: PathBuf,
    },
    /// Reads everything that a store holds, verifies checksums and promises, and prints counts. No server may be using
    /// the store; it is copied first, so the disk needs room for another.
    Check {
        #[command(flatten)]
        given: Given,
    },
    /// Writes all that a store holds into another directory, which then serves.
    Backup {
        #[command(flatten)]
        given: Given,
        /// Where to: an empty directory, or one that is not there.
        dest: PathBuf,
    },
    /// Application keys: who may ask at all.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Professionals: who logs in to run groups.
    #[command(subcommand)]
    Pro(ProCommand),
    /// Prints what the groups' messages came to, as `GET groups/:id/messages` lists them: an object of JSON a line, with
    /// what a message says where nobody is configured to carry it.
    Messages {
        #[command(flatten)]
        given: Given,
        /// A group whose messages to print; may be given several times. Without any: all groups.
        #[arg(long = "group", alias = "groups", value_name = "ID", value_delimiter = ',')]
        groups: Vec<u64>,
    },
    /// Sends a test message to an e-mail address or a telephone number, by the options that hold.
    MessageTest {
        #[command(flatten)]
        given: Given,
        /// An address, or a number with its country's prefix.
        #[arg(long)]
        to: String,
    },
    /// Prints every option with the value that holds, as a configuration file.
    Config {
        #[command(flatten)]
        given: Given,
    },
}

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot serve on {address}: {reason}; choose another address with {option}")]
    Listen { address: SocketAddr, option: &'static str, reason: std::io::Error },
    #[error("{}: {reason}", path.display())]
    File { path: PathBuf, reason: std::io::Error },
    #[error("the document is wrong, and nothing was changed:{}", listed(.0))]
    Document(Vec<ImportFault>),
    #[error("something is wrong with the store; copy it before anything else:{}", lines(.0))]
    Check(Vec<String>),
    #[error("a document cannot hold all of this store, and nothing was changed; back it up instead:{}", lines(.0))]
    QuarantinedGroup(Vec<String>),
    #[error("log: {0}; write it as in slotbook=info,warn")]
    Filter(tracing_subscriber::filter::ParseError),
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Access(#[from] AccessRefusal),
    #[error("messages cannot be sent by these options: {0}")]
    Messages(String),
    #[error("the message was not taken: {0}")]
    NotTaken(String),
    #[error("the machine refuses: {0}")]
    Machine(#[from] std::io::Error),
}

impl Failed {
    /// 1 for a refusal, 2 for bad usage, 70 for a failed store.
    fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Filter(_) | Self::Messages(_) => 2,
            Self::Listen { .. }
            | Self::Machine(_)
            | Self::File { .. }
            | Self::Document(_)
            | Self::NotTaken(_) => 1,
            Self::Refused(_) | Self::Access(_) | Self::Check(_) | Self::QuarantinedGroup(_) => 1,
            Self::Store(error) if is_refusal(error) => 1,
            Self::Store(_) => 70,
        }
    }
}

fn lines(faults: &[String]) -> String {
    faults.iter().map(|fault| format!("\n  {fault}")).collect()
}

fn listed(faults: &[ImportFault]) -> String {
    faults.iter().map(|fault| format!("\n  {fault}")).collect()
}

/// Whether the store is well, and only not for this, or not for this user.
fn is_refusal(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Locked { .. }
            | StoreError::Empty { .. }
            | StoreError::Occupied { .. }
            | StoreError::Foreign { .. }
            | StoreError::Newer { .. }
            | StoreError::Denied { .. }
            | StoreError::OfAnother { .. }
    )
}

/// Runs the command that the arguments name.
#[must_use]
pub fn run() -> ExitCode {
    match obey(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            complain(&failed.to_string());
            ExitCode::from(failed.exit_code())
        }
    }
}

fn obey(command: Command) -> Result<(), Failed> {
    match command {
        Command::Serve { given } => start(&given.resolve()?),
        Command::Import { given, merge, file } => {
            content::import(&given.resolve()?.data, &file, merge)
        }
        Command::Export { given, file } => content::export(&given.resolve()?.data, &file),
        Command::Key(command) => people::key(command),
        Command::Pro(command) => people::pro(command),
        Command::Messages { given, groups } => messages::list(&given.resolve()?, groups),
        Command::MessageTest { given, to } => messages::test(&given.resolve()?, &to),
        Command::Check { given } => maintenance::check(&given.resolve()?.data),
        Command::Backup { given, dest } => maintenance::backup(&given.resolve()?, &dest),
        Command::Config { given } => {
            print(&given.resolve()?.listing());
            Ok(())
        }
    }
}

/// Says something on stdout to the person at the terminal, who may have left.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Says on stderr what went wrong.
fn complain(text: &str) {
    drop(writeln!(std::io::stderr().lock(), "slotbook: {text}"));
}

fn start(config: &Config) -> Result<(), Failed> {
    log_to_stderr(&config.log)?;
    // Before the store is read, which may take long.
    let mut carriers = messages::carriers(config)?;
    messages::warn_of_local_names(config);
    let runtime = tokio::runtime::Runtime::new()?;
    let mut signals = runtime.block_on(async { Signals::new() })?;
    let listener = runtime.block_on(listen(config.listen, "--listen"))?;
    let began = tokio::time::Instant::now();
    let (data, demo) = (config.data.clone(), config.demo);
    let reading = runtime.spawn_blocking(move || content::open(&data, demo));
    let read = runtime.block_on(async {
        tokio::select! {
            biased;
            () = signals.told() => None,
            read = answer_while(reading, &listener) => Some(read),
        }
    });
    let Some(read) = read else {
        tracing::info!("told to stop while the store was read: nothing was answered");
        runtime.shutdown_background();
        return Ok(());
    };
    let Loaded { mut directory, mut group_states, aside, store } =
        read.unwrap_or_else(|bug| std::panic::resume_unwind(bug.into_panic()))?;
    let recovery = began.elapsed();
    if std::fs::metadata(&config.data).is_ok_and(|found| found.permissions().mode() & 0o077 != 0) {
        tracing::warn!(data = %config.data.display(), "others than its owner may look into the data directory: chmod 700");
    }
    let report = store.report();
    tracing::info!(
        groups = group_states.len(),
        clean = report.clean,
        batches = report.batches,
        records = report.records,
        "the store is read"
    );
    if group_states.is_empty() {
        tracing::warn!(
            "the store holds no group yet: stop, and fill it with `slotbook import FILE` or serve with --demo"
        );
    }
    let mut log = store.into_log()?;
    recovery::follow_zones(&mut log, &mut group_states, SystemClock.now())?;
    let mut draws = Randomness::from_os();
    recovery::seal(&mut log, &mut directory, || LinkSecret::new(draws.bytes()))?;
    carriers.seal.clone_from(&directory.seal);
    let generations = log.generations()?;
    let parts = Parts {
        directory,
        group_states,
        clock: Arc::new(SystemClock),
        draws,
        transport: Transport::direct(),
        bounds: Bounds::default(),
        patience: PATIENCE,
    };
    let begun = Begun { listener, carriers: Arc::new(carriers), signals, generations, recovery };
    let served = runtime.block_on(answer_until_told_to_stop(config, parts, aside, log, begun));
    runtime.shutdown_background();
    served
}

/// The signals that end a server. One that comes while nobody waits is kept.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Returns when one of them has come.
    async fn told(&mut self) {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// What stands before anybody is served.
struct Begun {
    listener: TcpListener,
    carriers: Arc<Carriers>,
    signals: Signals,
    generations: Generations,
    /// How long the store was read.
    recovery: Duration,
}

async fn answer_until_told_to_stop(
    config: &Config,
    parts: Parts,
    aside: Vec<QuarantinedGroup>,
    log: impl Log + 'static,
    Begun { listener, carriers, mut signals, generations, recovery }: Begun,
) -> Result<(), Failed> {
    let figures = Figures::new(config.metrics_listen).await?;
    let (engine, journal) = Engine::start_beside(aside, parts, log, figures.of_engine()).await;
    let journal_ended = write_journal(journal)?;
    let reserve_bytes = config.disk_reserve_mib.number() << 20;
    let _watching = watch(Arc::clone(engine.health()), config.data.clone(), reserve_bytes)?;
    let _compacting =
        compact(engine.compactor(generations, config.journal_mib.number() << 20, reserve_bytes))?;
    let keep_days =
        u32::try_from(config.keep_deleted_days.number()).expect("a hundred years at most");
    if keep_days > 0 {
        tokio::spawn(remove_deleted(engine.clone(), keep_days));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let disk = Disk { data: config.data.clone(), reserve_mib: config.disk_reserve_mib.number() };
    let reachable = socket::listen(disk, engine.clone(), Arc::clone(&carriers))?;
    let messages = engine.send_messages(messages::sending(config, Arc::clone(&carriers))).await;
    let server = Server::new(engine.clone(), cores).with_carriers(carriers);
    let server = server.behind_tls(config.behind_tls).behind(config.trusted_proxies.0.clone());
    let routes = Routes::new(server.metered(figures.of_http()));
    figures.serve(engine.clone(), config.data.clone(), recovery);
    print(&format!("listening on http://{}\n", listener.local_addr()?));
    let (say, heard) = oneshot::channel();
    let told = async {
        signals.told().await;
        tracing::info!("told to stop: what was taken is finished");
        // Whoever hears it is there as long as we are.
        let _ = say.send(());
    };
    let last_post = async {
        let _ = heard.await;
        tokio::time::timeout(LAST_POST, messages.stop()).await
    };
    let ((), posted) = tokio::join!(
        serve(
            listener,
            routes,
            places(usize::try_from(config.connections_max.number()).expect("a million at most")),
            told
        ),
        last_post
    );
    // Before the store is let go of: then another server may make its own.
    drop(reachable);
    if posted.is_err() {
        tracing::warn!(
            "some messages were being sent: they may arrive once more after the next start"
        );
    }
    let ended = async {
        engine.shut_down().await;
        journal_ended.await
    };
    match tokio::time::timeout(FAREWELL, ended).await {
        Ok(_) => tracing::info!("stopped"),
        Err(_) => tracing::warn!("stopped with writes under way: none of them has been answered"),
    }
    Ok(())
}

/// Listens on an address that an option has given.
async fn listen(address: SocketAddr, option: &'static str) -> Result<TcpListener, Failed> {
    TcpListener::bind(address).await.map_err(|reason| Failed::Listen { address, option, reason })
}

/// How many connections of those wished for the machine's limit on open files leaves room for, the limit raised as far as
/// it goes: a store that could not open its files would end the process.
fn places(wished: usize) -> usize {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let limit =
        if rustix::process::setrlimit(Resource::Nofile, raised).is_ok() { raised } else { limit };
    let files =
        limit.current.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX));
    let places = wished.min(files.saturating_sub(FILES_OF_OUR_OWN).max(1));
    if places < wished {
        tracing::warn!(
            places,
            wished,
            "the limit on open files leaves room for fewer connections: raise it (ulimit -n)"
        );
    }
    places
}

/// Drives the journal on a thread of its own. When it fails, nothing more may be answered: the process ends at once.
fn write_journal(journal: Journal<impl Log + 'static>) -> std::io::Result<oneshot::Receiver<()>> {
    let (ended, journal_ended) = oneshot::channel();
    std::thread::Builder::new().name("journal".to_owned()).spawn(move || {
        match std::panic::catch_unwind(AssertUnwindSafe(|| journal.run())) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => give_up(&error),
            Err(_) => give_up(&"the journal's writer panicked"),
        }
        // Nobody may be waiting any more.
        let _ = ended.send(());
    })?;
    Ok(journal_ended)
}

/// Removes what was deleted long ago, now and every hour.
async fn remove_deleted(engine: Engine, keep_days: u32) {
    let mut hour = tokio::time::interval(HOUR);
    loop {
        hour.tick().await;
        let removed = engine.remove_deleted(keep_days).await;
        if removed > 0 {
            tracing::info!(removed, keep_days, "events deleted long ago are no more");
        }
    }
}

/// Ends the process after a failure of the store: nothing more may be answered, whoever reads what is logged or does not.
fn give_up(why: &dyn std::fmt::Display) -> ! {
    let why = why.to_string();
    let (logged, done) = std::sync::mpsc::channel();
    let saying = std::thread::Builder::new().spawn(move || {
        tracing::error!(
            error = why,
            "the store failed; the process ends, and the next start recovers what is on disk"
        );
        // Nobody waits any more where it took too long.
        let _ = logged.send(());
    });
    if saying.is_ok() {
        let _ = done.recv_timeout(LAST_WORD);
    }
    std::process::exit(70);
}

/// Looks after the writer and the disk's room on a thread of its own, which no stuck task can keep from it, until what
/// is returned is dropped.
fn watch(
    health: Arc<Health>,
    data: PathBuf,
    reserve_bytes: u64,
) -> std::io::Result<std::sync::mpsc::Sender<()>> {
    // Once before anybody is told where to ask; a look that fails is fatal from the thread.
    if let Ok(free) = free_bytes(&data) {
        health.has_room(free >= reserve_bytes);
    }
    let (running, stop) = std::sync::mpsc::channel::<()>();
    std::thread::Builder::new().name("watch".to_owned()).spawn(move || {
        while stop.recv_timeout(WATCH) == Err(RecvTimeoutError::Timeout) {
            if let Some(fatal) = health.fatal() {
                give_up(&fatal);
            }
            match free_bytes(&data) {
                Ok(free) => health.has_room(free >= reserve_bytes),
                Err(error) => give_up(&error),
            }
        }
    })?;
    Ok(running)
}

/// Makes new generations of the store on a thread of its own, until what is returned is dropped.
fn compact(compactor: Compactor) -> std::io::Result<std::sync::mpsc::Sender<()>> {
    let (running, stop) = std::sync::mpsc::channel();
    std::thread::Builder::new().name("compactor".to_owned()).spawn(move || {
        match std::panic::catch_unwind(AssertUnwindSafe(|| compactor.run(&stop))) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => give_up(&error),
            Err(_) => give_up(&"what makes new generations of the store panicked"),
        }
    })?;
    Ok(running)
}

/// Stderr for whom it makes no difference whether anybody reads it: a server whose log is full goes on.
struct Unheard(std::io::Stderr);

impl std::io::Write for Unheard {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(self.0.write(bytes).unwrap_or(bytes.len()))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        drop(self.0.flush());
        Ok(())
    }
}

/// Logs and panics go to stderr; stdout is for the one line that says where the server listens.
fn log_to_stderr(filter: &str) -> Result<(), Failed> {
    let filter = EnvFilter::try_new(filter).map_err(Failed::Filter)?;
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Unheard(std::io::stderr()))
        .with_ansi(colours)
        .init();
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let message = panic.payload_as_str().unwrap_or("no message");
        tracing::error!(place, message, "a bug: something panicked");
    }));
    Ok(())
}
