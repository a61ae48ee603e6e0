//! The pages of links that end reminders or belong to an account: one sentence and one button.
//! Reference 7.4.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::notify::language::Language;
use crate::web::bare_page::frame_without_group;
use crate::web::page::{Frame, Privacy, render, respond};
use crate::web::pages::Pages;
use crate::web::text::{fill, texts};

/// A page of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkPage {
    AskUnsubscribe {
        group: String,
    },
    Unsubscribed,
    AskPassword,
    AskEmail,
    AskLogin,
    LoginDone,
    AccountDone,
    EmailDone,
    /// The password was refused; the page asks for another.
    NoPassword,
    /// The link is invalid or expired.
    Gone,
    /// The server is overloaded.
    Busy,
}

#[derive(Template)]
#[template(path = "web/link.html")]
struct LinkTemplate {
    frame: Frame<'static>,
    title: &'static str,
    line: String,
    /// Label of the button; empty if the page has none.
    button: &'static str,
    has_password: bool,
}

/// Returns the response with a page, in a language.
pub(crate) fn respond_with_link(
    pages: &Pages,
    status: StatusCode,
    page: &LinkPage,
    language: Language,
) -> Response {
    let text = texts(language);
    let (title, line, button) = match page {
        LinkPage::AskUnsubscribe { .. } => {
            (text.reminders_title, text.end_reminders, text.end_reminders_button)
        }
        LinkPage::Unsubscribed => (text.reminders_ended_title, text.reminders_ended, ""),
        LinkPage::AskPassword => (text.account_title, text.choose_password, text.confirm_button),
        LinkPage::NoPassword => (text.account_title, text.bad_password, text.confirm_button),
        LinkPage::AskEmail => (text.email_title, text.confirm_email, text.confirm_button),
        LinkPage::AskLogin => (text.login_title, text.ask_login, text.confirm_button),
        LinkPage::LoginDone => (text.login_title, text.login_done, ""),
        LinkPage::AccountDone => (text.account_confirmed_title, text.account_confirmed, ""),
        LinkPage::EmailDone => (text.email_confirmed_title, text.email_confirmed, ""),
        LinkPage::Gone => (text.dead_link_title, text.dead_link, ""),
        LinkPage::Busy => (text.busy_title, text.busy_link, ""),
    };
    let line = if let LinkPage::AskUnsubscribe { group } = page {
        fill(line, "group", group)
    } else {
        line.to_owned()
    };
    let has_password = matches!(page, LinkPage::AskPassword | LinkPage::NoPassword);
    let shown_title = match page {
        LinkPage::NoPassword => fill(text.fault_title, "title", title),
        LinkPage::AskUnsubscribe { .. }
        | LinkPage::Unsubscribed
        | LinkPage::AskPassword
        | LinkPage::AskEmail
        | LinkPage::AskLogin
        | LinkPage::LoginDone
        | LinkPage::AccountDone
        | LinkPage::EmailDone
        | LinkPage::Gone
        | LinkPage::Busy => title.to_owned(),
    };
    let frame = frame_without_group(pages, language, &shown_title);
    respond(
        status,
        Privacy::Holder,
        render(&LinkTemplate { frame, title, line, button, has_password }),
    )
}
