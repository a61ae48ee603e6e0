//! The content of messages, rendered from the newest state at each attempt. Reference 7.3.

use askama::Template;

use crate::domain::availability::module_offer::shown_calendars;
use crate::domain::availability::postal_address::PostalAddress;
use crate::domain::decisions::book::check_page_permission;
use crate::domain::directory::confirmation_code::ConfirmationCode;
use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::records::group::Group;
use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::WebhookId;
use crate::domain::records::image::ImageSlot;
use crate::domain::records::message::{
    AccountChange, AppointmentTime, LinkPurpose, Message, MessageContent, ShopWarning,
};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::webhooks::webhook::OffReason;
use crate::domain::time::Instant;
use crate::notify::contrast::{self, LightColours};
use crate::notify::gsm;
use crate::notify::language::{
    Language, long_date, name_with_preposition, one_line, short_date, short_line,
};
use crate::notify::links;
use crate::notify::mail_appointment::{
    AppointmentLine, MailAppointment, SUBJECT_NAME_CHARS_MAX, address_lines, group_name,
    render_invitation, render_line,
};
use crate::notify::mail_kind::MailKind;
use crate::notify::outgoing_message::OutgoingMessage;
use crate::notify::sender_text::looks_like_address;

/// Settings of the server that every mail uses.
#[derive(Clone, Copy)]
pub(crate) struct MailSettings<'a> {
    /// Beginning of every link, without a final `/`.
    pub(crate) public_url: &'a str,
    /// Mail address of the sender.
    pub(crate) from_address: &'a str,
    /// Secret of unsubscribe links and of codes; without it no mail has one.
    pub(crate) link_secret: Option<&'a LinkSecret>,
    /// Whether codes are shown. In the list of messages they are not.
    pub(crate) shows_codes: bool,
}

/// The values of the mail templates.
struct MailContext {
    kind: MailKind,
    /// Name of the group, in one line.
    group: String,
    /// Name of the group after a preposition.
    group_with_preposition: String,
    phone: String,
    /// Address of the group, line by line; empty if every appointment is elsewhere.
    address: Vec<String>,
    /// Name of the client; empty if unknown.
    client: String,
    appointments: Vec<AppointmentLine>,
    /// The start that the client was last notified of; empty if it has not changed.
    previous_start: String,
    /// URL of the one button; empty if there is none.
    link: String,
    /// URL at which a client books again after a cancellation; empty if the public cannot book.
    book_again: String,
    /// Code that confirms a booking; empty if there is none.
    code: String,
    /// The booking that the code confirms: its start, and the last moment for the code.
    code_start: String,
    code_until: String,
    /// Host of the receiver of a webhook; empty if the mail is about none.
    receiver: String,
    /// URL that ends such mails; empty if nothing does.
    unsubscribe: String,
    colours: MailColours,
    /// The logo, if the group has one.
    logo: Option<MailLogo>,
}

/// The colours of the booking module that a mail uses, as CSS.
struct MailColours {
    /// Ground and text of the mail.
    page: String,
    text: String,
    link: String,
    /// Ground and text of the band with the name of the group.
    main: String,
    main_text: String,
    /// Ground and text of the one button.
    button: String,
    button_text: String,
}

/// The logo in a mail: its address, and its size in pixels.
struct MailLogo {
    url: String,
    width: u32,
    height: u32,
}

/// Maximum height of a logo in mails, in pixels.
const LOGO_HEIGHT_MAX: u32 = 60;

macro_rules! templates {
    ($($name:ident, $path:literal;)*) => {$(
        #[derive(Template)]
        #[template(path = $path)]
        struct $name<'a> {
            mail: &'a MailContext,
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

/// Renders a mail. `None` if the object that it is about has been removed.
pub(crate) fn render_mail(
    state: &GroupState,
    message: &Message,
    settings: MailSettings<'_>,
) -> Option<OutgoingMessage> {
    let language = Language::of_country(state.catalogue.group.country.as_str());
    let subject_matter = find_subject_matter(state, message, settings)?;
    let mail = build_context(state, message, language, settings, &subject_matter);
    let rendered = match language {
        Language::French => (
            SubjectFr { mail: &mail }.render(),
            TextFr { mail: &mail }.render(),
            HtmlFr { mail: &mail }.render(),
        ),
        Language::English => (
            SubjectEn { mail: &mail }.render(),
            TextEn { mail: &mail }.render(),
            HtmlEn { mail: &mail }.render(),
        ),
    };
    let (Ok(subject), Ok(text), Ok(html)) = rendered else { return None };
    let method = mail.kind.method();
    let mut calendars = Vec::new();
    if let Some(method) = method {
        for appointment in &subject_matter.appointments {
            let from = settings.from_address;
            calendars.push(render_invitation(state, message, appointment, method, from));
        }
    }
    let unsubscribe_url =
        if mail.unsubscribe.is_empty() { None } else { Some(mail.unsubscribe.clone()) };
    Some(OutgoingMessage {
        to: message.recipient.as_str().to_owned(),
        from_name: mail.group,
        subject: one_line(&subject),
        text: text.replace('\n', "\r\n"),
        html,
        method,
        calendars,
        unsubscribe_url,
    })
}

/// Renders a text message. `None` if it is neither a reminder nor a code.
pub(crate) fn render_sms(
    state: &GroupState,
    message: &Message,
    settings: MailSettings<'_>,
) -> Option<String> {
    if let MessageContent::BookingCode { hold, .. } = message.content {
        return render_code_sms(state, hold, settings);
    }
    render_reminder_sms(state, message)
}

/// Renders the text message with a code. `None` if its booking has been removed.
fn render_code_sms(state: &GroupState, hold: HoldId, settings: MailSettings<'_>) -> Option<String> {
    let code = BookingCodeText::find(state, hold, settings)?;
    let name = one_line(state.catalogue.group.name.as_str());
    let language = Language::of_country(state.catalogue.group.country.as_str());
    let before = match language {
        Language::French => format!("{} : votre code pour confirmer chez ", code.digits),
        Language::English => format!("{}: your code to confirm at ", code.digits),
    };
    let at = short_date(language, state.catalogue.zone().civil_of(code.start));
    let after = match language {
        Language::French => format!(" le {at}"),
        Language::English => format!(" on {at}"),
    };
    Some(gsm::fit_message(&before, &name, &after))
}

fn render_reminder_sms(state: &GroupState, message: &Message) -> Option<String> {
    let (_, standing) = message.reminder()?;
    let group = &state.catalogue.group;
    let language = Language::of_country(group.country.as_str());
    let at = short_date(language, state.catalogue.zone().civil_of(standing.start));
    let phone = one_line(group.phone.as_str());
    let name = one_line(group.name.as_str());
    let before = match language {
        Language::French => "Rappel : rendez-vous ",
        Language::English => "Reminder: appointment at ",
    };
    let after = match (language, phone.is_empty()) {
        (Language::French, true) => format!(" le {at}"),
        (Language::French, false) => format!(" le {at}. Tel. {phone}"),
        (Language::English, true) => format!(" on {at}"),
        (Language::English, false) => format!(" on {at}. Call {phone}"),
    };
    Some(gsm::fit_message(before, &name, &after))
}

/// The subject matter of a mail: its kind, and the appointments or the link that it is about.
struct SubjectMatter {
    kind: MailKind,
    appointments: Vec<MailAppointment>,
    /// The start that the client was last notified of, if it has changed.
    previous_start: Option<Instant>,
    /// URL of the one button; empty if there is none.
    link: String,
    /// The code that confirms a booking, if the mail is about one.
    code: Option<BookingCodeText>,
    /// Host of the receiver of a webhook; empty if the mail is about none.
    receiver: String,
}

/// A code and the booking that it confirms.
struct BookingCodeText {
    digits: String,
    /// Start of the booking.
    start: Instant,
    /// The moment from which the code is not accepted.
    until: Instant,
}

impl BookingCodeText {
    /// Derives the code of a booking. `None` if its hold has been removed, or without a secret.
    fn find(state: &GroupState, id: HoldId, settings: MailSettings<'_>) -> Option<Self> {
        let hold = state.holds().get(id)?;
        let digits = if settings.shows_codes {
            let group = state.catalogue.group.id;
            ConfirmationCode::derive(settings.link_secret?, group, id).as_str().to_owned()
        } else {
            "•".repeat(ConfirmationCode::LENGTH)
        };
        Some(Self { digits, start: hold.start, until: hold.expires_at })
    }
}

impl SubjectMatter {
    /// Creates the subject matter of a mail about appointments.
    fn new(kind: MailKind, appointments: impl IntoIterator<Item = MailAppointment>) -> Self {
        let appointments = appointments.into_iter().collect();
        Self {
            kind,
            appointments,
            previous_start: None,
            link: String::new(),
            code: None,
            receiver: String::new(),
        }
    }
}

/// Finds the subject matter of a mail. `None` if all its appointments have been removed, or its
/// account link has ended with an export, or the booking of its code has been removed.
fn find_subject_matter(
    state: &GroupState,
    message: &Message,
    settings: MailSettings<'_>,
) -> Option<SubjectMatter> {
    let find = |standing: &AppointmentTime| MailAppointment::find(state, *standing);
    let subject_matter = match &message.content {
        // An imported message has lost its token, because its link ended with the export. A message
        // that will not be sent again has lost it too.
        MessageContent::AccountLink { token, .. } if token.is_blank() => return None,
        MessageContent::AccountLink { purpose, token, .. } => {
            let kind = match purpose {
                LinkPurpose::Confirm => MailKind::ConfirmAccount,
                LinkPurpose::NewPassword => MailKind::NewPassword,
                LinkPurpose::NewEmail => MailKind::NewEmail,
                LinkPurpose::Login => MailKind::LoginLink,
                LinkPurpose::ProPassword => MailKind::ProPassword,
                LinkPurpose::Invitation => MailKind::Invitation,
            };
            let link = links::account_url(settings.public_url, token.as_str());
            SubjectMatter { link, ..SubjectMatter::new(kind, None) }
        }
        MessageContent::AccountNotice(change) => {
            let kind = match change {
                AccountChange::Password => MailKind::PasswordChanged,
                AccountChange::Email => MailKind::EmailChanged,
                AccountChange::Device => MailKind::NewDevice,
                AccountChange::UnknownLogin => MailKind::UnknownLogin,
            };
            SubjectMatter::new(kind, None)
        }
        MessageContent::ShopWarning(warning) => find_warning(state, *warning)?,
        MessageContent::BookingCode { hold, .. } => {
            let code = Some(BookingCodeText::find(state, *hold, settings)?);
            SubjectMatter { code, ..SubjectMatter::new(MailKind::BookingCode, None) }
        }
        MessageContent::Confirmation(standings) => {
            let appointments = find_confirmed(state, message, standings);
            SubjectMatter::new(MailKind::Confirmed, appointments)
        }
        MessageContent::Change { appointment, was } => {
            let previous = match &message.known {
                Some(_) => *was,
                None => state.outbox.last_notified_start(message.id, appointment.id, *was),
            };
            let has_moved = previous != appointment.start;
            SubjectMatter {
                previous_start: if has_moved { Some(previous) } else { None },
                ..SubjectMatter::new(MailKind::Changed, find(appointment))
            }
        }
        MessageContent::Restoration(appointment) => {
            SubjectMatter::new(MailKind::Restored, find(appointment))
        }
        MessageContent::Cancellation(appointment) => {
            let cancelled = find(appointment).map(|found| found.with_known_details(state, message));
            SubjectMatter::new(MailKind::Cancelled, cancelled)
        }
        MessageContent::Withdrawal(withdrawn) => {
            let appointment = MailAppointment::from_withdrawn(state, withdrawn);
            SubjectMatter::new(MailKind::Cancelled, [appointment])
        }
        MessageContent::Reminder(_, appointment) => {
            SubjectMatter::new(MailKind::Reminder, find(appointment))
        }
    };
    if message.appointment().is_some() && subject_matter.appointments.is_empty() {
        return None;
    }
    Some(subject_matter)
}

/// Finds the subject matter of a warning to professionals. `None` if its webhook was removed.
fn find_warning(state: &GroupState, warning: ShopWarning) -> Option<SubjectMatter> {
    let kind = match warning {
        ShopWarning::WebhookOff(id) => return find_webhook(state, id),
        ShopWarning::CodesHalfUsed => MailKind::CodesHalfUsed,
        ShopWarning::CodesAsked => MailKind::CodesAsked,
        ShopWarning::CodesNoLongerAsked => MailKind::CodesNoLongerAsked,
    };
    Some(SubjectMatter::new(kind, None))
}

/// Finds the subject matter of a mail about a webhook that delivers no more. `None` if it was
/// removed, or is on again.
fn find_webhook(state: &GroupState, id: WebhookId) -> Option<SubjectMatter> {
    let webhook = state.webhooks.get(id)?;
    let kind = match webhook.off?.reason {
        OffReason::Failed => MailKind::WebhookFailed,
        OffReason::Gone => MailKind::WebhookGone,
        OffReason::ByHand => return None,
    };
    // The path may hold a secret of the receiver.
    let receiver = webhook.url.authority().to_owned();
    Some(SubjectMatter { receiver, ..SubjectMatter::new(kind, None) })
}

/// Finds the appointments of a confirmation that still stand. Other messages announce those that
/// were cancelled or given to another client, and those moved after the confirmation was sent.
fn find_confirmed(
    state: &GroupState,
    message: &Message,
    standings: &[AppointmentTime],
) -> Vec<MailAppointment> {
    let mut confirmed = Vec::new();
    for standing in state.outbox.still_held(message.id, standings) {
        let standing = if message.is_open() {
            crate::domain::messaging::suppression::with_current_start(state, *standing)
        } else {
            *standing
        };
        if has_live_appointment(state, standing) {
            confirmed.extend(MailAppointment::find(state, standing));
        }
    }
    confirmed
}

/// Returns whether an appointment is live and starts as given.
fn has_live_appointment(state: &GroupState, standing: AppointmentTime) -> bool {
    let Some(vevent) = state.rows.get(&standing.id) else { return false };
    match vevent.appointment() {
        Some(appointment) => !vevent.deleted && appointment.start == standing.start,
        None => false,
    }
}

fn build_context(
    state: &GroupState,
    message: &Message,
    language: Language,
    settings: MailSettings<'_>,
    subject_matter: &SubjectMatter,
) -> MailContext {
    let group = &state.catalogue.group;
    let kind = subject_matter.kind;
    let mut appointments = Vec::new();
    let mut is_at_group = subject_matter.appointments.is_empty();
    for appointment in &subject_matter.appointments {
        let url = settings.public_url;
        let line = render_line(state, appointment, language, kind, url, message.last_progress_at());
        is_at_group |= line.place.is_empty();
        appointments.push(line);
    }
    let address = if is_at_group {
        address_lines(PostalAddress::of_group(&state.catalogue))
    } else {
        Vec::new()
    };
    let client = match subject_matter.appointments.first() {
        Some(appointment) => state.fiches.get(&appointment.client),
        None => None,
    };
    let unsubscribe = match (kind, settings.link_secret, client) {
        (MailKind::Reminder, Some(secret), Some(client)) => {
            links::unsubscribe_url(settings.public_url, secret, group.id, client)
        }
        _ => String::new(),
    };
    let mut client_name = match client {
        Some(client) => format!("{} {}", client.firstname.as_str(), client.lastname.as_str()),
        None => String::new(),
    };
    // The public may give any name, and have it mailed to any address.
    if may_be_of_public(state, message) && looks_like_address(&client_name) {
        client_name.clear();
    }
    let previous_start = match subject_matter.previous_start {
        Some(start) => long_date(language, state.catalogue.zone().civil_of(start)),
        None => String::new(),
    };
    let name = group_name(state);
    let zone = state.catalogue.zone();
    let mut code = String::new();
    let mut code_start = String::new();
    let mut code_until = String::new();
    if let Some(booking) = &subject_matter.code {
        code = booking.digits.clone();
        code_start = long_date(language, zone.civil_of(booking.start));
        code_until = short_date(language, zone.civil_of(booking.until));
    }
    MailContext {
        kind,
        group_with_preposition: name_with_preposition(language, group.preposition.as_str(), &name),
        group: name,
        phone: one_line(group.phone.as_str()),
        address,
        client: short_line(&client_name, SUBJECT_NAME_CHARS_MAX),
        appointments,
        previous_start,
        link: subject_matter.link.clone(),
        book_again: find_booking_url(state, subject_matter, settings.public_url),
        code,
        code_start,
        code_until,
        receiver: subject_matter.receiver.clone(),
        unsubscribe,
        colours: mail_colours(group),
        logo: mail_logo(state, settings.public_url),
    }
}

/// Returns the URL of the booking page for a client whose appointment is cancelled, with its
/// intervention chosen if the page shows it. Empty for other mails, and if the public cannot book.
fn find_booking_url(
    state: &GroupState,
    subject_matter: &SubjectMatter,
    public_url: &str,
) -> String {
    let catalogue = &state.catalogue;
    let is_closed = catalogue.group.inactive
        || shown_calendars(catalogue).is_empty()
        || check_page_permission(catalogue).is_err();
    let appointment = subject_matter.appointments.first();
    let (MailKind::Cancelled, Some(appointment), false) =
        (subject_matter.kind, appointment, is_closed)
    else {
        return String::new();
    };
    let is_shown = catalogue.intervention_hidden(appointment.intervention).is_none();
    let intervention = Some(appointment.intervention).filter(|_| is_shown);
    links::booking_url(public_url, catalogue.group.urlname.as_str(), intervention)
}

/// Whether the public may have given the name in a message to the address of another person: a key
/// alone caused it, or it is about a web booking whose address is not proved.
fn may_be_of_public(state: &GroupState, message: &Message) -> bool {
    if message.is_by_key() {
        return true;
    }
    for appointment in message.appointments() {
        if let Some(row) = state.rows.get(&appointment.id)
            && let Some(proof) = row.client_proof()
            && !proof.is_of_address()
        {
            return true;
        }
    }
    false
}

/// Returns the group's colours, as its pages have them on light grounds.
fn mail_colours(group: &Group) -> MailColours {
    let colours = LightColours::new(&contrast::of_group(group));
    MailColours {
        page: colours.content.css(),
        text: colours.content_text.css(),
        link: colours.button.css(),
        main: colours.main.css(),
        main_text: colours.main_text.css(),
        button: colours.button.css(),
        button_text: colours.button.text_on().css(),
    }
}

/// Returns the logo of the group; `None` without one, or if the server knows no address of its own.
fn mail_logo(state: &GroupState, public_url: &str) -> Option<MailLogo> {
    let logo = state.images.in_slot(ImageSlot::Logo)?;
    if public_url.is_empty() {
        return None;
    }
    // Dense screens show two pixels for each of these.
    let height = logo.height.min(LOGO_HEIGHT_MAX);
    let width = (logo.width * height / logo.height).max(1);
    let url = format!("{public_url}{}", links::image_path(&state.catalogue.group, logo));
    Some(MailLogo { url, width, height })
}
