//! Export: content becomes a document, one row a line, that import restores exactly, except for
//! [`LEFT_OUT`]. Reference 11.2.

use std::borrow::Borrow;
use std::io;

use data_encoding::HEXLOWER;
use serde_json::{Map, Value};
use strum::IntoEnumIterator as _;

use crate::domain::directory::Directory;
use crate::domain::directory::apikeys::Apikey;
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::directory::professionals::Pro;
use crate::domain::directory::roles::ProRole;
use crate::domain::records::account::Account;
use crate::domain::records::message::MessageKind;
use crate::domain::records::site_origin::SiteOrigin;
use crate::domain::state::group_state::GroupState;
use crate::transfer::ids::section_name;
use crate::transfer::images::{IMAGES, render_image};
use crate::transfer::message_row::render_message;
use crate::transfer::people::LAST_LOGIN;
use crate::transfer::{ACCESS_HISTORY, HIGHEST_IDS, HISTORY, MESSAGES_MADE};
use crate::wire::access_history::AccessRowAnswer;
use crate::wire::account::format_day;
use crate::wire::calendar::{CALENDAR, CALENDARSET};
use crate::wire::customfield::CUSTOMFIELD;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Scope, Table};
use crate::wire::group::GROUP;
use crate::wire::history::HistoryRowAnswer;
use crate::wire::intervention::{INTERVENTION, INTERVENTIONSET};
use crate::wire::pro::PROFESSIONAL;
use crate::wire::role::{CALENDAR_IDS, READS_ALL, ROLE, calendars_text};
use crate::wire::vevent::render_stored;

/// Parts of a store that no document holds. The document says so in its member `left_out`.
pub const LEFT_OUT: &str = "sessions; stored answers of Idempotency-Keys; tokens of mailed account \
     links, which end with an export; holds, and bookings that wait for a code; the secret of mailed unsubscribe \
     links, which end too; the origins of web bookings";

/// Writes the whole content, row by row.
///
/// # Errors
///
/// The first error of `out`.
pub fn write_document(
    directory: &Directory,
    group_states: &[impl Borrow<GroupState>],
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    write!(out, "{{\"left_out\":{},\n\"apikeys\":[", Value::from(LEFT_OUT))?;
    let keys = directory.apikeys.iter().map(|(hash, apikey)| render_apikey(hash, apikey));
    write_rows(keys, out)?;
    out.write_all(b"],\n\"groups\":[")?;
    for (index, state) in group_states.iter().enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        write_group(directory, state.borrow(), out)?;
    }
    out.write_all(b"\n]}\n")
}

fn render_apikey(hash: &[u8; 32], apikey: &Apikey) -> Map<String, Value> {
    let mut row = Map::new();
    row.insert("key_sha256".into(), HEXLOWER.encode(hash).into());
    row.insert("label".into(), apikey.label.as_str().into());
    if apikey.is_operator() {
        row.insert("operator".into(), true.into());
    } else if apikey.is_server() {
        row.insert("server".into(), true.into());
    }
    row.insert("any_origin".into(), apikey.allows_any_origin.into());
    row.insert("needs_contact".into(), apikey.needs_contact.into());
    if !apikey.origins.is_empty() {
        row.insert("origins".into(), apikey.origins.iter().map(SiteOrigin::as_str).collect());
    }
    if let Some(groups) = &apikey.groups {
        row.insert("groups".into(), groups.iter().map(|id| id.number()).collect());
    }
    row
}

fn write_group(
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
    fields.insert(HIGHEST_IDS.into(), render_highest_ids(state).into());
    let fields = serde_json::to_string(&fields)?;
    out.write_all(fields.strip_suffix('}').expect("an object ends with a brace").as_bytes())?;
    let pros = directory.pros.values().filter(|pro| pro.groups.contains(&catalogue.group.id));
    let pros = pros
        .map(|pro| render_pro(pro, directory.roles.role_of(catalogue.group.id, pro.id), &scope));
    write_section("pros", pros, out)?;
    let accounts = state.accounts.values().map(|account| render_account(account));
    write_section("accounts", accounts, out)?;
    write_table(&CALENDARSET, "calendarsets", catalogue.calendarsets.values(), &scope, out)?;
    write_table(&CALENDAR, "calendars", catalogue.calendars.values(), &scope, out)?;
    write_table(
        &INTERVENTIONSET,
        "interventionsets",
        catalogue.interventionsets.values(),
        &scope,
        out,
    )?;
    write_table(&INTERVENTION, "interventions", catalogue.interventions.values(), &scope, out)?;
    write_table(&CUSTOMFIELD, "customfields", catalogue.customfields.values(), &scope, out)?;
    let images = state.images.iter().map(|(slot, image)| render_image(slot, image));
    write_section(IMAGES, images, out)?;
    write_table(&FICHE, "fiches", state.fiches.values(), &scope, out)?;
    let vevents = state.rows.values().map(|row| render_stored(row, &scope));
    write_section("vevents", vevents, out)?;
    // Those of unknown logins have nothing to do with the group.
    let own = state.outbox.messages().filter(|it| it.kind() != MessageKind::UnknownLogin);
    let messages = own.map(|message| render_message(message));
    write_section("messages", messages, out)?;
    let history = state.history.latest_first(u64::MAX);
    let rows = history.map(|row| HistoryRowAnswer::new(&row, state, directory).to_json());
    write_section(HISTORY, rows, out)?;
    let rows = directory.access_history.iter();
    let rows = rows.filter(|(_, row)| row.concerns(catalogue.group.id));
    let rows =
        rows.map(|(number, row)| AccessRowAnswer::new(number, row, state, directory).to_json());
    write_section(ACCESS_HISTORY, rows, out)?;
    out.write_all(b"}")
}

fn render_highest_ids(state: &GroupState) -> Map<String, Value> {
    let mut highest_ids = Map::new();
    for kind in IdKind::iter() {
        let highest = state.highest_id(kind);
        if highest > 0 {
            highest_ids.insert(section_name(kind).into(), highest.into());
        }
    }
    highest_ids
}

fn write_table<'a, R: 'static>(
    table: &Table<R>,
    name: &str,
    records: impl Iterator<Item = &'a std::sync::Arc<R>>,
    scope: &Scope<'_>,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    write_section(name, records.map(|record| table.render_for_store(record, scope)), out)
}

/// Renders a professional. The role stands beside the table, whose defaults know no roles.
fn render_pro(pro: &Pro, role: &ProRole, scope: &Scope<'_>) -> Map<String, Value> {
    let mut row = PROFESSIONAL.render_for_store(pro, scope);
    row.insert("password_hash".into(), pro.password_hash.as_str().into());
    row.insert("main".into(), (pro.main == scope.state.catalogue.group.id).into());
    if *role != ProRole::Administrator {
        row.insert(ROLE.into(), role.name().into());
    }
    if let ProRole::Professional(own) = role {
        row.insert(CALENDAR_IDS.into(), calendars_text(role).into());
        row.insert(READS_ALL.into(), own.reads_all.into());
    }
    row
}

fn render_account(account: &Account) -> Map<String, Value> {
    let mut row = Map::new();
    row.insert("email".into(), account.email.as_str().into());
    row.insert("fiche_id".into(), account.fiche_id.number().into());
    row.insert("password_hash".into(), account.password_hash.as_str().into());
    if !account.former.is_empty() {
        let former = account.former.iter().map(|id| Value::from(id.number()));
        row.insert("former_fiche_ids".into(), former.collect());
    }
    if let Some(day) = account.last_login {
        row.insert(LAST_LOGIN.into(), format_day(day).into());
    }
    row
}

fn write_section(
    name: &str,
    list: impl Iterator<Item = Map<String, Value>>,
    out: &mut (impl io::Write + ?Sized),
) -> io::Result<()> {
    write!(out, ",\n\"{name}\":[")?;
    write_rows(list, out)?;
    out.write_all(b"]")
}

fn write_rows(
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
