//! The screen that makes a link to the booking page, its QR code and the snippet for a site.
//! Reference 15.17. It changes nothing: its form is a GET.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::availability::module_offer::{shown_calendars, shown_interventions};
use crate::domain::records::text::Text;
use crate::web::group_path::{booking_path, practice_path};
use crate::web::language_choice;
use crate::web::page::{Privacy, allow_own_frames, render, respond};
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::qr_drawing::QrDrawing;
use crate::web::practice::screen_request::ScreenRequest;
use crate::web::practice::settings::part::Part;
use crate::web::practice::texts::links::LinksTexts;
use crate::web::practice::texts::settings::SettingsTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::preset::{PRESET, Preset};
use crate::wire::params::Params;

#[derive(Template)]
#[template(path = "web/practice/links.html")]
struct LinksScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static LinksTexts,
    settings: &'static SettingsTexts,
    back_url: String,
    action: String,
    /// Whether the form names the language.
    lang: Vec<(&'static str, String)>,
    services: Vec<LinkOption<'v>>,
    calendars: Vec<LinkOption<'v>>,
    flags: Vec<Flag>,
    websource: &'v str,
    has_page: bool,
    link: String,
    /// The address of the preview; empty without a booking page.
    preview_url: String,
    qr: Option<QrDrawing>,
    snippet: String,
    button_snippet: String,
    /// Whether a site may show the page.
    has_origins: bool,
    booking_settings_url: String,
}

/// A service or a calendar that a link may choose.
struct LinkOption<'v> {
    id: u64,
    name: &'v str,
    is_chosen: bool,
}

/// A checkbox, named as in the link.
struct Flag {
    name: &'static str,
    label: &'static str,
    is_set: bool,
}

/// GET /p/{urlname}/settings/links.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let text = LinksTexts::in_language(visit.language());
    let given = &visit.request.params;
    let services = services(&visit, given);
    let calendars = calendars(&visit, given);
    let flag = |name, label| Flag { name, label, is_set: given.value(name) == Some("1") };
    let flags = vec![
        flag("freeze", text.freeze),
        flag("nologo", text.nologo),
        flag("nofooter", text.nofooter),
    ];
    let websource = given.value("websource").unwrap_or_default();
    let websource = if Text::<255>::new(websource).is_ok() { websource } else { "" };
    let query = query_of(&services, &calendars, &flags, websource);
    let group = visit.group();
    let separator = if query.is_empty() { "" } else { "?" };
    let page = booking_path(group, "");
    let server = &visit.request.pages.server.gateways.public_url;
    let link = format!("{server}{page}{separator}{query}");
    let part = Part::Links;
    let settings = SettingsTexts::in_language(visit.language());
    let screen = LinksScreen {
        frame: visit.frame(part.title(settings), Section::Settings),
        text,
        settings,
        back_url: visit.url("/settings", &[]),
        action: practice_path(group, &part.path()),
        lang: given.value("lang").map(|tag| ("lang", tag.to_owned())).into_iter().collect(),
        has_page: group.web_page,
        preview_url: if group.web_page { preview_url(&visit, &query) } else { String::new() },
        qr: QrDrawing::new(&link),
        snippet: snippet(&visit, &link, ""),
        button_snippet: snippet(&visit, &link, " data-mode=\"button\""),
        has_origins: !group.embed_origins.as_str().is_empty(),
        booking_settings_url: visit.url(&Part::Booking.path(), &[]),
        link,
        services,
        calendars,
        flags,
        websource,
    };
    let mut response = respond(StatusCode::OK, Privacy::Client, render(&screen));
    allow_own_frames(&mut response);
    response
}

fn services<'v>(visit: &'v ProVisit, given: &Params) -> Vec<LinkOption<'v>> {
    let chosen = given.list("intervention_ids");
    let options = shown_interventions(&visit.state.catalogue).into_iter().map(|row| LinkOption {
        id: row.id.number(),
        name: row.publicname.as_str(),
        is_chosen: chosen.contains(&row.id.to_string().as_str()),
    });
    options.collect()
}

fn calendars<'v>(visit: &'v ProVisit, given: &Params) -> Vec<LinkOption<'v>> {
    let chosen = given.value("calendar_id");
    let options = shown_calendars(&visit.state.catalogue).into_iter().map(|row| LinkOption {
        id: row.id.number(),
        name: row.publicname.as_str(),
        is_chosen: chosen == Some(&row.id.to_string()),
    });
    options.collect()
}

/// Returns the query of the link that these choices make.
fn query_of(
    services: &[LinkOption<'_>],
    calendars: &[LinkOption<'_>],
    flags: &[Flag],
    websource: &str,
) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for service in services.iter().filter(|service| service.is_chosen) {
        query.append_pair("intervention_ids[]", &service.id.to_string());
    }
    if let Some(calendar) = calendars.iter().find(|calendar| calendar.is_chosen) {
        query.append_pair("calendar_id", &calendar.id.to_string());
    }
    for flag in flags.iter().filter(|flag| flag.is_set) {
        query.append_pair(flag.name, "1");
    }
    if !websource.is_empty() {
        query.append_pair("websource", websource);
    }
    query.finish()
}

/// Returns the address that a link with this query has in the frame of the screen.
fn preview_url(visit: &ProVisit, query: &str) -> String {
    let ScreenRequest { pages, now, .. } = &visit.request;
    let secret = pages.server.link_secret();
    let preset = Preset { is_preview: true, ..Preset::default() };
    let sealed = preset.seal(visit.group().id, *now, pages.new_salt(), &secret);
    let lang = language_choice::tag(visit.language()).to_owned();
    let mut whole = form_urlencoded::Serializer::new(query.to_owned());
    whole.extend_pairs([("lang", lang), (PRESET, sealed)]);
    format!("{}?{}", booking_path(visit.group(), ""), whole.finish())
}

/// Returns the lines that show the booking page in a site.
fn snippet(visit: &ProVisit, link: &str, mode: &str) -> String {
    let text = LinksTexts::in_language(visit.language());
    let server = &visit.request.pages.server.gateways.public_url;
    let urlname = visit.group().urlname.as_str();
    format!(
        "<a href=\"{}\">{}</a>\n<script src=\"{server}/embed.js\" data-shop=\"{urlname}\"{mode} async></script>",
        link.replace('&', "&amp;"),
        text.snippet_word,
    )
}
