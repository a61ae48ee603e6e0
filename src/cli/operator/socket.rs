//! The operator's socket: a Unix socket in the data directory, which only its owner may use.
//! Reference 11.1.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

use crate::cli::error::CommandError;

/// Name of the socket in the data directory.
const SOCKET_NAME: &str = "operator.sock";
/// Name of the private directory in which the socket is created.
const CREATION_DIRECTORY: &str = "operator.new";

/// The name of a running server's socket. Dropping it removes the name, and so ends new requests.
#[derive(Debug)]
pub(crate) struct OperatorSocket {
    path: PathBuf,
}

impl Drop for OperatorSocket {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(%error, "the operator's socket was already removed");
        }
    }
}

/// Creates the socket of the data directory. The caller holds the lock of that directory, so a
/// socket found there was left by a crash and is replaced.
///
/// # Errors
/// The socket cannot be created.
pub(crate) fn listen(data: &Path) -> io::Result<(UnixListener, OperatorSocket)> {
    // Created in a private directory, so that it is never open to other users than its owner.
    let creation_directory = data.join(CREATION_DIRECTORY);
    if let Err(error) = fs::remove_dir_all(&creation_directory)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    DirBuilder::new().mode(0o700).create(&creation_directory)?;
    let listener = with_short_path(&creation_directory, |path| {
        net::UnixListener::bind(path.join(SOCKET_NAME))
    })?;
    let created = creation_directory.join(SOCKET_NAME);
    fs::set_permissions(&created, Permissions::from_mode(0o600))?;
    let path = data.join(SOCKET_NAME);
    fs::rename(created, &path)?;
    let socket = OperatorSocket { path };
    fs::remove_dir(&creation_directory)?;
    listener.set_nonblocking(true)?;
    Ok((UnixListener::from_std(listener)?, socket))
}

/// Connects to the server that runs on a data directory. Returns `None` if none does.
///
/// # Errors
/// The socket may not be used.
pub(crate) fn connect(data: &Path) -> Result<Option<UnixStream>, CommandError> {
    let Some(stream) = connect_blocking(data)? else { return Ok(None) };
    stream.set_nonblocking(true)?;
    Ok(Some(UnixStream::from_std(stream)?))
}

/// Whether a server runs on a data directory.
///
/// # Errors
/// As [`connect`].
pub(crate) fn has_server(data: &Path) -> Result<bool, CommandError> {
    Ok(connect_blocking(data)?.is_some())
}

fn connect_blocking(data: &Path) -> Result<Option<net::UnixStream>, CommandError> {
    let connected = with_short_path(data, |path| net::UnixStream::connect(path.join(SOCKET_NAME)));
    match connected {
        Ok(stream) => Ok(Some(stream)),
        // A crashed server leaves a socket that refuses connections.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            Ok(None)
        }
        Err(reason) => Err(CommandError::File { path: data.join(SOCKET_NAME), reason }),
    }
}

/// Calls `act` with a path to `directory` that fits into a socket address. Those have 107 bytes at
/// most, and the real path may be longer.
fn with_short_path<T>(directory: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let open = File::open(directory)?;
    act(&PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd())))
}
