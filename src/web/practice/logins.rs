//! The logins of a professional, which the professional can end. Reference 15.1.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::time::Instant;
use crate::http::{EndedSessions, OwnSessions, Person, SessionView};
use crate::notify::language::long_date;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::feeds;
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{SECOND_FACTOR_PATH, ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::own_password;
use crate::web::practice::texts::feeds::FeedsTexts;
use crate::web::practice::texts::logins::LoginsTexts;
use crate::web::practice::texts::own_password::OwnPasswordTexts;
use crate::web::practice::texts::second_factor::SecondFactorTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;

/// The field of the form that names a login, or all others.
const ALL_OTHERS: &str = "others";

#[derive(Template)]
#[template(path = "web/practice/logins.html")]
struct LoginsScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static LoginsTexts,
    password_text: &'static OwnPasswordTexts,
    /// The form of another password.
    password: String,
    factor_text: &'static SecondFactorTexts,
    /// The page of the second factor.
    second_factor: String,
    feeds_text: &'static FeedsTexts,
    /// The page of calendar feeds.
    feeds: String,
    /// Whether the password was changed right now.
    is_changed: bool,
    action: String,
    rows: Vec<LoginRow>,
    /// Whether there is another one than that of this browser.
    has_others: bool,
}

/// A login in words.
struct LoginRow {
    id: u64,
    device: String,
    used: String,
    begun: String,
    ends: String,
    is_current: bool,
}

/// GET /p/{urlname}/logins.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let text = LoginsTexts::in_language(visit.language());
    let mut rows = Vec::new();
    for view in own_sessions(&visit).list() {
        rows.push(make_row(&visit, text, view));
    }
    let screen = LoginsScreen {
        frame: visit.frame(text.title, Section::Logins),
        text,
        password_text: OwnPasswordTexts::in_language(visit.language()),
        password: visit.url(own_password::PATH, &[]),
        factor_text: SecondFactorTexts::in_language(visit.language()),
        second_factor: visit.url(SECOND_FACTOR_PATH, &[]),
        feeds_text: FeedsTexts::in_language(visit.language()),
        feeds: visit.url(feeds::PATH, &[]),
        is_changed: visit.request.params.value("changed").is_some(),
        action: visit.url(Section::Logins.path(), &[]),
        has_others: rows.iter().any(|row| !row.is_current),
        rows,
    };
    respond(StatusCode::OK, Privacy::Client, render(&screen))
}

/// POST /p/{urlname}/logins. One that has ended already changes nothing.
pub(crate) async fn end(form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let meant = match given.value("end") {
        Some(ALL_OTHERS) => Some(EndedSessions::Others),
        Some(id) => id.parse().ok().map(EndedSessions::One),
        None => None,
    };
    if let Some(meant) = meant
        && let Err(error) = own_sessions(&visit).end(meant).await
    {
        return message::failed(&visit.request, &error);
    }
    redirect(&visit.url(Section::Logins.path(), &[]))
}

fn own_sessions(visit: &ProVisit) -> OwnSessions<'_> {
    let server = &visit.request.pages.server;
    OwnSessions {
        authenticator: &server.authenticator,
        published: server.engine.published(),
        directory: &visit.request.directory,
        person: Person::Pro(visit.login.pro),
        session: None,
        login: Some(visit.login.hash),
        now: visit.request.now,
    }
}

fn make_row(visit: &ProVisit, text: &LoginsTexts, view: SessionView) -> LoginRow {
    let when = |moment: Instant| long_date(visit.language(), visit.zone().civil_of(moment));
    let is_named = !view.device.trim().is_empty();
    let used = fill(text.used, "when", &when(view.last_used));
    LoginRow {
        id: view.id,
        device: if is_named { view.device.into() } else { text.unknown_device.to_owned() },
        used: fill(&used, "source", &view.source),
        begun: fill(text.begun, "when", &when(view.begun)),
        ends: fill(text.ends, "when", &when(view.ends)),
        is_current: view.is_current,
    }
}
