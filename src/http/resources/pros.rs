//! Endpoints of a group's professionals, for professionals. Reference 3.2, 13.12.

use std::sync::Arc;

use axum::response::Response;
use serde_json::Value;
use utoipa::ToSchema;

use crate::domain::directory::access::{AccessRefusal, ChangeAccess};
use crate::domain::directory::professionals::Pro;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::ProId;
use crate::domain::state::command::Caller;
use crate::domain::state::precondition::ShownObject;
use crate::domain::state::refusal::Refusal;
use crate::engine::AccessError;
use crate::http::answer::entity_tag::tagged;
use crate::http::auth::login_failed;
use crate::http::endpoint::{Body, Endpoint, EndpointPath, Shape, handler};
use crate::http::error::ApiError;
use crate::http::permissions::{PROS_ONLY, Resource, Verb};
use crate::http::request::{GroupRequest, wrapped_object};
use crate::http::resources::accounts;
use crate::http::resources::pagination::{PageAnswer, compute_page};
use crate::http::response::{HandlerResult, object_response, to_json};
use crate::password::{self, Argon2Memory};
use crate::wire::field::Scope;
use crate::wire::list::Query;
use crate::wire::pro::PROFESSIONAL;
use crate::wire::schema::schema_of;

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/pros");
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/pros/{id}");

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] =
    &[
        Endpoint::list(&[ALL], handler!(InGroup, list))
            .named("ListPros", "List the group's professionals")
            .right(Resource::Pro, Verb::List, PROS_ONLY),
        Endpoint::get(&[ONE], handler!(InGroup, show))
            .named("ShowPro", "Get a professional")
            .right(Resource::Pro, Verb::Show, PROS_ONLY),
        Endpoint::put(&[ONE], handler!(InGroup, change))
            .named("ChangePro", "Change one's own password")
            .right(Resource::Pro, Verb::Change, PROS_ONLY)
            .body(Body::wrapped(Shape::Inline(schema_of::<PasswordBody<'_>>))),
        Endpoint::delete(&[ONE], handler!(InGroup, remove))
            .named("RemovePro", "Remove a professional from the group")
            .right(Resource::Pro, Verb::Delete, PROS_ONLY),
    ];

/// The new password of a professional, and the present one.
#[derive(ToSchema)]
struct PasswordBody<'b> {
    /// Plain, so that the rules of passwords judge it.
    #[schema(value_type = String)]
    password: Option<&'b str>,
    /// The present password, likewise; not needed with HTTP Basic.
    #[schema(nullable = false)]
    current_password: Option<&'b str>,
}

/// GET /api/v1/groups/{group_id}/pros.
async fn list(request: GroupRequest) -> HandlerResult {
    let audience = request.audience();
    let query = Query::parse(&request.params, &PROFESSIONAL, &request.scope(), audience)?;
    let state = Arc::clone(&request.state);
    let directory = Arc::clone(request.identity.directory());
    let count = directory.pros.of_group(state.catalogue.group.id).count();
    compute_page(&request.server, count.saturating_mul(query.cost_per_record()), move || {
        let records = directory.pros.of_group(state.catalogue.group.id).collect();
        let page = query.select_page(records, &Scope::for_group(&state));
        let numbers: Vec<u64> = page.records.iter().map(|pro| query.record_id(pro)).collect();
        let head = query.envelope_head(numbers.len(), page.total);
        PageAnswer::new(head, numbers, move |number, bytes| {
            let id = ProId::new(number).expect("the page holds ids");
            let pro = directory.pros.get(&id).expect("the page is from this directory");
            PROFESSIONAL.append(pro, &Scope::for_group(&state), audience, bytes);
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

/// PUT /api/v1/groups/{group_id}/pros/{id}: another password, by the professional itself. It ends
/// all sessions of the professional.
async fn change(request: GroupRequest) -> HandlerResult {
    let pro = find_pro(&request)?;
    if *request.caller() != Caller::Pro(pro.id) {
        let needed = "the password of a professional is changed by that professional only";
        return Err(ApiError::unauthorized(needed));
    }
    let object = wrapped_object(&request.body, PROFESSIONAL.resource)?;
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    let body =
        PasswordBody { password: text("password"), current_password: text("current_password") };
    let mut faults = Vec::new();
    for field in object.keys() {
        if field != "password" && field != "current_password" {
            let rule = "cannot be changed: give password and current_password";
            faults.push(Fault::new(field, rule));
        }
    }
    let sha1 = match accounts::parse_new_password(body.password) {
        Ok(sha1) if faults.is_empty() => sha1,
        Ok(_) => return Err(faults.into()),
        Err(fault) => {
            faults.push(fault);
            return Err(faults.into());
        }
    };
    let current = &pro.password_hash;
    let given = body.current_password;
    let purpose = "another password";
    accounts::check_current_password(&request, &pro.email, current, given, purpose).await?;
    check_if_match(pro, &request)?;
    let hash = move |memory: &mut Argon2Memory| password::hash_password_in(memory, &sha1);
    let password_hash = request.server.authenticator.password_pool.run(request.from, hash).await?;
    let email = pro.email.clone();
    let former = Some(pro.password_hash.clone());
    change_access(&request, ChangeAccess::SetPassword { email, former, password_hash }).await?;
    Ok(pro_response(pro, &request))
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

/// Returns the professional of the path, who works for the group.
fn find_pro(request: &GroupRequest) -> Result<&Pro, ApiError> {
    let id = request.id(ProId::new)?;
    let pro = request.identity.directory().pros.get(&id).ok_or_else(ApiError::no_result)?;
    if pro.works_for(request.state.catalogue.group.id) {
        Ok(pro)
    } else {
        Err(ApiError::no_result())
    }
}

/// Checks that a professional has one of the tags of the header If-Match, if the request has one.
/// The API changes none of the fields that professionals show, so no decision has to repeat it.
///
/// # Errors
/// 412 with the professional as it is.
fn check_if_match(pro: &Pro, request: &GroupRequest) -> Result<(), ApiError> {
    let shown = show_pro(pro, request);
    if request.if_match.is_empty() || request.if_match.contain(&shown.tag) {
        return Ok(());
    }
    let refusals = vec![Refusal::overtaken(Some(shown))];
    Err(ApiError::from_refusals(&refusals, request.zone(), request.audience()))
}

fn show_pro(pro: &Pro, request: &GroupRequest) -> ShownObject {
    let object = PROFESSIONAL.render(pro, &request.scope(), request.audience());
    tagged(to_json(&Value::Object(object)))
}

fn pro_response(pro: &Pro, request: &GroupRequest) -> Response {
    object_response(show_pro(pro, request))
}

/// Carries out a change of professionals, and waits until it is durable.
async fn change_access(request: &GroupRequest, change: ChangeAccess) -> Result<(), ApiError> {
    let changed = request.server.engine.change_access(change).await;
    changed.map_err(|error| match error {
        AccessError::Refused(AccessRefusal::PasswordChanged(_)) => login_failed().into(),
        AccessError::Refused(last @ AccessRefusal::LastOfGroup(_)) => {
            Fault::new("id", last.to_string()).into()
        }
        // Another request removed the professional meanwhile.
        AccessError::Refused(_) => ApiError::no_result(),
        AccessError::Rejected(rejection) => {
            ApiError::from_rejection(rejection, request.zone(), request.audience())
        }
    })
}
