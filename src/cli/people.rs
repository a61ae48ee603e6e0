//! `slotbook group`, `slotbook key` and `slotbook pro`. Reference 11.1.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::Map;
use sha2::{Digest as _, Sha256};

use crate::cli::arguments::{
    AddProArguments, CancelAlikeArguments, GroupCommand, KeyCommand, ProCommand,
};
use crate::cli::error::CommandError;
use crate::cli::operator::client::run_request;
use crate::cli::operator::request::OperatorRequest;
use crate::cli::terminal::{print, print_error};
use crate::domain::directory::Directory;
use crate::domain::directory::apikeys::ApikeyHolder;
use crate::engine::randomness::Randomness;
use crate::engine::recovery;
use crate::password::strength::check_new_password;
use crate::password::{hash_password, sha1_hex};
use crate::store::Store;

/// Executes a command about application keys. Reference 3.1.
///
/// # Errors
/// A key or group does not exist, or the store cannot be used.
pub(crate) fn execute_key_command(command: KeyCommand) -> Result<(), CommandError> {
    match command {
        KeyCommand::Add { store, label, groups, all_groups: _, server, operator, origins } => {
            let mut draws = Randomness::from_os();
            let key = format!("{}{}", draws.key().as_str(), draws.key().as_str());
            let groups = if groups.is_empty() { None } else { Some(groups) };
            let sha256 = Sha256::digest(&key).into();
            let holder = key_holder(server, operator);
            let request = OperatorRequest::AddKey { sha256, label, groups, holder, origins };
            run_request(&store.data, &request, &mut io::sink())?;
            print(&format!("{key}\n"));
            Ok(())
        }
        KeyCommand::Set { store, key, server, no_server, operator, origins, no_origins } => {
            let sha256 = Sha256::digest(&key).into();
            let is_said = server || no_server || operator;
            let holder = if is_said { Some(key_holder(server, operator)) } else { None };
            let origins = if no_origins || !origins.is_empty() { Some(origins) } else { None };
            let request = OperatorRequest::SetKey { sha256, said: key, holder, origins };
            run_request(&store.data, &request, &mut io::sink())
        }
        KeyCommand::Revoke { store, key } => {
            let sha256 = Sha256::digest(&key).into();
            let request = OperatorRequest::RevokeKey { sha256, said: key };
            run_request(&store.data, &request, &mut io::sink())
        }
        KeyCommand::List(store) => print_list(&store.data, &OperatorRequest::ListKeys),
    }
}

const fn key_holder(server: bool, operator: bool) -> ApikeyHolder {
    match (server, operator) {
        (_, true) => ApikeyHolder::Operator,
        (true, false) => ApikeyHolder::Server,
        (false, false) => ApikeyHolder::Public,
    }
}

/// Executes a command about groups. Reference 12.1.
///
/// # Errors
/// A field breaks a rule, or the store cannot be used.
pub(crate) fn execute_group_command(command: GroupCommand) -> Result<(), CommandError> {
    match command {
        GroupCommand::Add { store, name, timezone, fields } => {
            let mut object = Map::new();
            for (field, value) in fields {
                object.insert(field, value.into());
            }
            object.insert("name".into(), name.into());
            object.insert("timezone".into(), timezone.into());
            if Store::is_empty(&store.data)? {
                drop(recovery::create(&store.data, &Directory::default(), &[])?);
            }
            let mut id = Vec::new();
            run_request(&store.data, &OperatorRequest::AddGroup { fields: object }, &mut id)?;
            let id = String::from_utf8_lossy(&id).into_owned();
            print(&format!("{id}\n"));
            print_error(&format!(
                "next: `slotbook key add --group {id}` for an application, and `slotbook pro add \
                 EMAIL --group {id}` for a professional, who adds calendars and interventions"
            ));
            Ok(())
        }
        GroupCommand::List(store) => print_list(&store.data, &OperatorRequest::ListGroups),
    }
}

/// Executes a command about professionals. Reference 3.2.
///
/// # Errors
/// A professional or group does not exist, the password is refused, or the store cannot be used.
pub(crate) fn execute_pro_command(command: ProCommand) -> Result<(), CommandError> {
    match command {
        ProCommand::Add(arguments) => add_pro(*arguments),
        ProCommand::Password { store, email } => {
            if !is_known_pro(&store.data, &email)? {
                return Err(CommandError::Refused(format!(
                    "no professional has the address {email}"
                )));
            }
            let password_hash = read_new_password(&email)?;
            let request = OperatorRequest::SetPassword { email, password_hash };
            run_request(&store.data, &request, &mut io::sink())
        }
        ProCommand::Remove { store, email, groups } => {
            let request = OperatorRequest::RemovePro { email, groups };
            run_request(&store.data, &request, &mut io::sink())
        }
        ProCommand::List(store) => print_list(&store.data, &OperatorRequest::ListPros),
    }
}

/// Executes `slotbook cancel-alike`. Reference 6.17.
///
/// # Errors
/// The appointment does not exist or has no origin, the number has changed, or no server runs.
pub(crate) fn cancel_alike(arguments: CancelAlikeArguments) -> Result<(), CommandError> {
    let CancelAlikeArguments { store, appointment, group, since, count, quietly } = arguments;
    let request = OperatorRequest::CancelAlike { group, appointment, since, count, quietly };
    print_list(&store.data, &request)
}

fn print_list(data: &Path, request: &OperatorRequest) -> Result<(), CommandError> {
    let mut text = Vec::new();
    run_request(data, request, &mut text)?;
    print(&String::from_utf8_lossy(&text));
    Ok(())
}

fn is_known_pro(data: &Path, email: &str) -> Result<bool, CommandError> {
    let mut found = Vec::new();
    run_request(data, &OperatorRequest::FindPro { email: email.to_owned() }, &mut found)?;
    Ok(!found.is_empty())
}

fn add_pro(arguments: AddProArguments) -> Result<(), CommandError> {
    let AddProArguments { store, email, groups, main, lastname, firstname, cellphone } = arguments;
    let is_known = is_known_pro(&store.data, &email)?;
    let password_hash = if is_known { None } else { Some(read_new_password(&email)?) };
    let request = OperatorRequest::AddPro {
        email: email.clone(),
        password_hash,
        lastname,
        firstname,
        cellphone,
        groups,
        main,
    };
    run_request(&store.data, &request, &mut io::sink())?;
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
