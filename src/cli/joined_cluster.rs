//! A server of a cluster: how it joins, and follows the one that decides. Reference 11.1.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::cli::error::CommandError;
use crate::cli::passed_counts::ReadCounts;
use crate::cli::passed_sessions::ReadSessions;
use crate::cli::process_end::{end_fenced, end_process};
use crate::cli::runtime::start_thread;
use crate::clock::{Clock as _, SystemClock};
use crate::config::options::{ServeOptions, SharedStoreOptions};
use crate::engine::randomness::Randomness;
use crate::engine::{RecoveredStates, SharedSizes, StateRebuilder};
use crate::http::{self, Departure, StartProof};
use crate::store::{
    EmptyDirectory, Lease, Membership, Release, SharedAddress, SharedLog, SharedStore,
    SoundSnapshot, Store, StoreError, Takeover,
};

/// Interval at which a follower reads what was added.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(100);
/// The same, and the interval of tries to take over, while the server that decides is about to hand
/// over to this one.
const SUCCESSOR_INTERVAL: Duration = Duration::from_millis(2);

/// A cluster that a server may join: its store is checked, and nothing in it is changed.
pub(crate) struct OpenedCluster {
    pub(crate) store: SharedStore,
    /// The lease of this server, which it does not hold yet.
    pub(crate) lease: Arc<Lease>,
    /// Proves this start to the server itself.
    pub(crate) start_proof: StartProof,
    /// Excludes other processes from the directory of the operator's socket.
    directory: EmptyDirectory,
}

/// A server that has joined its cluster.
pub(crate) struct JoinedCluster {
    pub(crate) store: SharedStore,
    /// Proves this start to the server itself.
    pub(crate) start_proof: StartProof,
    pub(crate) membership: Arc<Membership>,
    /// Has a beat sent at once. Dropped, it ends the beats.
    beats: Sender<()>,
    /// Excludes other processes from the directory of the operator's socket.
    _directory: EmptyDirectory,
}

/// A server that has taken over.
pub(crate) struct TakenOver {
    pub(crate) states: RecoveredStates,
    pub(crate) log: SharedLog,
    /// The newest snapshot that is sound.
    pub(crate) snapshot: SoundSnapshot,
}

/// The parts from which a server of a cluster starts its threads.
pub(crate) struct ServedCluster {
    pub(crate) joined: JoinedCluster,
    /// Answers requests here until this server hands over.
    pub(crate) departure: Arc<Departure>,
    /// Sizes of the shared store.
    pub(crate) sizes: Arc<SharedSizes>,
    /// The newest snapshot that is sound.
    pub(crate) snapshot: SoundSnapshot,
    /// Gets what the server before has saved beside the history.
    pub(crate) saved: oneshot::Receiver<Result<SavedState, StoreError>>,
}

/// The counts and the sessions that the server before has saved.
pub(crate) struct SavedState {
    pub(crate) counts: ReadCounts,
    pub(crate) sessions: ReadSessions,
}

/// The address at which the other servers reach this one.
pub(crate) fn own_url(options: &ServeOptions) -> &str {
    options.advertise.trim_end_matches('/')
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

/// Checks the options of a server in a cluster, its directory and the shared store.
///
/// # Errors
/// The first reason against it, with the remedy.
pub(crate) fn open_cluster(options: &ServeOptions) -> Result<OpenedCluster, CommandError> {
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
    let store = SharedStore::open(shared_address(&options.shared)?, SystemClock.now())?;
    directory.check_cluster(store.id)?;
    let start_proof = StartProof::new(Randomness::from_os().bytes());
    Ok(OpenedCluster { store, lease: Arc::default(), start_proof, directory })
}

/// Checks that `--advertise` leads to this server, which is served meanwhile with `proof`. A wrong
/// one would otherwise end the server that it leads to: each address has one server.
///
/// # Errors
/// It does not, with what answers there and the remedy.
pub(crate) async fn check_advertise(
    options: &ServeOptions,
    listen: SocketAddr,
    proof: &StartProof,
) -> Result<(), CommandError> {
    let url = own_url(options);
    http::check_own_url(url, proof).await.map_err(|reason| {
        CommandError::Refused(format!(
            "--advertise {url} does not lead to this server, which listens on {listen}: {reason}. \
             Set --advertise to the address at which the other servers of the cluster reach this \
             one, and it itself; nothing was changed in the cluster"
        ))
    })
}

impl OpenedCluster {
    /// Joins the cluster as the server that others reach at `url`, and begins to beat.
    ///
    /// # Errors
    /// PostgreSQL refuses, or a thread cannot be started.
    pub(crate) fn join(self, url: &str) -> Result<JoinedCluster, CommandError> {
        let Self { store, lease, start_proof, directory } = self;
        let membership = store.join(url, lease)?;
        directory.note_cluster(store.id)?;
        let beats = store.beats(&membership)?;
        let (running, awaited) = mpsc::channel();
        start_thread("beats", move || match beats.run(&awaited) {
            Ok(()) => {}
            Err(StoreError::Fenced) => end_fenced(),
            Err(error) => end_process(&error),
        })?;
        tracing::info!(cluster = %store.id, url, "joined the cluster; following it");
        Ok(JoinedCluster { store, start_proof, membership, beats: running, _directory: directory })
    }
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
    Ok(EmptyDirectory::claim_for_cluster(data)?)
}

impl JoinedCluster {
    /// The lease of this server.
    pub(crate) fn lease(&self) -> Arc<Lease> {
        Arc::clone(&self.membership.lease)
    }

    /// Starts to read what the server before has saved beside the history. It has ended, or may
    /// save no more.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn read_saved(
        &self,
    ) -> Result<oneshot::Receiver<Result<SavedState, StoreError>>, CommandError> {
        let store = self.store.clone();
        let membership = Arc::clone(&self.membership);
        start_thread("saved", move || {
            let counts = ReadCounts::read(&store, &membership)?;
            let sessions = ReadSessions::read(&store, &membership)?;
            Ok(SavedState { counts, sessions })
        })
    }

    /// Returns how this server leaves the decision to the others. It blocks for PostgreSQL.
    pub(crate) fn prepare_leave(&self) -> Leave {
        Leave {
            lease: self.lease(),
            release: self.store.prepare_release(&self.membership),
            beats: self.beats.clone(),
        }
    }
}

/// A server that is about to leave the decision to the others.
pub(crate) struct Leave {
    lease: Arc<Lease>,
    beats: Sender<()>,
    release: Result<Release, StoreError>,
}

impl Leave {
    /// Leaves: the others need not wait then. Nothing may be decided any more. It blocks for
    /// PostgreSQL.
    pub(crate) fn leave(self) {
        self.lease.end();
        if let Err(error) = self.release.and_then(Release::run) {
            tracing::warn!(%error, "the decision is released by the next beat");
        }
        // What comes from now on waits until this server knows its successor.
        let _ = self.beats.send(());
    }
}

/// Follows the cluster until this server decides, and returns all states; `None` once it is to
/// stop. `tail_bytes` gets the bytes of the journal since the newest snapshot. It blocks its
/// thread.
///
/// # Errors
/// Damage, with its place; another server has taken over right after this one; or the formats in
/// force were raised above those of this release.
pub(crate) fn follow_until_takeover(
    store: &SharedStore,
    membership: &Arc<Membership>,
    tail_bytes: Arc<AtomicU64>,
    is_stopping: &AtomicBool,
) -> Result<Option<TakenOver>, StoreError> {
    let mut follower = store.follower::<StateRebuilder>(membership, tail_bytes)?;
    let mut has_warned = false;
    let owned = loop {
        if is_stopping.load(Ordering::SeqCst) {
            return Ok(None);
        }
        // Before anything is read that it might not understand.
        membership.in_force.check_formats()?;
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
        let is_successor = membership.lease.is_successor();
        let interval = if is_successor { SUCCESSOR_INTERVAL } else { FOLLOW_INTERVAL };
        std::thread::park_timeout(interval);
    };
    let Takeover { visitor, log, snapshot } = follower.into_takeover(owned)?;
    let states = visitor.into_recovered();
    tracing::warn!(groups = states.group_states.len(), "this server has taken over the cluster");
    Ok(Some(TakenOver { states, log, snapshot }))
}
