//! The accounts of clients: a list, closing, and logging out everywhere. Reference 15.16.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::account::Account;
use crate::domain::records::ids::FicheId;
use crate::domain::state::account_table::AccountTable;
use crate::engine::Rejection;
use crate::http::{AccountClosing, ApiError};
use crate::web::format;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::settings::part::Part;
use crate::web::practice::texts::accounts::AccountsTexts;
use crate::web::practice::texts::client::ClientTexts;
use crate::web::practice::texts::settings::SettingsTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::field::Audience;

/// Number of clients on a page.
const PAGE_CLIENTS: usize = 50;

#[derive(Template)]
#[template(path = "web/practice/accounts.html")]
struct AccountsScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static AccountsTexts,
    /// The texts of lists of clients.
    list: &'static ClientTexts,
    settings: &'static SettingsTexts,
    back_url: String,
    action: String,
    /// The sentence about what was done; empty if nothing was.
    done: String,
    total: String,
    rows: Vec<AccountRow>,
    previous: String,
    next: String,
}

/// A client with an account.
struct AccountRow {
    client: FicheId,
    name: String,
    url: String,
    close_url: String,
    accounts: Vec<AccountLine>,
}

/// An account in words.
pub(crate) struct AccountLine {
    pub(crate) email: String,
    pub(crate) used: String,
}

#[derive(Template)]
#[template(path = "web/practice/account_close.html")]
struct CloseScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static AccountsTexts,
    action: String,
    keep_url: String,
    accounts: Vec<AccountLine>,
}

/// GET /p/{urlname}/settings/accounts. `from` is the first client of the page.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let text = AccountsTexts::in_language(visit.language());
    let params = &visit.request.params;
    let table = &visit.state.accounts;
    let first = params.value("from").and_then(|text| text.parse().ok()).and_then(FicheId::new);
    let AccountPage { clients, previous, next } = find_page(table, first);
    let read_log = &visit.request.pages.server.read_log;
    let (group, author) = (visit.group().id, visit.author());
    read_log.note_list(group, author, clients.len(), false, visit.request.now);
    let page_from = |from: Option<FicheId>| match from {
        Some(from) => visit.url(&Part::Accounts.path(), &[("from", &from.to_string())]),
        None => String::new(),
    };
    let settings = SettingsTexts::in_language(visit.language());
    let screen = AccountsScreen {
        frame: visit.frame(settings.accounts, Section::Settings),
        text,
        list: ClientTexts::in_language(visit.language()),
        settings,
        back_url: visit.url(Section::Settings.path(), &[]),
        action: list_url(&visit, &[]),
        done: done_in_words(&visit),
        total: fill(text.total, "count", &table.len().to_string()),
        rows: clients.iter().map(|client| make_row(&visit, *client)).collect(),
        previous: page_from(previous),
        next: page_from(next),
    };
    respond(StatusCode::OK, Privacy::Client, render(&screen))
}

/// POST /p/{urlname}/settings/accounts: logs out everywhere the client that `log_out` names.
pub(crate) async fn log_out(form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let client = given.value("log_out").and_then(|text| text.parse().ok()).and_then(FicheId::new);
    let Some(client) = client else { return message::not_found(&visit.request) };
    match closing(&visit).end_sessions(&visit.state, client).await {
        Ok(ended) => redirect(&list_url(&visit, &[("ended", &ended.to_string())])),
        Err(error) if error.status() == StatusCode::NOT_FOUND.as_u16() => {
            message::not_found(&visit.request)
        }
        Err(error) => message::failed(&visit.request, &error),
    }
}

/// GET /p/{urlname}/settings/accounts/{id}: the question before the account of a client is closed.
pub(crate) async fn ask(Path(path): Path<RecordPath>, visit: ProVisit) -> Response {
    let text = AccountsTexts::in_language(visit.language());
    let Some(client) = find_client(&visit, &path) else {
        return message::not_found(&visit.request);
    };
    let accounts = account_lines(&visit, client);
    if accounts.is_empty() {
        return redirect(&visit.url(&Part::Accounts.path(), &[("closed", "0")]));
    }
    let title = fill(text.close_title, "name", &name_client(&visit, client));
    let screen = CloseScreen {
        frame: visit.frame(&title, Section::Settings),
        text,
        action: visit.url(&close_path(client), &[]),
        keep_url: visit.url(&Part::Accounts.path(), &[("from", &client.to_string())]),
        accounts,
    };
    respond(StatusCode::OK, Privacy::Client, render(&screen))
}

/// POST /p/{urlname}/settings/accounts/{id}: closes the account of a client.
pub(crate) async fn close(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let visit = form.visit;
    let Some(client) = find_client(&visit, &path) else {
        return message::not_found(&visit.request);
    };
    match closing(&visit).close(client).await {
        Ok(closed) => {
            let closed = closed.to_string();
            redirect(&visit.url(&Part::Accounts.path(), &[("closed", &closed)]))
        }
        Err(rejection) => message::failed(&visit.request, &error_of(rejection, &visit)),
    }
}

/// The URL of the page of the list that is shown, or that the form stands on.
fn list_url(visit: &ProVisit, pairs: &[(&str, &str)]) -> String {
    let mut pairs = pairs.to_vec();
    pairs.extend(visit.request.params.value("from").map(|from| ("from", from)));
    visit.url(&Part::Accounts.path(), &pairs)
}

fn error_of(rejection: Rejection, visit: &ProVisit) -> ApiError {
    ApiError::from_rejection(rejection, visit.zone(), Audience::Pro)
}

fn closing(visit: &ProVisit) -> AccountClosing<'_> {
    AccountClosing {
        server: &visit.request.pages.server,
        group: visit.group().id,
        author: visit.author(),
        role: visit.role(),
        now: visit.request.now,
    }
}

/// Returns the client of a path; of a merged record the kept one.
fn find_client(visit: &ProVisit, path: &RecordPath) -> Option<FicheId> {
    let id = visit.state.kept_client(path.id(FicheId::new)?);
    visit.state.fiches.contains_key(&id).then_some(id)
}

/// The path of the question about a client, below `/p/<urlname>`.
pub(crate) fn close_path(client: FicheId) -> String {
    format!("{}/{client}", Part::Accounts.path())
}

/// The accounts that book for a client, in words.
pub(crate) fn account_lines(visit: &ProVisit, client: FicheId) -> Vec<AccountLine> {
    let text = AccountsTexts::in_language(visit.language());
    let line = |account: &Account| AccountLine {
        email: account.email.as_str().to_owned(),
        used: match account.last_login {
            Some(day) => fill(text.used, "day", &format::date(visit.language(), day)),
            None => text.unused.to_owned(),
        },
    };
    visit.state.accounts.of_client(client).map(|account| line(account)).collect()
}

fn make_row(visit: &ProVisit, client: FicheId) -> AccountRow {
    AccountRow {
        client,
        name: name_client(visit, client),
        url: visit.url(&format!("/clients/{client}"), &[]),
        close_url: visit.url(&close_path(client), &[]),
        accounts: account_lines(visit, client),
    }
}

fn name_client(visit: &ProVisit, client: FicheId) -> String {
    let name = visit.state.fiches.get(&client).map(|fiche| fiche.names()).unwrap_or_default();
    if name.trim().is_empty() {
        return ClientTexts::in_language(visit.language()).no_name.to_owned();
    }
    name
}

/// The sentence about what a form before has done.
fn done_in_words(visit: &ProVisit) -> String {
    let text = AccountsTexts::in_language(visit.language());
    let params = &visit.request.params;
    let count = |name: &str| params.value(name).and_then(|text| text.parse::<u64>().ok());
    match (count("closed"), count("ended")) {
        (Some(0), _) => text.no_account.to_owned(),
        (Some(_), _) => text.closed.to_owned(),
        (None, Some(ended)) => fill(text.ended, "count", &ended.to_string()),
        (None, None) => String::new(),
    }
}

/// A page of the clients with an account, ascending.
struct AccountPage {
    clients: Vec<FicheId>,
    /// The first client of the page before; `None` on the first page.
    previous: Option<FicheId>,
    /// The first client of the next page; `None` on the last one.
    next: Option<FicheId>,
}

/// Returns the page from a client on. Its cost is that of two pages, however many accounts there
/// are.
fn find_page(table: &AccountTable, first: Option<FicheId>) -> AccountPage {
    let first = first.unwrap_or(FicheId::new(1).expect("1 is an id"));
    let mut clients = Vec::new();
    let mut next = None;
    for account in table.from_client(first) {
        if clients.last() == Some(&account.fiche_id) {
            continue;
        }
        if clients.len() == PAGE_CLIENTS {
            next = Some(account.fiche_id);
            break;
        }
        clients.push(account.fiche_id);
    }
    let mut before = Vec::new();
    for account in table.before_client(first) {
        if before.last() == Some(&account.fiche_id) {
            continue;
        }
        if before.len() == PAGE_CLIENTS {
            break;
        }
        before.push(account.fiche_id);
    }
    AccountPage { clients, previous: before.last().copied(), next }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::text::{Email, Text};

    fn table(clients: impl Iterator<Item = u64>) -> AccountTable {
        let account = |(number, client): (usize, u64)| {
            let email = Email::new(&format!("{number}@example.org")).expect("an address");
            let fiche_id = FicheId::new(client).expect("an id");
            let password_hash = Text::default();
            Account { email, fiche_id, password_hash, former: Vec::new(), last_login: None }.into()
        };
        clients.enumerate().map(account).collect()
    }

    #[test]
    fn pages_lead_on_and_back_and_leave_no_client_out() {
        // Every third client has two accounts.
        let accounts =
            (1..=120_u64).flat_map(|id| if id % 3 == 0 { vec![id, id] } else { vec![id] });
        let table = table(accounts);
        let mut seen = Vec::new();
        let mut starts = Vec::new();
        let mut from = None;
        loop {
            let page = find_page(&table, from);
            assert_eq!(page.previous, starts.last().copied());
            starts.extend(page.clients.first());
            seen.extend(page.clients.iter().map(|id| id.number()));
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        assert_eq!(seen, (1..=120).collect::<Vec<u64>>());
        assert_eq!(starts.len(), 3);
        let past = find_page(&table, FicheId::new(1_000));
        assert!(past.clients.is_empty() && past.next.is_none() && past.previous.is_some());
        let none = find_page(&AccountTable::default(), None);
        assert!(none.clients.is_empty() && none.previous.is_none());
    }
}
