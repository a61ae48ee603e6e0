//! The operator's socket: a Unix socket in the data directory, which only its owner may use.
//! Reference 11.1.
//!
//! A command sends one line, an [`OperatorRequest`] as JSON. The server answers with lines, each a
//! [`Reply`]: any number of chunks, each followed by its bytes, then the outcome. Requests are
//! executed on threads of their own, so that no request of the HTTP API waits for one.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use crate::cli::error::CommandError;
use crate::cli::operator::execute::execute_request;
use crate::cli::operator::request::OperatorRequest;
use crate::cli::operator::store_access::{DiskReserve, StoreAccess};
use crate::engine::Engine;
use crate::notify::Gateways;

/// Name of the socket in the data directory.
const SOCKET_NAME: &str = "operator.sock";
/// Name of the private directory in which the socket is created.
const CREATION_DIRECTORY: &str = "operator.new";
/// Maximum length of a line in bytes.
const LINE_BYTES_MAX: u64 = 256 * 1_024;
/// Maximum length of a chunk in bytes.
const CHUNK_BYTES_MAX: usize = 64 * 1_024;
/// Longest time that either side waits for the next bytes.
const IO_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause after a connection that could not be accepted.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of requests executed at once.
const REQUESTS_MAX: usize = 8;

/// A line of an answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    /// This number of bytes of the answer follows the line.
    Piece(usize),
    /// The request was executed, and the answer is complete.
    Committed,
    /// The request was not executed, for this reason. Chunks before it are worthless.
    Refused(String),
}

/// The socket of a running server. Dropping it removes its name, and so ends new requests.
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

/// Starts to serve requests on the socket of the data directory. The caller holds the lock of that
/// directory, so a socket found there was left by a crash and is replaced.
///
/// # Errors
/// The socket cannot be created, or no thread can be started.
pub(crate) fn listen(
    disk: DiskReserve,
    engine: Engine,
    gateways: Arc<Gateways>,
) -> io::Result<OperatorSocket> {
    // Created in a private directory, so that it is never open to other users than its owner.
    let creation_directory = disk.data.join(CREATION_DIRECTORY);
    if let Err(error) = fs::remove_dir_all(&creation_directory)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    DirBuilder::new().mode(0o700).create(&creation_directory)?;
    let listener =
        with_short_path(&creation_directory, |path| UnixListener::bind(path.join(SOCKET_NAME)))?;
    let created = creation_directory.join(SOCKET_NAME);
    fs::set_permissions(&created, Permissions::from_mode(0o600))?;
    let path = disk.data.join(SOCKET_NAME);
    fs::rename(created, &path)?;
    fs::remove_dir(&creation_directory)?;
    let socket = OperatorSocket { path };
    let runtime = Handle::current();
    std::thread::Builder::new()
        .name("operator".to_owned())
        .spawn(move || serve_connections(&listener, &engine, &runtime, &gateways, &disk))?;
    Ok(socket)
}

/// Calls `act` with a path to `directory` that fits into a socket address. Those have 107 bytes at
/// most, and the real path may be longer.
fn with_short_path<T>(directory: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let open = File::open(directory)?;
    act(&PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd())))
}

fn serve_connections(
    listener: &UnixListener,
    engine: &Engine,
    runtime: &Handle,
    gateways: &Arc<Gateways>,
    disk: &DiskReserve,
) {
    // Each running request holds a clone, so that the count tells how many there are.
    let requests = Arc::new(());
    for stream in listener.incoming() {
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                // Such as too many open files, some of which will be closed in time.
                tracing::warn!(%error, "an operator's command could not be accepted");
                std::thread::park_timeout(ACCEPT_RETRY_PAUSE);
                continue;
            }
        };
        let request = Arc::clone(&requests);
        if Arc::strong_count(&request) > REQUESTS_MAX + 1 {
            // The command sees its connection closed.
            continue;
        }
        let store = StoreAccess::Online {
            engine: engine.clone(),
            runtime: runtime.clone(),
            gateways: Arc::clone(gateways),
            disk: disk.clone(),
        };
        let thread = std::thread::Builder::new().name("operator".to_owned()).spawn(move || {
            if let Err(error) = answer_connection(&stream, store) {
                tracing::warn!(%error, "an operator's command left before it was answered");
            }
            drop(request);
        });
        if let Err(error) = thread {
            tracing::error!(%error, "no thread can be started for an operator's command");
        }
    }
}

/// Reads one request, executes it and sends the answer.
fn answer_connection(stream: &UnixStream, mut store: StoreAccess) -> io::Result<()> {
    stream.set_read_timeout(Some(IO_TIMEOUT))?;
    stream.set_write_timeout(Some(IO_TIMEOUT))?;
    let mut line = String::new();
    BufReader::new(stream.take(LINE_BYTES_MAX)).read_line(&mut line)?;
    let mut out = stream;
    let outcome = match serde_json::from_str::<OperatorRequest>(&line) {
        Err(error) => {
            Reply::Refused(format!("the running server does not know this request: {error}"))
        }
        Ok(request) => {
            let mut chunks = BufWriter::with_capacity(CHUNK_BYTES_MAX, ChunkWriter(stream));
            let executed = execute_request(&request, &mut store, &mut chunks);
            chunks.flush()?;
            match executed {
                Ok(()) => Reply::Committed,
                Err(error) => Reply::Refused(error.to_string()),
            }
        }
    };
    send_reply(&mut out, &outcome)
}

fn send_reply(out: &mut impl Write, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    out.write_all(&line)
}

/// A writer that sends each write as a chunk.
struct ChunkWriter<W>(W);

impl<W: Write> Write for ChunkWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        send_reply(&mut self.0, &Reply::Piece(bytes.len()))?;
        self.0.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A command's connection to the running server.
pub(crate) struct OperatorConnection(UnixStream);

/// Connects to the server that runs on a data directory. Returns `None` if none does.
///
/// # Errors
/// The socket may not be used.
pub(crate) fn connect(data: &Path) -> Result<Option<OperatorConnection>, CommandError> {
    let error = match with_short_path(data, |path| UnixStream::connect(path.join(SOCKET_NAME))) {
        Ok(stream) => return Ok(Some(OperatorConnection(stream))),
        Err(error) => error,
    };
    // A crashed server leaves a socket that refuses connections.
    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) {
        return Ok(None);
    }
    Err(CommandError::File { path: data.join(SOCKET_NAME), reason: error })
}

impl OperatorConnection {
    /// Has the server execute a request, and writes its answer to `out`.
    ///
    /// # Errors
    /// The server refuses, or went away. In the second case the request may have been executed.
    pub(crate) fn run_request(
        self,
        request: &OperatorRequest,
        out: &mut dyn Write,
    ) -> Result<(), CommandError> {
        let mut line = serde_json::to_vec(request).map_err(io::Error::from)?;
        line.push(b'\n');
        (&self.0).write_all(&line).map_err(server_left)?;
        let mut replies = BufReader::new(&self.0);
        loop {
            let mut line = String::new();
            replies.by_ref().take(LINE_BYTES_MAX).read_line(&mut line).map_err(server_left)?;
            match serde_json::from_str(&line).map_err(server_left)? {
                Reply::Piece(length) => {
                    let copied = io::copy(&mut replies.by_ref().take(length as u64), out)?;
                    if copied < length as u64 {
                        return Err(server_left(io::ErrorKind::UnexpectedEof));
                    }
                }
                Reply::Committed => return Ok(()),
                Reply::Refused(reason) => return Err(CommandError::Refused(reason)),
            }
        }
    }
}

/// Returns the error of a connection that ended before the outcome.
fn server_left<E>(_: E) -> CommandError {
    CommandError::Refused(
        "the server went away before it had answered: check whether the request was executed"
            .into(),
    )
}
