//! POST accounts and accounts/confirm: how clients get an account, and another password. Reference 3.

use std::net::IpAddr;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::domain::identity::account_link::{LinkAction, PendingRdv};
use crate::domain::identity::enrolment::NO_SUCH_LINK;
use crate::domain::records::ids::GroupId;
use crate::domain::records::text::Email;
use crate::domain::state::command::{Command, FollowLink, LinkRequest, RequestLink};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Fault;
use crate::domain::time::Instant;
use crate::engine::Done;
use crate::http::auth::sliding_window::source;
use crate::http::error::ApiError;
use crate::http::pipeline::{Call, Outcome, make, ok, wrapped};
use crate::http::route_table::Server;
use crate::password::{self, Memory};
use crate::wire::field::Audience;
use crate::wire::value;

/// Links of accounts that one source may ask for in so many seconds, whatever they are for.
pub(crate) const ASKED_MAX: (usize, i64) = (200, 3_600);
/// Characters of a password at most.
pub(crate) const PASSWORD_MAX: usize = 1_000;

/// Has a group decide a command that no path's group was asked for.
async fn write(call: &Call, state: &GroupState, command: Command) -> Result<Done, ApiError> {
    let answer = call.server.engine.write(state.catalogue.group.id, command).await;
    answer.map_err(|rejection| {
        ApiError::of_rejection(rejection, state.catalogue.zone(), Audience::Application)
    })
}

/// The state of a group that the key covers.
fn covered(call: &Call, group: Option<GroupId>) -> Option<Arc<GroupState>> {
    let group = group.filter(|group| call.identity.key_covers(*group))?;
    call.server.engine.published().group_state(group)
}

/// Counts a link that somebody asks for.
///
/// # Errors
/// 429 where their source has asked for as many as it may.
pub(crate) fn count_link(server: &Server, from: IpAddr, now: Instant) -> Result<(), ApiError> {
    let source = source(from);
    if let Some(seconds) = server.links_asked.wait(&source, now) {
        return Err(ApiError::too_many("links were asked for from this address", seconds));
    }
    server.links_asked.add(source, now);
    Ok(())
}

/// POST /api/v1/accounts: mails a link to the address where one is due, and says the same to whoever asks, once for every
/// Idempotency-Key.
pub(crate) async fn ask(call: Call) -> Outcome {
    let object = wrapped(&call.body, "account")?;
    let text = |name: &str| object.get(name).filter(|value| !value::is_empty(value));
    let mut faults = Vec::new();
    let email = match text("email") {
        None => Err(Fault::new("email", "is required")),
        Some(given) => value::text(given)
            .and_then(|given| Email::new(given.trim_matches(' ')))
            .map_err(|illegal| Fault::new("email", illegal.0)),
    };
    let state = match text("group_id") {
        None => covered(&call, call.identity.home())
            .ok_or_else(|| Fault::new("group_id", "is required")),
        Some(given) => {
            let group = value::id(given).ok().flatten().and_then(GroupId::new);
            covered(&call, group).ok_or_else(|| {
                Fault::new("group_id", "must be the id of a group that the key covers")
            })
        }
    };
    let pending_rdv = match object.get("pendingRdv") {
        None | Some(Value::Null) => Ok(None),
        Some(given) => PendingRdv::new(&given.to_string())
            .map(Some)
            .map_err(|illegal| Fault::new("pendingRdv", format!("its JSON {}", illegal.0))),
    };
    let email = email.map_err(|fault| faults.push(fault));
    let state = state.map_err(|fault| faults.push(fault));
    let pending_rdv = pending_rdv.map_err(|fault| faults.push(fault));
    let (Ok(email), Ok(state), Ok(pending_rdv)) = (email, state, pending_rdv) else {
        return Err(faults.into());
    };
    let once = call.once(&state)?;
    if let Some(answer) = once.and_then(|key| key.answered_before(&state, call.now)) {
        return answer;
    }
    count_link(&call.server, call.from, call.now)?;
    let answered = json!({"account": {"email": email.as_str(), "group_id": state.catalogue.group.id.number()}});
    let request = LinkRequest::Account { pending_rdv };
    let command = Command::RequestLink(Box::new(RequestLink { email, request }));
    let render = move |_: &Done| answered.to_string().into_bytes();
    make(&call.server, &state, command, once, Audience::Application, render).await
}

/// POST /api/v1/accounts/confirm: what the link of a token is for is done; the only place where an account's password is
/// set. It comes plain or as its SHA-1, 40 hexadecimal digits. A link that gives an account another address needs none. A
/// token works once by itself; no Idempotency-Key is looked at, since nothing of a password may be kept with it.
pub(crate) async fn confirm(call: Call) -> Outcome {
    let token = call.body.get("token").and_then(Value::as_str).unwrap_or_default().trim();
    let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    let no_such_link = || Fault::new("token", NO_SUCH_LINK);
    let state = covered(&call, group_of(token)).ok_or_else(no_such_link)?;
    let link = Arc::clone(state.links.find(&hash, call.now).ok_or_else(no_such_link)?);
    let password_hash = match link.action {
        LinkAction::Account { .. } => {
            let sha1 = sha1_of(&call.body)?;
            let hashed = move |memory: &mut Memory| password::hash_password_in(memory, &sha1);
            Some(call.server.authenticator.password_pool.run(call.from, hashed).await?)
        }
        LinkAction::Email { .. } => None,
    };
    let done =
        write(&call, &state, Command::FollowLink(Box::new(FollowLink { hash, password_hash })))
            .await?;
    let (was, pending_rdv) = match &link.action {
        LinkAction::Account { pending_rdv } => (None, pending_rdv.as_ref()),
        LinkAction::Email { account, .. } => (Some(account), None),
    };
    let accounts = &done.group_state.accounts;
    let account = accounts
        .get(&link.email.folded())
        .or_else(|| accounts.get(was?))
        .ok_or_else(ApiError::no_result)?;
    let pending: Value =
        pending_rdv.and_then(|text| serde_json::from_str(text.as_str()).ok()).unwrap_or_default();
    let account = json!({
        "email": account.email.as_str(),
        "group_id": state.catalogue.group.id.number(),
        "fiche_id": account.fiche_id.number(),
        "pendingRdv": &pending,
    });
    Ok(ok(&json!({ "account": account, "pendingRdv": pending })))
}

/// The group whose link a token is of: it stands before the first `-`.
pub(crate) fn group_of(token: &str) -> Option<GroupId> {
    token.split_once('-')?.0.parse().ok().and_then(GroupId::new)
}

/// The SHA-1 of the password that a body gives.
fn sha1_of(body: &Map<String, Value>) -> Result<String, Fault> {
    let fault = |rule: String| Fault::new("password", rule);
    let given = match body.get("password") {
        Some(Value::String(given)) if !given.is_empty() => given,
        Some(_) | None => return Err(fault("is required: a text".to_owned())),
    };
    if given.chars().count() > PASSWORD_MAX {
        return Err(fault(format!("must have at most {PASSWORD_MAX} characters")));
    }
    let is_sha1 = given.len() == 40 && given.bytes().all(|byte| byte.is_ascii_hexdigit());
    Ok(if is_sha1 { given.to_ascii_lowercase() } else { password::sha1_hex(given) })
}
