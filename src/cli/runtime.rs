//! The runtimes of commands and the threads beside them, which start all or not at all.

use std::io;
use std::ops::Deref;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::cli::error::CommandError;
use crate::cli::terminal::print_error;

/// Longest time that the first blocking task of a runtime may take.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Time after which a thread for blocking tasks ends that had none. What the allocator keeps for it
/// is free then.
const IDLE_THREAD_TIME: Duration = Duration::from_secs(10);
/// Time between two tasks by which one such thread always stays: a task without a thread would wait
/// for one without end where the system refuses it.
const KEEPING_INTERVAL: Duration = Duration::from_secs(3);

/// Starts a thread beside the runtime. The receiver gets its result, and an error if it panics.
///
/// # Errors
/// The system refuses it.
pub(crate) fn start_thread<T: Send + 'static>(
    name: &'static str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<oneshot::Receiver<T>, CommandError> {
    start_lingering_thread(name, Duration::ZERO, run)
}

/// Starts a thread as [`start_thread`] does, which ends this time after its result: the end of a
/// thread that has allocated much takes long, and others wait for the result.
///
/// # Errors
/// The system refuses it.
pub(crate) fn start_lingering_thread<T: Send + 'static>(
    name: &'static str,
    time: Duration,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<oneshot::Receiver<T>, CommandError> {
    let (done, result) = oneshot::channel();
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        // The receiver may have lost its interest.
        let _ = done.send(run());
        std::thread::park_timeout(time);
    });
    thread.map_err(CommandError::NoThread)?;
    Ok(result)
}

/// A runtime with a thread for blocking tasks. Its end waits for none of its threads.
pub(crate) struct CommandRuntime(Option<Runtime>);

impl CommandRuntime {
    /// Starts a runtime. Where tokio is refused a thread, it panics, and then waits without end for
    /// the threads that it has: the process ends in place of that.
    ///
    /// # Errors
    /// The system refuses a thread, or something else.
    pub(crate) fn start(mut builder: Builder) -> Result<Self, CommandError> {
        let usual_hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|panic| {
            let reason = panic.payload_as_str().unwrap_or("no message").to_owned();
            let error = CommandError::NoThread(io::Error::other(reason));
            print_error(&error.to_string());
            std::process::exit(error.exit_code().into());
        }));
        builder.enable_all().thread_keep_alive(IDLE_THREAD_TIME);
        let runtime = Self(Some(builder.build()?));
        let first_task =
            async { tokio::time::timeout(START_TIMEOUT, tokio::task::spawn_blocking(|| {})).await };
        let has_thread = runtime.block_on(first_task).is_ok();
        std::panic::set_hook(usual_hook);
        if has_thread {
            runtime.spawn(keep_a_thread());
            Ok(runtime)
        } else {
            Err(CommandError::NoThread(io::ErrorKind::TimedOut.into()))
        }
    }
}

impl Deref for CommandRuntime {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        self.0.as_ref().expect("it runs until it is dropped")
    }
}

impl Drop for CommandRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Keeps the thread for blocking tasks that there is.
async fn keep_a_thread() {
    let mut interval = tokio::time::interval(KEEPING_INTERVAL);
    loop {
        interval.tick().await;
        // It ends with the runtime only.
        let _ = tokio::task::spawn_blocking(|| {}).await;
    }
}
