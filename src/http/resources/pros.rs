//! Endpoints of a group's professionals, for professionals. Reference 3.2, 13.12.

use std::sync::Arc;

use axum::response::Response;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::directory::Directory;
use crate::domain::directory::access::{AccessRefusal, ChangeAccess};
use crate::domain::directory::professionals::Pro;
use crate::domain::directory::roles::{GroupRight, ProRole};
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{CalendarId, ProId};
use crate::domain::state::command::Caller;
use crate::domain::state::precondition::ShownObject;
use crate::domain::state::refusal::Refusal;
use crate::engine::AccessError;
use crate::http::answer::entity_tag::tagged;
use crate::http::auth::login_failed;
use crate::http::endpoint::{Body, Endpoint, EndpointPath, Shape, handler};
use crate::http::error::ApiError;
use crate::http::permissions::{ADMINISTRATORS, Resource, SELF_OR_ADMINISTRATORS, Verb};
use crate::http::request::{GroupRequest, wrapped_object};
use crate::http::resources::accounts;
use crate::http::resources::pagination::{PageAnswer, compute_page};
use crate::http::response::{HandlerResult, object_response, to_json};
use crate::password::{self, Argon2Memory};
use crate::wire::errors::{ErrorEntry, Problem};
use crate::wire::field::Scope;
use crate::wire::list::Query;
use crate::wire::pro::PROFESSIONAL;
use crate::wire::role::{CALENDAR_IDS, READS_ALL, ROLE, parse_role};
use crate::wire::schema::schema_of;

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/pros");
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/pros/{id}");

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] =
    &[
        Endpoint::list(&[ALL], handler!(InGroup, list))
            .named("ListPros", "List the group's professionals")
            .right(Resource::Pro, Verb::List, SELF_OR_ADMINISTRATORS),
        Endpoint::get(&[ONE], handler!(InGroup, show))
            .named("ShowPro", "Get a professional")
            .right(Resource::Pro, Verb::Show, SELF_OR_ADMINISTRATORS),
        Endpoint::put(&[ONE], handler!(InGroup, change))
            .named("ChangePro", "Change one's own password, or the role of a professional")
            .right(Resource::Pro, Verb::Change, SELF_OR_ADMINISTRATORS)
            .body(Body::wrapped(Shape::Inline(schema_of::<ChangeBody>))),
        Endpoint::delete(&[ONE], handler!(InGroup, remove))
            .named("RemovePro", "Remove a professional from the group")
            .right(Resource::Pro, Verb::Delete, ADMINISTRATORS),
    ];

/// The fields of a professional that can be changed.
const CHANGED_FIELDS: [&str; 5] = ["password", "current_password", ROLE, CALENDAR_IDS, READS_ALL];

/// The new password of a professional, and the present one; or its role in the group.
#[derive(ToSchema)]
#[expect(dead_code, reason = "its members are read one by one")]
struct ChangeBody {
    /// Plain, so that the rules of passwords judge it.
    #[schema(nullable = false)]
    password: Option<String>,
    /// The present password, likewise; not needed with HTTP Basic.
    #[schema(nullable = false)]
    current_password: Option<String>,
    /// The role: administrator, reception or professional.
    #[schema(nullable = false)]
    role: Option<String>,
    /// The calendars of a professional's own, at most 100. Those that are not given stay.
    #[schema(nullable = false)]
    calendar_ids: Option<Vec<CalendarId>>,
    /// Whether a professional reads the calendars of others, and all clients.
    #[schema(nullable = false)]
    reads_all: Option<bool>,
}

/// GET /api/v1/groups/{group_id}/pros.
async fn list(request: GroupRequest) -> HandlerResult {
    let audience = request.audience();
    let query = Query::parse(&request.params, &PROFESSIONAL, &request.scope(), audience)?;
    let only = only_oneself(&request);
    let state = Arc::clone(&request.state);
    let directory = Arc::clone(request.identity.directory());
    let group = state.catalogue.group.id;
    let count = directory.pros.of_group(group).count();
    compute_page(&request.server, count.saturating_mul(query.cost_per_record()), move || {
        let all = directory.pros.of_group(group);
        let records = all.filter(|pro| only.is_none_or(|only| pro.id == only)).collect();
        let page =
            query.select_page(records, &Scope::for_group(&state).with_roles(&directory.roles));
        let numbers: Vec<u64> = page.records.iter().map(|pro| query.record_id(pro)).collect();
        let head = query.envelope_head(numbers.len(), page.total);
        PageAnswer::new(head, numbers, move |number, bytes| {
            let id = ProId::new(number).expect("the page holds ids");
            let pro = directory.pros.get(&id).expect("the page is from this directory");
            let scope = Scope::for_group(&state).with_roles(&directory.roles);
            PROFESSIONAL.append(pro, &scope, audience, bytes);
            0
        })
    })
    .await
}

/// GET /api/v1/groups/{group_id}/pros/{id}.
async fn show(request: GroupRequest) -> HandlerResult {
    let pro = find_pro(&request)?;
    Ok(pro_response(pro, &request))
}

/// PUT /api/v1/groups/{group_id}/pros/{id}: another password, by the professional itself, or
/// another role in the group, by an administrator.
async fn change(request: GroupRequest) -> HandlerResult {
    let pro = find_pro(&request)?;
    let object = wrapped_object(&request.body, PROFESSIONAL.resource)?;
    let gives_password =
        ["password", "current_password"].iter().any(|name| object.contains_key(*name));
    let mut faults = Vec::new();
    for field in object.keys() {
        if !CHANGED_FIELDS.contains(&field.as_str()) {
            let rule = "cannot be changed: give password and current_password, or role";
            faults.push(Fault::new(field, rule));
        }
    }
    let group = request.state.catalogue.group.id;
    let former = directory(&request).roles.role_of(group, pro.id);
    let role = match parse_role(object, &request.state, former) {
        Ok(role) => role,
        Err(wrong) => {
            faults.extend(wrong);
            None
        }
    };
    if role.is_some() && gives_password {
        faults.push(Fault::new(ROLE, "is changed by a request of its own"));
    }
    if !faults.is_empty() {
        return Err(faults.into());
    }
    match role {
        Some(role) => change_role(&request, pro, role).await,
        None => change_password(&request, pro, object).await,
    }
}

/// Gives a professional another role in the group.
async fn change_role(request: &GroupRequest, pro: &Pro, role: ProRole) -> HandlerResult {
    let group = request.state.catalogue.group.id;
    if *request.identity.pro_role(group) != ProRole::Administrator {
        return Err(ApiError::unauthorized(GroupRight::Team.needed()));
    }
    check_if_match(pro, request)?;
    let change = ChangeAccess::SetRole {
        pro: pro.id,
        groups: [group].into(),
        role,
        // What the body left out, and If-Match, are judged by it.
        former: Some(directory(request).roles.role_of(group, pro.id).clone()),
        is_operator: request.identity.is_at_socket(),
    };
    change_access(request, change).await?;
    let directory = request.server.engine.published().directory();
    Ok(object_response(show_pro(pro, &directory, request)))
}

/// Gives the professional who asks another password. It ends all of its sessions.
async fn change_password(
    request: &GroupRequest,
    pro: &Pro,
    object: &Map<String, Value>,
) -> HandlerResult {
    if *request.caller() != Caller::Pro(pro.id) {
        let needed = "the password of a professional is changed by that professional only";
        return Err(ApiError::unauthorized(needed));
    }
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    let sha1 = accounts::parse_new_password(text("password"))?;
    let current = &pro.password_hash;
    let given = text("current_password");
    let purpose = "another password";
    accounts::check_current_password(request, &pro.email, current, given, purpose).await?;
    check_if_match(pro, request)?;
    let hash = move |memory: &mut Argon2Memory| password::hash_password_in(memory, &sha1);
    let password_hash = request.server.authenticator.password_pool.run(request.from, hash).await?;
    let email = pro.email.clone();
    let former = Some(pro.password_hash.clone());
    change_access(request, ChangeAccess::SetPassword { email, former, password_hash }).await?;
    Ok(pro_response(pro, request))
}

/// DELETE /api/v1/groups/{group_id}/pros/{id}: the professional works for the group no more. One
/// without any group is removed, and its sessions end. The answer is the professional as it was.
async fn remove(request: GroupRequest) -> HandlerResult {
    let pro = find_pro(&request)?;
    check_if_match(pro, &request)?;
    let group = request.state.catalogue.group.id;
    change_access(&request, ChangeAccess::RemoveColleague { id: pro.id, group }).await?;
    Ok(pro_response(pro, &request))
}

/// Returns the caller, if that is a professional who sees no other professional of the group.
fn only_oneself(request: &GroupRequest) -> Option<ProId> {
    let group = request.state.catalogue.group.id;
    match (request.caller(), request.identity.pro_role(group)) {
        (_, ProRole::Administrator) => None,
        (Caller::Pro(id), _) => Some(*id),
        (Caller::Account(_) | Caller::Application, _) => None,
    }
}

/// Returns the professional of the path, who works for the group and whom the caller sees.
fn find_pro(request: &GroupRequest) -> Result<&Pro, ApiError> {
    let id = request.id(ProId::new)?;
    let pro = request.identity.directory().pros.get(&id).ok_or_else(ApiError::no_result)?;
    let is_shown = only_oneself(request).is_none_or(|only| only == pro.id);
    if is_shown && pro.works_for(request.state.catalogue.group.id) {
        Ok(pro)
    } else {
        Err(ApiError::no_result())
    }
}

/// Checks that a professional has one of the tags of the header If-Match, if the request has one.
///
/// # Errors
/// 412 with the professional as it is.
fn check_if_match(pro: &Pro, request: &GroupRequest) -> Result<(), ApiError> {
    let shown = show_pro(pro, directory(request), request);
    if request.if_match.is_empty() || request.if_match.contain(&shown.tag) {
        return Ok(());
    }
    let refusals = vec![Refusal::overtaken(Some(shown))];
    Err(ApiError::from_refusals(&refusals, request.zone(), request.audience()))
}

/// The directory in which the caller was found.
fn directory(request: &GroupRequest) -> &Directory {
    request.identity.directory()
}

fn show_pro(pro: &Pro, directory: &Directory, request: &GroupRequest) -> ShownObject {
    let scope = request.scope().with_roles(&directory.roles);
    let object = PROFESSIONAL.render(pro, &scope, request.audience());
    tagged(to_json(&Value::Object(object)))
}

fn pro_response(pro: &Pro, request: &GroupRequest) -> Response {
    object_response(show_pro(pro, directory(request), request))
}

/// Carries out a change of professionals, and waits until it is durable.
async fn change_access(request: &GroupRequest, change: ChangeAccess) -> Result<(), ApiError> {
    let author = Some(request.identity.author());
    let changed = request.server.engine.change_access(author, change).await;
    changed.map_err(|error| match error {
        AccessError::Refused(AccessRefusal::PasswordChanged(_)) => login_failed().into(),
        AccessError::Refused(last @ AccessRefusal::LastOfGroup(_)) => {
            Fault::new("id", last.to_string()).into()
        }
        AccessError::Refused(last @ AccessRefusal::LastAdministrator(_)) => {
            ErrorEntry::new(Problem::Conflict, last.to_string()).into()
        }
        AccessError::Refused(AccessRefusal::Lacks(right)) => ApiError::unauthorized(right.needed()),
        AccessError::Refused(changed @ AccessRefusal::RoleChanged(_)) => {
            ErrorEntry::new(Problem::Conflict, changed.to_string()).into()
        }
        // Another request removed the professional meanwhile.
        AccessError::Refused(_) => ApiError::no_result(),
        AccessError::Rejected(rejection) => {
            ApiError::from_rejection(rejection, request.zone(), request.audience())
        }
    })
}
