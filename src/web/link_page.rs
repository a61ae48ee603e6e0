//! The pages of links that end reminders or belong to an account: one sentence and one button.
//! Reference 7.4.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::notify::language::Language;
use crate::web::bare_page::frame_without_group;
use crate::web::page::{Frame, Privacy, render, respond};
use crate::web::pages::Pages;

/// A page of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkPage {
    AskUnsubscribe {
        group: String,
    },
    Unsubscribed,
    AskPassword,
    AskEmail,
    AccountDone,
    EmailDone,
    /// The password was refused; the page asks for another.
    NoPassword,
    /// The link is invalid or expired.
    Gone,
    /// The server is overloaded.
    Busy,
}

/// The texts of a page.
struct PageText {
    title: &'static str,
    lines: Vec<String>,
    /// Label of the button; empty if the page has none.
    button: &'static str,
    /// Whether the page has a password field.
    password: bool,
}

#[derive(Template)]
#[template(path = "web/link.html")]
struct LinkTemplate {
    frame: Frame<'static>,
    page: PageText,
}

/// Returns the response with a page, in a language.
pub(crate) fn respond_with_link(
    pages: &Pages,
    status: StatusCode,
    page: &LinkPage,
    language: Language,
) -> Response {
    let text = match language {
        Language::French => french_text(page),
        Language::English => english_text(page),
    };
    let frame = frame_without_group(pages, language, text.title);
    respond(status, Privacy::Holder, render(&LinkTemplate { frame, page: text }))
}

/// Creates the texts of a page without a password field.
fn page_text(title: &'static str, lines: &[&str], button: &'static str) -> PageText {
    let lines = lines.iter().map(|line| (*line).to_owned()).collect();
    PageText { title, lines, button, password: false }
}

fn french_text(page: &LinkPage) -> PageText {
    let text = |title, lines: &[&str], button| page_text(title, lines, button);
    match page {
        LinkPage::AskUnsubscribe { group } => text(
            "Rappels par e-mail",
            &[&format!("Ne plus recevoir de rappels de {group} par e-mail ?")],
            "Ne plus recevoir de rappels",
        ),
        LinkPage::Unsubscribed => {
            text("C’est noté", &["Vous ne recevrez plus de rappels par e-mail."], "")
        }
        LinkPage::AskPassword => PageText {
            password: true,
            ..text("Votre compte", &["Choisissez un mot de passe."], "Confirmer")
        },
        LinkPage::AskEmail => text(
            "Votre nouvelle adresse",
            &["Confirmez que cette adresse est la vôtre."],
            "Confirmer",
        ),
        LinkPage::AccountDone => {
            text("Votre compte est confirmé", &["Vous pouvez vous connecter."], "")
        }
        LinkPage::EmailDone => {
            text("Votre adresse est confirmée", &["C’est désormais celle de votre compte."], "")
        }
        LinkPage::NoPassword => PageText {
            password: true,
            ..text(
                "Votre compte",
                &[
                    "Ce mot de passe ne convient pas : il faut au moins 10 caractères, et pas un mot \
                   de passe courant.",
                ],
                "Confirmer",
            )
        },
        LinkPage::Gone => text(
            "Ce lien ne mène plus nulle part",
            &["Il est trop ancien, a déjà servi, ou n’est pas complet."],
            "",
        ),
        LinkPage::Busy => {
            text("Un instant", &["Le serveur est occupé : essayez encore dans une minute."], "")
        }
    }
}

fn english_text(page: &LinkPage) -> PageText {
    let text = |title, lines: &[&str], button| page_text(title, lines, button);
    match page {
        LinkPage::AskUnsubscribe { group } => text(
            "E-mail reminders",
            &[&format!("Receive no more e-mail reminders from {group}?")],
            "No more reminders",
        ),
        LinkPage::Unsubscribed => {
            text("Done", &["You will receive no more reminders by e-mail."], "")
        }
        LinkPage::AskPassword => {
            PageText { password: true, ..text("Your account", &["Choose a password."], "Confirm") }
        }
        LinkPage::AskEmail => {
            text("Your new address", &["Confirm that this address is yours."], "Confirm")
        }
        LinkPage::AccountDone => text("Your account is confirmed", &["You can log in now."], ""),
        LinkPage::EmailDone => {
            text("Your address is confirmed", &["It is that of your account from now on."], "")
        }
        LinkPage::NoPassword => PageText {
            password: true,
            ..text(
                "Your account",
                &["That password will not do: it needs at least 10 characters, and must not be \
                   a common one."],
                "Confirm",
            )
        },
        LinkPage::Gone => text(
            "This link leads nowhere any more",
            &["It is too old, has been used, or is not complete."],
            "",
        ),
        LinkPage::Busy => text("One moment", &["The server is busy: try again in a minute."], ""),
    }
}
