//! Endpoints of clients' accounts: requesting a mailed link, and following it. Reference 3.5.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::domain::decisions::enrolment::NO_SUCH_LINK;
use crate::domain::directory::password_link::PasswordLink;
use crate::domain::records::account_link::{AccountLink, LINK_SECONDS, LinkAction, PendingRdv};
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::GroupId;
use crate::domain::records::text::{Email, Text};
use crate::domain::state::command::{Command, FollowLink, LinkRequest, RequestLink};
use crate::domain::state::group_state::GroupState;
use crate::engine::Committed;
use crate::http::auth::login_failed;
use crate::http::endpoint::{Answer, Body, Endpoint, EndpointPath, Shape, handler};
use crate::http::error::ApiError;
use crate::http::limits::guarded_write::WriteGuard;
use crate::http::openapi::answers;
use crate::http::openapi::bodies;
use crate::http::permissions::{ANY_KEY, Resource, Verb};
use crate::http::request::{ApiRequest, GroupRequest, create_once, wrapped_object};
use crate::http::response::{HandlerResult, json_response, ok_response};
use crate::http::server::Server;
use crate::password::strength::check_new_password;
use crate::password::{self, Argon2Memory};
use crate::wire::field::Audience;
use crate::wire::value;

const LINK_ASKED: Answer = Answer::json(
    201,
    "the address, whether or not it has an account",
    Shape::Named("LinkAsked", answers::link_asked),
);
const LINK_FOLLOWED: Answer = Answer::json(
    200,
    "the account as it is now",
    Shape::Named("LinkFollowed", answers::link_followed),
);

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::post(&[EndpointPath::current("/api/v1/accounts")], handler!(AtLarge, ask_link))
        .named("RequestLink", "Mail a link to create an account or to set a new password")
        .right(Resource::Account, Verb::Make, ANY_KEY)
        .body(Body::wrapped(Shape::Inline(bodies::address)))
        .idempotency_key(true)
        .answers(&[LINK_ASKED]),
    Endpoint::post(
        &[EndpointPath::current("/api/v1/accounts/confirm")],
        handler!(AtLarge, follow_link),
    )
    .named("FollowLink", "Follow a mailed link; the only endpoint that sets a password")
    .right(Resource::Account, Verb::Change, ANY_KEY)
    .body(Body::plain(bodies::token))
    .answers(&[LINK_FOLLOWED]),
];

/// Maximum size of a booking in progress, as JSON in bytes. The link in the mail holds it.
const PENDING_BYTES_MAX: usize = 8_192;

/// Returns the state of a group that the key covers.
fn find_covered_group(request: &ApiRequest, group: Option<GroupId>) -> Option<Arc<GroupState>> {
    let group = group?;
    if !request.identity.key_covers(group) {
        return None;
    }
    request.server.engine.published().group_state(group)
}

/// The body of a request for a link.
struct LinkInput {
    email: Email,
    state: Arc<GroupState>,
    pending_rdv: Option<PendingRdv>,
}

/// Reads the body of a request for a link.
///
/// # Errors
/// All faults of the fields.
fn read_link_input(
    request: &ApiRequest,
    object: &Map<String, Value>,
) -> Result<LinkInput, Vec<Fault>> {
    let given = |name: &str| object.get(name).filter(|value| !value::is_empty(value));
    let email = match given("email") {
        None => Err(Fault::new("email", "is required")),
        Some(text) => match value::parse_text(text) {
            Ok(text) => match Email::new(text.trim_matches(' ')) {
                Ok(email) => Ok(email),
                Err(illegal) => Err(Fault::new("email", illegal.0)),
            },
            Err(illegal) => Err(Fault::new("email", illegal.0)),
        },
    };
    let state = match given("group_id") {
        None => match find_covered_group(request, request.identity.home()) {
            Some(state) => Ok(state),
            None => Err(Fault::new("group_id", "is required")),
        },
        Some(id) => {
            let group = value::parse_id(id).ok().flatten().and_then(GroupId::new);
            match find_covered_group(request, group) {
                Some(state) => Ok(state),
                None => {
                    Err(Fault::new("group_id", "must be the id of a group that the key covers"))
                }
            }
        }
    };
    let pending_rdv = match object.get("pendingRdv") {
        None | Some(Value::Null) => Ok(None),
        Some(json) => parse_pending_rdv(json).map(Some),
    };
    match (email, state, pending_rdv) {
        (Ok(email), Ok(state), Ok(pending_rdv)) => Ok(LinkInput { email, state, pending_rdv }),
        (email, state, pending_rdv) => {
            let mut faults = Vec::new();
            faults.extend(email.err());
            faults.extend(state.err());
            faults.extend(pending_rdv.err());
            Err(faults)
        }
    }
}

/// # Errors
/// A JSON that is too long, or cannot be kept.
fn parse_pending_rdv(json: &Value) -> Result<PendingRdv, Fault> {
    let text = json.to_string();
    let illegal = |rule: String| Fault::new("pendingRdv", format!("its JSON {rule}"));
    if text.len() > PENDING_BYTES_MAX {
        return Err(illegal(format!("must have at most {PENDING_BYTES_MAX} bytes")));
    }
    PendingRdv::new(&text).map_err(|fault| illegal(fault.0.to_string()))
}

/// POST /api/v1/accounts: mails a link to the address if one is due. The response is the same in
/// all cases, so it does not reveal whether the address has an account.
async fn ask_link(request: ApiRequest) -> HandlerResult {
    let object = wrapped_object(&request.body, "account")?;
    let LinkInput { email, state, pending_rdv } = read_link_input(&request, object)?;
    let key = request.idempotency_key(&state)?;
    if let Some(key) = &key
        && let Some(answer) = key.find_answer(&state, request.now)
    {
        return answer.map(|answer| json_response(StatusCode::CREATED, answer.bytes));
    }
    if request.server.is_group_full(&state, &request.identity.caller) {
        return Err(ApiError::group_full());
    }
    request.server.links.count_asked(request.from, request.now)?;
    let secret = request.server.secret_for_link(state.catalogue.group.id, &email, request.now);
    let group_id = state.catalogue.group.id.number();
    let answer = json!({"account": {"email": email.as_str(), "group_id": group_id}});
    let link = LinkRequest::Account { pending_rdv, secret };
    let command = Command::RequestLink(Box::new(RequestLink { email, request: link }));
    let render = move |_: &Committed| answer.to_string().into_bytes();
    let audience = Audience::Application;
    let guard = WriteGuard::default();
    let answer =
        create_once(&request.server, &state, guard, command, key, audience, render).await?;
    Ok(json_response(StatusCode::CREATED, answer.bytes))
}

/// POST /api/v1/accounts/confirm: follows the mailed link of a token. A link for an account sets
/// its password, given plain or as its SHA-1 in hexadecimal digits. A link for a new e-mail address
/// needs no password. A token works once, so no Idempotency-Key is recorded.
async fn follow_link(request: ApiRequest) -> HandlerResult {
    let token = match request.body.get("token") {
        Some(Value::String(token)) => token.trim(),
        Some(_) | None => "",
    };
    let no_such_link = || Fault::new("token", NO_SUCH_LINK);
    let state = find_covered_group(&request, group_in_token(token)).ok_or_else(no_such_link)?;
    let found = find_link(&request.server, &state, token).ok_or_else(no_such_link)?;
    let FoundLink { link, signed } = found;
    let password_hash = match link.action {
        LinkAction::Account { .. } => {
            let sha1 = read_password_sha1(&request.body)?;
            let hash_password =
                move |memory: &mut Argon2Memory| password::hash_password_in(memory, &sha1);
            let pool = &request.server.authenticator.password_pool;
            Some(pool.run(request.from, hash_password).await?)
        }
        LinkAction::Email { .. } => None,
    };
    let group = &state.catalogue.group;
    let command =
        Command::FollowLink(Box::new(FollowLink { hash: link.hash, signed, password_hash }));
    let done = match request.server.engine.write(group.id, command).await {
        Ok(done) => done,
        Err(rejection) => {
            let zone = state.catalogue.zone();
            return Err(ApiError::from_rejection(rejection, zone, Audience::Application));
        }
    };
    let account = render_account(&link, &done.group_state)?;
    let pending_rdv = account["pendingRdv"].clone();
    Ok(ok_response(&json!({ "account": account, "pendingRdv": pending_rdv })))
}

/// A link that can be followed now.
pub(crate) struct FoundLink {
    pub(crate) link: Arc<AccountLink>,
    /// The same link as its token holds it; `None` for a stored link.
    pub(crate) signed: Option<PasswordLink>,
}

/// Finds the link of a token: a signed one, or else a stored one.
pub(crate) fn find_link(server: &Server, state: &GroupState, token: &str) -> Option<FoundLink> {
    let (group, now) = (state.catalogue.group.id, server.engine.steady_now());
    let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    let Some(signed) = PasswordLink::open(token, group, &server.link_secret()) else {
        let link = Arc::clone(state.links.find(&hash, now)?);
        return Some(FoundLink { link, signed: None });
    };
    let account = state.accounts.get(&signed.email.folded());
    if !signed.is_valid(account.map(Arc::as_ref), now) {
        return None;
    }
    let link = AccountLink {
        hash,
        email: signed.email.clone(),
        action: LinkAction::Account { pending_rdv: signed.pending_rdv.clone() },
        requested_at: signed.expires.plus_seconds(-LINK_SECONDS),
        expires: signed.expires,
    };
    Some(FoundLink { link: Arc::new(link), signed: Some(signed) })
}

/// Renders the account of a followed link.
///
/// # Errors
/// 404 if the account has been removed since.
fn render_account(link: &AccountLink, state: &GroupState) -> Result<Value, ApiError> {
    let mut account = state.accounts.get(&link.email.folded());
    let mut pending = Value::Null;
    match &link.action {
        LinkAction::Account { pending_rdv } => {
            if let Some(text) = pending_rdv {
                pending = serde_json::from_str(text.as_str()).unwrap_or_default();
            }
        }
        // An account whose address could not be changed is still found by the old one.
        LinkAction::Email { account: email_before, .. } => {
            account = account.or_else(|| state.accounts.get(email_before));
        }
    }
    let account = account.ok_or_else(ApiError::no_result)?;
    Ok(json!({
        "email": account.email.as_str(),
        "group_id": state.catalogue.group.id.number(),
        "fiche_id": account.fiche_id.number(),
        "pendingRdv": pending,
    }))
}

/// Returns the group of a token: its id stands before the first `-`.
pub(crate) fn group_in_token(token: &str) -> Option<GroupId> {
    let (group, _) = token.split_once('-')?;
    GroupId::new(group.parse().ok()?)
}

/// Returns the SHA-1 of the new password in a body, in hexadecimal digits. The length of a password
/// that is given as its SHA-1 is unknown.
///
/// # Errors
/// A missing password, or one that is too short, too long or common.
pub(crate) fn read_password_sha1(body: &Map<String, Value>) -> Result<String, Fault> {
    let Some(Value::String(given)) = body.get("password") else {
        return Err(Fault::new("password", "is required: a text"));
    };
    if given.is_empty() {
        return Err(Fault::new("password", "is required: a text"));
    }
    if let Some(sha1) = parse_sha1(given) {
        return Ok(sha1);
    }
    match check_new_password(given) {
        Ok(()) => Ok(password::sha1_hex(given)),
        Err(rule) => Err(Fault::new("password", rule)),
    }
}

/// Returns the SHA-1 that stands for a password, in lower case; `None` for a plain password.
fn parse_sha1(given: &str) -> Option<String> {
    if given.len() == 40 && given.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Some(given.to_ascii_lowercase())
    } else {
        None
    }
}

/// Checks that the request of a person carries the password: by HTTP Basic, or else in the field
/// `current_password`, plain or as its SHA-1. A session alone may be a stolen one. The person is
/// given by address and stored hash, and `what` needs the password.
///
/// # Errors
/// 403 without the password, 401 for a wrong one; otherwise as
/// [`verify_again`](crate::http::auth::Authenticator::verify_again).
pub(crate) async fn check_current_password(
    request: &GroupRequest,
    person: (&Email, &Text<255>),
    object: &Map<String, Value>,
    what: &str,
) -> Result<(), ApiError> {
    const NAME: &str = "current_password";
    if request.identity.has_password {
        return Ok(());
    }
    let Some(Value::String(given)) = object.get(NAME).or_else(|| request.body.get(NAME)) else {
        return Err(ApiError::unauthorized(&format!(
            "{what} needs the password: log in by HTTP Basic, or give current_password"
        )));
    };
    let sha1 = parse_sha1(given).unwrap_or_else(|| password::sha1_hex(given));
    let authenticator = &request.server.authenticator;
    if authenticator.verify_again(person, sha1, request.from, request.now).await? {
        Ok(())
    } else {
        Err(login_failed().into())
    }
}
