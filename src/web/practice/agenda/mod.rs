//! The agenda of a group: day, week, month and list. Reference 15.3.

pub(crate) mod address;
mod columns;
mod day_list;
pub(crate) mod entry;
mod lanes;
mod month;
pub(crate) mod way_back;

use askama::Template;
use axum::http::header::{ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;

use crate::domain::records::ids::CalendarId;
use crate::domain::state::agenda_window::{AGENDA_CALENDARS_MAX, AgendaWindow};
use crate::domain::time::interval_set::Interval;
use crate::http::answer::entity_tag::{NamedTags, make_tag};
use crate::http::find_agenda;
use crate::web::format;
use crate::web::language_choice;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::absence;
use crate::web::practice::agenda::address::{AddressFault, AgendaAddress, AgendaView};
use crate::web::practice::agenda::columns::{AgendaGrid, make_grid};
use crate::web::practice::agenda::day_list::{ListDay, make_list};
use crate::web::practice::agenda::entry::{EntryWriter, calendar_name, long_day};
use crate::web::practice::agenda::month::{AgendaMonth, make_month};
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::texts::absence::AbsenceTexts;
use crate::web::practice::texts::agenda::AgendaTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;

#[derive(Template)]
#[template(path = "web/practice/agenda.html")]
struct AgendaScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static AgendaTexts,
    controls: AgendaControls,
    body: AgendaBody,
    /// The URL of the group in the API, by which the script follows changes.
    feed: String,
    /// The place in the feed of changes that the view shows.
    place: &'v str,
}

/// The links and fields above a view.
struct AgendaControls {
    view: &'static str,
    views: Vec<ViewLink>,
    previous: String,
    today: String,
    next: String,
    /// The form of a new appointment on the day and calendar of the view.
    add: String,
    /// The form that leads to another day or calendar.
    action: String,
    /// The field that searches the clients.
    clients: String,
    /// The language, if the address names it.
    lang: &'static str,
    /// The day as it was typed, or that of the view.
    day: String,
    is_day_wrong: bool,
    /// Faults of the address that belong to no field.
    faults: Vec<&'static str>,
    calendars: Vec<CalendarChoice>,
    /// Whether all calendars may be chosen.
    has_all: bool,
    /// The form of a new absence or note.
    absence: String,
    absence_label: &'static str,
}

/// A link to another view.
struct ViewLink {
    label: &'static str,
    url: String,
    key: &'static str,
    is_current: bool,
}

/// A calendar to choose.
struct CalendarChoice {
    id: CalendarId,
    name: String,
    is_chosen: bool,
}

/// The view itself.
enum AgendaBody {
    Grid(AgendaGrid),
    Month(AgendaMonth),
    List(Vec<ListDay>),
}

/// GET /p/{urlname}.
pub(crate) async fn lead(visit: ProVisit) -> Response {
    redirect(&visit.url(Section::Agenda.path(), &[]))
}

/// GET /p/{urlname}/agenda. The script asks for a newer one by the tag of what it shows.
pub(crate) async fn show(headers: HeaderMap, visit: ProVisit) -> Response {
    let text = AgendaTexts::in_language(visit.language());
    let (address, faults) = AgendaAddress::read(&visit);
    let calendars = calendars_of(&visit, address);
    let window = window_of(&visit, address, calendars);
    let server = &visit.request.pages.server;
    let agenda = match find_agenda(server, &visit.state, &window).await {
        Ok(agenda) => agenda,
        Err(error) if error.status() == StatusCode::BAD_REQUEST.as_u16() => {
            let status = StatusCode::BAD_REQUEST;
            return message::with_line(&visit.request, status, text.too_much_title, text.too_much);
        }
        Err(error) => return message::failed(&visit.request, &error),
    };
    let writer = EntryWriter { visit: &visit, text, address };
    let body = match address.view {
        AgendaView::Day | AgendaView::Week => {
            AgendaBody::Grid(make_grid(&writer, &window.calendars, &agenda))
        }
        AgendaView::Month => AgendaBody::Month(make_month(&writer, &agenda)),
        AgendaView::List => AgendaBody::List(make_list(&writer, &agenda)),
    };
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let place = visit.state.history.end(visit.state.sequence).to_string();
    let screen = AgendaScreen {
        frame: visit.frame(&title_of(&visit, address, &window), Section::Agenda),
        text,
        controls: make_controls(&visit, text, address, &faults),
        body,
        feed: format!("/api/v1/groups/{}", visit.state.catalogue.group.id),
        place: &place,
    };
    let page = render(&screen);
    // A change that the view does not show leaves its tag as it is.
    let tag = make_tag(page.replacen(&place, "", 1).as_bytes());
    let is_known = NamedTags::read(&headers, IF_NONE_MATCH).contain(&tag);
    if is_known && status == StatusCode::OK {
        return respond(StatusCode::NOT_MODIFIED, Privacy::Client, String::new());
    }
    let mut response = respond(status, Privacy::Client, page);
    response.headers_mut().insert(ETAG, HeaderValue::from_str(&tag).expect("a tag is ASCII"));
    response
}

/// Returns the calendars of a view: a week has one. A day shows all that fit, and a phone the one
/// that is named.
fn calendars_of(visit: &ProVisit, address: AgendaAddress) -> Vec<CalendarId> {
    let live = || visit.shown_calendars().map(|calendar| calendar.id);
    match (address.view, address.calendar) {
        (AgendaView::Week, None) => live().take(1).collect(),
        (AgendaView::Week | AgendaView::Month | AgendaView::List, Some(named)) => vec![named],
        (AgendaView::Day, Some(named)) => {
            let mut all: Vec<CalendarId> = live().take(AGENDA_CALENDARS_MAX).collect();
            if !all.contains(&named) {
                all.truncate(AGENDA_CALENDARS_MAX - 1);
                all.push(named);
            }
            all
        }
        (AgendaView::Day | AgendaView::Month | AgendaView::List, None) => {
            live().take(AGENDA_CALENDARS_MAX).collect()
        }
    }
}

fn window_of(visit: &ProVisit, address: AgendaAddress, calendars: Vec<CalendarId>) -> AgendaWindow {
    let zone = visit.zone();
    let (first, days) = address.days();
    let start = zone.instant_of(first.midnight());
    let end = zone.instant_of(first.plus_days(days).midnight());
    AgendaWindow { interval: Interval { start, end }, calendars }
}

fn title_of(visit: &ProVisit, address: AgendaAddress, window: &AgendaWindow) -> String {
    let language = visit.language();
    let text = AgendaTexts::in_language(language);
    let (first, _) = address.days();
    match address.view {
        AgendaView::Day => long_day(language, address.day),
        AgendaView::Week => {
            let week = fill(text.week_of, "day", &format::date(language, first));
            match window.calendars.first() {
                Some(calendar) => format!("{week} · {}", calendar_name(visit, *calendar)),
                None => week,
            }
        }
        AgendaView::Month => format::month(language, address.day),
        AgendaView::List => fill(text.list_from, "day", &long_day(language, first)),
    }
}

fn make_controls(
    visit: &ProVisit,
    text: &'static AgendaTexts,
    address: AgendaAddress,
    faults: &[AddressFault],
) -> AgendaControls {
    let today = visit.today();
    let views = AgendaView::ALL.map(|view| ViewLink {
        label: match view {
            AgendaView::Day => text.view_day,
            AgendaView::Week => text.view_week,
            AgendaView::Month => text.view_month,
            AgendaView::List => text.view_list,
        },
        url: address.seen_as(view).url(visit),
        key: view.key(),
        is_current: view == address.view,
    });
    let shown = match (address.view, address.calendar) {
        (AgendaView::Week, None) => visit.shown_calendars().next().map(|it| it.id),
        (_, named) => named,
    };
    let calendars = visit.shown_calendars().map(|calendar| CalendarChoice {
        id: calendar.id,
        name: calendar.name.as_str().to_owned(),
        is_chosen: shown == Some(calendar.id),
    });
    let is_day_wrong = faults.contains(&AddressFault::Day);
    let typed = visit.request.params.value("d").filter(|_| is_day_wrong);
    let mut lines = Vec::new();
    for (fault, line) in
        [(AddressFault::View, text.unknown_view), (AddressFault::Calendar, text.unknown_calendar)]
    {
        if faults.contains(&fault) {
            lines.push(line);
        }
    }
    let lang = &visit.request.lang;
    AgendaControls {
        view: address.view.name(),
        views: views.into(),
        previous: address.previous().url(visit),
        today: address.on(today).url(visit),
        next: address.next().url(visit),
        add: address.url_of(visit, "/events/new", &[]),
        action: visit.path(Section::Agenda.path()),
        clients: format!("{}#search", visit.url(Section::Clients.path(), &[])),
        lang: if lang.is_in_url { language_choice::tag(lang.language) } else { "" },
        day: typed.map_or_else(|| format::iso_day(address.day), str::to_owned),
        is_day_wrong,
        faults: lines,
        calendars: calendars.collect(),
        has_all: address.view != AgendaView::Week,
        absence: address.url_of(visit, absence::PATH, &[]),
        absence_label: AbsenceTexts::in_language(visit.language()).new,
    }
}
