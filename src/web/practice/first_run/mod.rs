//! The first run: a browser sets up the first group of a store without groups, over a link that the
//! operator has. Reference 15.12.
//!
//! The pages keep nothing on the server. What was typed travels in their forms, except for the
//! password, and the last form founds all of it at once.

mod given;
mod step;
mod view;

use std::sync::Arc;

use askama::Template;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};

use crate::domain::decisions::founding::{FoundShop, ShopRefusal};
use crate::domain::directory::professionals::ProDraft;
use crate::domain::directory::roles::ProRole;
use crate::domain::records::author::Author;
use crate::domain::records::text::Text;
use crate::domain::state::group_state::GroupState;
use crate::http::{
    ApiError, AuthRequest, FIRST_RUN_PATH, Incoming, LoginCookies, PRO_FORM_BYTES_MAX, ScreenLogin,
    ScreenLoginResult,
};
use crate::password::{self, Argon2Memory};
use crate::web::group_path::practice_path;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::pages::Pages;
use crate::web::practice::first_run::given::{Given, GivenShop};
use crate::web::practice::first_run::step::FirstRunStep;
use crate::web::practice::first_run::view::{respond_open_way, respond_with_step};
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::screen_request::ScreenRequest;
use crate::web::practice::texts::first_run::FirstRunTexts;
use crate::web::practice::visit::ProVisit;
use crate::wire::params::Params;

/// A request by the holder of the link, on a way that no one else reads.
pub(crate) struct FirstRunVisit {
    request: ScreenRequest,
    /// The path of the link.
    action: String,
    /// Method, address and headers.
    parts: Parts,
}

impl FirstRunVisit {
    /// Checks a request.
    ///
    /// # Errors
    /// The page of a way that others read, of a link that is not good, or of too many of them.
    async fn new(mut parts: Parts, pages: &Arc<Pages>) -> Result<Self, Response> {
        let Ok(request) = ScreenRequest::from_request_parts(&mut parts, pages).await;
        let token = Path::<String>::from_request_parts(&mut parts, pages).await;
        let Path(token) = token.map_err(|error| error.into_response())?;
        let server = &pages.server;
        if !server.awaits_first_run() {
            // The holder may have sent the last form twice.
            let is_in = request.login.is_some();
            return Err(if is_in { redirect(&request.url("/p", &[])) } else { gone(&request) });
        }
        match server.first_run.check(&token, request.from, request.now) {
            Ok(true) => {}
            Ok(false) => return Err(gone(&request)),
            Err(error) => return Err(message::failed(&request, &error)),
        }
        if !server.is_private_way(&parts.headers) {
            // Others may have read the link, so it is no longer good.
            server.first_run.end_link();
            return Err(respond_open_way(&request));
        }
        Ok(Self { request, action: format!("{FIRST_RUN_PATH}/{token}"), parts })
    }
}

/// Returns the page of a link that is not good.
fn gone(request: &ScreenRequest) -> Response {
    let text = FirstRunTexts::in_language(request.language());
    message::with_line(request, StatusCode::NOT_FOUND, text.gone_title, text.gone)
}

impl FromRequest<Arc<Pages>> for FirstRunVisit {
    type Rejection = Response;

    async fn from_request(request: Request, pages: &Arc<Pages>) -> Result<Self, Response> {
        Self::new(request.into_parts().0, pages).await
    }
}

/// A form of the first run.
pub(crate) struct FirstRunForm {
    visit: FirstRunVisit,
    form: Params,
}

impl FromRequest<Arc<Pages>> for FirstRunForm {
    type Rejection = Response;

    async fn from_request(request: Request, pages: &Arc<Pages>) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        if pages.server.is_foreign_first_run(&parts.headers) {
            let Ok(request) = ScreenRequest::from_request_parts(&mut parts, pages).await;
            return Err(message::foreign(&request));
        }
        let visit = FirstRunVisit::new(parts, pages).await?;
        let mut body = Incoming::new(&pages.server, &visit.parts.headers, visit.request.from, body);
        let form = body.read_form(PRO_FORM_BYTES_MAX).await;
        drop(body);
        match form {
            Ok(form) => Ok(Self { form: form.params, visit }),
            Err(error) => Err(message::failed(&visit.request, &error)),
        }
    }
}

/// GET /first-run/{token}: the first step.
pub(crate) async fn show(visit: FirstRunVisit) -> Response {
    let given = Given::new(&Params::default());
    respond_with_step(&visit.request, &visit.action, FirstRunStep::Shop, &given, &[])
}

/// POST /first-run/{token}: the form of a step. It leads to the step after or before, and the last
/// one founds the shop.
pub(crate) async fn act(form: FirstRunForm) -> Response {
    let FirstRunForm { visit, form } = form;
    let mut given = Given::new(&form);
    let FirstRunVisit { request, action, .. } = &visit;
    let step = FirstRunStep::from_name(form.value("step").unwrap_or_default())
        .unwrap_or(FirstRunStep::Shop);
    let button = form.value("go").unwrap_or_default();
    if button == "back" {
        return respond_with_step(request, action, step.before(), &given, &[]);
    }
    if button == "more" {
        given.add_services();
        return respond_with_step(request, action, FirstRunStep::Services, &given, &[]);
    }
    let text = FirstRunTexts::in_language(request.language());
    let Some(next) = step.after() else { return found(&visit, &given).await };
    let faults = given.faults_of(step, request.now, text);
    let shown = if faults.is_empty() { next } else { step };
    respond_with_step(request, action, shown, &given, &faults)
}

/// Founds the shop and logs its owner in.
async fn found(visit: &FirstRunVisit, given: &Given) -> Response {
    let FirstRunVisit { request, action, .. } = visit;
    let text = FirstRunTexts::in_language(request.language());
    let shop = match given.parse(request.now, text) {
        Ok(shop) => shop,
        Err((step, faults)) => return respond_with_step(request, action, step, given, &faults),
    };
    let GivenShop { group, calendar, interventions, hours, owner } = shop;
    let server = &request.pages.server;
    let sha1 = password::sha1_hex(&owner.password);
    let hash = move |memory: &mut Argon2Memory| password::hash_password_in(memory, &sha1);
    let password_hash = match server.authenticator.password_pool.run(request.from, hash).await {
        Ok(password_hash) => password_hash,
        Err(error) => return message::failed(request, &error),
    };
    let email = owner.email.clone();
    let owner = ProDraft {
        email: owner.email,
        password_hash: Some(password_hash),
        lastname: owner.lastname,
        firstname: owner.firstname,
        cellphone: Text::default(),
        groups: [].into(),
        main: None,
        role: ProRole::Administrator,
    };
    let shop = Box::new(FoundShop { group, calendar, interventions, hours, owner });
    // The link stands for the operator, who has got it.
    let state = match server.engine.found_shop(Author::Operator, shop).await {
        Ok(Ok(state)) => state,
        Ok(Err(ShopRefusal::HasGroups)) => return gone(request),
        Ok(Err(ShopRefusal::Owner(refusal))) => {
            tracing::warn!(%refusal, "the first run founded no shop");
            return message::with_line(
                request,
                StatusCode::CONFLICT,
                request.text().failed_title,
                request.text().failed,
            );
        }
        Ok(Err(ShopRefusal::Records)) => unreachable!("each record was parsed by its table"),
        Err(rejection) => return message::failed(request, &ApiError::from_store(rejection)),
    };
    server.first_run.end_link();
    lead_in(visit, &state, email.as_str(), given.value("password")).await
}

/// Logs the owner in and leads to the welcome, or to the login if that fails.
async fn lead_in(
    visit: &FirstRunVisit,
    state: &GroupState,
    email: &str,
    password: &str,
) -> Response {
    let FirstRunVisit { request, parts, .. } = visit;
    let server = &request.pages.server;
    let welcome = practice_path(&state.catalogue.group, Section::Welcome.path());
    let mut response = redirect(&request.url(&welcome, &[]));
    let published = server.engine.published();
    // The directory of the request does not know the owner yet.
    let directory = published.directory();
    let auth = AuthRequest::of_page(
        published,
        &directory,
        parts,
        &request.params,
        request.from,
        request.now,
    );
    let login = ScreenLogin { email, password, stays: false };
    if let Ok(ScreenLoginResult::LoggedIn(LoginCookies(cookies))) =
        server.authenticator.log_in_at_screens(login, &auth).await
    {
        for cookie in cookies {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
    }
    response
}

#[derive(Template)]
#[template(path = "web/practice/welcome.html")]
struct WelcomeScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static FirstRunTexts,
    page_url: String,
    agenda_url: String,
}

/// GET /p/{urlname}/welcome: the ways from the first run to the booking page and the agenda.
pub(crate) async fn welcome(visit: ProVisit) -> Response {
    let text = FirstRunTexts::in_language(visit.language());
    let screen = WelcomeScreen {
        frame: visit.frame(text.done_title, Section::Welcome),
        text,
        page_url: visit.booking_page_url(),
        agenda_url: visit.url(Section::Agenda.path(), &[]),
    };
    respond(StatusCode::OK, Privacy::Client, render(&screen))
}
