//! `slotbook group`, `slotbook key` and `slotbook pro`. Reference 11.1.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use axum::http::Method;
use data_encoding::HEXLOWER;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::cli::arguments::{
    AddProArguments, CancelAlikeArguments, GroupCommand, KeyCommand, ProCommand, RoleArguments,
};
use crate::cli::error::CommandError;
use crate::cli::operator::api::{OfflineSettings, OperatorApi, with_api};
use crate::cli::operator::socket;
use crate::cli::terminal::{print, print_error};
use crate::config::options::StoreOptions;
use crate::domain::directory::Directory;
use crate::domain::state::group_state::GroupState;
use crate::engine::randomness::Randomness;
use crate::engine::recovery;
use crate::password::strength::check_new_password;
use crate::password::{hash_password, sha1_hex};
use crate::store::Store;

const KEYS: &str = "/api/v1/operator/keys";
const PROS: &str = "/api/v1/operator/pros";
const SECOND_FACTORS: &str = "/api/v1/operator/second-factors";
const FIRST_RUN: &str = "/api/v1/operator/first-run";
const GROUPS: &str = "/api/v1/groups";
/// Number of groups that are asked for at once.
const GROUPS_PAGE: usize = 1_000;

/// Executes a command about application keys. Reference 3.1.
///
/// # Errors
/// A key or group does not exist, or the store cannot be used.
pub(crate) fn execute_key_command(command: KeyCommand) -> Result<(), CommandError> {
    match command {
        KeyCommand::Add { store, label, groups, all_groups: _, server, operator, origins } => {
            let mut draws = Randomness::from_os();
            let key = format!("{}{}", draws.key().as_str(), draws.key().as_str());
            let sha256 = HEXLOWER.encode(&Sha256::digest(&key));
            let holder = key_holder(server, operator);
            let names_nothing = origins.is_empty() && holder == "public";
            let origins = without_none(origins)?;
            let mut body =
                json!({"sha256": sha256, "label": label, "holder": holder, "origins": origins});
            if !groups.is_empty() {
                body["groups"] = groups.into();
            }
            call(&store, Method::POST, KEYS, Some(&body))?;
            print(&format!("{key}\n"));
            if names_nothing {
                print_error(
                    "pages of no site may book with this key: if one has it, name its origin \
                     (slotbook key set KEY --origin https://shop.example)",
                );
            }
            Ok(())
        }
        KeyCommand::Set { store, key, server, no_server, operator, origins, no_origins } => {
            let mut body = json!({"key": key});
            if server || no_server || operator {
                body["holder"] = key_holder(server, operator).into();
            }
            if no_origins || !origins.is_empty() {
                body["origins"] = without_none(origins)?.into();
            }
            call(&store, Method::PUT, KEYS, Some(&body)).map(drop)
        }
        KeyCommand::Revoke { store, key } => {
            call(&store, Method::DELETE, KEYS, Some(&json!({"key": key}))).map(drop)
        }
        KeyCommand::List(store) => {
            let keys = call(&store, Method::GET, KEYS, None)?;
            print(&keys.iter().map(key_line).collect::<String>());
            Ok(())
        }
    }
}

/// Returns the origins of a key; none for `none` alone.
///
/// # Errors
/// `none` stands beside others.
fn without_none(mut origins: Vec<String>) -> Result<Vec<String>, CommandError> {
    let given = origins.len();
    origins.retain(|origin| origin != "none");
    if given > 1 && origins.len() < given {
        return Err(CommandError::Refused("--origin none stands alone: give it or origins".into()));
    }
    Ok(origins)
}

const fn key_holder(server: bool, operator: bool) -> &'static str {
    match (server, operator) {
        (_, true) => "operator",
        (true, false) => "server",
        (false, false) => "public",
    }
}

fn key_line(key: &Value) -> String {
    let groups = if key["groups"].is_null() {
        "all groups".to_owned()
    } else {
        format!("groups {}", comma_separated(&key["groups"]))
    };
    let holder = match text(&key["holder"]) {
        "unknown" => "server, as assumed",
        known => known,
    };
    let mut origins = comma_separated(&key["origins"]);
    if key["any_origin"] == true {
        origins = match origins.as_str() {
            "" => "any".to_owned(),
            named => format!("any, logins {named}"),
        };
    }
    let origins = if origins.is_empty() { String::new() } else { format!("\torigins {origins}") };
    let used = match key["last_used"].as_str() {
        Some(day) => format!("\tlast used {day}"),
        None => String::new(),
    };
    let (id, label) = (text(&key["id"]), text(&key["label"]));
    format!("{id}\t{groups}\t{holder}\t{label}{origins}{used}\n")
}

/// Prints a link of the first run. Reference 15.12.
///
/// # Errors
/// The store has a group, or no server runs on it.
pub(crate) fn print_first_run_link(store: &StoreOptions) -> Result<(), CommandError> {
    let made = call(store, Method::POST, FIRST_RUN, Some(&json!({})))?;
    print(&format!("{}\n", text(&made.first().unwrap_or(&Value::Null)["url"])));
    Ok(())
}

/// Executes a command about groups. Reference 12.1.
///
/// # Errors
/// A field breaks a rule, or the store cannot be used.
pub(crate) fn execute_group_command(command: GroupCommand) -> Result<(), CommandError> {
    match command {
        GroupCommand::Add { store, name, timezone, fields } => {
            let mut group = Map::new();
            for (field, value) in fields {
                group.insert(field, value.into());
            }
            group.insert("name".into(), name.into());
            group.insert("timezone".into(), timezone.into());
            if Store::is_empty(&store.data)? && !socket::has_server(&store.data)? {
                drop(recovery::create::<GroupState>(&store.data, &Directory::default(), &[])?);
            }
            let made = call(&store, Method::POST, GROUPS, Some(&json!({"group": group})))?;
            let id = &made.first().unwrap_or(&Value::Null)["id"];
            print(&format!("{id}\n"));
            print_error(&format!(
                "next: `slotbook key add --group {id}` for an application, and `slotbook pro add \
                 EMAIL --group {id}` for a professional, who adds calendars and interventions"
            ));
            Ok(())
        }
        GroupCommand::List(store) => {
            with_api(&store.data, &OfflineSettings::default(), list_groups)
        }
    }
}

fn list_groups(api: &mut OperatorApi) -> Result<(), CommandError> {
    let mut listed = 0;
    loop {
        let path = format!("{GROUPS}?results={GROUPS_PAGE}&startIndex={listed}");
        let answer = api.call(Method::GET, &path, None)?;
        let page = answer.first().and_then(|page| page["records"].as_array());
        let groups = page.map(Vec::as_slice).unwrap_or_default();
        print(&groups.iter().map(group_line).collect::<String>());
        listed += groups.len();
        if groups.len() < GROUPS_PAGE {
            return Ok(());
        }
    }
}

fn group_line(group: &Value) -> String {
    let urlname = text(&group["urlname"]);
    let timezone = text(&group["timezone"]);
    format!("{}\t{urlname}\t{timezone}\t{}\n", group["id"], text(&group["name"]))
}

/// Executes a command about professionals. Reference 3.2.
///
/// # Errors
/// A professional or group does not exist, the password is refused, or the store cannot be used.
pub(crate) fn execute_pro_command(command: ProCommand) -> Result<(), CommandError> {
    match command {
        ProCommand::Add(arguments) => add_pro(*arguments),
        ProCommand::Password { store, email } => {
            if !is_known_pro(&store, &email)? {
                return Err(CommandError::Refused(format!(
                    "no professional has the address {email}"
                )));
            }
            let password_hash = read_new_password(&email)?;
            let body = json!({"email": email, "password_hash": password_hash});
            call(&store, Method::PUT, PROS, Some(&body)).map(drop)
        }
        ProCommand::Set { store, email, groups, role } => {
            let mut body = json!({"email": email, "groups": groups});
            add_role(&mut body, &role);
            call(&store, Method::PUT, PROS, Some(&body)).map(drop)
        }
        ProCommand::Remove { store, email, groups } => {
            let body = json!({"email": email, "groups": groups});
            call(&store, Method::DELETE, PROS, Some(&body)).map(drop)
        }
        ProCommand::SecondFactor { store, remove } => {
            let body = json!({"email": remove});
            call(&store, Method::DELETE, SECOND_FACTORS, Some(&body)).map(drop)
        }
        ProCommand::List(store) => {
            let pros = call(&store, Method::GET, PROS, None)?;
            print(&pros.iter().map(pro_line).collect::<String>());
            Ok(())
        }
    }
}

/// Adds the fields of a role to a body.
fn add_role(body: &mut Value, role: &RoleArguments) {
    body["role"] = role.role.as_str().into();
    if !role.calendars.is_empty() {
        body["calendar_ids"] = role.calendars.clone().into();
    }
    if role.reads_all {
        body["reads_all"] = true.into();
    }
}

fn pro_line(pro: &Value) -> String {
    let names = [text(&pro["firstname"]), text(&pro["lastname"])].join(" ");
    let groups = comma_separated(&pro["groups"]);
    let email = text(&pro["email"]);
    let mut place = format!("groups {groups}, main {}", pro["main"]);
    for (group, role) in pro["roles"].as_object().into_iter().flatten() {
        place += &format!(", {} in {group}", text(role));
    }
    format!("{}\t{email}\t{place}\t{}\n", pro["id"], names.trim())
}

/// Executes `slotbook cancel-alike`. Reference 6.13.
///
/// # Errors
/// The appointment does not exist or has no origin, or the number has changed.
pub(crate) fn cancel_alike(arguments: &CancelAlikeArguments) -> Result<(), CommandError> {
    let CancelAlikeArguments { store, group, count, .. } = arguments;
    let (path, unknown) = match arguments.appointment {
        Some(id) => (
            format!("{GROUPS}/{group}/appointments/{id}/cancel_alike"),
            format!("group {group} has no appointment {id}"),
        ),
        None => (
            format!("{GROUPS}/{group}/appointments/cancel_alike"),
            format!("there is no group {group}"),
        ),
    };
    let mut body = json!({
        "since": arguments.since,
        "until": arguments.until,
        "unverified": arguments.unverified,
        "network": arguments.network,
        "list": true,
        "sendmail": !arguments.quietly,
    });
    with_api(&store.data, &OfflineSettings::default(), |api| {
        let mut request = |body: &Value| match api.call(Method::POST, &path, Some(body)) {
            Ok(answer) => Ok(answer.into_iter().next().unwrap_or_default()),
            Err(CommandError::NotFound(_)) => Err(CommandError::Refused(unknown.clone())),
            Err(error) => Err(error),
        };
        let found = request(&body)?;
        let number = found["count"].clone();
        let Some(count) = count else {
            print(&format!("{number} appointments: give --count {number} to cancel them\n"));
            print(&held_line(&found["holds"], "with them end"));
            let listed = found["appointments"].as_array().map(Vec::as_slice).unwrap_or_default();
            print(&listed.iter().map(alike_line).collect::<String>());
            return Ok(());
        };
        if number != *count {
            let reason = format!("there are {number} such appointments now: nothing is cancelled");
            return Err(CommandError::Refused(reason));
        }
        body["count"] = number.clone();
        let done = request(&body)?;
        let cancelled = &done["cancelled"];
        if *cancelled != number {
            return Err(CommandError::Refused(format!(
                "{cancelled} of {number} appointments are cancelled, and then the server was \
                 overloaded: count again, and cancel the rest"
            )));
        }
        print(&format!("{number} appointments are cancelled\n"));
        print(&held_line(&done["holds"], "have ended"));
        Ok(())
    })
}

/// Returns a line about the time that the same callers hold; an empty one if they hold none.
fn held_line(holds: &Value, predicate: &str) -> String {
    if holds["chosen"] == 0 && holds["unconfirmed"] == 0 {
        return String::new();
    }
    format!(
        "{} holds and {} bookings that wait for a code {predicate}\n",
        holds["chosen"], holds["unconfirmed"]
    )
}

fn alike_line(row: &Value) -> String {
    let times = format!("{}\tbooked {}", text(&row["start"]), text(&row["created_at"]));
    format!("{}\t{times}\t{}\n", row["id"], text(&row["client"]))
}

/// Sends a single request, and returns the values of its answer.
fn call(
    store: &StoreOptions,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Vec<Value>, CommandError> {
    with_api(&store.data, &OfflineSettings::default(), |api| api.call(method, path, body))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the texts or numbers of a list.
fn comma_separated(list: &Value) -> String {
    let entries = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let entries = entries.iter().map(|entry| match entry.as_str() {
        Some(text) => text.to_owned(),
        None => entry.to_string(),
    });
    entries.collect::<Vec<_>>().join(", ")
}

fn is_known_pro(store: &StoreOptions, email: &str) -> Result<bool, CommandError> {
    let email: String = form_urlencoded::byte_serialize(email.as_bytes()).collect();
    Ok(!call(store, Method::GET, &format!("{PROS}?email={email}"), None)?.is_empty())
}

fn add_pro(arguments: AddProArguments) -> Result<(), CommandError> {
    let AddProArguments { store, email, groups, main, lastname, firstname, cellphone, role } =
        arguments;
    let is_known = is_known_pro(&store, &email)?;
    let password_hash = if is_known { None } else { Some(read_new_password(&email)?) };
    let mut body = json!({
        "email": email,
        "password_hash": password_hash,
        "lastname": lastname,
        "firstname": firstname,
        "cellphone": cellphone,
        "groups": groups,
        "main": main,
    });
    add_role(&mut body, &role);
    call(&store, Method::POST, PROS, Some(&body))?;
    if is_known {
        print_error(&format!(
            "{email} was known: the groups are added; name and password stay as they were"
        ));
    }
    Ok(())
}

/// Returns the hash of the password in the first line of stdin. At a terminal it is asked for
/// twice.
fn read_new_password(email: &str) -> Result<String, CommandError> {
    let password = if io::stdin().is_terminal() {
        let password = read_hidden_line(&format!("New password of {email}: "))?;
        if read_hidden_line("The same again: ")? != password {
            return Err(CommandError::Refused("the two passwords differ; nothing was done".into()));
        }
        password
    } else {
        read_line()?
    };
    if let Err(rule) = check_new_password(&password) {
        return Err(CommandError::Refused(format!(
            "the password, the first line of stdin, {rule}; nothing was done"
        )));
    }
    Ok(hash_password(&sha1_hex(&password)).as_str().to_owned())
}

fn read_line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// Reads a line from the terminal without showing what is typed.
fn read_hidden_line(prompt: &str) -> io::Result<String> {
    write!(io::stderr(), "{prompt}")?;
    let shown = tcgetattr(io::stdin())?;
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
    let line = read_line();
    tcsetattr(io::stdin(), OptionalActions::Now, &shown)?;
    writeln!(io::stderr())?;
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_stands_alone_among_origins() {
        let shop = "https://shop.example";
        for (given, kept) in [
            (&[][..], Some(&[][..])),
            (&["none"], Some(&[])),
            (&[shop], Some(&[shop])),
            (&[shop, "none"], None),
            (&["none", "none"], None),
        ] {
            let origins = given.iter().map(|origin| (*origin).to_owned()).collect();
            let found = without_none(origins).ok();
            assert_eq!(
                found,
                kept.map(|kept| kept.iter().map(ToString::to_string).collect()),
                "{given:?}"
            );
        }
    }
}
