//! Endpoints of clients' accounts: requesting a mailed link, and following it. Reference 3.5.

use std::sync::Arc;

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::domain::decisions::enrolment::NO_SUCH_LINK;
use crate::domain::directory::password_link::PasswordLink;
use crate::domain::records::account_link::{AccountLink, LinkAction, PendingRdv};
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{FicheId, GroupId};
use crate::domain::records::text::{Email, InvalidValue, Text};
use crate::domain::state::command::{Command, FollowLink, LinkRequest, RequestLink};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::space::password_link_bytes;
use crate::engine::Committed;
use crate::http::auth::login_failed;
use crate::http::endpoint::{Answer, Body, Endpoint, EndpointPath, Shape, handler};
use crate::http::error::ApiError;
use crate::http::limits::guarded_write::GuardedWrite;
use crate::http::permissions::{ANY_KEY, Resource, Verb};
use crate::http::request::{ApiRequest, GroupRequest, wrapped_object};
use crate::http::response::{HandlerResult, json_response, ok_response, to_json};
use crate::http::server::Server;
use crate::http::writes::prepared_write::{Sent, send_once};
use crate::password::strength::{check_new_password, is_sha1};
use crate::password::{self, Argon2Memory};
use crate::wire::field::Audience;
use crate::wire::object_reader::ObjectReader;
use crate::wire::schema::{GivenEmail, GivenId, schema_of};
use crate::wire::value;

const LINK_ASKED: Answer = Answer::json(
    201,
    "the address, whether or not it has an account",
    Shape::Named("LinkAsked", schema_of::<LinkAsked<'_>>),
);
const LINK_FOLLOWED: Answer = Answer::json(
    200,
    "the account as it is now",
    Shape::Named("LinkFollowed", schema_of::<LinkFollowed>),
);

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::post(&[EndpointPath::current("/api/v1/accounts")], handler!(AtLarge, ask_link))
        .named("RequestLink", "Mail a link to create an account or to set a new password")
        .right(Resource::Account, Verb::Make, ANY_KEY)
        .body(Body::wrapped(Shape::Inline(schema_of::<LinkBody>)))
        .idempotency_key(true)
        .answers(&[LINK_ASKED]),
    Endpoint::post(
        &[EndpointPath::current("/api/v1/accounts/confirm")],
        handler!(AtLarge, follow_link),
    )
    .named("FollowLink", "Follow a mailed link; the only endpoint that sets a password")
    .right(Resource::Account, Verb::Change, ANY_KEY)
    .body(Body::plain(schema_of::<TokenBody<'_>>))
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

/// The address that is to have an account.
#[derive(ToSchema)]
struct LinkBody {
    /// E-mail address.
    #[schema(value_type = GivenEmail)]
    email: Email,
    /// Id of the group; by default the only group of the key.
    #[schema(rename = "group_id", value_type = Option<GivenId>)]
    state: Arc<GroupState>,
    /// A booking to complete later. At most 8,192 bytes. It is returned after the link has been
    /// followed.
    #[schema(rename = "pendingRdv", value_type = Option<Value>)]
    pending_rdv: Option<PendingRdv>,
}

impl LinkBody {
    /// # Errors
    /// All faults of the fields.
    fn parse(request: &ApiRequest, object: &Map<String, Value>) -> Result<Self, Vec<Fault>> {
        let mut reader = ObjectReader::new(object);
        let email = reader.require("email", "is required", |given| {
            if value::is_empty(given) {
                return Ok(None);
            }
            Ok(Some(Email::new(value::parse_text(given)?.trim_matches(' '))?))
        });
        let given = object.get("group_id").filter(|id| !value::is_empty(id));
        let group_id = match given {
            None => request.identity.home(),
            Some(id) => value::parse_id(id).ok().flatten().and_then(GroupId::new),
        };
        let state = find_covered_group(request, group_id);
        if state.is_none() && given.is_none() {
            reader.add_fault("group_id", "is required");
        } else if state.is_none() {
            reader.add_fault("group_id", "must be the id of a group that the key covers");
        }
        let pending_rdv = reader.read("pendingRdv", |json| {
            if json.is_null() { Ok(None) } else { Ok(Some(parse_pending_rdv(json)?)) }
        });
        match (email, state) {
            (Some(email), Some(state)) => reader.finish(Self { email, state, pending_rdv }),
            _ => Err(reader.faults),
        }
    }
}

/// The address that a link was requested for, whether or not it has an account.
#[derive(Serialize, ToSchema)]
struct LinkAsked<'r> {
    /// The account that the link is for.
    account: LinkAskedAccount<'r>,
}

#[derive(Serialize, ToSchema)]
struct LinkAskedAccount<'r> {
    /// The e-mail address.
    email: &'r str,
    /// Id of the group.
    group_id: GroupId,
}

/// The token of a mailed link, and a password.
#[derive(ToSchema)]
struct TokenBody<'b> {
    /// The token in the mailed link.
    token: &'b str,
    /// Plain, so that the rules of passwords judge it.
    #[schema(nullable = false)]
    password: Option<&'b str>,
}

/// The account of a followed link.
#[derive(Serialize, ToSchema)]
struct LinkFollowed {
    /// The account.
    account: LinkFollowedAccount,
    /// The pendingRdv of the request for the link; null if there was none.
    #[serde(rename = "pendingRdv")]
    pending_rdv: Value,
}

#[derive(Serialize, ToSchema)]
struct LinkFollowedAccount {
    /// The e-mail address.
    email: String,
    /// Id of the group.
    group_id: GroupId,
    /// Id of the client's fiche.
    fiche_id: FicheId,
    /// The pendingRdv of the request for the link; null if there was none.
    #[serde(rename = "pendingRdv")]
    pending_rdv: Value,
}

/// # Errors
/// A JSON that is too long, or cannot be kept.
fn parse_pending_rdv(json: &Value) -> Result<PendingRdv, InvalidValue> {
    let text = json.to_string();
    let illegal = |rule: String| InvalidValue(format!("its JSON {rule}"));
    if text.len() > PENDING_BYTES_MAX {
        return Err(illegal(format!("must have at most {PENDING_BYTES_MAX} bytes")));
    }
    PendingRdv::new(&text).map_err(|fault| illegal(fault.0.to_string()))
}

/// POST /api/v1/accounts: mails a link to the address if one is due. The response is the same in
/// all cases, so it does not reveal whether the address has an account.
async fn ask_link(request: ApiRequest) -> HandlerResult {
    let object = wrapped_object(&request.body, "account")?;
    let LinkBody { email, state, pending_rdv } = LinkBody::parse(&request, object)?;
    let key = request.idempotency_key(&state)?;
    if let Some(key) = &key
        && let Some(answer) = key.find_answer(&state, request.now)
    {
        return answer.map(|answer| json_response(StatusCode::CREATED, answer.bytes));
    }
    if request.server.is_group_full(&state, &request.identity.caller) {
        return Err(ApiError::group_full());
    }
    let server = &request.server;
    let group = state.catalogue.group.id;
    server.links.count_requested(request.from, request.now)?;
    if server.mails_links() {
        // Whether or not the address gets a link, so that the limit does not tell of it.
        let bytes = password_link_bytes(&email, pending_rdv.as_ref());
        server.links.count_bytes(group, request.from, bytes, request.now)?;
    }
    let secret = server.secret_for_link(&state, &email, request.now);
    let account = LinkAskedAccount { email: email.as_str(), group_id: group };
    let answer = to_json(&LinkAsked { account });
    // Without a mail server it leaves nothing but the answer under its Idempotency-Key.
    if !server.mails_links() && key.is_none() {
        return Ok(json_response(StatusCode::CREATED, answer));
    }
    let link = LinkRequest::Account { pending_rdv, secret };
    let command = Command::RequestLink(Box::new(RequestLink { email, request: link }));
    let render = move |_: &Committed| answer.clone();
    let audience = Audience::Application;
    let write = GuardedWrite::unlimited(group, command);
    match send_once(server, request.identity.author(), write, key, render.clone()).await {
        Ok(Sent { done, kept, .. }) => {
            let bytes = kept.unwrap_or_else(|| render(&done));
            Ok(json_response(StatusCode::CREATED, bytes))
        }
        Err(rejection) => Err(rejection.into_error(state.catalogue.zone(), audience)),
    }
}

/// POST /api/v1/accounts/confirm: follows the mailed link of a token. A link for an account sets
/// its password, given plain. A link for a new e-mail address needs no password. A token works
/// once, so no Idempotency-Key is recorded.
async fn follow_link(request: ApiRequest) -> HandlerResult {
    let text = |name: &str| request.body.get(name).and_then(Value::as_str);
    let TokenBody { token, password } =
        TokenBody { token: text("token").unwrap_or_default().trim(), password: text("password") };
    let no_such_link = || Fault::new("token", NO_SUCH_LINK);
    let state = find_covered_group(&request, group_in_token(token)).ok_or_else(no_such_link)?;
    let found = find_link(&request.server, &state, token).ok_or_else(no_such_link)?;
    let FoundLink { link, signed } = found;
    let password_hash = match link.action {
        LinkAction::Account { .. } => {
            let sha1 = parse_new_password(password)?;
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
    let done = match request.server.engine.write(group.id, request.identity.author(), command).await
    {
        Ok(done) => done,
        Err(rejection) => {
            let zone = state.catalogue.zone();
            return Err(ApiError::from_rejection(rejection, zone, Audience::Application));
        }
    };
    let account = find_linked_account(&link, &done.group_state)?;
    let ApiRequest { server, from, now, .. } = &request;
    let directory = server.engine.published().directory();
    server.authenticator.record_owner(&link.email, *from, &directory, *now);
    let pending_rdv = account.pending_rdv.clone();
    Ok(ok_response(&LinkFollowed { account, pending_rdv }))
}

/// A link that can be followed now.
pub(crate) struct FoundLink {
    pub(crate) link: Arc<AccountLink>,
    /// The same link as its token holds it; `None` for a stored link.
    pub(crate) signed: Option<PasswordLink>,
}

/// Finds the link of a token: a signed one, or else a stored one.
pub(crate) fn find_link(server: &Server, state: &GroupState, token: &str) -> Option<FoundLink> {
    let group = state.catalogue.group.id;
    let now = server.engine.steady_now();
    let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    let Some(signed) = PasswordLink::open(token, group, &server.link_secret()) else {
        let link = Arc::clone(state.links.find(&hash, now)?);
        return Some(FoundLink { link, signed: None });
    };
    if !state.takes_link(&signed, now) {
        return None;
    }
    let link = AccountLink {
        hash,
        email: signed.email.clone(),
        action: LinkAction::Account { pending_rdv: signed.pending_rdv.clone() },
        requested_at: signed.requested_at(),
        expires: signed.expires,
    };
    Some(FoundLink { link: Arc::new(link), signed: Some(signed) })
}

/// Returns the account of a followed link.
///
/// # Errors
/// 404 if the account has been removed since.
fn find_linked_account(
    link: &AccountLink,
    state: &GroupState,
) -> Result<LinkFollowedAccount, ApiError> {
    let mut account = state.accounts.get(&link.email.folded());
    let mut pending_rdv = Value::Null;
    match &link.action {
        LinkAction::Account { pending_rdv: Some(text) } => {
            pending_rdv = serde_json::from_str(text.as_str()).unwrap_or_default();
        }
        LinkAction::Account { pending_rdv: None } => {}
        // An account whose address could not be changed is still found by the old one.
        LinkAction::Email { account: email_before, .. } => {
            account = account.or_else(|| state.accounts.get(email_before));
        }
    }
    let account = account.ok_or_else(|| ApiError::no_result().naming("account of this link"))?;
    Ok(LinkFollowedAccount {
        email: account.email.as_str().to_owned(),
        group_id: state.catalogue.group.id,
        fiche_id: account.fiche_id,
        pending_rdv,
    })
}

/// Returns the group of a token: its id stands before the first `-`.
pub(crate) fn group_in_token(token: &str) -> Option<GroupId> {
    let (group, _) = token.split_once('-')?;
    GroupId::new(group.parse().ok()?)
}

/// Returns the SHA-1 of a new password, in hexadecimal digits.
///
/// # Errors
/// A missing password, or one that breaks a rule of [`check_new_password`].
pub(crate) fn parse_new_password(given: Option<&str>) -> Result<String, Fault> {
    let Some(given) = given.filter(|text| !text.is_empty()) else {
        return Err(Fault::new("password", "is required: a text"));
    };
    match check_new_password(given) {
        Ok(()) => Ok(password::sha1_hex(given)),
        Err(rule) => Err(Fault::new("password", rule)),
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
    email: &Email,
    stored: &Text<255>,
    given: Option<&str>,
    what: &str,
) -> Result<(), ApiError> {
    const NAME: &str = "current_password";
    if request.identity.has_password {
        return Ok(());
    }
    let beside = || request.body.get(NAME).and_then(Value::as_str);
    let Some(given) = given.or_else(beside) else {
        return Err(ApiError::unauthorized(&format!(
            "{what} needs the password: log in by HTTP Basic, or give current_password"
        )));
    };
    let sha1 = if is_sha1(given) { given.to_ascii_lowercase() } else { password::sha1_hex(given) };
    let authenticator = &request.server.authenticator;
    if authenticator.verify_again(email, stored, sha1, request.from, request.now).await? {
        Ok(())
    } else {
        Err(login_failed().into())
    }
}
