//! The pages that links lead to: one sentence and one button, in the language of the group. Reference 7.

use askama::Template;

use crate::domain::time::Civil;
use crate::notify::words::{Language, at, long_date};

/// What a page tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is what it tells")]
pub enum Page {
    /// Of an appointment at a group, with the word that stands before it.
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
    NoPassword,
    Gone,
    Busy,
}

/// A time of the wall in the language of a group of a country.
#[must_use]
pub fn when(country: &str, at: Civil) -> String {
    long_date(Language::of_country(country), at)
}

struct Words {
    lang: &'static str,
    title: &'static str,
    lines: Vec<String>,
    /// Empty where there is nothing to be done.
    button: &'static str,
    password: bool,
    password_label: &'static str,
}

#[derive(Template)]
#[template(path = "page.html")]
struct Rendered<'a> {
    page: &'a Words,
}

/// A page as HTML, for a group of a country.
#[must_use]
pub fn page(page: &Page, country: &str) -> String {
    let words = match Language::of_country(country) {
        Language::French => french(page),
        Language::English => english(page),
    };
    Rendered { page: &words }.render().expect("a template of plain texts is always rendered")
}

fn words(lang: &'static str, title: &'static str, lines: &[&str], button: &'static str) -> Words {
    let lines =
        lines.iter().filter(|line| !line.is_empty()).map(|line| (*line).to_owned()).collect();
    Words { lang, title, lines, button, password: false, password_label: "" }
}

fn french(page: &Page) -> Words {
    let say = |title, lines: &[&str], button| words("fr", title, lines, button);
    match page {
        Page::AskCancel { when, preposition, group } => say(
            "Annuler un rendez-vous",
            &[&format!("Votre rendez-vous {} : {when}", at(Language::French, preposition, group))],
            "Annuler ce rendez-vous",
        ),
        Page::Cancelled => say("Rendez-vous annulé", &["Votre rendez-vous est annulé."], ""),
        Page::TooLateToCancel { until, phone } => {
            let until = format!("Il ne pouvait être annulé en ligne que jusqu’au {until}.");
            say("Trop tard pour annuler en ligne", &[&until, phone], "")
        }
        Page::AskUnsubscribe { group } => say(
            "Rappels par e-mail",
            &[&format!("Ne plus recevoir de rappels de {group} par e-mail ?")],
            "Ne plus recevoir de rappels",
        ),
        Page::Unsubscribed => {
            say("C’est noté", &["Vous ne recevrez plus de rappels par e-mail."], "")
        }
        Page::AskPassword => Words {
            password: true,
            password_label: "Mot de passe",
            ..say("Votre compte", &["Choisissez un mot de passe."], "Confirmer")
        },
        Page::AskEmail => say(
            "Votre nouvelle adresse",
            &["Confirmez que cette adresse est la vôtre."],
            "Confirmer",
        ),
        Page::AccountDone => say("Votre compte est confirmé", &["Vous pouvez vous connecter."], ""),
        Page::EmailDone => {
            say("Votre adresse est confirmée", &["C’est désormais celle de votre compte."], "")
        }
        Page::NoPassword => Words {
            password: true,
            password_label: "Mot de passe",
            ..say(
                "Votre compte",
                &["Ce mot de passe ne convient pas : choisissez-en un autre."],
                "Confirmer",
            )
        },
        Page::Gone => say(
            "Ce lien ne mène plus nulle part",
            &["Il est trop ancien, a déjà servi, ou n’est pas complet."],
            "",
        ),
        Page::Busy => {
            say("Un instant", &["Le serveur est occupé : essayez encore dans une minute."], "")
        }
    }
}

fn english(page: &Page) -> Words {
    let say = |title, lines: &[&str], button| words("en", title, lines, button);
    match page {
        Page::AskCancel { when, preposition, group } => say(
            "Cancel an appointment",
            &[&format!("Your appointment {}: {when}", at(Language::English, preposition, group))],
            "Cancel this appointment",
        ),
        Page::Cancelled => say("Appointment cancelled", &["Your appointment is cancelled."], ""),
        Page::TooLateToCancel { until, phone } => {
            let until = format!("It could be cancelled online until {until} only.");
            say("Too late to cancel online", &[&until, phone], "")
        }
        Page::AskUnsubscribe { group } => say(
            "E-mail reminders",
            &[&format!("Receive no more e-mail reminders from {group}?")],
            "No more reminders",
        ),
        Page::Unsubscribed => say("Done", &["You will receive no more reminders by e-mail."], ""),
        Page::AskPassword => Words {
            password: true,
            password_label: "Password",
            ..say("Your account", &["Choose a password."], "Confirm")
        },
        Page::AskEmail => {
            say("Your new address", &["Confirm that this address is yours."], "Confirm")
        }
        Page::AccountDone => say("Your account is confirmed", &["You can log in now."], ""),
        Page::EmailDone => {
            say("Your address is confirmed", &["It is that of your account from now on."], "")
        }
        Page::NoPassword => Words {
            password: true,
            password_label: "Password",
            ..say("Your account", &["That password will not do: choose another."], "Confirm")
        },
        Page::Gone => say(
            "This link leads nowhere any more",
            &["It is too old, has been used, or is not complete."],
            "",
        ),
        Page::Busy => say("One moment", &["The server is busy: try again in a minute."], ""),
    }
}
