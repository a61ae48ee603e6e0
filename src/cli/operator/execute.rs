//! Execution of the operator's requests, the same with and without a running server. Reference
//! 11.1.
//!
//! A new request is a variant of [`OperatorRequest`] and an arm of [`execute_request`]. The answer
//! is bytes, which the command prints or stores.

use std::collections::BTreeSet;
use std::io::Write;

use data_encoding::HEXLOWER;
use serde_json::Value;

use crate::cli::error::CommandError;
use crate::cli::operator::request::OperatorRequest;
use crate::cli::operator::store_access::StoreAccess;
use crate::clock::{Clock as _, SystemClock};
use crate::domain::decisions::alike::find_alike;
use crate::domain::directory::access::{ApikeyName, ChangeAccess, ID_DIGITS, ProDraft};
use crate::domain::directory::apikeys::{Apikey, ApikeyHolder};
use crate::domain::directory::professionals::Pro;
use crate::domain::directory::site_origin::SiteOrigin;
use crate::domain::records::fault::Fault;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{GroupId, VeventId};
use crate::domain::records::message::Message;
use crate::domain::records::text::{Email, InvalidValue, Name, Text, folded};
use crate::domain::state::refusal::Refusal;
use crate::http::resources::messages;
use crate::transfer::export;
use crate::wire::datetime;
use crate::wire::field::Audience;
use crate::wire::group::parse_new_group;
use crate::wire::message::Ledger;

/// Executes a request and writes the answer to `out`.
///
/// # Errors
/// The request is refused, or the store cannot be read or written.
pub(crate) fn execute_request(
    request: &OperatorRequest,
    store: &mut StoreAccess,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    match request {
        OperatorRequest::AddGroup { fields } => {
            let command = parse_new_group(fields).map_err(refused_fields)?;
            let founded = store.found_group(&command)?;
            Ok(write!(out, "{}", founded.catalogue.group.id)?)
        }
        OperatorRequest::ListGroups => {
            for state in store.group_states() {
                write_group(&state.catalogue.group, out)?;
            }
            Ok(())
        }
        OperatorRequest::ListKeys => {
            for (hash, key) in store.directory().apikeys.iter() {
                write_key(hash, key, out)?;
            }
            Ok(())
        }
        OperatorRequest::ListPros => {
            for pro in store.directory().pros.values() {
                write_pro(pro, out)?;
            }
            Ok(())
        }
        OperatorRequest::FindPro { email } => {
            if let Some(pro) = store.directory().pros.find_by_email(&folded(email)) {
                out.write_all(pro.email.as_str().as_bytes())?;
            }
            Ok(())
        }
        OperatorRequest::Export => {
            store.refuse_quarantined_groups()?;
            Ok(export::write_document(&store.directory(), &store.group_states(), out)?)
        }
        OperatorRequest::ListMessages { groups, public_url } => {
            write_messages(store, groups, public_url, out)
        }
        OperatorRequest::CancelAlike { group, appointment, since, count, quietly } => {
            cancel_alike(store, (*group, *appointment), since, *count, *quietly, out)
        }
        OperatorRequest::BackUp { to, reserve_mib } => store.back_up(to, *reserve_mib, out),
        OperatorRequest::AddKey { .. }
        | OperatorRequest::SetKey { .. }
        | OperatorRequest::RevokeKey { .. }
        | OperatorRequest::AddPro { .. }
        | OperatorRequest::RemovePro { .. }
        | OperatorRequest::SetPassword { .. } => {
            let change = parse_access_change(request)?.expect("the request is a change");
            store.change_access(change)
        }
    }
}

/// Returns the change that a request means, with its fields parsed; `None` for a request that only
/// reads.
fn parse_access_change(request: &OperatorRequest) -> Result<Option<ChangeAccess>, CommandError> {
    Ok(Some(match request {
        OperatorRequest::AddKey { sha256, label, groups, holder, origins } => {
            ChangeAccess::AddApikey {
                hash: *sha256,
                label: named("label", Text::new(label))?,
                groups: groups.as_deref().map(parse_group_ids).transpose()?,
                holder: *holder,
                origins: parse_origins(origins)?,
            }
        }
        OperatorRequest::SetKey { sha256, said, holder, origins } => ChangeAccess::SetApikey {
            name: ApikeyName { hash: *sha256, text: said.clone() },
            holder: *holder,
            origins: origins.as_deref().map(parse_origins).transpose()?,
        },
        OperatorRequest::RevokeKey { sha256, said } => {
            ChangeAccess::RevokeApikey(ApikeyName { hash: *sha256, text: said.clone() })
        }
        OperatorRequest::AddPro {
            email,
            password_hash,
            lastname,
            firstname,
            cellphone,
            groups,
            main,
        } => ChangeAccess::AddPro(ProDraft {
            email: named("e-mail", Email::new(email))?,
            password_hash: match password_hash {
                Some(hash) => Some(named("password", Text::new(hash))?),
                None => None,
            },
            lastname: named("lastname", Name::new(lastname))?,
            firstname: named("firstname", Name::new(firstname))?,
            cellphone: named("cellphone", Text::new(cellphone))?,
            groups: parse_group_ids(groups)?,
            main: main.map(parse_group_id).transpose()?,
        }),
        OperatorRequest::RemovePro { email, groups } => ChangeAccess::RemovePro {
            email: named("e-mail", Email::new(email))?,
            groups: parse_group_ids(groups)?,
        },
        OperatorRequest::SetPassword { email, password_hash } => ChangeAccess::SetPassword {
            email: named("e-mail", Email::new(email))?,
            former: None,
            password_hash: named("password", Text::new(password_hash))?,
        },
        OperatorRequest::AddGroup { .. }
        | OperatorRequest::ListGroups
        | OperatorRequest::ListKeys
        | OperatorRequest::ListPros
        | OperatorRequest::FindPro { .. }
        | OperatorRequest::Export
        | OperatorRequest::ListMessages { .. }
        | OperatorRequest::CancelAlike { .. }
        | OperatorRequest::BackUp { .. } => return Ok(None),
    }))
}

/// Returns the refusal of a new group, with every fault of its fields.
fn refused_fields(faults: Vec<Fault>) -> CommandError {
    let lines = faults.iter().map(|fault| format!("{}: {}", fault.field, fault.rule));
    CommandError::Refused(lines.collect::<Vec<_>>().join("\n"))
}

fn parse_origins(origins: &[String]) -> Result<Vec<SiteOrigin>, CommandError> {
    origins.iter().map(|origin| named(origin, SiteOrigin::new(origin))).collect()
}

/// Returns a parsed field, or the broken rule after the field's name.
fn named<T>(field: &str, parsed: Result<T, InvalidValue>) -> Result<T, CommandError> {
    parsed.map_err(|rule| CommandError::Refused(format!("{field}: {rule}")))
}

fn parse_group_id(number: u64) -> Result<GroupId, CommandError> {
    match GroupId::new(number) {
        Some(group) => Ok(group),
        None => Err(CommandError::Refused(format!("group {number} does not exist"))),
    }
}

fn parse_group_ids(numbers: &[u64]) -> Result<BTreeSet<GroupId>, CommandError> {
    numbers.iter().map(|number| parse_group_id(*number)).collect()
}

/// Writes the messages of some groups, or of all if none is named: one JSON object a line.
fn write_messages(
    store: &StoreAccess,
    groups: &[u64],
    public_url: &str,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let wanted = parse_group_ids(groups)?;
    let group_states = store.group_states();
    let existing: BTreeSet<GroupId> =
        group_states.iter().map(|state| state.catalogue.group.id).collect();
    if let Some(missing) = wanted.difference(&existing).next() {
        return Err(CommandError::Refused(format!("group {missing} does not exist")));
    }
    let gateways = store.gateways(public_url);
    let now = SystemClock.now();
    for group_state in group_states {
        if !wanted.is_empty() && !wanted.contains(&group_state.catalogue.group.id) {
            continue;
        }
        let ledger = Ledger::new(group_state, now);
        for entry in ledger.entries() {
            let state = ledger.group_state();
            let preview = |message: &Message| gateways.preview(state, message);
            let line = messages::render_entry(&entry, state, Audience::Pro, preview);
            writeln!(out, "{}", Value::Object(line))?;
        }
    }
    Ok(())
}

/// Counts the web bookings with the origin of an appointment, or cancels them if `count` is their
/// number. Reference 6.17.
fn cancel_alike(
    store: &StoreAccess,
    (group, appointment): (u64, u64),
    since: &str,
    count: Option<usize>,
    is_quiet: bool,
    out: &mut dyn Write,
) -> Result<(), CommandError> {
    let refused = |why: String| Err(CommandError::Refused(why));
    let group = parse_group_id(group)?;
    let Some(state) = store.group_states().into_iter().find(|it| it.catalogue.group.id == group)
    else {
        return refused(format!("group {group} does not exist"));
    };
    let since = named("since", datetime::parse(since))?;
    let since = named("since", datetime::to_instant(state.catalogue.zone(), since))?;
    let found = match VeventId::new(appointment) {
        Some(id) => find_alike(&state, id, since, SystemClock.now()),
        None => Err(Refusal::NoResult),
    };
    let alike = match found {
        Ok(alike) => alike,
        Err(Refusal::InvalidParameter(fault)) => {
            return refused(format!("appointment {appointment}: {}", fault.rule));
        }
        Err(_) => return refused(format!("group {group} has no appointment {appointment}")),
    };
    let number = alike.len();
    let Some(count) = count else {
        return Ok(writeln!(out, "{number} appointments: give --count {number} to cancel them")?);
    };
    if count != number {
        return refused(format!("there are {number} such appointments now: nothing is cancelled"));
    }
    store.cancel_many(group, &alike, is_quiet)?;
    Ok(writeln!(out, "{number} appointments are cancelled")?)
}

fn write_key(hash: &[u8; 32], key: &Apikey, out: &mut dyn Write) -> Result<(), CommandError> {
    let id = &HEXLOWER.encode(hash)[..ID_DIGITS];
    let groups = match key.groups.as_deref() {
        None => "all groups".to_owned(),
        Some(groups) => format!("groups {}", comma_separated(groups)),
    };
    let holder = match key.holder {
        ApikeyHolder::Public => "public",
        ApikeyHolder::Server => "server",
        ApikeyHolder::Unknown => "server, as assumed",
        ApikeyHolder::Operator => "operator",
    };
    write!(out, "{id}\t{groups}\t{holder}\t{}", key.label.as_str())?;
    if !key.origins.is_empty() {
        let origins: Vec<&str> = key.origins.iter().map(SiteOrigin::as_str).collect();
        write!(out, "\torigins {}", origins.join(", "))?;
    }
    Ok(writeln!(out)?)
}

fn write_group(group: &Group, out: &mut dyn Write) -> Result<(), CommandError> {
    let (id, urlname) = (group.id, group.urlname.as_str());
    Ok(writeln!(out, "{id}\t{urlname}\t{}\t{}", group.timezone.name(), group.name.as_str())?)
}

fn write_pro(pro: &Pro, out: &mut dyn Write) -> Result<(), CommandError> {
    let names = [pro.firstname.as_str(), pro.lastname.as_str()].join(" ");
    let (id, email, groups) = (pro.id, pro.email.as_str(), comma_separated(&pro.groups));
    Ok(writeln!(out, "{id}\t{email}\tgroups {groups}, main {}\t{}", pro.main, names.trim())?)
}

fn comma_separated(groups: &[GroupId]) -> String {
    groups.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
