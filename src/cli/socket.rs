//! The way of the operator's commands to a running server: a Unix socket in the data directory, which only its owner may
//! use. Reference 11.
//!
//! The asker sends one line, a [`Request`] as JSON. What comes back is lines, each a [`Reply`]: pieces of what was asked
//! for, each followed by its bytes, then how it ended. Threads of its own serve it, so that no request of a client ever
//! waits for the operator's.

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

use crate::cli::Failed;
use crate::cli::operator::{self, Disk, Place, Request};
use crate::engine::Engine;
use crate::notify::Gateways;

/// The socket's name in the data directory.
const NAME: &str = "operator.sock";
/// Where it is made, until it is complete.
const UNFINISHED: &str = "operator.new";
/// Bytes of a request's line at most.
const LINE_MAX: u64 = 256 * 1_024;
/// Bytes of a piece of an answer at most.
const PIECE_MAX: usize = 64 * 1_024;
/// How long either side may leave the other waiting for the next bytes of a request or an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait after a request that could not be taken.
const PAUSE: Duration = Duration::from_secs(1);
/// Requests carried out at once at most.
const ASKERS_MAX: usize = 8;

/// A line of an answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    /// So many bytes of what was asked for follow.
    Piece(usize),
    /// That was all.
    Done,
    /// It was not carried out, for this reason; what came before is worth nothing.
    Refused(String),
}

/// The socket of a running server; dropped, it takes no more requests and its name is gone.
#[derive(Debug)]
pub(super) struct Socket {
    path: PathBuf,
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(%error, "the operator's socket was gone already");
        }
    }
}

/// Takes requests for an engine from now on. Whoever holds the data directory is alone in it, so that a socket found
/// there is one that a crash has left.
///
/// # Errors
/// A directory or a system that refuses.
pub(super) fn listen(disk: Disk, engine: Engine, gateways: Arc<Gateways>) -> io::Result<Socket> {
    let data = disk.data.clone();
    // Made where nobody else can reach it, so that it is never open to more than its owner.
    let unfinished = data.join(UNFINISHED);
    match fs::remove_dir_all(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_) | Ok(()) => {}
    }
    DirBuilder::new().mode(0o700).create(&unfinished)?;
    let listener = through_short_path(&unfinished, |path| UnixListener::bind(path.join(NAME)))?;
    fs::set_permissions(unfinished.join(NAME), Permissions::from_mode(0o600))?;
    fs::rename(unfinished.join(NAME), data.join(NAME))?;
    fs::remove_dir(&unfinished)?;
    let socket = Socket { path: data.join(NAME) };
    let runtime = Handle::current();
    std::thread::Builder::new()
        .name("operator".to_owned())
        .spawn(move || serve(&listener, &engine, &runtime, &gateways, &disk))?;
    Ok(socket)
}

/// Does something with a path to `directory` that is short enough for a socket's name, however long the real one is.
fn through_short_path<T>(
    directory: &Path,
    act: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    let open = File::open(directory)?;
    act(&PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd())))
}

fn serve(
    listener: &UnixListener,
    engine: &Engine,
    runtime: &Handle,
    gateways: &Arc<Gateways>,
    disk: &Disk,
) {
    let askers = Arc::new(());
    for stream in listener.incoming() {
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                // Such as too many open files: some are closed in time.
                tracing::warn!(%error, "an operator's command could not be taken; the next may be");
                std::thread::park_timeout(PAUSE);
                continue;
            }
        };
        let turn = Arc::clone(&askers);
        if Arc::strong_count(&turn) > ASKERS_MAX + 1 {
            // Whoever is turned away sees the connection close.
            continue;
        }
        let place =
            Place::Served(engine.clone(), runtime.clone(), Arc::clone(gateways), disk.clone());
        let answering = std::thread::Builder::new().name("operator".to_owned()).spawn(move || {
            if let Err(error) = answer(&stream, place) {
                tracing::warn!(%error, "an operator's command went away before it was answered");
            }
            drop(turn);
        });
        if let Err(error) = answering {
            tracing::error!(%error, "no thread for an operator's command");
        }
    }
}

/// Reads one request, carries it out, answers.
fn answer(stream: &UnixStream, mut place: Place) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream.take(LINE_MAX)).read_line(&mut line)?;
    let mut out = stream;
    let end = match serde_json::from_str::<Request>(&line) {
        Err(error) => {
            Reply::Refused(format!("the running server does not know what is asked: {error}"))
        }
        Ok(request) => {
            let mut pieces = BufWriter::with_capacity(PIECE_MAX, Pieces(stream));
            let done = operator::carry_out(&request, &mut place, &mut pieces);
            pieces.flush()?;
            done.map_or_else(|failed| Reply::Refused(failed.to_string()), |()| Reply::Done)
        }
    };
    tell(&mut out, &end)
}

fn tell(out: &mut impl Write, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    out.write_all(&line)
}

/// Sends what is written as pieces.
struct Pieces<W>(W);

impl<W: Write> Write for Pieces<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        tell(&mut self.0, &Reply::Piece(bytes.len()))?;
        self.0.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A running server, reached.
pub(super) struct Reached(UnixStream);

/// The server that runs on a data directory, or `None` where none takes requests.
///
/// # Errors
/// A socket that may not be used.
pub(super) fn reach(data: &Path) -> Result<Option<Reached>, Failed> {
    match through_short_path(data, |path| UnixStream::connect(path.join(NAME))) {
        Ok(stream) => Ok(Some(Reached(stream))),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            Ok(None)
        }
        Err(reason) => Err(Failed::File { path: data.join(NAME), reason }),
    }
}

impl Reached {
    /// Has the server carry a request out, and writes what it answers to `out`.
    ///
    /// # Errors
    /// The server's refusal, or a server that went away: then it is not known whether it was carried out.
    pub(super) fn ask(self, request: &Request, out: &mut dyn Write) -> Result<(), Failed> {
        let gone = |_| {
            Failed::Refused(
                "the server went away before it had answered: look whether it was done".into(),
            )
        };
        let mut line = serde_json::to_vec(request).map_err(io::Error::from)?;
        line.push(b'\n');
        (&self.0).write_all(&line).map_err(gone)?;
        let mut replies = BufReader::new(&self.0);
        loop {
            let mut line = String::new();
            replies.by_ref().take(LINE_MAX).read_line(&mut line).map_err(gone)?;
            match serde_json::from_str(&line).map_err(io::Error::from).map_err(gone)? {
                Reply::Piece(length) => {
                    let copied = io::copy(&mut replies.by_ref().take(length as u64), out)?;
                    if copied < length as u64 {
                        return Err(gone(io::ErrorKind::UnexpectedEof.into()));
                    }
                }
                Reply::Done => return Ok(()),
                Reply::Refused(reason) => return Err(Failed::Refused(reason)),
            }
        }
    }
}
