//! The pages of links in mails: one sentence and one button, in the group's language.
//! Reference 7.4.

use askama::Template;

use crate::domain::time::Civil;
use crate::notify::language::{Language, long_date, name_with_preposition};

/// A page of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is named after its page")]
pub enum LinkPage {
    /// The appointment, its group, and the preposition before the group's name.
    AskCancel {
        when: String,
        preposition: String,
        group: String,
    },
    Cancelled,
    TooLateToCancel {
        until: String,
        phone: String,
    },
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

/// Formats a civil time in the language of a group in this country.
#[must_use]
pub fn format_page_time(country: &str, at: Civil) -> String {
    long_date(Language::of_country(country), at)
}

/// The texts of a page.
struct PageText {
    lang: &'static str,
    title: &'static str,
    lines: Vec<String>,
    /// Label of the button; empty if the page has none.
    button: &'static str,
    /// Whether the page has a password field.
    password: bool,
    password_label: &'static str,
}

#[derive(Template)]
#[template(path = "page.html")]
struct PageTemplate<'a> {
    page: &'a PageText,
}

/// Renders a page as HTML, in the language of a group in this country.
#[must_use]
pub fn render_page(page: &LinkPage, country: &str) -> String {
    let text = match Language::of_country(country) {
        Language::French => french_text(page),
        Language::English => english_text(page),
    };
    PageTemplate { page: &text }.render().expect("a template of plain texts is always rendered")
}

/// Creates the texts of a page without a password field. Empty lines are left out.
fn page_text(
    lang: &'static str,
    title: &'static str,
    lines: &[&str],
    button: &'static str,
) -> PageText {
    let mut shown = Vec::new();
    for line in lines {
        if !line.is_empty() {
            shown.push((*line).to_owned());
        }
    }
    PageText { lang, title, lines: shown, button, password: false, password_label: "" }
}

fn french_text(page: &LinkPage) -> PageText {
    let text = |title, lines: &[&str], button| page_text("fr", title, lines, button);
    match page {
        LinkPage::AskCancel { when, preposition, group } => text(
            "Annuler un rendez-vous",
            &[&format!(
                "Votre rendez-vous {} : {when}",
                name_with_preposition(Language::French, preposition, group)
            )],
            "Annuler ce rendez-vous",
        ),
        LinkPage::Cancelled => text("Rendez-vous annulé", &["Votre rendez-vous est annulé."], ""),
        LinkPage::TooLateToCancel { until, phone } => {
            let until = format!("Il ne pouvait être annulé en ligne que jusqu’au {until}.");
            text("Trop tard pour annuler en ligne", &[&until, phone], "")
        }
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
            password_label: "Mot de passe",
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
            password_label: "Mot de passe",
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
    let text = |title, lines: &[&str], button| page_text("en", title, lines, button);
    match page {
        LinkPage::AskCancel { when, preposition, group } => text(
            "Cancel an appointment",
            &[&format!(
                "Your appointment {}: {when}",
                name_with_preposition(Language::English, preposition, group)
            )],
            "Cancel this appointment",
        ),
        LinkPage::Cancelled => {
            text("Appointment cancelled", &["Your appointment is cancelled."], "")
        }
        LinkPage::TooLateToCancel { until, phone } => {
            let until = format!("It could be cancelled online until {until} only.");
            text("Too late to cancel online", &[&until, phone], "")
        }
        LinkPage::AskUnsubscribe { group } => text(
            "E-mail reminders",
            &[&format!("Receive no more e-mail reminders from {group}?")],
            "No more reminders",
        ),
        LinkPage::Unsubscribed => {
            text("Done", &["You will receive no more reminders by e-mail."], "")
        }
        LinkPage::AskPassword => PageText {
            password: true,
            password_label: "Password",
            ..text("Your account", &["Choose a password."], "Confirm")
        },
        LinkPage::AskEmail => {
            text("Your new address", &["Confirm that this address is yours."], "Confirm")
        }
        LinkPage::AccountDone => text("Your account is confirmed", &["You can log in now."], ""),
        LinkPage::EmailDone => {
            text("Your address is confirmed", &["It is that of your account from now on."], "")
        }
        LinkPage::NoPassword => PageText {
            password: true,
            password_label: "Password",
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
