//! Errors of commands and their exit codes. Reference 11.5.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::config::ConfigError;
use crate::engine::journal::JournalError;
use crate::engine::quarantine::IncompleteDocument;
use crate::store::StoreError;
use crate::transfer::ImportFault;

/// Reason for a command's failure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "{} holds no store. If it should, mount its volume, or name another directory by --data. To \
         set up a new shop there, start with --create; for a trial, with --demo; or fill it with \
         `slotbook import`",
        data.display()
    )]
    NoStore { data: PathBuf },
    #[error("cannot serve on {address}: {reason}; choose another address with {option}")]
    Listen { address: SocketAddr, option: &'static str, reason: std::io::Error },
    #[error("{}: {reason}", path.display())]
    File { path: PathBuf, reason: std::io::Error },
    #[error("the document is wrong, and nothing was changed:{}", indented_lines(.0))]
    Document(Vec<ImportFault>),
    #[error("the store has faults; copy it before you do anything else:{}", indented_lines(.0))]
    Check(Vec<String>),
    #[error(transparent)]
    QuarantinedGroups(#[from] IncompleteDocument),
    #[error("--log: {0}; write it as in slotbook=info,warn")]
    LogFilter(tracing_subscriber::filter::ParseError),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    NotFound(String),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("messages cannot be sent with these options: {0}")]
    MessageOptions(String),
    #[error("the message was not taken: {0}")]
    MessageNotTaken(String),
    #[error(
        "the system gives no thread ({0}): raise the limit on processes (ulimit -u, TasksMax, \
         pids.max)"
    )]
    NoThread(std::io::Error),
    #[error("this server has handed over to another one of its cluster: start it again")]
    HandedOver,
    #[error("the operating system refuses: {0}")]
    System(#[from] std::io::Error),
}

impl CommandError {
    /// Returns 1 for a refusal, 2 for bad usage, 70 for a failed store, and 71 where another server
    /// of the cluster decides now. Reference 11.5.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::LogFilter(_) | Self::MessageOptions(_) => 2,
            Self::Listen { .. }
            | Self::NoStore { .. }
            | Self::NoThread(_)
            | Self::System(_)
            | Self::File { .. }
            | Self::Document(_)
            | Self::MessageNotTaken(_)
            | Self::Refused(_)
            | Self::NotFound(_)
            | Self::Check(_)
            | Self::QuarantinedGroups(_) => 1,
            Self::Store(StoreError::Fenced) | Self::HandedOver => 71,
            Self::Store(error) | Self::Journal(JournalError::Store(error)) if is_refusal(error) => {
                1
            }
            Self::Store(_) | Self::Journal(_) => 70,
        }
    }
}

fn indented_lines(faults: &[impl std::fmt::Display]) -> String {
    faults.iter().map(|fault| format!("\n  {fault}")).collect()
}

/// Returns whether the store itself is sound, but cannot be used for this purpose or by this user.
pub(crate) fn is_refusal(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Locked { .. }
            | StoreError::Empty { .. }
            | StoreError::OfCluster { .. }
            | StoreError::OtherCluster { .. }
            | StoreError::Occupied { .. }
            | StoreError::Foreign { .. }
            | StoreError::Newer { .. }
            | StoreError::Denied { .. }
            | StoreError::ForeignOwner { .. }
            | StoreError::Shared { .. }
            | StoreError::NotWritten { .. }
    )
}
