//! `slotbook history`. Reference 16.3.

use std::path::Path;

use axum::http::Method;

use crate::cli::arguments::HistoryArguments;
use crate::cli::error::CommandError;
use crate::cli::operator::api::{OfflineSettings, with_api};

/// Prints the rows of a group's history, latest first.
///
/// # Errors
/// The group does not exist, an argument is malformed, or the store cannot be read.
pub(crate) fn list(data: &Path, rows: &HistoryArguments) -> Result<(), CommandError> {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("group_id", &rows.group.to_string());
    let choices = [
        ("object", &rows.object),
        ("author", &rows.author),
        ("from", &rows.from),
        ("to", &rows.to),
    ];
    for (name, choice) in choices {
        if let Some(text) = choice {
            query.append_pair(name, text);
        }
    }
    if rows.access {
        query.append_pair("of", "access");
    }
    let path = format!("/api/v1/operator/history?{}", query.finish());
    let settings = OfflineSettings { public_url: "", reserve_mib: 0 };
    with_api(data, &settings, |api| {
        api.send(Method::GET, &path, None, &mut std::io::stdout().lock())
    })
}
