//! What a message says, made from the newest state at each attempt. Reference 7.

use askama::Template;
use sha2::{Digest as _, Sha256};

use crate::domain::messaging::message::{
    AppointmentTime, LinkPurpose, Message, MessageContent, WithdrawnAppointment,
};
use crate::domain::messaging::suppression;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId};
use crate::domain::records::postal_address::PostalAddress;
use crate::domain::records::vevent::AppointmentKey;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::notify::Frame;
use crate::notify::calendar::{Entry, Method, ics};
use crate::notify::gsm;
use crate::notify::links;
use crate::notify::outgoing_message::OutgoingMessage;
use crate::notify::words::{Language, at, long_date, one_line, short_date, short_line};

/// Characters of a name in a subject at most.
const SUBJECT_NAME_MAX: usize = 80;

/// What a mail is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Saying {
    Confirmed,
    Changed,
    Restored,
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
    /// The same with the word that stands before it in a sentence.
    at: String,
    phone: String,
    /// The group's address, line by line; empty where nobody is to go there.
    address: Vec<String>,
    client: String,
    appointments: Vec<Line>,
    /// When the appointment was to begin, as its client last heard; empty where that is when it does.
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
    /// Where, line by line; empty where it is at the group's address.
    place: Vec<String>,
    /// The link that cancels it; empty where it is not to be cancelled, or too late for that.
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
pub(super) fn letter(
    state: &GroupState,
    message: &Message,
    frame: Frame<'_>,
) -> Option<OutgoingMessage> {
    let group = &state.catalogue.group;
    let language = Language::of_country(group.country.as_str());
    let (said, subjects) = said(state, message, language, frame)?;
    let written = match language {
        Language::French => (
            SubjectFr { said: &said }.render(),
            TextFr { said: &said }.render(),
            HtmlFr { said: &said }.render(),
        ),
        Language::English => (
            SubjectEn { said: &said }.render(),
            TextEn { said: &said }.render(),
            HtmlEn { said: &said }.render(),
        ),
    };
    let (Ok(subject), Ok(text), Ok(html)) = written else { return None };
    let method = match said.saying {
        Saying::Confirmed | Saying::Changed | Saying::Restored => Some(Method::Request),
        Saying::Cancelled => Some(Method::Cancel),
        Saying::Reminder | Saying::ConfirmAccount | Saying::NewPassword | Saying::NewEmail => None,
    };
    let calendar =
        |subject: &Subject| Some(entry(state, message, subject, method?, frame.from, &said));
    Some(OutgoingMessage {
        to: message.recipient.as_str().to_owned(),
        from_name: said.group.clone(),
        subject: one_line(&subject),
        text: text.replace('\n', "\r\n"),
        html,
        method,
        calendars: subjects.iter().filter_map(calendar).collect(),
        unsubscribe: (!said.unsubscribe.is_empty()).then(|| said.unsubscribe.clone()),
    })
}

/// A text message, or `None` where what it is about is gone.
pub(super) fn short(state: &GroupState, message: &Message) -> Option<String> {
    let (_, standing) = message.reminder()?;
    let group = &state.catalogue.group;
    let language = Language::of_country(group.country.as_str());
    let at = short_date(language, state.catalogue.zone().civil_of(standing.start));
    let phone = one_line(group.phone.as_str());
    let name = one_line(group.name.as_str());
    let (before, after) = match (language, phone.is_empty()) {
        (Language::French, true) => ("Rappel : rendez-vous ".to_owned(), format!(" le {at}")),
        (Language::French, false) => {
            ("Rappel : rendez-vous ".to_owned(), format!(" le {at}. Tel. {phone}"))
        }
        (Language::English, true) => ("Reminder: appointment at ".to_owned(), format!(" on {at}")),
        (Language::English, false) => {
            ("Reminder: appointment at ".to_owned(), format!(" on {at}. Call {phone}"))
        }
    };
    Some(gsm::fitted(&before, &name, &after))
}

fn said(
    state: &GroupState,
    message: &Message,
    language: Language,
    frame: Frame<'_>,
) -> Option<(Said, Vec<Subject>)> {
    let Frame { public_url, seal, .. } = frame;
    let group = &state.catalogue.group;
    let zone = state.catalogue.zone();
    let standing = |it: &AppointmentTime| Subject::of_standing(state, *it);
    let (saying, subjects, was, link): (_, Vec<Subject>, _, _) = match &message.content {
        MessageContent::AccountLink { purpose, token, .. } => {
            let saying = match purpose {
                LinkPurpose::Confirm => Saying::ConfirmAccount,
                LinkPurpose::NewPassword => Saying::NewPassword,
                LinkPurpose::NewEmail => Saying::NewEmail,
            };
            (saying, Vec::new(), None, links::account(public_url, token.as_str()))
        }
        MessageContent::Confirmation(standings) | MessageContent::ConfirmationByKey(standings) => {
            // What was cancelled or given away since is told by other messages, and what was moved after it had left.
            let newest = |it: &AppointmentTime| {
                if message.is_open() { suppression::with_current_start(state, *it) } else { *it }
            };
            let told = state
                .outbox
                .still_held(message.id, standings)
                .map(newest)
                .filter(|it| stands(state, *it));
            (Saying::Confirmed, told.filter_map(|it| standing(&it)).collect(), None, String::new())
        }
        MessageContent::Change { appointment, was } => {
            let told = state.outbox.last_notified_start(message.id, appointment.id, *was);
            let was = (told != appointment.start).then_some(told);
            (Saying::Changed, standing(appointment).into_iter().collect(), was, String::new())
        }
        MessageContent::Restoration(appointment) => {
            (Saying::Restored, standing(appointment).into_iter().collect(), None, String::new())
        }
        MessageContent::Cancellation(appointment)
        | MessageContent::CancellationByKey(appointment) => {
            (Saying::Cancelled, standing(appointment).into_iter().collect(), None, String::new())
        }
        MessageContent::Withdrawal(withdrawn) => {
            (Saying::Cancelled, vec![Subject::of_withdrawn(state, withdrawn)], None, String::new())
        }
        MessageContent::Reminder(_, appointment) => {
            (Saying::Reminder, standing(appointment).into_iter().collect(), None, String::new())
        }
    };
    if message.appointment().is_some() && subjects.is_empty() {
        return None;
    }
    let name = short_line(group.name.as_str(), SUBJECT_NAME_MAX);
    let client = subjects.first().and_then(|it| state.fiches.get(&it.client));
    let unsubscribe = match (saying, seal, client) {
        (Saying::Reminder, Some(seal), Some(client)) => {
            links::unsubscribe(public_url, seal, group.id, client)
        }
        _ => String::new(),
    };
    let appointments: Vec<Line> = subjects
        .iter()
        .map(|subject| {
            line(state, subject, (language, saying, public_url), message.last_progress_at())
        })
        .collect();
    let elsewhere =
        !appointments.is_empty() && appointments.iter().all(|line| !line.place.is_empty());
    let said = Said {
        saying,
        at: at(language, group.preposition.as_str(), &name),
        group: name,
        phone: one_line(group.phone.as_str()),
        address: if elsewhere {
            Vec::new()
        } else {
            lines_of(PostalAddress::of_group(&state.catalogue))
        },
        client: client.map_or_else(String::new, |client| called(client)),
        appointments,
        was: was.map_or_else(String::new, |was| long_date(language, zone.civil_of(was))),
        link,
        unsubscribe,
        colours: colours(group),
    };
    Some((said, subjects))
}

fn stands(state: &GroupState, standing: AppointmentTime) -> bool {
    let row = state.rows.get(&standing.id).filter(|row| !row.deleted);
    row.and_then(|row| row.appointment())
        .is_some_and(|appointment| appointment.start == standing.start)
}

/// An appointment as its message tells of it.
struct Subject {
    standing: AppointmentTime,
    length_seconds: u32,
    client: FicheId,
    calendar: CalendarId,
    intervention: InterventionId,
    key: AppointmentKey,
    /// When it was made, where that is still known.
    made_at: Option<Instant>,
}

impl Subject {
    /// As it stands by the newest state, but beginning when the message says.
    fn of_standing(state: &GroupState, standing: AppointmentTime) -> Option<Self> {
        let row = state.rows.get(&standing.id)?;
        let appointment = row.appointment()?;
        Some(Self {
            standing,
            length_seconds: appointment.length_seconds,
            client: appointment.fiche_id,
            calendar: row.calendar_id,
            intervention: appointment.intervention_id,
            key: appointment.key,
            made_at: Some(row.created_at),
        })
    }

    /// As it was when its client still had it.
    fn of_withdrawn(state: &GroupState, withdrawn: &WithdrawnAppointment) -> Self {
        let standing = withdrawn.appointment;
        Self {
            standing,
            length_seconds: withdrawn.length_seconds,
            client: withdrawn.client,
            calendar: withdrawn.calendar,
            intervention: withdrawn.intervention,
            key: withdrawn.key,
            made_at: state.rows.get(&standing.id).map(|row| row.created_at),
        }
    }

    /// What it is for, by the name that clients know; empty where they know none.
    fn what(&self, state: &GroupState) -> String {
        let intervention = state.catalogue.interventions.get(&self.intervention);
        intervention.map_or_else(String::new, |row| one_line(row.publicname.as_str()))
    }
}

/// An appointment in words, for a message that leaves at a time.
fn line(
    state: &GroupState,
    subject: &Subject,
    (language, saying, public_url): (Language, Saying, &str),
    at: Instant,
) -> Line {
    let catalogue = &state.catalogue;
    let calendar = catalogue.calendars.get(&subject.calendar);
    // Too late to cancel online, a link would only lead to a page that says so.
    let in_time = calendar.is_some_and(|row| {
        at <= subject.standing.start.plus_minutes(-row.mintime_annulation.number())
    });
    let stands =
        matches!(saying, Saying::Confirmed | Saying::Changed | Saying::Restored | Saying::Reminder);
    let cancel = if stands && in_time {
        links::cancel(public_url, catalogue.group.id, subject.standing.id, &subject.key)
    } else {
        String::new()
    };
    Line {
        when: long_date(language, catalogue.zone().civil_of(subject.standing.start)),
        what: subject.what(state),
        whom: calendar.map_or_else(String::new, |row| one_line(row.publicname.as_str())),
        place: place_of(state, subject)
            .filter(|place| *place != PostalAddress::of_group(catalogue))
            .map_or_else(Vec::new, lines_of),
        cancel,
    }
}

/// Where an appointment is; `None` where nobody knows its calendar any more.
fn place_of<'a>(state: &'a GroupState, subject: &Subject) -> Option<PostalAddress<'a>> {
    let calendar = state.catalogue.calendars.get(&subject.calendar)?;
    Some(PostalAddress::of_calendar(&state.catalogue, calendar))
}

/// An address as it stands on a letter.
fn lines_of(place: PostalAddress<'_>) -> Vec<String> {
    let lines = place.address.lines().map(one_line).chain([one_line(&place.town_line())]);
    lines.filter(|line| !line.is_empty()).collect()
}

/// How a client is called: by first and last name.
fn called(client: &Fiche) -> String {
    short_line(
        &format!("{} {}", client.firstname.as_str(), client.lastname.as_str()),
        SUBJECT_NAME_MAX,
    )
}

fn colours(group: &Group) -> Colours {
    let given: serde_json::Value = group
        .usercolors
        .as_ref()
        .and_then(|colours| serde_json::from_str(colours.as_str()).ok())
        .unwrap_or_default();
    let colour = |name: &str, default: &str| given[name].as_str().unwrap_or(default).to_owned();
    Colours {
        page: colour("page_bg", "#f4f4f4"),
        text: colour("content_text", "#222222"),
        main: colour("main_bg", "#2b5c8a"),
        main_text: colour("main_text", "#ffffff"),
    }
}

fn entry(
    state: &GroupState,
    message: &Message,
    subject: &Subject,
    method: Method,
    from: &str,
    said: &Said,
) -> String {
    let AppointmentTime { id, start } = subject.standing;
    let proof = Sha256::digest(subject.key.as_str());
    let proof: String = proof.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let age = subject.made_at.map_or(0, |made_at| message.created_at.seconds_since(made_at));
    let what = subject.what(state);
    let summary =
        if what.is_empty() { said.group.clone() } else { format!("{what} – {}", said.group) };
    ics(
        method,
        &Entry {
            uid: format!("{}-{id}-{proof}@slotbook", state.catalogue.group.id),
            // Grows with every message about it, also after an import: an export keeps stamps and numbers.
            sequence: age.max(0).unsigned_abs() + message.id.number(),
            stamp: message.created_at,
            start,
            end: start.plus_seconds(i64::from(subject.length_seconds)),
            summary: &summary,
            location: &place_of(state, subject).map_or_else(Vec::new, lines_of).join(", "),
            description: &said.phone,
            organizer: from,
            attendee: message.recipient.as_str(),
        },
    )
}
