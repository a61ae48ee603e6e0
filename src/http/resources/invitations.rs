//! Endpoints of the invitations of professionals to a group. Reference 3.10, 13.12.

use axum::http::StatusCode;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::directory::access::{AccessRefusal, ChangeAccess};
use crate::domain::directory::joining::JoinRefusal;
use crate::domain::directory::roles::ProRole;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::CalendarId;
use crate::domain::records::text::Email;
use crate::engine::AccessError;
use crate::http::auth::Invited;
use crate::http::endpoint::{Answer, Body, Endpoint, EndpointPath, Shape, handler};
use crate::http::error::ApiError;
use crate::http::permissions::{ADMINISTRATORS, Resource, Verb};
use crate::http::request::{GroupRequest, wrapped_object};
use crate::http::response::{HandlerResult, json_response, ok_response, to_json};
use crate::wire::invitation::{InvitationAnswer, InvitationsAnswer};
use crate::wire::pro::PROFESSIONAL;
use crate::wire::role::{CALENDAR_IDS, READS_ALL, ROLE, parse_role};
use crate::wire::schema::schema_of;
use crate::wire::value;

const PROS: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/pros");
const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/invitations");
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/invitations/{id}");

const INVITATION: Shape = Shape::Named("Invitation", schema_of::<InvitationAnswer>);

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::post(&[PROS], handler!(InGroup, invite))
        .named("InvitePro", "Invite a professional to the group by mail")
        .right(Resource::Pro, Verb::Make, ADMINISTRATORS)
        .idempotency_key(false)
        .conflicting()
        .body(Body::wrapped(Shape::Inline(schema_of::<InvitationBody>)))
        .answers(&[Answer::json(201, "the invitation", INVITATION)]),
    Endpoint::get(&[ALL], handler!(InGroup, list))
        .named("ListInvitations", "List the open invitations")
        .tagged("pros")
        .right(Resource::Invitation, Verb::List, ADMINISTRATORS)
        .answers(&[Answer::json(
            200,
            "the open invitations",
            Shape::Named("Invitations", schema_of::<InvitationsAnswer>),
        )]),
    Endpoint::delete(&[ONE], handler!(InGroup, withdraw))
        .named("WithdrawInvitation", "Withdraw an invitation")
        .tagged("pros")
        .right(Resource::Invitation, Verb::Delete, ADMINISTRATORS)
        .answers(&[Answer::json(200, "the invitation as it was", INVITATION)]),
];

/// The professional to invite.
#[derive(ToSchema)]
#[expect(dead_code, reason = "its members are read one by one")]
struct InvitationBody {
    /// The address that the invitation is mailed to.
    email: String,
    /// The role: administrator, reception or professional; administrator by default.
    #[schema(nullable = false)]
    role: Option<String>,
    /// The calendars of a professional's own, at most 100.
    #[schema(nullable = false)]
    calendar_ids: Option<Vec<CalendarId>>,
    /// Whether a professional reads the calendars of others, and all clients.
    #[schema(nullable = false)]
    reads_all: Option<bool>,
}

/// POST /api/v1/groups/{group_id}/pros. What it answers and does is the same whether or not a
/// professional of other groups has the address.
async fn invite(request: GroupRequest) -> HandlerResult {
    let object = wrapped_object(&request.body, PROFESSIONAL.resource)?;
    let (email, role) = parse_invitation(object, &request)?;
    let server = &request.server;
    server.links.count_requested(request.from, request.now)?;
    let author = request.identity.author();
    let group = request.state.catalogue.group.id;
    let invited = server.authenticator.invite(group, email, role, author, request.now).await;
    let Invited { number, invitation } = invited.map_err(|error| refuse(error, &request))?;
    let answer = InvitationAnswer::new(number, &invitation, request.zone());
    Ok(json_response(StatusCode::CREATED, to_json(&answer)))
}

/// Reads the address and the role of a body.
///
/// # Errors
/// A fault for each wrong field.
fn parse_invitation(
    object: &Map<String, Value>,
    request: &GroupRequest,
) -> Result<(Email, ProRole), Vec<Fault>> {
    let mut faults = Vec::new();
    for field in object.keys() {
        if !["email", ROLE, CALENDAR_IDS, READS_ALL].contains(&field.as_str()) {
            faults.push(Fault::new(field, "is written by the person who accepts: leave it out"));
        }
    }
    let given = value::parse_text(object.get("email").unwrap_or(&Value::Null));
    let email = given.and_then(|given| Email::new(given.trim()));
    let role = parse_role(object, &request.state, &ProRole::Administrator);
    match (email, role) {
        (Ok(email), Ok(role)) if faults.is_empty() => {
            Ok((email, role.unwrap_or(ProRole::Administrator)))
        }
        (email, role) => {
            faults.extend(email.err().map(|rule| Fault::new("email", rule.0)));
            faults.extend(role.err().into_iter().flatten());
            Err(faults)
        }
    }
}

/// GET /api/v1/groups/{group_id}/invitations.
async fn list(request: GroupRequest) -> HandlerResult {
    let group = request.state.catalogue.group.id;
    let steady_now = request.server.engine.steady_now();
    let directory = request.identity.directory();
    let open = directory.invitations.of_group(group);
    let open = open.filter(|(_, invitation)| steady_now < invitation.expires);
    let zone = request.zone();
    let records = open.map(|(number, invitation)| InvitationAnswer::new(number, invitation, zone));
    Ok(ok_response(&InvitationsAnswer { records: records.collect() }))
}

/// DELETE /api/v1/groups/{group_id}/invitations/{id}. Its link leads nowhere from then on.
async fn withdraw(request: GroupRequest) -> HandlerResult {
    let number = request.path_id.ok_or_else(ApiError::no_result)?;
    let group = request.state.catalogue.group.id;
    let open = request.identity.directory().invitations.of_group(group);
    let invitation = open.into_iter().find(|(of, _)| *of == number);
    let (_, invitation) = invitation.ok_or_else(ApiError::no_result)?;
    let change = ChangeAccess::Uninvite { group, number };
    let changed =
        request.server.engine.change_access(Some(request.identity.author()), change).await;
    changed.map_err(|error| refuse(error, &request))?;
    Ok(ok_response(&InvitationAnswer::new(number, invitation, request.zone())))
}

fn refuse(error: AccessError, request: &GroupRequest) -> ApiError {
    match error {
        AccessError::Refused(AccessRefusal::Joining(JoinRefusal::NoInvitation)) => {
            ApiError::no_result()
        }
        AccessError::Refused(AccessRefusal::Lacks(right)) => ApiError::unauthorized(right.needed()),
        AccessError::Refused(refusal) => Fault::new("email", refusal.to_string()).into(),
        AccessError::Rejected(rejection) => {
            ApiError::from_rejection(rejection, request.zone(), request.audience())
        }
    }
}
