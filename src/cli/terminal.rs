//! Output of commands on stdout and stderr. Failures to write are ignored: the reader may have
//! left.

use std::io::Write as _;

/// Prints a text on stdout.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    if out.write_all(text.as_bytes()).is_ok() {
        drop(out.flush());
    }
}

/// Prints a line on stderr, after the program's name.
pub(crate) fn print_error(text: &str) {
    drop(writeln!(std::io::stderr().lock(), "slotbook: {text}"));
}
