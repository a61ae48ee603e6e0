//! Writes that are carried out only if they displace the appointments that the caller expects.
//! Reference 6.19.

use crate::domain::decisions::displaced::find_displaced;
use crate::domain::records::fault::Fault;
use crate::domain::state::command::{Command, ExpectingCommand};
use crate::domain::state::precondition::{ExpectedEffect, ShownObject};
use crate::http::writes::prepared_write::PreparedWrite;
use crate::wire::displaced::{ListDigest, render_displaced};
use crate::wire::params::Params;

/// Returns a write that is carried out only if it displaces the appointments that the parameter
/// `expected` of its request names, if the request has it.
///
/// # Errors
/// A parameter that is no digest.
pub(crate) fn only_if_expected(
    prepared: PreparedWrite,
    params: &Params,
) -> Result<PreparedWrite, Fault> {
    match ListDigest::from_params(params)? {
        Some(digest) => Ok(prepared.with_command(|command| expecting(command, digest))),
        None => Ok(prepared),
    }
}

/// Returns a command that is carried out only if the list of appointments that it displaces has
/// this digest.
pub(crate) fn expecting(command: Command, digest: ListDigest) -> Command {
    let expectation = ExpectedEffect::new(move |before, after, now| {
        let displaced = find_displaced(before, after, now);
        let present = ListDigest::new(&displaced);
        if present == digest {
            return Ok(());
        }
        let json = render_displaced(&displaced, after);
        Err(ShownObject { json, tag: format!("\"{}\"", present.to_text()) })
    });
    Command::Expecting(Box::new(ExpectingCommand { command, expectation }))
}
