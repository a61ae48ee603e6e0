//! What the links in mails lead to: a page with a button, and what the button does. Mail scanners open links, so opening one
//! does nothing. Reference 7.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use sha2::{Digest as _, Sha256};

use crate::domain::identity::account_link::{AccountLink, Aim};
use crate::domain::records::ids::GroupId;
use crate::domain::records::vevent::{Appointment, Vevent};
use crate::domain::state::command::{
    CancelAppointment, CancelRight, Command, FollowLink, Patch, Put, RecordChange,
};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusal;
use crate::domain::time::Instant;
use crate::engine::Rejection;
use crate::http::request::ClientAddress;
use crate::http::resources::accounts;
use crate::http::server::Server;
use crate::notify::links::{Holder, Link, Subscriber, parse};
use crate::notify::page;
use crate::notify::{Page, when};
use crate::password::{self, Memory};

/// The path of all links in mails.
pub(crate) const PATH: &str = "/m/{token}";
/// Bytes of a form at most.
const FORM_BYTES_MAX: usize = 16 * 1_024;

/// The last segment of the path, where it is a text.
type Token = Result<Path<String>, PathRejection>;

/// What a segment of bytes that are no text leads to is what any other leads to that is no link: nothing.
fn link_of(token: &Token) -> Option<Link> {
    token.as_ref().ok().and_then(|Path(token)| parse(token))
}

/// GET /m/:token.
pub(crate) async fn show(State(server): State<Arc<Server>>, token: Token) -> Response {
    match link_of(&token) {
        Some(Link::Cancel(holder)) => of_holder(&server, &holder, |state, row, appointment| {
            if row.deleted {
                Page::Cancelled
            } else {
                ask_cancel(state, row, appointment, server.engine.clock().now())
            }
        }),
        Some(Link::Unsubscribe(subscriber)) => match subscribing(&server, &subscriber) {
            Some(state) => {
                let group = state.catalogue.group.name.as_str().to_owned();
                answer(StatusCode::OK, &Page::AskUnsubscribe { group }, &state)
            }
            None => gone(&server, Some(subscriber.group)),
        },
        Some(Link::Account(token)) => match found(&server, &token) {
            Some((state, _, link)) => answer(StatusCode::OK, &ask_account(&link), &state),
            None => gone(&server, accounts::group_in_token(&token)),
        },
        None => gone(&server, None),
    }
}

/// POST /m/:token, by the button, or by a mail program for whom the client wants no more such mails.
pub(crate) async fn act(
    State(server): State<Arc<Server>>,
    Extension(ClientAddress(from)): Extension<ClientAddress>,
    token: Token,
    body: Body,
) -> Response {
    match link_of(&token) {
        Some(Link::Cancel(holder)) => cancel(&server, &holder).await,
        Some(Link::Unsubscribe(subscriber)) => unsubscribe(&server, &subscriber).await,
        Some(Link::Account(token)) => follow(&server, from, &token, body).await,
        None => gone(&server, None),
    }
}

/// The page of an appointment whose secret the link holds.
fn of_holder(
    server: &Server,
    holder: &Holder,
    page_of: impl FnOnce(&GroupState, &Vevent, &Appointment) -> Page,
) -> Response {
    let Some(state) = server.engine.published().group_state(holder.group) else {
        return gone(server, None);
    };
    let row = state.rows.get(&holder.appointment);
    let Some((row, appointment)) = row.and_then(|row| Some((row, row.appointment()?))) else {
        return gone(server, Some(holder.group));
    };
    if !appointment.key.matches(&holder.key) {
        return gone(server, Some(holder.group));
    }
    answer(StatusCode::OK, &page_of(&state, row, appointment), &state)
}

fn ask_cancel(state: &GroupState, row: &Vevent, appointment: &Appointment, now: Instant) -> Page {
    let calendar =
        state.catalogue.calendars.get(&row.calendar_id).expect("an event's calendar exists");
    let until = appointment.start.plus_minutes(-calendar.mintime_annulation.number());
    if until < now {
        return too_late(state, until);
    }
    let group = &state.catalogue.group;
    Page::AskCancel {
        when: local(state, appointment.start),
        preposition: group.preposition.as_str().to_owned(),
        group: group.name.as_str().to_owned(),
    }
}

fn too_late(state: &GroupState, until: Instant) -> Page {
    Page::TooLateToCancel {
        until: local(state, until),
        phone: state.catalogue.group.phone.as_str().to_owned(),
    }
}

fn local(state: &GroupState, moment: Instant) -> String {
    when(state.catalogue.group.country.as_str(), state.catalogue.zone().civil_of(moment))
}

async fn cancel(server: &Server, holder: &Holder) -> Response {
    let right = CancelRight::Secret(holder.key.clone());
    let command = Command::CancelAppointment(CancelAppointment { id: holder.appointment, right });
    let answered = server.engine.write(holder.group, command).await;
    let Some(state) = server.engine.published().group_state(holder.group) else {
        return gone(server, None);
    };
    match answered {
        Ok(_) => answer(StatusCode::OK, &Page::Cancelled, &state),
        Err(Rejection::Refused(refusals)) => match refusals.first() {
            Some(Refusal::MintimeAnnulation { until }) => {
                answer(StatusCode::BAD_REQUEST, &too_late(&state, *until), &state)
            }
            Some(_) | None => gone(server, Some(holder.group)),
        },
        Err(rejection) => busy(&rejection, &state),
    }
}

/// The group of a client who was mailed the link; `None` where nobody was.
fn subscribing(server: &Server, subscriber: &Subscriber) -> Option<Arc<GroupState>> {
    let state = server.engine.published().group_state(subscriber.group)?;
    let client = state.fiches.get(&subscriber.client)?;
    subscriber.is(client, server.carriers.seal.as_ref()?).then_some(state)
}

async fn unsubscribe(server: &Server, subscriber: &Subscriber) -> Response {
    let Some(state) = subscribing(server, subscriber) else {
        return gone(server, Some(subscriber.group));
    };
    let mut fields = Patch::default();
    fields.push(|fiche: &mut crate::domain::records::fiche::Fiche| fiche.rappel_email = false);
    let change = RecordChange::Fiche(Put { id: Some(subscriber.client), fields });
    match server.engine.write(subscriber.group, Command::ChangeRecord(change)).await {
        Ok(_) => answer(StatusCode::OK, &Page::Unsubscribed, &state),
        Err(Rejection::Refused(_)) => gone(server, Some(subscriber.group)),
        Err(rejection) => busy(&rejection, &state),
    }
}

/// The account link of a token, with the group it is of and the hash it is known by.
fn found(server: &Server, token: &str) -> Option<(Arc<GroupState>, [u8; 32], Arc<AccountLink>)> {
    let state = server.engine.published().group_state(accounts::group_in_token(token)?)?;
    let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    let link = Arc::clone(state.links.find(&hash, server.engine.clock().now())?);
    Some((state, hash, link))
}

fn ask_account(link: &AccountLink) -> Page {
    match link.aim {
        Aim::Account { .. } => Page::AskPassword,
        Aim::Email { .. } => Page::AskEmail,
    }
}

/// Does what the link of an account is for, with the password of the form where it needs one.
async fn follow(server: &Server, from: IpAddr, token: &str, body: Body) -> Response {
    let Some((state, hash, link)) = found(server, token) else {
        return gone(server, accounts::group_in_token(token));
    };
    let (password_hash, done) = match link.aim {
        Aim::Account { .. } => {
            let Some(password) = password_in(body).await else {
                return answer(StatusCode::BAD_REQUEST, &Page::NoPassword, &state);
            };
            let sha1 = password::sha1_hex(&password);
            let hash = move |memory: &mut Memory| password::hash_password_in(memory, &sha1);
            let hashed = server.authenticator.verifying.run(from, hash).await;
            let Ok(hashed) = hashed else {
                return answer(StatusCode::SERVICE_UNAVAILABLE, &Page::Busy, &state);
            };
            (Some(hashed), Page::AccountDone)
        }
        Aim::Email { .. } => (None, Page::EmailDone),
    };
    let command = Command::FollowLink(Box::new(FollowLink { hash, password_hash }));
    match server.engine.write(state.catalogue.group.id, command).await {
        Ok(_) => answer(StatusCode::OK, &done, &state),
        Err(Rejection::Refused(_)) => gone(server, accounts::group_in_token(token)),
        Err(rejection) => busy(&rejection, &state),
    }
}

/// The password that a form gives; `None` where it gives none that will do.
async fn password_in(body: Body) -> Option<String> {
    let bytes = axum::body::to_bytes(body, FORM_BYTES_MAX).await.ok()?;
    let password =
        form_urlencoded::parse(&bytes).find(|(name, _)| name == "password")?.1.into_owned();
    let characters = password.chars().count();
    (0 < characters && characters <= accounts::PASSWORD_CHARS_MAX).then_some(password)
}

fn busy(rejection: &Rejection, state: &GroupState) -> Response {
    tracing::warn!(?rejection, "a link could not be followed");
    answer(StatusCode::SERVICE_UNAVAILABLE, &Page::Busy, state)
}

/// The page of a link that leads nowhere, in the language of the group that its token names, if there is such a group.
fn gone(server: &Server, group: Option<GroupId>) -> Response {
    match group.and_then(|group| server.engine.published().group_state(group)) {
        Some(state) => answer(StatusCode::NOT_FOUND, &Page::Gone, &state),
        None => html(StatusCode::NOT_FOUND, page(&Page::Gone, "")),
    }
}

fn answer(status: StatusCode, shown: &Page, state: &GroupState) -> Response {
    html(status, page(shown, state.catalogue.group.country.as_str()))
}

/// A page that loads nothing, is kept nowhere, and tells nobody where it was read.
fn html(status: StatusCode, page: String) -> Response {
    const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    let mut response = Response::new(Body::from(page));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
