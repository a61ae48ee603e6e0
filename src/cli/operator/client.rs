//! The command's side of an operator's request. Reference 11.1.

use std::io::Write;
use std::path::Path;

use crate::cli::error::CommandError;
use crate::cli::operator::execute::execute_request;
use crate::cli::operator::request::OperatorRequest;
use crate::cli::operator::socket;
use crate::cli::operator::store_access::StoreAccess;
use crate::engine::recovery;

/// Has a request executed by the server that runs on `data`, or on the store itself if none does,
/// and writes the answer to `out`.
///
/// # Errors
/// The request is refused, the store cannot be read, or the server went away.
pub(crate) fn run_request(
    data: &Path,
    request: &OperatorRequest,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    if let Some(server) = socket::connect(data)? {
        return server.run_request(request, out);
    }
    let loaded = recovery::load(data)?;
    let mut store = StoreAccess::Offline { loaded: Box::new(Some(loaded)), data: data.to_owned() };
    execute_request(request, &mut store, out)
}
