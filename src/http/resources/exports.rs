//! Exports of a group and of one client. Reference 17.4.

use std::io::{self, Write};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use utoipa::openapi::{RefOr, Schema};

use crate::domain::decisions::erasure::{PersonRecords, find_person};
use crate::domain::directory::Directory;
use crate::domain::directory::access_history::AccessAct;
use crate::domain::directory::professionals::Pro;
use crate::domain::records::account::Account;
use crate::domain::records::account_link::{AccountLink, LinkAction};
use crate::domain::records::author::Author;
use crate::domain::records::customfield::Customs;
use crate::domain::records::hold::{Hold, HoldState};
use crate::domain::records::ids::{FicheId, GroupId};
use crate::domain::records::message::Message;
use crate::domain::records::text::Text;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::history::row::{HistoryObject, ObjectKind};
use crate::domain::time::Instant;
use crate::http::answer::streamed::streamed;
use crate::http::endpoint::{Answer, Endpoint, EndpointPath, Shape, handler};
use crate::http::error::ApiError;
use crate::http::permissions::{ADMINISTRATORS, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::resources::messages::render_entry;
use crate::http::response::HandlerResult;
use crate::http::server::Server;
use crate::wire::account::format_day;
use crate::wire::custom_values::custom_column_value;
use crate::wire::datetime::format_local;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, Scope};
use crate::wire::history::HistoryRowAnswer;
use crate::wire::message::LedgerEntry;
use crate::wire::schema::{described, list, object, text};
use crate::wire::vevent::render_stored;

const GROUP_EXPORT: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/export");
const FICHE_EXPORT: EndpointPath =
    EndpointPath::current("/api/v1/groups/{group_id}/fiches/{id}/export");
const JSON: &str = "application/json";

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::get(&[GROUP_EXPORT], handler!(InGroup, export_group))
        .named("ExportGroup", "Get the whole group as an import document")
        .right(Resource::Export, Verb::Show, ADMINISTRATORS)
        .tagged("exports")
        .answers(&[Answer::json(200, "the document", Shape::Inline(group_schema))]),
    Endpoint::get(&[FICHE_EXPORT], handler!(InGroup, export_fiche))
        .named("ExportFiche", "Get everything about one client")
        .right(Resource::Export, Verb::Show, ADMINISTRATORS)
        .tagged("exports")
        .answers(&[Answer::json(200, "everything about the client", Shape::Inline(fiche_schema))]),
];

/// The document of a group.
fn group_schema() -> RefOr<Schema> {
    let rows = |text| described(list(object()), text);
    object()
        .property("left_out", described(text(), "What no document holds."))
        .property("apikeys", rows("The keys that cover this group alone, by their hashes."))
        .property("groups", rows("The group, as an import takes it."))
        .into()
}

/// Everything about one client.
fn fiche_schema() -> RefOr<Schema> {
    let mut schema = object().property("fiche", described(object(), "The fiche."));
    for (section, text) in SECTIONS {
        schema = schema.property(section, described(list(object()), text));
    }
    schema.into()
}

/// The lists of the answer about a client, in their order, with their descriptions.
const SECTIONS: [(&str, &str); 7] = [
    ("merged_fiches", "Fiches that were merged into it."),
    ("accounts", "Its accounts, without passwords."),
    ("vevents", "The events that name it, deleted ones included."),
    ("messages", "Messages to the client or about its appointments."),
    ("holds", "Bookings that wait for a code, and holds of confirmed ones."),
    ("links", "Links about the account that are kept, without tokens."),
    ("history", "Rows of the history about all of these, latest first."),
];

/// GET /api/v1/groups/{group_id}/export: the document that the command writes, with this group, the
/// keys of it alone, and its professionals. One who works for other groups too comes without
/// password.
async fn export_group(request: GroupRequest) -> HandlerResult {
    let store = request.server.store.clone().ok_or_else(ApiError::no_result)?;
    let group = request.state.catalogue.group.id;
    let author = request.identity.author();
    note(&request.server, group, author, AccessAct::Exported, request.now).await?;
    let directory = directory_of(request.identity.directory(), group);
    let states = [Arc::clone(&request.state)];
    Ok(streamed(JSON, move |out| (store.write_document)(&directory, &states, out)))
}

/// Notes an export in the history of access, and waits until that is durable.
///
/// # Errors
/// 503 if the store takes no writes, unless the operator exports.
async fn note(
    server: &Server,
    group: GroupId,
    author: Author,
    act: AccessAct,
    at: Instant,
) -> Result<(), ApiError> {
    let log = &server.authenticator.access_log;
    match log.note_act(Some(vec![group]), author, act, at).await {
        Err(rejection) if author != Author::Operator => Err(ApiError::from_store(rejection)),
        Err(rejection) => {
            // A store that takes no writes is exported all the same.
            tracing::warn!(?rejection, "an export is not noted in the history");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// The part of a directory that is about one group.
fn directory_of(whole: &Directory, group: GroupId) -> Directory {
    let mut part = Directory::default();
    for (hash, key) in whole.apikeys.iter() {
        let is_own = key.groups.as_ref().is_some_and(|groups| groups.iter().all(|it| *it == group));
        if is_own {
            part.apikeys.insert(*hash, key.clone());
        }
    }
    for pro in whole.pros.values().filter(|pro| pro.groups.contains(&group)) {
        let is_own = pro.groups.iter().all(|it| *it == group);
        let password_hash = if is_own { pro.password_hash.clone() } else { Text::default() };
        let shown = Pro { groups: vec![group], main: group, password_hash, ..pro.clone() };
        part.pros.extend([(shown.id, shown)]);
        part.roles.set(group, pro.id, whole.roles.role_of(group, pro.id).clone());
    }
    part.access_history = whole.access_history.clone();
    part
}

/// GET /api/v1/groups/{group_id}/fiches/{id}/export.
async fn export_fiche(request: GroupRequest) -> HandlerResult {
    let id = request.id(FicheId::new)?;
    let directory = Arc::clone(request.identity.directory());
    let author = request.identity.author();
    export_client(request.server, directory, request.state, id, author, request.now).await
}

/// Returns everything about one client, and notes that an author has exported it.
///
/// # Errors
/// 404 if the group has no such client, 503 if the store takes no writes.
pub(crate) async fn export_client(
    server: Arc<Server>,
    directory: Arc<Directory>,
    state: Arc<GroupState>,
    id: FicheId,
    author: Author,
    now: Instant,
) -> HandlerResult {
    if !state.fiches.contains_key(&id) {
        return Err(ApiError::no_result());
    }
    let group = state.catalogue.group.id;
    note(&server, group, author, AccessAct::ClientExported(id), now).await?;
    let searched = Arc::clone(&state);
    let records = server.blocking_pool.run(move || find_person(&searched, id)).await?;
    let kept = state.kept_client(id);
    Ok(streamed(JSON, move |out| {
        let export = FicheExport { state: &state, server: &server, directory: &directory, kept };
        export.write(&records, out)
    }))
}

/// The export of one client.
struct FicheExport<'e> {
    state: &'e Arc<GroupState>,
    server: &'e Server,
    directory: &'e Directory,
    /// The record that is kept of those that were merged.
    kept: FicheId,
}

impl FicheExport<'_> {
    /// Writes the answer, row by row.
    fn write(&self, records: &PersonRecords, out: &mut dyn Write) -> io::Result<()> {
        let state = self.state;
        let scope = Scope::for_group(state);
        let fiche = |id: &FicheId| {
            Some(Value::Object(FICHE.render(state.fiches.get(id)?, &scope, Audience::Pro)))
        };
        write!(out, "{{\"fiche\":{}", fiche(&self.kept).unwrap_or_default())?;
        let merged = records.fiches.iter().filter(|id| **id != self.kept);
        write_rows(0, merged.filter_map(fiche), out)?;
        let accounts = state.accounts.values();
        let own = accounts.filter(|it| it.own().any(|id| records.fiches.contains(&id)));
        write_rows(1, own.map(|account| render_account(account)), out)?;
        let vevents = records.vevents.iter().filter_map(|id| state.rows.get(id));
        let vevents = vevents.map(|row| Value::Object(render_stored(row, &scope)));
        write_rows(2, vevents, out)?;
        let messages = records.messages.iter().filter_map(|id| state.outbox.message(*id));
        write_rows(3, messages.map(|message| self.render_message(message)), out)?;
        let holds = records.holds.iter().filter_map(|id| state.holds().get(*id));
        write_rows(4, holds.map(|hold| self.render_hold(hold)), out)?;
        let links = state.links.iter().filter(|link| records.links.contains(&link.hash));
        write_rows(5, links.map(|link| self.render_link(link)), out)?;
        let history = state.history.latest_first(u64::MAX);
        let history = history.filter(|row| is_about(row.row.object, records));
        let rows = history.map(|row| HistoryRowAnswer::new(&row, state, self.directory).to_json());
        write_rows(6, rows.map(Value::Object), out)?;
        out.write_all(b"}\n")
    }

    fn render_message(&self, message: &Arc<Message>) -> Value {
        let entry = LedgerEntry::from_message(message);
        let gateways = &self.server.gateways;
        let preview = |message: &Message| gateways.preview_without_tokens(self.state, message);
        Value::Object(render_entry(&entry, self.state, Audience::Pro, preview))
    }

    /// Renders a hold without its secret.
    fn render_hold(&self, hold: &Hold) -> Value {
        let zone = self.state.catalogue.zone();
        let mut row = json!({
            "calendar_id": hold.calendar_id.number(),
            "start": format_local(zone, hold.start),
            "made_at": format_local(zone, hold.made_at),
            "expires_at": format_local(zone, hold.expires_at),
        });
        if let HoldState::Unconfirmed(booking) = &hold.state {
            let scope = Scope::for_group(self.state);
            row["fiche"] = FICHE.render(&booking.client, &scope, Audience::Application).into();
            row["recipient"] = booking.recipient.as_str().into();
            row["comments"] = booking.comments.as_str().into();
            row["websource"] = booking.websource.as_str().into();
            row["smsreminder"] = booking.smsreminder.into();
            row["attributes"] = self.render_customs(&booking.customs).into();
        }
        row
    }

    fn render_customs(&self, customs: &Customs) -> Map<String, Value> {
        let zone = self.state.catalogue.zone();
        let value = |value| custom_column_value(Some(value)).to_json(zone);
        customs.iter().map(|(name, given)| (name.to_string(), value(given))).collect()
    }

    /// Renders a link without its token, of which the store has the hash alone.
    fn render_link(&self, link: &AccountLink) -> Value {
        let zone = self.state.catalogue.zone();
        let sets = match &link.action {
            LinkAction::Account { .. } => "password",
            LinkAction::Email { .. } => "email",
        };
        json!({
            "email": link.email.as_str(),
            "sets": sets,
            "requested_at": format_local(zone, link.requested_at),
            "expires_at": format_local(zone, link.expires),
        })
    }
}

/// Renders an account without its password.
fn render_account(account: &Account) -> Value {
    let former: Vec<u64> = account.former.iter().map(|id| id.number()).collect();
    json!({
        "email": account.email.as_str(),
        "fiche_id": account.fiche_id.number(),
        "former_fiche_ids": former,
        "last_login": account.last_login.map(format_day),
    })
}

/// Whether a row of the history is about a record of the person.
fn is_about(object: HistoryObject, records: &PersonRecords) -> bool {
    let is_fiche = || records.fiches.iter().any(|id| id.number() == object.id);
    match object.kind {
        ObjectKind::Fiche | ObjectKind::Account => is_fiche(),
        ObjectKind::Vevent => {
            records.vevents.binary_search_by_key(&object.id, |id| id.number()).is_ok()
        }
        ObjectKind::Group
        | ObjectKind::Calendar
        | ObjectKind::Calendarset
        | ObjectKind::Intervention
        | ObjectKind::Interventionset
        | ObjectKind::Fiches
        | ObjectKind::Calendarfeed
        | ObjectKind::Webhook
        | ObjectKind::Customfield => false,
    }
}

/// Writes a list of the answer, by its place, after other members.
fn write_rows(
    section: usize,
    rows: impl Iterator<Item = Value>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (name, _) = SECTIONS[section];
    write!(out, ",\n\"{name}\":[")?;
    let mut separator = "\n";
    for row in rows {
        write!(out, "{separator}{row}")?;
        separator = ",\n";
    }
    out.write_all(b"]")
}
