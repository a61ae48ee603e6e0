//! Content becomes a document that import restores exactly, one row a line. Reference 11.

use std::borrow::Borrow;
use std::io;

use serde_json::{Map, Value, json};

use crate::domain::identity::directory::{Directory, Pro};
use crate::domain::state::group_state::GroupState;
use crate::transfer::MESSAGES_MADE;
use crate::transfer::people::hex;
use crate::wire::calendar::{CALENDAR, CALENDARSET};
use crate::wire::customfield::CUSTOMFIELD;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Scope, Table};
use crate::wire::group::GROUP;
use crate::wire::intervention::{INTERVENTION, INTERVENTIONSET};
use crate::wire::pro::PROFESSIONAL;
use crate::wire::vevent::VEVENT;

/// Writes everything, row by row.
///
/// # Errors
/// What `out` answers.
pub fn write(
    directory: &Directory,
    group_states: &[impl Borrow<GroupState>],
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    out.write_all(b"{\"apikeys\":[")?;
    let keys = directory.apikeys.iter().map(|(hash, apikey)| {
        let mut row = Map::new();
        row.insert("key_sha256".into(), hex(hash).into());
        row.insert("label".into(), apikey.label.as_str().into());
        if let Some(groups) = &apikey.groups {
            row.insert("groups".into(), groups.iter().map(|id| id.number()).collect());
        }
        row
    });
    rows(keys, out)?;
    out.write_all(b"],\n\"groups\":[")?;
    for (index, state) in group_states.iter().enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        group(directory, state.borrow(), out)?;
    }
    out.write_all(b"\n]}\n")
}

fn group(
    directory: &Directory,
    state: &GroupState,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    let scope = Scope::for_group(state);
    let catalogue = &state.catalogue;
    let mut fields = GROUP.render_for_store(&catalogue.group, &scope);
    if state.outbox.last_id() > 0 {
        fields.insert(MESSAGES_MADE.into(), state.outbox.last_id().into());
    }
    let fields = serde_json::to_string(&fields)?;
    out.write_all(fields.strip_suffix('}').expect("an object ends with a brace").as_bytes())?;
    let pros = directory.pros.values().filter(|pro| pro.groups.contains(&catalogue.group.id));
    section("pros", pros.map(|pro| professional(pro, &scope)), out)?;
    section(
        "accounts",
        state.accounts.values().map(|account| {
            let mut row = object(json!({
                "email": account.email.as_str(),
                "fiche_id": account.fiche_id.number(),
                "password_hash": account.password_hash.as_str(),
            }));
            if !account.former.is_empty() {
                let former = account.former.iter().map(|id| Value::from(id.number()));
                row.insert("former_fiche_ids".into(), former.collect());
            }
            row
        }),
        out,
    )?;
    table(&CALENDARSET, "calendarsets", catalogue.calendarsets.values(), &scope, out)?;
    table(&CALENDAR, "calendars", catalogue.calendars.values(), &scope, out)?;
    table(&INTERVENTIONSET, "interventionsets", catalogue.interventionsets.values(), &scope, out)?;
    table(&INTERVENTION, "interventions", catalogue.interventions.values(), &scope, out)?;
    table(&CUSTOMFIELD, "customfields", catalogue.customfields.values(), &scope, out)?;
    table(&FICHE, "fiches", state.fiches.values(), &scope, out)?;
    let vevents = state.rows.values().map(|row| {
        let mut object = VEVENT.render_for_store(row, &scope);
        if row.appointment().is_some() {
            // Derived from the client.
            object.remove("text");
        }
        object
    });
    section("vevents", vevents, out)?;
    out.write_all(b"}")
}

fn table<'a, R: 'static>(
    table: &Table<R>,
    name: &str,
    records: impl Iterator<Item = &'a std::sync::Arc<R>>,
    scope: &Scope<'_>,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    section(name, records.map(|record| table.render_for_store(record, scope)), out)
}

fn professional(pro: &Pro, scope: &Scope<'_>) -> Map<String, Value> {
    let mut row = PROFESSIONAL.render_for_store(pro, scope);
    row.insert("password_hash".into(), pro.password_hash.as_str().into());
    row.insert("main".into(), (pro.main == scope.state.catalogue.group.id).into());
    row
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

fn section(
    name: &str,
    list: impl Iterator<Item = Map<String, Value>>,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    write!(out, ",\n\"{name}\":[")?;
    rows(list, out)?;
    out.write_all(b"]")
}

fn rows(
    list: impl Iterator<Item = Map<String, Value>>,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    let mut separator: &[u8] = b"\n";
    for row in list {
        out.write_all(separator)?;
        serde_json::to_writer(&mut *out, &row)?;
        separator = b",\n";
    }
    Ok(())
}
