//! The calendar feeds that a professional may change: made, renewed and revoked. Reference 15.19.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::domain::directory::feed_access::may_manage_feed;
use crate::domain::directory::roles::ProRole;
use crate::domain::records::calendarfeed::{Calendarfeed, FeedDetails, FeedTarget};
use crate::domain::records::ids::{CalendarId, CalendarfeedId, ProId};
use crate::domain::state::command::{CalendarfeedChange, CalendarfeedStep, Command};
use crate::domain::state::refusal::Refusal;
use crate::engine::Rejection;
use crate::http::{GuardedRejection, draw_feed_secret};
use crate::notify::feed_link::FeedSecret;
use crate::web::format;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::event_change::failed;
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::history_lines::who;
use crate::web::practice::message;
use crate::web::practice::revision::write;
use crate::web::practice::texts::feeds::FeedsTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::calendarfeed::{CALENDARFEED, FeedMaker};
use crate::wire::params::Params;

/// The path below `/p/<urlname>`.
pub(crate) const PATH: &str = "/feeds";

#[derive(Template)]
#[template(path = "web/practice/feeds.html")]
struct FeedsScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static FeedsTexts,
    action: String,
    rows: Vec<FeedRow>,
    is_revoked: bool,
    /// The sentence of what is wrong; empty without a fault.
    fault: &'static str,
    targets: Vec<TargetOption>,
    /// Value, label, and whether it is chosen.
    details: Vec<(&'static str, &'static str, bool)>,
}

struct FeedRow {
    id: u64,
    name: String,
    details: &'static str,
    made: String,
    works: bool,
}

struct TargetOption {
    value: String,
    name: String,
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "web/practice/feed_made.html")]
struct FeedMadeScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static FeedsTexts,
    url: String,
    next: String,
}

/// GET /p/{urlname}/feeds.
pub(crate) async fn show(visit: ProVisit) -> Response {
    respond_with_list(&visit, StatusCode::OK, None, "")
}

/// POST /p/{urlname}/feeds: makes a feed, or renews or revokes the one that the form names.
pub(crate) async fn change(form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    if let Some(number) = given.value("revoke") {
        let Some(id) = find(&visit, number) else { return message::not_found(&visit.request) };
        return match send(&visit, CalendarfeedStep::Revoke { id }).await {
            Ok(()) => redirect(&visit.url(PATH, &[("revoked", "1")])),
            Err(rejection) => refuse(&visit, &given, rejection),
        };
    }
    let secret = draw_feed_secret(&visit.state);
    let secret_hash = secret.hash();
    let step = if let Some(number) = given.value("renew") {
        let Some(id) = find(&visit, number) else { return message::not_found(&visit.request) };
        CalendarfeedStep::Renew { id, secret_hash }
    } else {
        let Some((target, details)) = read_feed(&visit, &given) else {
            let text = FeedsTexts::in_language(visit.language());
            return respond_with_list(&visit, StatusCode::BAD_REQUEST, Some(&given), text.wrong);
        };
        CalendarfeedStep::Make { target, details, secret_hash }
    };
    match send(&visit, step).await {
        Ok(()) => respond_with_link(&visit, &secret),
        Err(rejection) => refuse(&visit, &given, rejection),
    }
}

/// Finds a feed that the professional may change.
fn find(visit: &ProVisit, number: &str) -> Option<CalendarfeedId> {
    let id = CalendarfeedId::new(number.parse().ok()?)?;
    visit.state.calendarfeeds.get(id).filter(|feed| manages(visit, feed.target)).map(|feed| feed.id)
}

fn manages(visit: &ProVisit, target: FeedTarget) -> bool {
    may_manage_feed(visit.role(), visit.login.pro, target)
}

/// Reads the feed of a form; `None` if it names no calendar or no details.
fn read_feed(visit: &ProVisit, given: &Params) -> Option<(FeedTarget, FeedDetails)> {
    let (kind, number) = given.value("target")?.split_once('-')?;
    let field = match kind {
        "calendar" => "calendar_id",
        "pro" => "pro_id",
        _ => return None,
    };
    let mut object: Map<String, Value> = Map::new();
    object.insert(field.to_owned(), json!(number));
    object.insert("details".to_owned(), json!(given.value("details")?));
    let maker = FeedMaker {
        state: &visit.state,
        directory: &visit.request.directory,
        sight: visit.sight(),
        only: if *visit.role() == ProRole::Administrator { None } else { Some(visit.login.pro) },
    };
    maker.parse(&object).ok()
}

async fn send(visit: &ProVisit, step: CalendarfeedStep) -> Result<(), GuardedRejection> {
    let change = CalendarfeedChange { author: visit.author(), step };
    write(visit, Command::ChangeCalendarfeed(change)).await.map(|_| ())
}

/// Returns the page of a feed that was not changed.
fn refuse(visit: &ProVisit, given: &Params, rejection: GuardedRejection) -> Response {
    let text = FeedsTexts::in_language(visit.language());
    if let GuardedRejection::Rejected(Rejection::Refused(refusals)) = &rejection {
        if let Some(Refusal::InvalidParameter(fault)) = refusals.first() {
            let is_full = fault.field == CALENDARFEED;
            // Else the calendar was deleted meanwhile.
            let sentence = if is_full { text.too_many } else { text.wrong };
            return respond_with_list(visit, StatusCode::CONFLICT, Some(given), sentence);
        }
        // It was revoked meanwhile.
        if let Some(Refusal::NoResult) = refusals.first() {
            return redirect(&visit.url(PATH, &[]));
        }
    }
    failed(visit, rejection)
}

/// Returns the page with a link. It is shown this once, so no cache keeps it.
fn respond_with_link(visit: &ProVisit, secret: &FeedSecret) -> Response {
    let text = FeedsTexts::in_language(visit.language());
    let screen = FeedMadeScreen {
        frame: visit.frame(text.made_title, Section::Logins),
        text,
        url: secret.url(&visit.request.pages.server.gateways.public_url),
        next: visit.url(PATH, &[]),
    };
    respond(StatusCode::OK, Privacy::Client, render(&screen))
}

fn respond_with_list(
    visit: &ProVisit,
    status: StatusCode,
    given: Option<&Params>,
    fault: &'static str,
) -> Response {
    let text = FeedsTexts::in_language(visit.language());
    let chosen = given.and_then(|given| given.value("details")).unwrap_or("busy");
    let feeds = visit.state.calendarfeeds.iter().filter(|feed| manages(visit, feed.target));
    let screen = FeedsScreen {
        frame: visit.frame(text.title, Section::Logins),
        text,
        action: visit.url(PATH, &[]),
        rows: feeds.map(|feed| make_row(visit, text, feed)).collect(),
        is_revoked: visit.request.params.value("revoked").is_some(),
        fault,
        targets: targets(visit, text, given.and_then(|given| given.value("target"))),
        details: FeedDetails::ALL
            .into_iter()
            .map(|details| (details.name(), in_words(text, details), details.name() == chosen))
            .collect(),
    };
    respond(status, Privacy::Client, render(&screen))
}

/// Returns the targets that the professional may choose: itself or the team, then calendars.
fn targets(visit: &ProVisit, text: &FeedsTexts, chosen: Option<&str>) -> Vec<TargetOption> {
    let group = visit.group().id;
    let directory = &visit.request.directory;
    let mut targets = Vec::new();
    for pro in directory.pros.of_group(group) {
        let has_own = directory.own_calendars(group, pro.id).is_some();
        if has_own && manages(visit, FeedTarget::Pro(pro.id)) {
            targets.push((format!("pro-{}", pro.id), pro_name(visit, text, pro.id)));
        }
    }
    for calendar in visit.state.catalogue.live_calendars() {
        if manages(visit, FeedTarget::Calendar(calendar.id)) {
            targets.push((format!("calendar-{}", calendar.id), calendar.name.as_str().to_owned()));
        }
    }
    let option = |(value, name): (String, String)| TargetOption {
        is_chosen: chosen == Some(value.as_str()),
        value,
        name,
    };
    targets.into_iter().map(option).collect()
}

fn make_row(visit: &ProVisit, text: &FeedsTexts, feed: &Calendarfeed) -> FeedRow {
    let name = match feed.target {
        FeedTarget::Calendar(id) => calendar_name(visit, text, id),
        FeedTarget::Pro(id) => pro_name(visit, text, id),
    };
    let day = format::date(visit.language(), visit.zone().civil_of(feed.updated_at).day());
    let made = fill(text.made_by, "day", &day);
    FeedRow {
        id: feed.id.number(),
        name,
        details: in_words(text, feed.details),
        made: fill(&made, "who", &who(visit, Some(feed.author))),
        works: visit.state.shown_calendars_of(feed, &visit.request.directory).is_some(),
    }
}

fn calendar_name(visit: &ProVisit, text: &FeedsTexts, id: CalendarId) -> String {
    match visit.state.catalogue.calendars.get(&id) {
        Some(calendar) => calendar.name.as_str().to_owned(),
        None => fill(text.gone, "id", &id.to_string()),
    }
}

fn pro_name(visit: &ProVisit, text: &FeedsTexts, id: ProId) -> String {
    if id == visit.login.pro {
        return text.own.to_owned();
    }
    let names = visit.request.directory.pros.get(&id).and_then(|pro| pro.names());
    match names {
        Some(names) => fill(text.of_pro, "name", names.as_str()),
        None => fill(text.gone_pro, "id", &id.to_string()),
    }
}

const fn in_words(text: &FeedsTexts, details: FeedDetails) -> &'static str {
    match details {
        FeedDetails::Busy => text.busy,
        FeedDetails::Initials => text.initials,
        FeedDetails::Full => text.full,
    }
}
