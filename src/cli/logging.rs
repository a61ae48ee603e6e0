//! Logs and panics on stderr. Reference 11.4.

use std::io::IsTerminal as _;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::fmt::time;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::cli::error::CommandError;
use crate::http::write_current;

/// Stderr without write errors: a server goes on when its log cannot be written.
struct BestEffortStderr(std::io::Stderr);

impl std::io::Write for BestEffortStderr {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(self.0.write(bytes).unwrap_or(bytes.len()))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        drop(self.0.flush());
        Ok(())
    }
}

/// The start of a line: the time in UTC, and the id of the request that the line is about.
struct LineStart;

impl FormatTime for LineStart {
    fn format_time(&self, line: &mut Writer<'_>) -> std::fmt::Result {
        time().format_time(line)?;
        write_current(line)
    }
}

/// Sends logs and panics to stderr. Stdout is left for the line that names the server's address.
///
/// # Errors
/// The filter is not a list of levels, each with a target or without.
pub(crate) fn log_to_stderr(filter: &str) -> Result<(), CommandError> {
    let filter: Targets = filter.parse().map_err(CommandError::LogFilter)?;
    let lines = layer()
        .with_timer(LineStart)
        .with_writer(|| BestEffortStderr(std::io::stderr()))
        .with_ansi(std::io::stderr().is_terminal());
    tracing_subscriber::registry().with(filter).with(lines).init();
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let message = panic.payload_as_str().unwrap_or("no message");
        tracing::error!(place, message, "panic, which is a bug");
    }));
    Ok(())
}
