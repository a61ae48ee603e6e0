//! The runtime of a server and the threads beside it, which start all or not at all.

use std::io;
use std::ops::Deref;

use tokio::runtime::Runtime;

use crate::cli::error::CommandError;
use crate::cli::terminal::print_error;

/// Starts a thread beside the runtime.
///
/// # Errors
/// The system refuses it.
pub(crate) fn start_thread(
    name: &'static str,
    run: impl FnOnce() + Send + 'static,
) -> Result<(), CommandError> {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    started.map(drop).map_err(CommandError::NoThread)
}

/// A runtime whose end waits for none of its threads.
pub(crate) struct ServerRuntime(Option<Runtime>);

impl ServerRuntime {
    /// Starts a runtime. Where tokio is refused a thread, it panics, and then waits without end for
    /// the threads that it has: the process ends in place of that.
    ///
    /// # Errors
    /// The system refuses something else.
    pub(crate) fn start() -> Result<Self, CommandError> {
        let usual_hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|panic| {
            let reason = panic.payload_as_str().unwrap_or("no message").to_owned();
            let error = CommandError::NoThread(io::Error::other(reason));
            print_error(&error.to_string());
            std::process::exit(error.exit_code().into());
        }));
        let built = Runtime::new();
        std::panic::set_hook(usual_hook);
        Ok(Self(Some(built?)))
    }
}

impl Deref for ServerRuntime {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        self.0.as_ref().expect("it runs until it is dropped")
    }
}

impl Drop for ServerRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
