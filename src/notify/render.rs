//! What a message says, made from the newest state at each attempt. Contract 7.

use askama::Template;
use sha2::{Digest as _, Sha256};

use super::calendar::{Entry, Method, ics};
use super::letter::Letter;
use super::words::{Language, long_date, one_line, short_date, short_line};
use super::{gsm, links};
use crate::domain::fiche::Fiche;
use crate::domain::group::Group;
use crate::domain::outbox::{Content, LinkPurpose, Message, Standing};
use crate::domain::root::Root;
use crate::domain::time::Instant;
use crate::domain::vevent::Vevent;

/// Characters of a name in a subject at most.
const SUBJECT_NAME_MAX: usize = 80;

/// What a mail is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Saying {
    Confirmed,
    Changed,
    Cancelled,
    Reminder,
    ConfirmAccount,
    NewPassword,
    NewEmail,
}

/// Everything that a template may say.
struct Said {
    saying: Saying,
    /// The group's name in one line.
    group: String,
    phone: String,
    /// The group's address, line by line.
    address: Vec<String>,
    client: String,
    appointments: Vec<Line>,
    /// When the appointment began before it changed.
    was: String,
    /// What the one button leads to; empty where there is none.
    link: String,
    /// What ends such mails; empty where nothing does.
    unsubscribe: String,
    colours: Colours,
}

/// An appointment in words.
struct Line {
    when: String,
    what: String,
    whom: String,
    /// The link that cancels it; empty where it is no longer to be cancelled.
    cancel: String,
}

/// The module's colours, as far as a mail has use for them.
struct Colours {
    page: String,
    text: String,
    main: String,
    main_text: String,
}

macro_rules! templates {
    ($($name:ident, $path:literal;)*) => {$(
        #[derive(Template)]
        #[template(path = $path)]
        struct $name<'a> {
            said: &'a Said,
        }
    )*};
}

templates! {
    SubjectFr, "subject.fr.txt";
    SubjectEn, "subject.en.txt";
    TextFr, "mail.fr.txt";
    TextEn, "mail.en.txt";
    HtmlFr, "mail.fr.html";
    HtmlEn, "mail.en.html";
}

/// A mail, or `None` where what it is about is gone.
pub(super) fn letter(root: &Root, message: &Message, (public_url, from): (&str, &str)) -> Option<Letter> {
    let group = &root.catalogue.group;
    let language = Language::of_country(group.country.as_str());
    let (said, standings) = said(root, message, language, public_url)?;
    let written = match language {
        Language::French => {
            (SubjectFr { said: &said }.render(), TextFr { said: &said }.render(), HtmlFr { said: &said }.render())
        }
        Language::English => {
            (SubjectEn { said: &said }.render(), TextEn { said: &said }.render(), HtmlEn { said: &said }.render())
        }
    };
    let (Ok(subject), Ok(text), Ok(html)) = written else { return None };
    let method = match said.saying {
        Saying::Confirmed | Saying::Changed => Some(Method::Request),
        Saying::Cancelled => Some(Method::Cancel),
        Saying::Reminder | Saying::ConfirmAccount | Saying::NewPassword | Saying::NewEmail => None,
    };
    let calendar = |standing: &Standing| Some(entry(root, message, *standing, method?, from, &said));
    Some(Letter {
        to: message.recipient.as_str().to_owned(),
        from_name: said.group.clone(),
        subject: one_line(&subject),
        text: text.replace('\n', "\r\n"),
        html,
        method,
        calendars: standings.iter().filter_map(calendar).collect(),
        unsubscribe: (!said.unsubscribe.is_empty()).then(|| said.unsubscribe.clone()),
    })
}

/// A text message, or `None` where what it is about is gone.
pub(super) fn short(root: &Root, message: &Message) -> Option<String> {
    let (_, standing) = message.reminder()?;
    let group = &root.catalogue.group;
    let language = Language::of_country(group.country.as_str());
    let at = short_date(language, root.catalogue.zone().civil_of(standing.start));
    let phone = one_line(group.phone.as_str());
    let name = one_line(group.name.as_str());
    let (before, after) = match (language, phone.is_empty()) {
        (Language::French, true) => ("Rappel : rendez-vous ".to_owned(), format!(" le {at}")),
        (Language::French, false) => ("Rappel : rendez-vous ".to_owned(), format!(" le {at}. Tel. {phone}")),
        (Language::English, true) => ("Reminder: appointment at ".to_owned(), format!(" on {at}")),
        (Language::English, false) => ("Reminder: appointment at ".to_owned(), format!(" on {at}. Call {phone}")),
    };
    Some(gsm::fitted(&before, &name, &after))
}

fn said(root: &Root, message: &Message, language: Language, public_url: &str) -> Option<(Said, Vec<Standing>)> {
    let group = &root.catalogue.group;
    let zone = root.catalogue.zone();
    let (saying, standings, was, link) = match &message.content {
        Content::AccountLink { purpose, token, .. } => {
            let saying = match purpose {
                LinkPurpose::Confirm => Saying::ConfirmAccount,
                LinkPurpose::NewPassword => Saying::NewPassword,
                LinkPurpose::NewEmail => Saying::NewEmail,
            };
            (saying, Vec::new(), None, links::account(public_url, token.as_str()))
        }
        Content::Confirmation(standings) => {
            // What was cancelled or moved since is told by other messages.
            let stands = |it: &&Standing| stands(root, **it);
            (Saying::Confirmed, standings.iter().filter(stands).copied().collect(), None, String::new())
        }
        Content::Change { appointment, was } => (Saying::Changed, vec![*appointment], Some(*was), String::new()),
        Content::Cancellation(appointment) => (Saying::Cancelled, vec![*appointment], None, String::new()),
        Content::Reminder(_, appointment) => (Saying::Reminder, vec![*appointment], None, String::new()),
    };
    let rows: Vec<(&Vevent, Standing)> =
        standings.iter().filter_map(|it| Some((root.rows.get(&it.id)?.as_ref(), *it))).collect();
    let about_appointments = !matches!(message.content, Content::AccountLink { .. });
    if about_appointments && rows.is_empty() {
        return None;
    }
    let key = |row: &Vevent| row.appointment().map(|appointment| appointment.key);
    let unsubscribe = match (saying, rows.first()) {
        (Saying::Reminder, Some((row, _))) => links::unsubscribe(public_url, group.id, row.id, &key(row)?),
        _ => String::new(),
    };
    let client = rows.first().and_then(|(row, _)| root.fiches.get(&row.appointment()?.fiche_id));
    let said = Said {
        saying,
        group: short_line(group.name.as_str(), SUBJECT_NAME_MAX),
        phone: one_line(group.phone.as_str()),
        address: address(group),
        client: client.map_or_else(String::new, |client| called(client)),
        appointments: rows
            .iter()
            .map(|(row, standing)| line(root, row, standing.start, (language, saying, public_url)))
            .collect(),
        was: was.map_or_else(String::new, |was| long_date(language, zone.civil_of(was))),
        link,
        unsubscribe,
        colours: colours(group),
    };
    Some((said, standings))
}

fn stands(root: &Root, standing: Standing) -> bool {
    let row = root.rows.get(&standing.id).filter(|row| !row.deleted);
    row.and_then(|row| row.appointment()).is_some_and(|appointment| appointment.start == standing.start)
}

fn line(root: &Root, row: &Vevent, start: Instant, (language, saying, public_url): (Language, Saying, &str)) -> Line {
    let catalogue = &root.catalogue;
    let appointment = row.appointment();
    let intervention = appointment.and_then(|it| catalogue.interventions.get(&it.intervention_id));
    let calendar = catalogue.calendars.get(&row.calendar_id);
    let cancel = match (saying, appointment) {
        (Saying::Confirmed | Saying::Changed | Saying::Reminder, Some(it)) => {
            links::cancel(public_url, catalogue.group.id, row.id, &it.key)
        }
        _ => String::new(),
    };
    Line {
        when: long_date(language, catalogue.zone().civil_of(start)),
        // Clients know things by their public names only.
        what: intervention.map_or_else(String::new, |row| one_line(row.publicname.as_str())),
        whom: calendar.map_or_else(String::new, |row| one_line(row.publicname.as_str())),
        cancel,
    }
}

fn address(group: &Group) -> Vec<String> {
    let town = format!("{} {}", group.zipcode.as_str(), group.city.as_str());
    let lines = group.address.as_str().lines().map(one_line).chain([one_line(&town)]);
    lines.filter(|line| !line.is_empty()).collect()
}

/// How a client is called: by first and last name.
fn called(client: &Fiche) -> String {
    short_line(&format!("{} {}", client.firstname.as_str(), client.lastname.as_str()), SUBJECT_NAME_MAX)
}

fn colours(group: &Group) -> Colours {
    let given: serde_json::Value =
        group.usercolors.as_ref().and_then(|colours| serde_json::from_str(colours.as_str()).ok()).unwrap_or_default();
    let colour = |name: &str, default: &str| given[name].as_str().unwrap_or(default).to_owned();
    Colours {
        page: colour("page_bg", "#f4f4f4"),
        text: colour("content_text", "#222222"),
        main: colour("main_bg", "#2b5c8a"),
        main_text: colour("main_text", "#ffffff"),
    }
}

fn entry(root: &Root, message: &Message, standing: Standing, method: Method, from: &str, said: &Said) -> String {
    let row = root.rows.get(&standing.id);
    let appointment = row.and_then(|row| row.appointment());
    let length = appointment.map_or(0, |it| i64::from(it.length_seconds));
    let proof = appointment.map(|it| Sha256::digest(it.key.as_str())).unwrap_or_default();
    let proof: String = proof.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let what = row
        .and_then(|row| row.appointment())
        .and_then(|it| root.catalogue.interventions.get(&it.intervention_id))
        .map_or_else(String::new, |it| one_line(it.publicname.as_str()));
    let summary = if what.is_empty() { said.group.clone() } else { format!("{what} – {}", said.group) };
    ics(
        method,
        &Entry {
            uid: format!("{}-{}-{proof}@slotbook", root.catalogue.group.id, standing.id),
            // Grows with every message about it. An export keeps the stamps and begins the numbers anew.
            sequence: row.map_or(0, |row| message.created_at.seconds_since(row.created_at)).max(0).unsigned_abs()
                + message.id.number(),
            stamp: message.created_at,
            start: standing.start,
            end: standing.start.plus_seconds(length),
            summary: &summary,
            location: &said.address.join(", "),
            description: &said.phone,
            organizer: from,
            attendee: message.recipient.as_str(),
        },
    )
}
