//! The clients of a group: search, pages. Reference 15.5.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::directory::roles::Sight;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;
use crate::domain::records::text::folded;
use crate::http::ApiError;
use crate::web::format;
use crate::web::page::{Privacy, render, respond};
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::texts::client::ClientTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, Scope};
use crate::wire::list::Query;
use crate::wire::params::Params;

/// Number of clients on a page.
const PAGE_CLIENTS: usize = 50;
/// Cost up to which a search runs on a thread that serves connections.
const INLINE_COST_MAX: usize = 1_000;

#[derive(Template)]
#[template(path = "web/practice/clients.html")]
struct ClientsScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static ClientTexts,
    /// The address of the search.
    action: String,
    /// The pair of the address that names the language, if it does.
    lang: Option<&'static str>,
    search: &'v str,
    with_deleted: bool,
    /// The sentence of a search that is refused; empty without one.
    fault: &'static str,
    /// The place of the page in the list; empty if nothing was found.
    place: String,
    rows: Vec<ClientRow>,
    previous: String,
    next: String,
    add: String,
}

/// A client in the list.
pub(crate) struct ClientRow {
    /// Its record; empty if the professional does not read it.
    pub(crate) url: String,
    /// The names; empty without any.
    pub(crate) name: String,
    pub(crate) facts: String,
    pub(crate) is_deleted: bool,
}

/// Clients that a search has found, in order.
pub(crate) struct FoundClients {
    pub(crate) page: Vec<FicheId>,
    /// Number of clients on all pages.
    pub(crate) total: usize,
}

/// A search for clients.
#[derive(Clone, Copy)]
pub(crate) struct ClientSearch<'a> {
    /// Words of names, telephone numbers and addresses; empty for all clients.
    pub(crate) search: &'a str,
    pub(crate) with_deleted: bool,
    /// Whether clients are found whose record the professional does not read.
    pub(crate) for_booking: bool,
    /// The place of the first one of the page.
    pub(crate) first: usize,
    /// Maximum number of clients of the page.
    pub(crate) results: usize,
}

/// GET /p/{urlname}/clients.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let params = &visit.request.params;
    let first = params.value("from").and_then(|text| text.parse().ok()).unwrap_or(0);
    let with_deleted = params.value("deleted").is_some();
    let search = params.value("search").unwrap_or_default();
    let wanted =
        ClientSearch { search, with_deleted, for_booking: false, first, results: PAGE_CLIENTS };
    match find_clients(&visit, wanted).await {
        Ok(Some(found)) => {
            let read_log = &visit.request.pages.server.read_log;
            let (count, is_search) = (found.page.len(), !search.is_empty());
            let (group, author) = (visit.group().id, visit.author());
            read_log.note_list(group, author, count, is_search, visit.request.now);
            respond_with(&visit, StatusCode::OK, first, &found)
        }
        Ok(None) => {
            let nothing = FoundClients { page: Vec::new(), total: 0 };
            respond_with(&visit, StatusCode::BAD_REQUEST, first, &nothing)
        }
        Err(error) => message::failed(&visit.request, &error),
    }
}

/// Finds a page of clients, without those that were merged into others. `None` if the search is too
/// long.
///
/// # Errors
/// 503 if too many long searches are waiting.
pub(crate) async fn find_clients(
    visit: &ProVisit,
    wanted: ClientSearch<'_>,
) -> Result<Option<FoundClients>, ApiError> {
    let ClientSearch { search, with_deleted, for_booking, first, results } = wanted;
    let mut listed = Params::default();
    listed.push("search", search);
    listed.push("sort", "lastname");
    listed.push("results", &results.to_string());
    listed.push("startIndex", &first.to_string());
    let scope = Scope::for_group(&visit.state);
    let Ok(query) = Query::parse(&listed, &FICHE, &scope, Audience::Pro) else { return Ok(None) };
    let state = Arc::clone(&visit.state);
    let sight = visit.sight();
    let mut cost = state.fiches.len().saturating_mul(query.cost_per_record());
    if sight != Sight::All {
        // The appointments of each client tell whether the professional reads it.
        cost = cost.saturating_add(state.rows.len());
    }
    let words = folded(search);
    let find = move || {
        let mut wanted: Vec<&Fiche> = state.fiches.values().map(AsRef::as_ref).collect();
        wanted.retain(|it| {
            it.merged_into.is_none() && it.erased_at.is_none() && (with_deleted || !it.deleted)
        });
        // Of others the search for a booking knows the name alone, so that it tells no other field.
        let is_named = |it: &Fiche| {
            let names = folded(&it.names());
            words.split_whitespace().all(|word| names.contains(word))
        };
        wanted.retain(|it| {
            state.shows_client(&sight, it.id) || for_booking && !words.is_empty() && is_named(it)
        });
        let page = query.select_page(wanted, &Scope::for_group(&state));
        FoundClients {
            page: page.records.iter().map(|fiche| fiche.id).collect(),
            total: page.total,
        }
    };
    if cost <= INLINE_COST_MAX {
        return Ok(Some(find()));
    }
    visit.request.pages.server.blocking_pool.run(find).await.map(Some)
}

fn respond_with(
    visit: &ProVisit,
    status: StatusCode,
    first: usize,
    found: &FoundClients,
) -> Response {
    let text = ClientTexts::in_language(visit.language());
    let params = &visit.request.params;
    let search = params.value("search").unwrap_or_default();
    let with_deleted = params.value("deleted").is_some();
    let page_from = |from: usize| {
        let from = from.to_string();
        let mut pairs = vec![("search", search), ("from", from.as_str())];
        if with_deleted {
            pairs.push(("deleted", "1"));
        }
        visit.url(Section::Clients.path(), &pairs)
    };
    let last = first.saturating_add(found.page.len());
    let mut place = String::new();
    if !found.page.is_empty() {
        place = fill(text.found, "first", &(first + 1).to_string());
        place = fill(&place, "last", &last.to_string());
        place = fill(&place, "total", &found.total.to_string());
    }
    let rows = found.page.iter().filter_map(|id| visit.state.fiches.get(id));
    let screen = ClientsScreen {
        frame: visit.frame(text.title, Section::Clients),
        text,
        action: visit.url(Section::Clients.path(), &[]),
        lang: params.value("lang").map(|_| visit.frame("", Section::Clients).lang),
        search,
        with_deleted,
        fault: if status == StatusCode::BAD_REQUEST { text.search_too_long } else { "" },
        place,
        rows: rows.map(|fiche| view_client(visit, fiche)).collect(),
        previous: if first > 0 {
            page_from(first.saturating_sub(PAGE_CLIENTS))
        } else {
            String::new()
        },
        next: if last < found.total && !found.page.is_empty() {
            page_from(last)
        } else {
            String::new()
        },
        add: visit.url("/clients/new", &[]),
    };
    respond(status, Privacy::Client, render(&screen))
}

/// Returns a client as lists show it. Of one whose record the professional does not read these are
/// name and year of birth.
pub(crate) fn view_client(visit: &ProVisit, fiche: &Fiche) -> ClientRow {
    if !visit.state.shows_client(&visit.sight(), fiche.id) {
        return ClientRow {
            url: String::new(),
            name: fiche.names(),
            facts: fiche.birthdate.map(|at| at.day().ymd().0.to_string()).unwrap_or_default(),
            is_deleted: fiche.deleted,
        };
    }
    let email = fiche.email.as_ref().map_or("", |email| email.as_str());
    let birthdate = fiche.birthdate.map(|at| format::date(visit.language(), at.day()));
    let facts = [fiche.firstphone.as_str(), fiche.secondphone.as_str(), email];
    let facts = facts.into_iter().chain(birthdate.as_deref());
    let facts: Vec<&str> = facts.filter(|fact| !fact.trim().is_empty()).collect();
    ClientRow {
        url: visit.url(&format!("/clients/{}", fiche.id), &[]),
        name: fiche.names(),
        facts: facts.join(" · "),
        is_deleted: fiche.deleted,
    }
}
