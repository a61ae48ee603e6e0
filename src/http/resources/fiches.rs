//! Endpoints of fiches, the records of clients. Reference 13.6.

use std::sync::Arc;

use axum::response::Response;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::domain::decisions::record_change::find_by_externid;
use crate::domain::directory::roles::{GroupRight, Sight};
use crate::domain::records::account::Account;
use crate::domain::records::fault::Fault;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;
use crate::domain::records::text::Email;
use crate::domain::state::command::{
    Caller, Command, FicheByExternid, LinkRequest, MergeFiches, Patch, Put, RecordChange,
    RequestLink,
};
use crate::domain::state::editable_record::EditableRecord as _;
use crate::domain::state::group_state::GroupState;
use crate::engine::Committed;
use crate::http::endpoint::{
    Answer, Body, Endpoint, EndpointPath, QueryKind, handler, write_handler,
};
use crate::http::error::ApiError;
use crate::http::legacy_paths::LegacyRecord;
use crate::http::limits::guarded_write::GuardedWrite;
use crate::http::openapi::records::kept_fiche;
use crate::http::permissions::{OWN_ACCOUNT, OWN_CALENDARS, RECEPTION, Resource, Verb};
use crate::http::request::{GroupRequest, wrapped_object};
use crate::http::resources::accounts;
use crate::http::resources::crud::{self, CrudRecord};
use crate::http::response::{HandlerResult, object_response};
use crate::http::writes::prepared_write::{PreparedWrite, Written};
use crate::wire::fiche::FICHE;
use crate::wire::field::Table;
use crate::wire::list::PagePlace;
use crate::wire::query::parse_flag;
use crate::wire::schema::{GivenId, object_of};
use crate::wire::value;

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/fiches");
const ALL_LEGACY: EndpointPath = EndpointPath::legacy("/api/v1/fiches", LegacyRecord::Fiche);
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/fiches/{id}");
const ONE_LEGACY: EndpointPath = EndpointPath::legacy("/api/v1/fiches/{id}", LegacyRecord::Fiche);

const MERGE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/fiches/{id}/merge");

const ERASE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/fiches/{id}/erase");

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::list(&[ALL, ALL_LEGACY], handler!(InGroup, list))
        .named("ListFiches", "List fiches, with deleted ones")
        .right(Resource::Fiche, Verb::List, OWN_ACCOUNT),
    Endpoint::post(&[ALL, ALL_LEGACY], write_handler!(crud::create::<Fiche>))
        .named("MakeFiche", "Create a fiche")
        .right(Resource::Fiche, Verb::Make, OWN_CALENDARS),
    Endpoint::put(&[ALL], write_handler!(put_by_externid))
        .named("PutFicheByExternid", "Update the fiche with an externid, or create it")
        .query(&[QueryKind::RequiredInteger { min: i64::MIN, max: i64::MAX }
            .named("externid", "the identifier of another system")])
        .answers(&[Answer::RECORD, Answer::NEW_RECORD])
        .right(Resource::Fiche, Verb::Make, OWN_CALENDARS),
    Endpoint::get(&[ONE, ONE_LEGACY], handler!(InGroup, show))
        .named("ShowFiche", "Get a fiche")
        .right(Resource::Fiche, Verb::Show, OWN_ACCOUNT),
    Endpoint::put(&[ONE, ONE_LEGACY], write_handler!(change, change_own))
        .named("ChangeFiche", "Update a fiche")
        .right(Resource::Fiche, Verb::Change, OWN_ACCOUNT),
    Endpoint::post(&[MERGE], handler!(InGroup, merge))
        .named("MergeFiches", "Make one of two fiches of a client")
        .right(Resource::Fiche, Verb::Delete, RECEPTION)
        .idempotency_key(false)
        .body(Body::plain(merge_schema))
        .answers(&[Answer::RECORD]),
    Endpoint::post(&[ERASE], handler!(InGroup, erase))
        .named("EraseFiche", "Erase a client for good")
        .right(Resource::Fiche, Verb::Delete, RECEPTION)
        .idempotency_key(false)
        .conflicting()
        .query(&[QueryKind::Flag
            .named("cancel", "1: upcoming appointments are cancelled, without a message")])
        .without_body()
        .answers(&[Answer::RECORD]),
];

/// The body of a merge.
fn merge_schema() -> RefOr<Schema> {
    object_of::<MergeBody>().property(FICHE.resource, kept_fiche()).into()
}

/// The fiche to merge into that of the path.
#[derive(ToSchema)]
struct MergeBody {
    /// Id of the other fiche of the client. It stays valid for reading.
    #[schema(value_type = GivenId)]
    fiche_id: FicheId,
}

impl MergeBody {
    /// Parses the body.
    ///
    /// # Errors
    /// A fault unless `fiche_id` is an id.
    fn parse(body: &Map<String, Value>) -> Result<Self, Fault> {
        let given = body.get("fiche_id").map(value::parse_id);
        match given.and_then(Result::ok).flatten().and_then(FicheId::new) {
            Some(fiche_id) => Ok(Self { fiche_id }),
            None => Err(Fault::new("fiche_id", "must be the id of another client of the group")),
        }
    }
}

impl CrudRecord for Fiche {
    fn table() -> &'static Table<Self> {
        &FICHE
    }

    fn change(put: Put<Self>) -> RecordChange {
        RecordChange::Fiche(put)
    }
}

/// GET /api/v1/groups/{group_id}/fiches: an account's own fiches, or all of the group. Deleted ones
/// are included, since clients of the API synchronise by this list.
async fn list(request: GroupRequest) -> HandlerResult {
    let Caller::Account(account) = request.caller() else {
        let sight = request.sight();
        let mut rows = request.state.fiches.len();
        if sight != Sight::All {
            rows += request.state.rows.len();
        }
        let wanted = move |fiche: &Fiche, state: &GroupState| state.shows_client(&sight, fiche.id);
        let query = crud::parse_query(&request)?;
        let listed = crud::list_wanted(&request, query, rows, wanted).await?;
        note_list(&request, &listed);
        return Ok(listed);
    };
    let own = own_fiches(Arc::clone(account));
    crud::list_of(&request, crud::parse_query(&request)?, 1, own, |_, _| true).await
}

/// GET /api/v1/groups/{group_id}/fiches/{id}. The id of a fiche that was merged answers the one
/// that was kept, with `merged_into`. Reference 6.20.
async fn show(request: GroupRequest) -> HandlerResult {
    check_ownership(&request)?;
    let id = request.id(FicheId::new)?;
    note_read(&request, id);
    let kept = request.state.kept_client(id);
    if kept == id {
        return crud::show::<Fiche>(request).await;
    }
    let kept = Fiche::find(&request.state, kept).ok_or_else(ApiError::no_result)?;
    let shown = Fiche { merged_into: Some(kept.id), ..kept.clone() };
    Ok(crud::record_response(&shown, &request.state, request.audience()))
}

/// Notes in the history that a professional reads a client, if there is one.
fn note_read(request: &GroupRequest, id: FicheId) {
    if request.state.fiches.contains_key(&id) {
        let (group, author) = (request.state.catalogue.group.id, request.identity.author());
        request.server.read_log.note_client(group, author, id, request.now);
    }
}

/// Notes in the history that a professional reads a list of clients, with their number.
pub(crate) fn note_list(request: &GroupRequest, listed: &Response) {
    let Some(place) = listed.extensions().get::<PagePlace>() else { return };
    let rest = place.total.saturating_sub(place.start);
    let count = if place.size == 0 { rest } else { rest.min(place.size) };
    let chooses = |name: &str| name == "search" || name.starts_with("conditions");
    let is_search = request.params.iter().any(|(name, _)| chooses(name));
    let (group, author) = (request.state.catalogue.group.id, request.identity.author());
    request.server.read_log.note_list(group, author, count, is_search, request.now);
}

/// PUT /api/v1/groups/{group_id}/fiches/{id} by a professional.
fn change(request: &GroupRequest) -> Result<PreparedWrite, ApiError> {
    check_ownership(request)?;
    let id = request.id(FicheId::new)?;
    if request.state.fiches.contains_key(&id)
        && !request.state.lets_write_client(request.role(), id)
    {
        return Err(ApiError::unauthorized(GroupRight::Clients.needed()));
    }
    crud::change::<Fiche>(request)
}

/// POST /api/v1/groups/{group_id}/fiches/{id}/merge. Sent again, it answers the same.
async fn merge(request: GroupRequest) -> HandlerResult {
    let kept = request.id(FicheId::new)?;
    let audience = request.audience();
    let fields = match request.body.get(FICHE.resource) {
        Some(Value::Object(object)) => FICHE.parse(object, &request.scope(), audience),
        Some(Value::Null) | None => Ok(Patch::default()),
        Some(_) => Err(vec![Fault::new(FICHE.resource, "must be an object of fields")]),
    };
    let body = MergeBody::parse(&request.body);
    let (body, fields) = match (body, fields) {
        (Ok(body), Ok(fields)) => (body, fields),
        (body, fields) => {
            let faults = body.err().into_iter().chain(fields.err().into_iter().flatten());
            return Err(faults.collect::<Vec<Fault>>().into());
        }
    };
    let show = crud::show_record::<Fiche>(kept, audience);
    let merge = RecordChange::MergeFiches(MergeFiches { kept, merged: body.fiche_id, fields });
    let command = Command::ChangeRecord(merge).only_if(request.precondition(show.clone()));
    let done = request.write(command).await?;
    show(&done.group_state).map(object_response).ok_or_else(ApiError::no_result)
}

/// POST /api/v1/groups/{group_id}/fiches/{id}/erase. Sent again, it answers the same. Reference
/// 17.1.
async fn erase(request: GroupRequest) -> HandlerResult {
    let id = request.id(FicheId::new)?;
    let cancels = parse_flag(&request.params, "cancel", false)?;
    let group = request.state.catalogue.group.id;
    let author = request.identity.author();
    let audience = request.audience();
    let erased = request.server.engine.erase_clients(group, author, vec![id], cancels).await;
    let done = erased.map_err(|error| ApiError::from_erasure(error, request.zone(), audience))?;
    let show = crud::show_record::<Fiche>(id, audience);
    show(&done.group_state).map(object_response).ok_or_else(ApiError::no_result)
}

/// PUT /api/v1/groups/{group_id}/fiches/{id} by an account. If it gives another e-mail address, a
/// link is mailed there, and the change takes effect when it is followed. Reference 3.5.
async fn change_own(mut request: GroupRequest) -> HandlerResult {
    check_ownership(&request)?;
    let Caller::Account(account) = request.caller() else { return Err(ApiError::no_result()) };
    let account = Arc::clone(account);
    let id = request.id(FicheId::new)?;
    let before = request.state.fiches.get(&id).ok_or_else(ApiError::no_result)?;
    let mut object = wrapped_object(&request.body, FICHE.resource)?.clone();
    let mut changed = Fiche::clone(before);
    FICHE.parse(&object, &request.scope(), request.audience())?.apply_to(&mut changed);
    let email_before = before.email.as_ref().map(Email::folded);
    let is_same = email_before == changed.email.as_ref().map(Email::folded);
    // The new address takes effect only when the link mailed there has been followed.
    object.shift_remove("email");
    if is_same {
        request.body.insert(FICHE.resource.to_owned(), object.into());
        return request.send(crud::change::<Fiche>(&request)?).await;
    }
    let current = &account.password_hash;
    let given = object.get("current_password").and_then(Value::as_str);
    let purpose = "another e-mail address";
    accounts::check_current_password(&request, &account.email, current, given, purpose).await?;
    let Some(email) = changed.email else {
        let rule = "cannot be removed from an account: give another address";
        return Err(Fault::new("email", rule).into());
    };
    let fields = FICHE.parse(&object, &request.scope(), request.audience())?;
    request.server.links.count_requested(request.from, request.now)?;
    let link =
        LinkRequest::Email { account: account.email.folded(), put: Put { id: Some(id), fields } };
    let command = Command::RequestLink(Box::new(RequestLink { email, request: link }));
    let audience = request.audience();
    let show = crud::show_record::<Fiche>(id, audience);
    request.send(request.prepare_change(command, audience, show)).await
}

/// PUT /api/v1/groups/{group_id}/fiches?externid=X. The decision finds the client, so that two such
/// requests at once make one client.
fn put_by_externid(request: &GroupRequest) -> Result<PreparedWrite, ApiError> {
    let Some(externid) = request.params.value("externid") else {
        return Err(Fault::new("externid", "must be given in the query").into());
    };
    let Ok(externid) = externid.parse::<i64>() else {
        return Err(Fault::new("externid", "must be a whole number").into());
    };
    let mut object = wrapped_object(&request.body, FICHE.resource)?.clone();
    let given = object.insert("externid".to_owned(), externid.into());
    if given.is_some_and(|given| value::parse_integer(&given) != Ok(Some(externid))) {
        return Err(Fault::new("externid", "must be that of the query").into());
    }
    if let Ok(Some(known)) = find_by_externid(&request.state, externid)
        && !request.state.lets_write_client(request.role(), known.id)
    {
        return Err(ApiError::unauthorized(GroupRight::Clients.needed()));
    }
    let audience = request.audience();
    let fields = FICHE.parse(&object, &request.scope(), audience)?;
    let change = RecordChange::FicheByExternid(FicheByExternid { externid, fields });
    let show = move |state: &GroupState| {
        let fiche = find_by_externid(state, externid).ok()??;
        crud::show_record::<Fiche>(fiche.id, audience)(state)
    };
    let command = Command::ChangeRecord(change).only_if(request.precondition(show));
    let show = move |done: &Committed| {
        let id = FicheId::new(done.object).expect("the engine returns the id of the fiche");
        let shown = crud::show_record::<Fiche>(id, audience)(&done.group_state)?;
        let is_new = Fiche::find(&done.before, id).is_none();
        Some(if is_new { Written::Made(shown.json) } else { Written::Changed(shown) })
    };
    let write = GuardedWrite::unlimited(request.state.catalogue.group.id, command);
    Ok(PreparedWrite::new(write, audience, show))
}

/// Checks that an account asks about its own fiche, and a professional about one that it reads.
///
/// # Errors
/// 404, the same as for a fiche that does not exist.
fn check_ownership(request: &GroupRequest) -> Result<(), ApiError> {
    let id = request.id(FicheId::new)?;
    match request.caller() {
        Caller::Account(account) if !account.owns(id) => Err(ApiError::no_result()),
        Caller::Pro(_) if !request.state.shows_client(&request.sight(), id) => {
            Err(ApiError::no_result())
        }
        Caller::Account(_) | Caller::Application | Caller::Pro(_) => Ok(()),
    }
}

fn own_fiches(account: Arc<Account>) -> impl for<'r> Fn(&'r GroupState) -> Vec<&'r Fiche> + Send {
    move |state: &GroupState| account.own().filter_map(|id| Fiche::find(state, id)).collect()
}
