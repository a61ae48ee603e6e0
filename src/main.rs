//! The program `slotbook`.

use std::process::ExitCode;

fn main() -> ExitCode {
    slotbook::cli::run()
}
