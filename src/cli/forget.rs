//! `slotbook forget`: the erasing of clients, once or again on a restored store. Reference 17.1,
//! 17.2.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use axum::http::Method;
use serde_json::json;

use crate::cli::arguments::ForgetArguments;
use crate::cli::error::CommandError;
use crate::cli::operator::api::{OfflineSettings, OperatorApi, with_api};
use crate::cli::terminal::print;
use crate::clock::{Clock as _, SystemClock};
use crate::domain::decisions::erasure::erase_again;
use crate::domain::records::author::Author;
use crate::domain::records::ids::{FicheId, GroupId};
use crate::store::{FORGOTTEN, ForgottenClient, read_forgotten};
use crate::transfer::StoreContent;

/// Erases one client, or those of a list.
///
/// # Errors
/// The client does not exist or has upcoming appointments, the list cannot be read, or the store
/// cannot be used.
pub(crate) fn forget(arguments: &ForgetArguments) -> Result<(), CommandError> {
    let data = &arguments.store.data;
    match (&arguments.from, arguments.group, arguments.fiche) {
        (Some(list), _, _) => forget_again(data, &read_list(list)?),
        (None, Some(group), Some(fiche)) => forget_one(data, group, fiche, arguments.cancel),
        (None, _, _) => unreachable!("clap requires a list, or a group and a fiche"),
    }
}

fn forget_one(data: &Path, group: u64, fiche: u64, cancels: bool) -> Result<(), CommandError> {
    let cancel = u8::from(cancels);
    let path = format!("/api/v1/groups/{group}/fiches/{fiche}/erase?cancel={cancel}");
    with_api(data, &OfflineSettings::default(), |api| api.call(Method::POST, &path, None))?;
    print(&format!("fiche {fiche} of group {group} is erased\n"));
    Ok(())
}

/// Erases the clients of a list, and reports those that are not erased by it.
fn forget_again(data: &Path, clients: &[ForgottenClient]) -> Result<(), CommandError> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    with_api(data, &OfflineSettings::default(), |api| {
        for client in clients {
            let outcome = erase_listed(api, client)?;
            if outcome != "erased" && outcome != "erased before" {
                print(&format!("{}: {outcome}\n", client.to_line()));
            }
            *counts.entry(outcome).or_default() += 1;
        }
        Ok(())
    })?;
    for (outcome, count) in counts {
        print(&format!("{count} {outcome}\n"));
    }
    Ok(())
}

/// Erases a client of a list, and returns the outcome in words.
fn erase_listed(api: &mut OperatorApi, client: &ForgottenClient) -> Result<String, CommandError> {
    let body = json!({ "client": client.to_line() });
    let answers = api.call(Method::POST, "/api/v1/operator/erasures", Some(&body))?;
    let outcome = answers.first().and_then(|answer| answer["outcome"].as_str());
    Ok(outcome.unwrap_or_default().to_owned())
}

/// Erases again the clients of imported groups that the list of the data directory names, so that
/// an import does not bring them back. Prints their number. Other groups stay as they are.
///
/// # Errors
/// The list cannot be read.
pub(crate) fn erase_imported(
    data: &Path,
    content: &mut StoreContent,
    imported: &BTreeSet<GroupId>,
) -> Result<(), CommandError> {
    let list = data.join(FORGOTTEN);
    if !list.exists() {
        return Ok(());
    }
    let mut listed: BTreeMap<GroupId, Vec<ForgottenClient>> = BTreeMap::new();
    for client in read_list(&list)? {
        if imported.contains(&client.group) {
            listed.entry(client.group).or_default().push(client);
        }
    }
    let mut erased = 0;
    for state in &mut content.group_states {
        let clients = listed.remove(&state.catalogue.group.id).unwrap_or_default();
        let is_there = |client: &&ForgottenClient| {
            let fiche = state.fiches.get(&client.fiche);
            fiche.is_some_and(|it| it.created_at == client.created_at && it.erased_at.is_none())
        };
        let ids: Vec<FicheId> = clients.iter().filter(is_there).map(|it| it.fiche).collect();
        if let Some(event) = erase_again(state, &ids, SystemClock.now()) {
            *state = state.apply_by(Some(Author::Operator), &event);
            erased += ids.len();
        }
    }
    if erased > 0 {
        print(&format!("{erased} clients were erased again, by {}\n", list.display()));
    }
    Ok(())
}

fn read_list(path: &Path) -> Result<Vec<ForgottenClient>, CommandError> {
    let read = read_forgotten(path);
    let mut clients =
        read.map_err(|reason| CommandError::File { path: path.to_owned(), reason })?;
    clients.sort_unstable();
    clients.dedup();
    Ok(clients)
}
