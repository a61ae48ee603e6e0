//! The second factor of a professional: setting it up, its recovery codes, and its removal.
//! Reference 15.1.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::http::{ActiveLogin, AuthRequest, FactorAction, FactorChange, FactorForm};
use crate::notify::language::long_date;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::pages::Pages;
use crate::web::practice::code_page::given_code;
use crate::web::practice::form::ScreenForm;
use crate::web::practice::frame::{SECOND_FACTOR_PATH, ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::qr_drawing::QrDrawing;
use crate::web::practice::texts::second_factor::SecondFactorTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::params::Params;

/// Maximum number of characters of the group's name in an authenticator.
const ISSUER_CHARACTERS_MAX: usize = 32;

#[derive(Template)]
#[template(path = "web/practice/second_factor.html")]
struct FactorScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static SecondFactorTexts,
    action: String,
    logins: String,
    /// Whether the group demands a factor that is not set up.
    is_required: bool,
    /// The sentences of a factor that is set up; empty without one.
    active: String,
    left: String,
    faults: Faults,
    /// Whether the factor was removed right now.
    is_removed: bool,
}

/// The sentences of what is wrong; empty without a fault.
#[derive(Clone, Copy, Default)]
struct Faults {
    current: &'static str,
    code: &'static str,
    form: &'static str,
}

#[derive(Template)]
#[template(path = "web/practice/second_factor_scan.html")]
struct ScanScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static SecondFactorTexts,
    action: String,
    qr: QrDrawing,
    /// The secret in groups of four characters.
    secret: String,
    ticket: &'v str,
    fault: &'static str,
}

#[derive(Template)]
#[template(path = "web/practice/recovery_codes.html")]
struct CodesScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static SecondFactorTexts,
    codes: Vec<String>,
    next: String,
}

/// GET /p/{urlname}/second-factor.
pub(crate) async fn show(State(pages): State<Arc<Pages>>, parts: Parts) -> Response {
    let mut parts = parts;
    match ProVisit::before_second_factor(&mut parts, &pages).await {
        Ok(visit) => respond_with_state(&visit, StatusCode::OK, Faults::default()),
        Err(answer) => answer,
    }
}

/// POST /p/{urlname}/second-factor. The field `do` says which of the forms was sent.
pub(crate) async fn change(form: ScreenForm) -> Response {
    let ScreenForm { request, given, mut parts } = form;
    let pages = Arc::clone(&request.pages);
    let visit = match ProVisit::before_second_factor(&mut parts, &pages).await {
        Ok(visit) => visit,
        Err(answer) => return answer,
    };
    let auth = AuthRequest::of_page(
        pages.server.engine.published(),
        &visit.request.directory,
        &parts,
        &visit.request.params,
        visit.request.from,
        visit.request.now,
    );
    match given.value("do") {
        Some("begin") => begin(&visit, &given, &auth).await,
        Some("confirm") => confirm(&visit, &given, &auth).await,
        Some("renew") => act(&visit, FactorAction::RenewRecovery, &given, &auth).await,
        Some("remove") => act(&visit, FactorAction::Remove, &given, &auth).await,
        Some(_) | None => redirect(&visit.url(SECOND_FACTOR_PATH, &[])),
    }
}

/// Asks for the first code, after the password.
async fn begin(visit: &ProVisit, given: &Params, auth: &AuthRequest<'_>) -> Response {
    let authenticator = &visit.request.pages.server.authenticator;
    let current = given.value("current").unwrap_or_default();
    if visit.has_second_factor() {
        return redirect(&visit.url(SECOND_FACTOR_PATH, &[]));
    }
    match authenticator.begin_enrolment(visit.login, current, auth).await {
        Ok(Some(begun)) => {
            respond_with_scan(visit, StatusCode::OK, &begun.secret, &begun.ticket, "")
        }
        Ok(None) => {
            let text = SecondFactorTexts::in_language(visit.language());
            let faults = Faults { current: text.wrong_current, ..Faults::default() };
            respond_with_state(visit, StatusCode::BAD_REQUEST, faults)
        }
        Err(error) => message::failed(&visit.request, &error),
    }
}

/// Sets the factor up, if the code is right.
async fn confirm(visit: &ProVisit, given: &Params, auth: &AuthRequest<'_>) -> Response {
    let authenticator = &visit.request.pages.server.authenticator;
    let text = SecondFactorTexts::in_language(visit.language());
    let ticket = given.value("ticket").unwrap_or_default();
    let code = given.value("code").unwrap_or_default();
    let changed = authenticator.finish_enrolment(visit.login, ticket, code, auth).await;
    let is_wrong = matches!(changed, Ok(FactorChange::WrongCode));
    if is_wrong && let Some(secret) = authenticator.enrolment_secret(visit.login, ticket, auth) {
        let status = StatusCode::BAD_REQUEST;
        return respond_with_scan(visit, status, &secret, ticket, text.wrong_code);
    }
    match changed {
        Ok(changed) => respond_to_change(visit, changed),
        Err(error) => message::failed(&visit.request, &error),
    }
}

async fn act(
    visit: &ProVisit,
    action: FactorAction,
    given: &Params,
    auth: &AuthRequest<'_>,
) -> Response {
    let authenticator = &visit.request.pages.server.authenticator;
    let form =
        FactorForm { current: given.value("current").unwrap_or_default(), code: given_code(given) };
    match authenticator.change_own_factor(visit.login, action, form, auth).await {
        Ok(changed) => respond_to_change(visit, changed),
        Err(error) => message::failed(&visit.request, &error),
    }
}

fn respond_to_change(visit: &ProVisit, changed: FactorChange) -> Response {
    let text = SecondFactorTexts::in_language(visit.language());
    let faults = match changed {
        FactorChange::Done(codes) if codes.is_empty() => {
            return redirect(&visit.url(SECOND_FACTOR_PATH, &[("removed", "1")]));
        }
        FactorChange::Done(codes) => return respond_with_codes(visit, codes),
        FactorChange::WrongCurrent => Faults { current: text.wrong_current, ..Faults::default() },
        FactorChange::WrongCode => Faults { code: text.wrong_code, ..Faults::default() },
        FactorChange::CodesExhausted => Faults { code: text.exhausted, ..Faults::default() },
        FactorChange::Overtaken => Faults { form: text.overtaken, ..Faults::default() },
    };
    respond_with_state(visit, StatusCode::BAD_REQUEST, faults)
}

fn respond_with_state(visit: &ProVisit, status: StatusCode, faults: Faults) -> Response {
    let text = SecondFactorTexts::in_language(visit.language());
    let mut active = String::new();
    let mut left = String::new();
    if let Some(factor) = visit.request.directory.second_factors.get(&visit.login.pro) {
        let since = long_date(visit.language(), visit.zone().civil_of(factor.since));
        active = fill(text.active, "when", &since);
        left = fill(text.left, "count", &factor.recovery_codes_left().to_string());
    }
    let screen = FactorScreen {
        frame: visit.frame(text.title, Section::Logins),
        text,
        action: visit.url(SECOND_FACTOR_PATH, &[]),
        logins: visit.url(Section::Logins.path(), &[]),
        is_required: visit.lacks_second_factor(),
        active,
        left,
        faults,
        is_removed: visit.request.params.value("removed").is_some(),
    };
    respond(status, Privacy::Client, render(&screen))
}

fn respond_with_scan(
    visit: &ProVisit,
    status: StatusCode,
    secret: &str,
    ticket: &str,
    fault: &'static str,
) -> Response {
    let text = SecondFactorTexts::in_language(visit.language());
    let parts = secret.as_bytes().chunks(4).map(String::from_utf8_lossy);
    let screen = ScanScreen {
        frame: visit.frame(text.scan_title, Section::Logins),
        text,
        action: visit.url(SECOND_FACTOR_PATH, &[]),
        qr: QrDrawing::new(&authenticator_url(visit, visit.login, secret))
            .expect("a name of 32 characters and an address fit"),
        secret: parts.collect::<Vec<_>>().join(" "),
        ticket,
        fault,
    };
    respond(status, Privacy::Client, render(&screen))
}

fn respond_with_codes(visit: &ProVisit, codes: Vec<String>) -> Response {
    let text = SecondFactorTexts::in_language(visit.language());
    let screen = CodesScreen {
        frame: visit.frame(text.codes_title, Section::Logins),
        text,
        codes,
        next: visit.url(Section::Agenda.path(), &[]),
    };
    respond(StatusCode::OK, Privacy::Client, render(&screen))
}

/// Returns the address that authenticators read: the group and the person's address name it there.
fn authenticator_url(visit: &ProVisit, login: ActiveLogin, secret: &str) -> String {
    let issuer: String = visit.group().name.as_str().chars().take(ISSUER_CHARACTERS_MAX).collect();
    let issuer = utf8_percent_encode(&issuer, NON_ALPHANUMERIC);
    let email = visit.request.pro(login).email.as_str();
    let email = utf8_percent_encode(email, NON_ALPHANUMERIC);
    format!("otpauth://totp/{issuer}:{email}?secret={secret}&issuer={issuer}")
}
