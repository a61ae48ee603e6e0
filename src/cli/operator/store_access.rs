//! Access to a store, whether a server runs on it or not. Reference 11.1.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::runtime::Handle;

use crate::cli::error::CommandError;
use crate::clock::{Clock as _, SystemClock};
use crate::domain::decisions::founding::FoundGroup;
use crate::domain::directory::Directory;
use crate::domain::directory::access::{self, ChangeAccess, StoreGroups};
use crate::domain::records::ids::{GroupId, VeventId};
use crate::domain::state::group_state::GroupState;
use crate::engine::backup;
use crate::engine::published::Published;
use crate::engine::quarantine::QuarantinedGroup;
use crate::engine::recovery::{self, Loaded};
use crate::engine::{Engine, Rejection};
use crate::notify::Gateways;
use crate::store::{StoreError, free_bytes, store_sizes};

/// Seconds between two progress lines of a backup.
const PROGRESS_SECONDS: i64 = 5;

/// The store that a request is executed on.
pub(crate) enum StoreAccess {
    /// A store on which this process serves.
    Online {
        engine: Engine,
        /// The runtime of the engine. Requests are executed on threads outside it.
        runtime: Handle,
        gateways: Arc<Gateways>,
        disk: DiskReserve,
    },
    /// A store without a server.
    Offline {
        /// The content of the store; `None` after a change or a backup has used it up. One request
        /// is executed at most.
        loaded: Box<Option<Loaded>>,
        /// The data directory.
        data: PathBuf,
    },
}

/// Free space that a server leaves on the disk of its store.
#[derive(Clone, Debug)]
pub(crate) struct DiskReserve {
    /// The data directory.
    pub(crate) data: PathBuf,
    /// Free space to leave there, in MiB.
    pub(crate) reserve_mib: u64,
}

impl StoreAccess {
    /// Returns the keys and the professionals as they are now.
    pub(crate) fn directory(&self) -> Arc<Directory> {
        match self {
            Self::Online { engine, .. } => engine.published().directory(),
            Self::Offline { loaded, .. } => match loaded.as_ref() {
                Some(loaded) => Arc::new(loaded.directory.clone()),
                None => Arc::default(),
            },
        }
    }

    /// Returns every group as it is now.
    pub(crate) fn group_states(&self) -> Vec<Arc<GroupState>> {
        match self {
            Self::Online { engine, .. } => {
                let published = engine.published();
                published.groups().filter_map(|group| published.group_state(group)).collect()
            }
            Self::Offline { loaded, .. } => match loaded.as_ref() {
                Some(loaded) => loaded.group_states.iter().cloned().map(Arc::new).collect(),
                None => Vec::new(),
            },
        }
    }

    /// Refuses a request that needs all groups if one of them is quarantined.
    ///
    /// # Errors
    /// The quarantined groups, with the reason of each.
    pub(crate) fn refuse_quarantined_groups(&self) -> Result<(), CommandError> {
        match self {
            Self::Online { engine, .. } => {
                refuse_quarantined_groups(engine.published().quarantined().values())
            }
            Self::Offline { loaded, .. } => match loaded.as_ref() {
                Some(loaded) => refuse_quarantined_groups(&loaded.quarantined),
                None => Ok(()),
            },
        }
    }

    /// Returns the gateways of the running server or, without one, gateways that send nothing and
    /// write links with `public_url`.
    pub(crate) fn gateways(&self, public_url: &str) -> Arc<Gateways> {
        match self {
            Self::Online { gateways, .. } => Arc::clone(gateways),
            Self::Offline { .. } => {
                let link_secret = self.directory().link_secret.clone();
                Arc::new(Gateways { link_secret, ..Gateways::unconfigured(public_url) })
            }
        }
    }

    /// Cancels appointments through the running server.
    ///
    /// # Errors
    /// No server is running, or it takes no writes. Cancellations before that stand.
    pub(crate) fn cancel_many(
        &self,
        group: GroupId,
        ids: &[VeventId],
        is_quiet: bool,
    ) -> Result<(), CommandError> {
        let Self::Online { engine, runtime, .. } = self else {
            let why = "appointments are cancelled by a running server: start it first";
            return Err(CommandError::Refused(why.to_owned()));
        };
        match runtime.block_on(engine.cancel_many(group, ids, is_quiet)) {
            Ok(()) => Ok(()),
            Err(rejection) => Err(CommandError::Refused(rejection_text(&rejection).to_owned())),
        }
    }

    /// Founds a group durably, and returns its state.
    ///
    /// # Errors
    /// The server takes no writes, or the store cannot be written.
    pub(crate) fn found_group(
        &mut self,
        command: &FoundGroup,
    ) -> Result<Arc<GroupState>, CommandError> {
        match self {
            Self::Online { engine, runtime, .. } => {
                match runtime.block_on(engine.found_group(command.clone())) {
                    Ok(founded) => Ok(founded),
                    Err(rejection) => {
                        Err(CommandError::Refused(rejection_text(&rejection).to_owned()))
                    }
                }
            }
            Self::Offline { loaded, .. } => {
                let loaded = loaded.take().expect("a store without a server gets one request");
                Ok(Arc::new(recovery::append_new_group(loaded, command, SystemClock.now())?))
            }
        }
    }

    /// Changes the keys or the professionals durably.
    ///
    /// # Errors
    /// The change breaks a rule, the server takes no writes, or the store cannot be written.
    pub(crate) fn change_access(&mut self, change: ChangeAccess) -> Result<(), CommandError> {
        match self {
            Self::Online { engine, runtime, .. } => {
                match runtime.block_on(engine.change_access(change)) {
                    Ok(decided) => Ok(decided?),
                    Err(rejection) => {
                        Err(CommandError::Refused(rejection_text(&rejection).to_owned()))
                    }
                }
            }
            Self::Offline { loaded, .. } => {
                let loaded = loaded.take().expect("a store without a server gets one request");
                let mut groups = BTreeSet::new();
                for group_state in &loaded.group_states {
                    groups.insert(group_state.catalogue.group.id);
                }
                let exists = |group| groups.contains(&group);
                let known = StoreGroups::new(exists, groups.iter().copied());
                let event = access::decide(&loaded.directory, &known, &change, SystemClock.now())?;
                Ok(recovery::append_to_directory(loaded, &event)?)
            }
        }
    }

    /// Writes the store into the directory `to`. Writes a progress line to `out` every five seconds
    /// and a last line with the path.
    ///
    /// # Errors
    /// The disk has too little room, or one of the stores cannot be read or written.
    pub(crate) fn back_up(
        &mut self,
        to: &Path,
        reserve_mib: u64,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        match self {
            Self::Online { disk, .. } => {
                expect_room_for_backup(&disk.data, to, disk.reserve_mib)?;
            }
            Self::Offline { data, .. } => expect_room_for_backup(data, to, reserve_mib)?,
        }
        let mut last_line = SystemClock.now();
        let mut progress = |done: usize, groups: usize| {
            let now = SystemClock.now();
            if now >= last_line.plus_seconds(PROGRESS_SECONDS) {
                last_line = now;
                // The operator may have left; the backup goes on.
                if writeln!(out, "{done} of {groups} groups are written").is_ok() {
                    drop(out.flush());
                }
            }
        };
        let written = match self {
            Self::Online { engine, .. } => engine.back_up(to, &mut progress),
            Self::Offline { loaded, .. } => {
                let Loaded { directory, group_states, quarantined, store } =
                    loaded.take().expect("a store without a server gets one request");
                let published = Published::new(directory, group_states, quarantined);
                let written = backup::write_backup(&published, to, &mut progress);
                // The store is locked until here, so that no server changes it meanwhile.
                drop(store);
                written
            }
        };
        written.map_err(backup_error)?;
        Ok(writeln!(out, "the backup stands in {}", to.canonicalize()?.display())?)
    }
}

/// Returns the reason for which the running server did not decide a change.
fn rejection_text(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::Overloaded => "the server is shutting down; nothing was done",
        Rejection::WritesUnavailable(_) => {
            "the disk is full or slow, and the server takes no writes; nothing was done"
        }
        Rejection::Refused(_)
        | Rejection::DecisionTimeout
        | Rejection::IdempotencyConflict
        | Rejection::GroupNotFound
        | Rejection::InternalError => "the server failed at this request, and has logged why",
    }
}

/// Refuses a request if any group is quarantined.
///
/// # Errors
/// Those groups, with the reason of each.
pub(crate) fn refuse_quarantined_groups<'a>(
    quarantined: impl IntoIterator<Item = &'a QuarantinedGroup>,
) -> Result<(), CommandError> {
    let mut lines = Vec::new();
    for group in quarantined {
        lines.push(format!("group {} is set quarantined: {}", group.group, group.reason));
    }
    if lines.is_empty() { Ok(()) } else { Err(CommandError::QuarantinedGroups(lines)) }
}

/// Refuses a backup into `to` that would leave its disk too little room. The reserve counts only if
/// the data directory lies on the same disk.
fn expect_room_for_backup(data: &Path, to: &Path, reserve_mib: u64) -> Result<(), CommandError> {
    let existing = to.ancestors().find(|path| path.exists()).unwrap_or(to);
    let is_same_disk = std::fs::metadata(data)?.dev() == std::fs::metadata(existing)?.dev();
    let reserve_mib = if is_same_disk { reserve_mib } else { 0 };
    let backup_bytes = store_sizes(data)?.sum();
    let free = free_bytes(existing)?;
    if free > backup_bytes.saturating_add(reserve_mib << 20) {
        return Ok(());
    }
    let (free_mib, backup_mib) = (free >> 20, backup_bytes.div_ceil(1 << 20));
    Err(CommandError::Refused(format!(
        "the disk of {} has {free_mib} MiB free, and a backup may take {backup_mib} MiB beside \
         {reserve_mib} MiB of reserve; make room on it, or choose another place",
        existing.display()
    )))
}

/// Returns the error of a failed backup. A failure of the new database says nothing about the store
/// that is backed up, so it is a refusal.
fn backup_error(error: StoreError) -> CommandError {
    if let StoreError::Database { path, reason, .. } = &error {
        return CommandError::Refused(format!(
            "{} cannot be written: {reason}; the unfinished backup is removed again",
            path.display()
        ));
    }
    error.into()
}
