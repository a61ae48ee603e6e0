//! The history of access of a group: logins, exports, keys and professionals. Reference 15.13.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::directory::access_history::{AccessAct, AccessRow, LoginPerson};
use crate::domain::directory::roles::ProRole;
use crate::domain::records::author::Author;
use crate::domain::records::ids::ProId;
use crate::web::page::{Privacy, render, respond};
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::history_lines::{when, who};
use crate::web::practice::message;
use crate::web::practice::team::role_form::role_in_words;
use crate::web::practice::texts::history::HistoryTexts;
use crate::web::practice::texts::team::TeamTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::access_history::parse_access_query;
use crate::wire::history::author_name;

/// The path of the screen below `/p/<urlname>`.
pub(crate) const PATH: &str = "/history/access";

#[derive(Template)]
#[template(path = "web/practice/access.html")]
struct AccessScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static HistoryTexts,
    changes_url: String,
    lines: Vec<AccessLine>,
    nothing: &'static str,
    older_url: String,
}

/// An act in words.
struct AccessLine {
    when: String,
    who: String,
    what: String,
}

/// GET /p/{urlname}/history/access, with the parameters of GET G/history/access. 404 for a wrong
/// one.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let text = HistoryTexts::in_language(visit.language());
    let params = &visit.request.params;
    let Ok(query) = parse_access_query(params, &visit.state, visit.request.now) else {
        return message::not_found(&visit.request);
    };
    let page = visit.request.directory.access_history.page(&query);
    let older_url = page.next.map_or_else(String::new, |next| {
        let below = next.to_string();
        let mut pairs = vec![("below", below.as_str())];
        for name in ["from", "to", "results"] {
            pairs.extend(params.value(name).map(|value| (name, value)));
        }
        visit.url(PATH, &pairs)
    });
    let screen = AccessScreen {
        frame: visit.frame(text.access_title, Section::History),
        text,
        changes_url: visit.url(Section::History.path(), &[]),
        lines: page.rows.iter().map(|(_, row)| access_line(&visit, row)).collect(),
        nothing: if page.next.is_some() { text.nothing_on_page } else { text.nothing },
        older_url,
    };
    respond(StatusCode::OK, Privacy::Client, render(&screen))
}

fn access_line(visit: &ProVisit, row: &AccessRow) -> AccessLine {
    AccessLine {
        when: when(visit, row.at),
        who: who(visit, row.author),
        what: act_in_words(visit, &row.act),
    }
}

fn act_in_words(visit: &ProVisit, act: &AccessAct) -> String {
    let text = HistoryTexts::in_language(visit.language());
    let of_pro = |sentence: &str, pro: &ProId| fill(sentence, "name", &pro_in_words(visit, *pro));
    let of_number = |sentence: &str, number: &u64| fill(sentence, "number", &number.to_string());
    match act {
        AccessAct::KeyAdded(key) => fill(text.key_added, "key", &key.to_string()),
        AccessAct::KeyChanged(key) => fill(text.key_changed, "key", &key.to_string()),
        AccessAct::KeyRevoked(key) => fill(text.key_revoked, "key", &key.to_string()),
        AccessAct::ProAdded(pro) => of_pro(text.pro_added, pro),
        AccessAct::ProRemoved(pro) => of_pro(text.pro_removed, pro),
        AccessAct::PasswordSet(pro) => of_pro(text.password_set, pro),
        AccessAct::FactorSet(pro) => of_pro(text.factor_set, pro),
        AccessAct::FactorRemoved(pro) => of_pro(text.factor_removed, pro),
        AccessAct::RoleSet { pro, role } => {
            let words = TeamTexts::in_language(visit.language());
            let name = ProRole::NAMES.get(usize::from(*role)).copied().unwrap_or_default();
            fill(&of_pro(text.role_set, pro), "role", role_in_words(name, words))
        }
        AccessAct::Invited { number } => of_number(text.was_invited, number),
        AccessAct::InvitationEnded { number, by: None } => of_number(text.was_withdrawn, number),
        AccessAct::InvitationEnded { number, by: Some(pro) } => {
            fill(&of_number(text.was_accepted, number), "name", &pro_in_words(visit, *pro))
        }
        AccessAct::LoggedIn { person, source } => {
            let sentence = fill(text.logged_in, "source", source.as_str());
            fill(&sentence, "name", &person_in_words(visit, *person))
        }
        AccessAct::LoginFailed { person, source } => {
            let sentence = fill(text.login_failed, "source", source.as_str());
            fill(&sentence, "name", &person_in_words(visit, *person))
        }
        AccessAct::LoggedOut(person) => {
            fill(text.logged_out, "name", &person_in_words(visit, *person))
        }
        AccessAct::Exported => text.exported.to_owned(),
        AccessAct::ClientExported(client) => {
            fill(text.client_exported, "client", &client.to_string())
        }
    }
}

fn person_in_words(visit: &ProVisit, person: LoginPerson) -> String {
    let text = HistoryTexts::in_language(visit.language());
    match person {
        LoginPerson::Pro(pro) => pro_in_words(visit, pro),
        LoginPerson::Account(_, client) => fill(text.by_account, "client", &client.to_string()),
    }
}

/// The names of a professional of the group, or else the number.
fn pro_in_words(visit: &ProVisit, pro: ProId) -> String {
    let text = HistoryTexts::in_language(visit.language());
    let author = Some(Author::Professional { id: pro, key: None });
    author_name(author, &visit.state, &visit.request.directory)
        .unwrap_or_else(|| fill(text.by_professional, "id", &pro.to_string()))
}
