//! The HTML pages of links in mails, and the actions of their buttons. Reference 7.4.
//!
//! Mail scanners open links, so that GET changes nothing.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;

use sha2::{Digest as _, Sha256};

use crate::domain::identity::account_link::{AccountLink, LinkAction};
use crate::domain::records::ids::GroupId;
use crate::domain::records::vevent::{Appointment, Vevent};
use crate::domain::state::command::{
    CancelAppointment, CancelRight, Command, FollowLink, Patch, Put, RecordChange,
};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusal;
use crate::domain::time::Instant;
use crate::engine::Rejection;
use crate::http::body::Incoming;
use crate::http::request::ClientAddress;
use crate::http::resources::accounts;
use crate::http::server::Server;
use crate::notify::links::{CancelLink, MailLink, UnsubscribeLink, parse};
use crate::notify::{LinkPage, format_page_time, render_page};
use crate::password::strength::check_new_password;
use crate::password::{self, Argon2Memory};

/// The path of all links in mails.
pub(crate) const PATH: &str = "/m/{token}";

/// The last segment of the path; an error if it is not UTF-8.
type Token = Result<Path<String>, PathRejection>;

/// Parses the link of a token. A malformed token is no link.
fn parse_link(token: &Token) -> Option<MailLink> {
    match token {
        Ok(Path(token)) => parse(token),
        Err(_) => None,
    }
}

/// GET /m/{token}.
pub(crate) async fn show(State(server): State<Arc<Server>>, token: Token) -> Response {
    match parse_link(&token) {
        Some(MailLink::Cancel(holder)) => {
            appointment_page(&server, &holder, |state, vevent, appointment| {
                if vevent.deleted {
                    LinkPage::Cancelled
                } else {
                    cancel_page(state, vevent, appointment, server.engine.clock().now())
                }
            })
        }
        Some(MailLink::Unsubscribe(subscriber)) => match find_subscriber(&server, &subscriber) {
            Some(state) => {
                let group = state.catalogue.group.name.as_str().to_owned();
                page_response(StatusCode::OK, &LinkPage::AskUnsubscribe { group }, &state)
            }
            None => gone_response(&server, Some(subscriber.group)),
        },
        Some(MailLink::Account(token)) => match find_account_link(&server, &token) {
            Some((state, _, link)) => page_response(StatusCode::OK, &account_page(&link), &state),
            None => gone_response(&server, accounts::group_in_token(&token)),
        },
        None => gone_response(&server, None),
    }
}

/// POST /m/{token}, by the button, or by the mail program of a client who unsubscribes.
pub(crate) async fn act(
    State(server): State<Arc<Server>>,
    Extension(ClientAddress(from)): Extension<ClientAddress>,
    token: Token,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let mut body = Incoming::new(&server, &headers, from, body);
    match parse_link(&token) {
        Some(MailLink::Cancel(holder)) => cancel(&server, &holder).await,
        Some(MailLink::Unsubscribe(subscriber)) => unsubscribe(&server, &subscriber).await,
        Some(MailLink::Account(token)) => {
            follow_account_link(&server, from, &token, &mut body).await
        }
        None => gone_response(&server, None),
    }
}

/// Returns the page of the appointment whose secret the link holds.
fn appointment_page(
    server: &Server,
    holder: &CancelLink,
    page_of: impl FnOnce(&GroupState, &Vevent, &Appointment) -> LinkPage,
) -> Response {
    let Some(state) = server.engine.published().group_state(holder.group) else {
        return gone_response(server, None);
    };
    if let Some(vevent) = state.rows.get(&holder.appointment)
        && let Some(appointment) = vevent.appointment()
        && appointment.key.matches(&holder.key)
    {
        return page_response(StatusCode::OK, &page_of(&state, vevent, appointment), &state);
    }
    gone_response(server, Some(holder.group))
}

fn cancel_page(
    state: &GroupState,
    vevent: &Vevent,
    appointment: &Appointment,
    now: Instant,
) -> LinkPage {
    let calendar =
        state.catalogue.calendars.get(&vevent.calendar_id).expect("each vevent has a calendar");
    let until = appointment.start.plus_minutes(-calendar.mintime_annulation.number());
    if until < now {
        return too_late_page(state, until);
    }
    let group = &state.catalogue.group;
    LinkPage::AskCancel {
        when: format_local(state, appointment.start),
        preposition: group.preposition.as_str().to_owned(),
        group: group.name.as_str().to_owned(),
    }
}

fn too_late_page(state: &GroupState, until: Instant) -> LinkPage {
    LinkPage::TooLateToCancel {
        until: format_local(state, until),
        phone: state.catalogue.group.phone.as_str().to_owned(),
    }
}

fn format_local(state: &GroupState, moment: Instant) -> String {
    format_page_time(
        state.catalogue.group.country.as_str(),
        state.catalogue.zone().civil_of(moment),
    )
}

async fn cancel(server: &Server, holder: &CancelLink) -> Response {
    let right = CancelRight::Secret(holder.key.clone());
    let command = Command::CancelAppointment(CancelAppointment { id: holder.appointment, right });
    let result = server.engine.write(holder.group, command).await;
    let Some(state) = server.engine.published().group_state(holder.group) else {
        return gone_response(server, None);
    };
    match result {
        Ok(_) => page_response(StatusCode::OK, &LinkPage::Cancelled, &state),
        Err(Rejection::Refused(refusals)) => match refusals.first() {
            Some(Refusal::MintimeAnnulation { until }) => {
                page_response(StatusCode::BAD_REQUEST, &too_late_page(&state, *until), &state)
            }
            Some(_) | None => gone_response(server, Some(holder.group)),
        },
        Err(rejection) => busy_response(&rejection, &state),
    }
}

/// Returns the state of the group whose client got the link; `None` for a forged link.
fn find_subscriber(server: &Server, subscriber: &UnsubscribeLink) -> Option<Arc<GroupState>> {
    let state = server.engine.published().group_state(subscriber.group)?;
    let client = state.fiches.get(&subscriber.client)?;
    if subscriber.verify(client, server.gateways.link_secret.as_ref()?) {
        Some(state)
    } else {
        None
    }
}

async fn unsubscribe(server: &Server, subscriber: &UnsubscribeLink) -> Response {
    let Some(state) = find_subscriber(server, subscriber) else {
        return gone_response(server, Some(subscriber.group));
    };
    let mut fields = Patch::default();
    fields.push(|fiche: &mut crate::domain::records::fiche::Fiche| fiche.rappel_email = false);
    let change = RecordChange::Fiche(Put { id: Some(subscriber.client), fields });
    match server.engine.write(subscriber.group, Command::ChangeRecord(change)).await {
        Ok(_) => page_response(StatusCode::OK, &LinkPage::Unsubscribed, &state),
        Err(Rejection::Refused(_)) => gone_response(server, Some(subscriber.group)),
        Err(rejection) => busy_response(&rejection, &state),
    }
}

/// Returns the account link of a token, with the state of its group and the hash of the token.
fn find_account_link(
    server: &Server,
    token: &str,
) -> Option<(Arc<GroupState>, [u8; 32], Arc<AccountLink>)> {
    let state = server.engine.published().group_state(accounts::group_in_token(token)?)?;
    let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    let link = Arc::clone(state.links.find(&hash, server.engine.steady_now())?);
    Some((state, hash, link))
}

fn account_page(link: &AccountLink) -> LinkPage {
    match link.action {
        LinkAction::Account { .. } => LinkPage::AskPassword,
        LinkAction::Email { .. } => LinkPage::AskEmail,
    }
}

/// Follows the link of an account, with the password of the form if the link sets one.
async fn follow_account_link(
    server: &Server,
    from: IpAddr,
    token: &str,
    body: &mut Incoming<'_>,
) -> Response {
    let Some((state, hash, link)) = find_account_link(server, token) else {
        return gone_response(server, accounts::group_in_token(token));
    };
    let (password_hash, done) = match link.action {
        LinkAction::Account { .. } => {
            let Some(password) = read_password(body).await else {
                return page_response(StatusCode::BAD_REQUEST, &LinkPage::NoPassword, &state);
            };
            let sha1 = password::sha1_hex(&password);
            let hash = move |memory: &mut Argon2Memory| password::hash_password_in(memory, &sha1);
            let hashed = server.authenticator.password_pool.run(from, hash).await;
            let Ok(hashed) = hashed else {
                return page_response(StatusCode::SERVICE_UNAVAILABLE, &LinkPage::Busy, &state);
            };
            (Some(hashed), LinkPage::AccountDone)
        }
        LinkAction::Email { .. } => (None, LinkPage::EmailDone),
    };
    let command = Command::FollowLink(Box::new(FollowLink { hash, password_hash }));
    match server.engine.write(state.catalogue.group.id, command).await {
        Ok(_) => page_response(StatusCode::OK, &done, &state),
        Err(Rejection::Refused(_)) => gone_response(server, accounts::group_in_token(token)),
        Err(rejection) => busy_response(&rejection, &state),
    }
}

/// Returns the password of a form; `None` without one, and for one that breaks a rule.
async fn read_password(body: &mut Incoming<'_>) -> Option<String> {
    let bytes = body.read_small().await.ok()?;
    let (_, password) = form_urlencoded::parse(&bytes).find(|(name, _)| name == "password")?;
    if check_new_password(&password).is_ok() { Some(password.into_owned()) } else { None }
}

fn busy_response(rejection: &Rejection, state: &GroupState) -> Response {
    tracing::warn!(?rejection, "a mailed link could not be followed");
    page_response(StatusCode::SERVICE_UNAVAILABLE, &LinkPage::Busy, state)
}

/// Returns the 404 page of an unknown link, in the language of the group that its token names.
fn gone_response(server: &Server, group: Option<GroupId>) -> Response {
    match group.and_then(|group| server.engine.published().group_state(group)) {
        Some(state) => page_response(StatusCode::NOT_FOUND, &LinkPage::Gone, &state),
        None => html_response(StatusCode::NOT_FOUND, render_page(&LinkPage::Gone, "")),
    }
}

fn page_response(status: StatusCode, shown: &LinkPage, state: &GroupState) -> Response {
    html_response(status, render_page(shown, state.catalogue.group.country.as_str()))
}

/// Returns an HTML response that loads nothing, is not cached, and sends no referrer.
fn html_response(status: StatusCode, page: String) -> Response {
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
