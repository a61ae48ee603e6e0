//! The HTML pages of links in mails, and the actions of their buttons. Reference 7.4.
//!
//! Mail scanners open links, so that GET changes nothing.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::http::request::Parts;
use axum::response::Response;

use crate::domain::records::account_link::{AccountLink, LinkAction};
use crate::domain::records::author::Author;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::GroupId;
use crate::domain::state::command::{Command, FollowLink, Patch, Put, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::engine::Rejection;
use crate::http::{ClientAddress, FoundLink, Incoming, SMALL_BYTES, find_link, group_in_token};
use crate::notify::links::{
    CancelLink, InvitationLink, LoginLink, LoginLinkAction, MailLink, UnsubscribeLink, parse,
};
use crate::password::strength::check_new_password;
use crate::password::{self, Argon2Memory};
use crate::web::holder::Holder;
use crate::web::language_choice::LanguageChoice;
use crate::web::link_page::{LinkPage, respond_with_link};
use crate::web::manage_page;
use crate::web::message_page;
use crate::web::move_page;
use crate::web::pages::Pages;
use crate::web::practice::message;
use crate::web::practice::new_password;
use crate::web::practice::screen_request::ScreenRequest;
use crate::web::practice::team::invitation_page;
use crate::web::pro_link::find_pro;
use crate::web::shop::Visit;
use crate::wire::params::Params;

/// The last segment of the path; an error if it is not UTF-8.
type Token = Result<Path<String>, PathRejection>;

/// Parses the link of a token. A malformed token is no link.
fn parse_link(token: &Token) -> Option<MailLink> {
    match token {
        Ok(Path(token)) => parse(token),
        Err(_) => None,
    }
}

/// A request for the page of a link.
pub(crate) struct LinkVisit {
    pages: Arc<Pages>,
    parts: Parts,
}

impl FromRequestParts<Arc<Pages>> for LinkVisit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, pages: &Arc<Pages>) -> Result<Self, Infallible> {
        Ok(Self { pages: Arc::clone(pages), parts: parts.clone() })
    }
}

impl LinkVisit {
    /// The same as a request for a screen of the practice.
    fn screen(&self) -> ScreenRequest {
        ScreenRequest::without_login(&self.pages, &self.parts)
    }

    /// The same with the login of the browser, if it has one.
    async fn screen_with_login(&self) -> ScreenRequest {
        let mut parts = self.parts.clone();
        let Ok(request) = ScreenRequest::from_request_parts(&mut parts, &self.pages).await;
        request
    }

    /// Returns the holder of an appointment; `None` for a wrong secret.
    fn find_holder(&self, link: &CancelLink) -> Option<Holder> {
        let state = self.pages.server.engine.published().group_state(link.group)?;
        let appointment = state.rows.get(&link.appointment)?.appointment()?;
        if !appointment.key.matches(&link.key) {
            return None;
        }
        let visit =
            Visit::of_group(Arc::clone(&self.pages), state, &self.parts.uri, &self.parts.headers);
        Some(Holder { visit, id: link.appointment, key: link.key.clone() })
    }

    /// Returns the holder of the appointment that a token names.
    ///
    /// # Errors
    /// The 404 page.
    fn find_mover(&self, token: &Token) -> Result<Holder, Box<Response>> {
        match parse_link(token) {
            Some(MailLink::Cancel(link)) => match self.find_holder(&link) {
                Some(holder) => Ok(holder),
                None => Err(Box::new(self.gone(Some(link.group)))),
            },
            Some(
                MailLink::Unsubscribe(_)
                | MailLink::Account(_)
                | MailLink::Login(_)
                | MailLink::Invitation(_),
            )
            | None => Err(Box::new(self.gone(None))),
        }
    }

    /// Returns the response with a page, in the language of a group unless the visitor has another.
    fn respond(&self, status: StatusCode, page: &LinkPage, state: Option<&GroupState>) -> Response {
        let params = Params::from_query(self.parts.uri.query().unwrap_or_default());
        let country = state.map_or("", |state| state.catalogue.group.country.as_str());
        let choice = LanguageChoice::new(params.value("lang"), &self.parts.headers, country);
        respond_with_link(&self.pages, status, page, choice.language)
    }

    fn respond_ok(&self, page: &LinkPage, state: &GroupState) -> Response {
        self.respond(StatusCode::OK, page, Some(state))
    }

    fn busy(&self, rejection: &Rejection, state: &GroupState) -> Response {
        tracing::warn!(?rejection, "a mailed link could not be followed");
        self.respond(StatusCode::SERVICE_UNAVAILABLE, &LinkPage::Busy, Some(state))
    }

    /// Returns the 404 page of an unknown link, in the language of the group that its token names.
    fn gone(&self, group: Option<GroupId>) -> Response {
        let published = self.pages.server.engine.published();
        let state = group.and_then(|group| published.group_state(group));
        self.respond(StatusCode::NOT_FOUND, &LinkPage::Gone, state.as_deref())
    }
}

/// GET /m/{token}.
pub(crate) async fn show(request: LinkVisit, token: Token) -> Response {
    match parse_link(&token) {
        Some(MailLink::Cancel(link)) => match request.find_holder(&link) {
            Some(holder) => manage_page::show(&holder),
            None => request.gone(Some(link.group)),
        },
        Some(MailLink::Unsubscribe(subscriber)) => {
            let Some(state) = find_subscriber(&request.pages, &subscriber) else {
                return request.gone(Some(subscriber.group));
            };
            let group = state.catalogue.group.name.as_str().to_owned();
            request.respond_ok(&LinkPage::AskUnsubscribe { group }, &state)
        }
        Some(MailLink::Login(link)) => match link.action {
            LoginLinkAction::Admit => ask_login(&request, &link),
            LoginLinkAction::SetPassword => new_password::show(&request.screen(), &link),
        },
        Some(MailLink::Invitation(link)) => {
            invitation_page::show(&request.screen_with_login().await, &link)
        }
        Some(MailLink::Account(token)) => match find_account_link(&request.pages, &token) {
            Some((state, found)) => request.respond_ok(&account_page(&found.link), &state),
            None => request.gone(group_in_token(&token)),
        },
        None => request.gone(None),
    }
}

/// GET /m/{token}/move.
pub(crate) async fn show_move(request: LinkVisit, token: Token) -> Response {
    match request.find_mover(&token) {
        Ok(holder) => move_page::show(holder).await,
        Err(gone) => *gone,
    }
}

/// POST /m/{token}/move.
pub(crate) async fn act_on_move(
    request: LinkVisit,
    Extension(ClientAddress(from)): Extension<ClientAddress>,
    token: Token,
    body: Body,
) -> Response {
    let holder = match request.find_mover(&token) {
        Ok(holder) => holder,
        Err(gone) => return *gone,
    };
    let mut body = Incoming::new(&request.pages.server, &request.parts.headers, from, body);
    match body.read_form(SMALL_BYTES).await {
        Ok(form) => move_page::act(holder, &form.params, from).await,
        Err(error) => message_page::failed(&holder.visit, &error),
    }
}

/// POST /m/{token}, by the button, or by the mail program of a client who unsubscribes.
pub(crate) async fn act(
    request: LinkVisit,
    Extension(ClientAddress(from)): Extension<ClientAddress>,
    token: Token,
    body: Body,
) -> Response {
    match parse_link(&token) {
        Some(MailLink::Cancel(link)) => match request.find_holder(&link) {
            Some(holder) => manage_page::cancel(holder).await,
            None => request.gone(Some(link.group)),
        },
        Some(MailLink::Unsubscribe(subscriber)) => unsubscribe(&request, &subscriber).await,
        Some(MailLink::Login(link)) => match link.action {
            LoginLinkAction::Admit => follow_login_link(&request, from, &link),
            LoginLinkAction::SetPassword => {
                let headers = &request.parts.headers;
                new_password::act(&request.screen(), &link, headers, body).await
            }
        },
        Some(MailLink::Invitation(link)) => accept_invitation(&request, from, &link, body).await,
        Some(MailLink::Account(token)) => {
            let mut body = Incoming::new(&request.pages.server, &request.parts.headers, from, body);
            follow_account_link(&request, from, &token, &mut body).await
        }
        None => request.gone(None),
    }
}

/// Returns the state of the group whose client got the link; `None` for a forged link.
fn find_subscriber(pages: &Pages, subscriber: &UnsubscribeLink) -> Option<Arc<GroupState>> {
    let server = &pages.server;
    let state = server.engine.published().group_state(subscriber.group)?;
    let client = state.fiches.get(&subscriber.client)?;
    if subscriber.verify(client, server.gateways.link_secret.as_ref()?) {
        Some(state)
    } else {
        None
    }
}

async fn unsubscribe(request: &LinkVisit, subscriber: &UnsubscribeLink) -> Response {
    let Some(state) = find_subscriber(&request.pages, subscriber) else {
        return request.gone(Some(subscriber.group));
    };
    let mut fields = Patch::default();
    fields.push(Fiche::unsubscribe);
    let change = RecordChange::Fiche(Put { id: Some(subscriber.client), fields });
    let engine = &request.pages.server.engine;
    match engine.write(subscriber.group, Author::Visitor, Command::ChangeRecord(change)).await {
        Ok(_) => request.respond_ok(&LinkPage::Unsubscribed, &state),
        Err(Rejection::Refused(_)) => request.gone(Some(subscriber.group)),
        Err(rejection) => request.busy(&rejection, &state),
    }
}

/// Accepts an invitation with the fields of a form.
async fn accept_invitation(
    request: &LinkVisit,
    from: IpAddr,
    link: &InvitationLink,
    body: Body,
) -> Response {
    let screen = request.screen_with_login().await;
    let mut body = Incoming::new(&request.pages.server, &request.parts.headers, from, body);
    let form = body.read_form(SMALL_BYTES).await;
    drop(body);
    match form {
        Ok(form) => invitation_page::act(&screen, link, &form.params).await,
        Err(error) => message::failed(&screen, &error),
    }
}

/// Asks whether the browser is to be let in.
fn ask_login(request: &LinkVisit, link: &LoginLink) -> Response {
    match find_pro(&request.pages, link) {
        Some((state, _)) => request.respond_ok(&LinkPage::AskLogin, &state),
        None => request.gone(Some(link.group)),
    }
}

/// Lets the browser try to log in.
fn follow_login_link(request: &LinkVisit, from: IpAddr, link: &LoginLink) -> Response {
    let Some((state, pro)) = find_pro(&request.pages, link) else {
        return request.gone(Some(link.group));
    };
    let server = &request.pages.server;
    let now = server.engine.clock().now();
    let directory = server.engine.published().directory();
    let authenticator = &server.authenticator;
    let cookie =
        authenticator.admit_by_link(link, &pro, &request.parts.headers, from, &directory, now);
    let mut response = request.respond_ok(&LinkPage::LoginDone, &state);
    response.headers_mut().append(SET_COOKIE, cookie);
    response
}

/// Returns the account link of a token, with the state of its group.
fn find_account_link(pages: &Pages, token: &str) -> Option<(Arc<GroupState>, FoundLink)> {
    let server = &pages.server;
    let state = server.engine.published().group_state(group_in_token(token)?)?;
    let found = find_link(server, &state, token)?;
    Some((state, found))
}

fn account_page(link: &AccountLink) -> LinkPage {
    match link.action {
        LinkAction::Account { .. } => LinkPage::AskPassword,
        LinkAction::Email { .. } => LinkPage::AskEmail,
    }
}

/// Follows the link of an account, with the password of the form if the link sets one.
async fn follow_account_link(
    request: &LinkVisit,
    from: IpAddr,
    token: &str,
    body: &mut Incoming<'_>,
) -> Response {
    let server = &request.pages.server;
    let Some((state, found)) = find_account_link(&request.pages, token) else {
        return request.gone(group_in_token(token));
    };
    let FoundLink { link, signed } = found;
    let (password_hash, done) = match link.action {
        LinkAction::Account { .. } => {
            let Some(password) = read_password(body).await else {
                let status = StatusCode::BAD_REQUEST;
                return request.respond(status, &LinkPage::NoPassword, Some(&state));
            };
            let sha1 = password::sha1_hex(&password);
            let hash = move |memory: &mut Argon2Memory| password::hash_password_in(memory, &sha1);
            let hashed = server.authenticator.password_pool.run(from, hash).await;
            let Ok(hashed) = hashed else {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                return request.respond(status, &LinkPage::Busy, Some(&state));
            };
            (Some(hashed), LinkPage::AccountDone)
        }
        LinkAction::Email { .. } => (None, LinkPage::EmailDone),
    };
    let command =
        Command::FollowLink(Box::new(FollowLink { hash: link.hash, signed, password_hash }));
    match server.engine.write(state.catalogue.group.id, Author::Visitor, command).await {
        Ok(_) => {
            let now = server.engine.clock().now();
            let directory = server.engine.published().directory();
            server.authenticator.record_owner(&link.email, from, &directory, now);
            request.respond_ok(&done, &state)
        }
        Err(Rejection::Refused(_)) => request.gone(group_in_token(token)),
        Err(rejection) => request.busy(&rejection, &state),
    }
}

/// Returns the password of a form; `None` without one, and for one that breaks a rule.
async fn read_password(body: &mut Incoming<'_>) -> Option<String> {
    let bytes = body.read_small().await.ok()?;
    let (_, password) = form_urlencoded::parse(&bytes).find(|(name, _)| name == "password")?;
    if check_new_password(&password).is_ok() { Some(password.into_owned()) } else { None }
}
