//! Rows of messages: a message becomes a row of a document, and a row becomes the same message.
//! Reference 11.2.
//!
//! A row holds everything but the token of an account link, which would let any reader of the
//! document set the password, and the hold of a code. So a link and a code end with an export: the
//! message is kept without them, and is suppressed at import if it was still to be sent.

use serde_json::{Map, Value};
use strum::IntoEnumIterator as _;

use crate::domain::records::channel::Channel;
use crate::domain::records::fault::Fault;
use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::{
    CalendarId, FicheId, InterventionId, MessageId, VeventId, WebhookId,
};
use crate::domain::records::known_appointment::{
    AppointmentDetails, Expectation, KnownAppointment, News,
};
use crate::domain::records::message::{
    AccountChange, AppointmentTime, LinkPurpose, Message, MessageContent, Progress, ShopWarning,
    SuppressionReason, WithdrawnAppointment,
};
use crate::domain::records::text::{InvalidValue, Name, Text};
use crate::domain::records::vevent::AppointmentKey;
use crate::domain::time::{DAY, INSTANT_MIN, Instant, zone};
use crate::transfer::rows::{given_field, given_text};
use crate::wire::{datetime, value};

/// Maximum number of attempts in a document. Three days of retries are fewer than a hundred.
const ATTEMPTS_MAX: u32 = 1_000_000;

const KINDS: &str = "must be one of confirmation, change, cancellation, restoration, withdrawal, \
     mail_reminder, sms_reminder, account_confirmation, new_password, new_email, mail_code, \
     sms_code, password_changed, email_changed, new_device, login_link, codes_half_used, \
     codes_asked, codes_no_longer_asked, pro_password, invitation, webhook_off";
const STATES: &str = "must be one of planned, sending, sent, kept, failed, missed, suppressed";

/// Returns the row of a message.
pub(crate) fn render_message(message: &Message) -> Map<String, Value> {
    let mut row = Map::new();
    row.insert("id".into(), message.id.number().into());
    row.insert("kind".into(), kind_name(message).into());
    if message.is_by_key() {
        row.insert("by_key".into(), true.into());
    }
    row.insert("recipient".into(), message.recipient.as_str().into());
    row.insert("created_at_utc".into(), utc_text(message.created_at));
    if let Some(at) = message.first_claimed_at {
        row.insert("first_attempt_at_utc".into(), utc_text(at));
    }
    render_content(&message.content, &mut row);
    render_progress(&message.progress, &mut row);
    if let Some(known) = &message.known {
        row.insert("known".into(), render_known(known).into());
    }
    row
}

/// Parses the row of a message. An account link or a code that was still to be sent is suppressed.
///
/// # Errors
///
/// The first fault of the row.
pub(crate) fn parse_message(row: &Map<String, Value>, now: Instant) -> Result<Message, Fault> {
    let id = parse_id(row, "id", MessageId::new)?;
    let created_at = parse_instant(row, "created_at_utc")?;
    // Later messages must have later stamps.
    if created_at > now.plus_seconds(DAY) {
        return Err(Fault::new("created_at_utc", "lies more than a day in the future"));
    }
    let by_key = parse_boolean(row, "by_key")?;
    let content = parse_content(row)?;
    let mut progress = parse_progress(row)?;
    let is_open = matches!(progress, Progress::Waiting { .. } | Progress::Claimed { .. });
    let has_ended =
        matches!(content, MessageContent::AccountLink { .. } | MessageContent::BookingCode { .. });
    if is_open && has_ended {
        progress = Progress::Suppressed { at: now, why: SuppressionReason::Expired };
    }
    let message = Message {
        id,
        created_at,
        content,
        by_key: false,
        recipient: parse_recipient(row)?,
        first_claimed_at: parse_optional_instant(row, "first_attempt_at_utc")?,
        progress,
        known: parse_known(row)?.map(Box::new),
    };
    Ok(if by_key { message.caused_by_key() } else { message })
}

/// Returns the name of a message's kind: as in the list of messages, except that a restoration and
/// a withdrawal have names of their own.
fn kind_name(message: &Message) -> &'static str {
    if matches!(message.content, MessageContent::Restoration(_)) {
        return "restoration";
    }
    if matches!(message.content, MessageContent::Withdrawal(_)) {
        return "withdrawal";
    }
    message.kind().name()
}

fn render_content(content: &MessageContent, row: &mut Map<String, Value>) {
    match content {
        MessageContent::ShopWarning(ShopWarning::WebhookOff(id)) => {
            row.insert("webhook_id".into(), id.number().into());
        }
        MessageContent::AccountNotice(_) | MessageContent::ShopWarning(_) => {}
        MessageContent::AccountLink { expires, purpose: _, token: _ }
        | MessageContent::BookingCode { expires, channel: _, hold: _ } => {
            row.insert("expires_at_utc".into(), utc_text(*expires));
        }
        MessageContent::Confirmation(appointments) => render_appointments(appointments, row),
        MessageContent::Change { appointment, was } => {
            render_appointments(&[*appointment], row);
            row.insert("previous_start_utc".into(), utc_text(*was));
        }
        MessageContent::Cancellation(appointment)
        | MessageContent::Reminder(_, appointment)
        | MessageContent::Restoration(appointment) => render_appointments(&[*appointment], row),
        MessageContent::Withdrawal(withdrawn) => {
            render_appointments(&[withdrawn.appointment], row);
            row.insert("length_seconds".into(), withdrawn.length_seconds.into());
            row.insert("fiche_id".into(), withdrawn.client.number().into());
            row.insert("calendar_id".into(), withdrawn.calendar.number().into());
            row.insert("intervention_id".into(), withdrawn.intervention.number().into());
            row.insert("key".into(), withdrawn.key.as_str().into());
        }
    }
}

fn render_appointments(appointments: &[AppointmentTime], row: &mut Map<String, Value>) {
    let mut list = Vec::with_capacity(appointments.len());
    for appointment in appointments {
        let mut object = Map::new();
        object.insert("id".into(), appointment.id.number().into());
        object.insert("start_utc".into(), utc_text(appointment.start));
        list.push(Value::Object(object));
    }
    row.insert("appointments".into(), list.into());
}

fn render_progress(progress: &Progress, row: &mut Map<String, Value>) {
    let (state, settled_at) = match progress {
        Progress::Waiting { attempts, not_before, reason } => {
            row.insert("attempts".into(), (*attempts).into());
            if *not_before > INSTANT_MIN {
                row.insert("not_before_utc".into(), utc_text(*not_before));
            }
            if !reason.as_str().is_empty() {
                row.insert("reason".into(), reason.as_str().into());
            }
            ("planned", None)
        }
        Progress::Claimed { attempt, at } => {
            row.insert("attempts".into(), (*attempt).into());
            row.insert("attempted_at_utc".into(), utc_text(*at));
            ("sending", None)
        }
        Progress::Sent { at, attempts } => {
            row.insert("attempts".into(), (*attempts).into());
            ("sent", Some(*at))
        }
        Progress::Kept { at } => ("kept", Some(*at)),
        Progress::Failed { at, reason } => {
            row.insert("reason".into(), reason.as_str().into());
            ("failed", Some(*at))
        }
        Progress::Missed { at } => ("missed", Some(*at)),
        Progress::Suppressed { at, why } => {
            row.insert("reason".into(), <&str>::from(why).into());
            ("suppressed", Some(*at))
        }
    };
    row.insert("state".into(), state.into());
    if let Some(at) = settled_at {
        row.insert("settled_at_utc".into(), utc_text(at));
    }
}

/// The appointment as its client knows it, of a notice that waits.
fn render_known(known: &KnownAppointment) -> Map<String, Value> {
    let mut object = render_expectation(&known.sure);
    object.insert("fiche_id".into(), known.client.number().into());
    if let Some(news) = &known.news {
        let mut of_news = render_expectation(&news.expectation);
        of_news.insert("message_id".into(), news.by.number().into());
        object.insert("news".into(), of_news.into());
    }
    if known.in_doubt {
        object.insert("in_doubt".into(), true.into());
    }
    object
}

fn render_expectation(expectation: &Expectation) -> Map<String, Value> {
    let AppointmentDetails { start, length_seconds, calendar, intervention } = expectation.details;
    let mut object = Map::new();
    object.insert("start_utc".into(), utc_text(start));
    object.insert("length_seconds".into(), length_seconds.into());
    object.insert("calendar_id".into(), calendar.number().into());
    object.insert("intervention_id".into(), intervention.number().into());
    object.insert("expected".into(), expectation.is_expected.into());
    object
}

fn utc_text(at: Instant) -> Value {
    datetime::format_civil(zone::utc_of(at)).into()
}

fn parse_content(row: &Map<String, Value>) -> Result<MessageContent, Fault> {
    Ok(match given_text(row, "kind").unwrap_or_default() {
        "confirmation" => MessageContent::Confirmation(parse_appointments(row)?),
        "cancellation" => MessageContent::Cancellation(parse_appointment(row)?),
        "change" => MessageContent::Change {
            appointment: parse_appointment(row)?,
            was: parse_instant(row, "previous_start_utc")?,
        },
        "restoration" => MessageContent::Restoration(parse_appointment(row)?),
        "withdrawal" => MessageContent::Withdrawal(Box::new(parse_withdrawn(row)?)),
        "mail_reminder" => MessageContent::Reminder(Channel::Mail, parse_appointment(row)?),
        "sms_reminder" => MessageContent::Reminder(Channel::Sms, parse_appointment(row)?),
        "account_confirmation" => parse_link(row, LinkPurpose::Confirm)?,
        "new_password" => parse_link(row, LinkPurpose::NewPassword)?,
        "new_email" => parse_link(row, LinkPurpose::NewEmail)?,
        "mail_code" => parse_code(row, Channel::Mail)?,
        "sms_code" => parse_code(row, Channel::Sms)?,
        "password_changed" => MessageContent::AccountNotice(AccountChange::Password),
        "email_changed" => MessageContent::AccountNotice(AccountChange::Email),
        "new_device" => MessageContent::AccountNotice(AccountChange::Device),
        "login_link" => parse_link(row, LinkPurpose::Login)?,
        "pro_password" => parse_link(row, LinkPurpose::ProPassword)?,
        "invitation" => parse_link(row, LinkPurpose::Invitation)?,
        "codes_half_used" => MessageContent::ShopWarning(ShopWarning::CodesHalfUsed),
        "codes_asked" => MessageContent::ShopWarning(ShopWarning::CodesAsked),
        "codes_no_longer_asked" => MessageContent::ShopWarning(ShopWarning::CodesNoLongerAsked),
        "webhook_off" => {
            let id = parse_id(row, "webhook_id", WebhookId::new)?;
            MessageContent::ShopWarning(ShopWarning::WebhookOff(id))
        }
        _ => return Err(Fault::new("kind", KINDS)),
    })
}

fn parse_link(row: &Map<String, Value>, purpose: LinkPurpose) -> Result<MessageContent, Fault> {
    let expires = parse_instant(row, "expires_at_utc")?;
    Ok(MessageContent::AccountLink { purpose, token: Text::default(), expires })
}

fn parse_code(row: &Map<String, Value>, channel: Channel) -> Result<MessageContent, Fault> {
    let expires = parse_instant(row, "expires_at_utc")?;
    Ok(MessageContent::BookingCode { channel, hold: HoldId::NONE, expires })
}

fn parse_withdrawn(row: &Map<String, Value>) -> Result<WithdrawnAppointment, Fault> {
    let Some(key) = given_text(row, "key").and_then(AppointmentKey::new) else {
        return Err(Fault::new("key", "must be 20 letters and digits"));
    };
    Ok(WithdrawnAppointment {
        appointment: parse_appointment(row)?,
        length_seconds: parse_count(row, "length_seconds", u32::MAX)?,
        client: parse_id(row, "fiche_id", FicheId::new)?,
        calendar: parse_id(row, "calendar_id", CalendarId::new)?,
        intervention: parse_id(row, "intervention_id", InterventionId::new)?,
        key,
    })
}

/// Parses what the client of a waiting notice knows; `None` for other messages.
fn parse_known(row: &Map<String, Value>) -> Result<Option<KnownAppointment>, Fault> {
    const RULE: &str = "must be an object";
    let object = match row.get("known") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(object)) => object,
        Some(_) => return Err(Fault::new("known", RULE)),
    };
    let parse = || {
        let news = match object.get("news") {
            None | Some(Value::Null) => None,
            Some(Value::Object(news)) => {
                let by = parse_id(news, "message_id", MessageId::new);
                let by = by.map_err(|fault| fault.within("news"))?;
                let expectation = parse_expectation(news).map_err(|fault| fault.within("news"))?;
                Some(News { by, expectation })
            }
            Some(_) => return Err(Fault::new("news", RULE)),
        };
        let client = parse_id(object, "fiche_id", FicheId::new)?;
        let in_doubt = parse_boolean(object, "in_doubt")?;
        Ok(KnownAppointment { client, sure: parse_expectation(object)?, news, in_doubt })
    };
    parse().map(Some).map_err(|fault: Fault| fault.within("known"))
}

fn parse_expectation(object: &Map<String, Value>) -> Result<Expectation, Fault> {
    let details = AppointmentDetails {
        start: parse_instant(object, "start_utc")?,
        length_seconds: parse_count(object, "length_seconds", u32::MAX)?,
        calendar: parse_id(object, "calendar_id", CalendarId::new)?,
        intervention: parse_id(object, "intervention_id", InterventionId::new)?,
    };
    Ok(Expectation { details, is_expected: parse_boolean(object, "expected")? })
}

/// Parses a boolean; false where it is missing.
fn parse_boolean(row: &Map<String, Value>, name: &str) -> Result<bool, Fault> {
    match given_field(row, name) {
        Some(given) => value::parse_boolean(given).map_err(|rule| fault_at(name, rule)),
        None => Ok(false),
    }
}

/// Parses the one appointment that a message is about.
fn parse_appointment(row: &Map<String, Value>) -> Result<AppointmentTime, Fault> {
    match parse_appointments(row)?.as_slice() {
        [appointment] => Ok(*appointment),
        several => {
            let rule = format!("must be one appointment, not {}", several.len());
            Err(Fault::new("appointments", rule))
        }
    }
}

fn parse_appointments(row: &Map<String, Value>) -> Result<Vec<AppointmentTime>, Fault> {
    const RULE: &str = "must be a list of objects, each with id and start_utc";
    let Some(Value::Array(list)) = row.get("appointments") else {
        return Err(Fault::new("appointments", RULE));
    };
    let mut appointments = Vec::with_capacity(list.len());
    for (index, entry) in list.iter().enumerate() {
        let path = format!("appointments[{index}]");
        let Value::Object(entry) = entry else { return Err(Fault::new(path, "must be an object")) };
        let id = parse_id(entry, "id", VeventId::new).map_err(|fault| fault.within(&path))?;
        let start = parse_instant(entry, "start_utc").map_err(|fault| fault.within(&path))?;
        appointments.push(AppointmentTime { id, start });
    }
    if appointments.is_empty() {
        return Err(Fault::new("appointments", RULE));
    }
    Ok(appointments)
}

fn parse_progress(row: &Map<String, Value>) -> Result<Progress, Fault> {
    let settled_at = || parse_instant(row, "settled_at_utc");
    Ok(match given_text(row, "state").unwrap_or_default() {
        "planned" => Progress::Waiting {
            attempts: parse_count(row, "attempts", ATTEMPTS_MAX)?,
            not_before: parse_optional_instant(row, "not_before_utc")?.unwrap_or(INSTANT_MIN),
            reason: parse_reason(row)?,
        },
        "sending" => Progress::Claimed {
            attempt: parse_count(row, "attempts", ATTEMPTS_MAX)?,
            at: parse_instant(row, "attempted_at_utc")?,
        },
        "sent" => Progress::Sent {
            at: settled_at()?,
            attempts: parse_count(row, "attempts", ATTEMPTS_MAX)?,
        },
        "kept" => Progress::Kept { at: settled_at()? },
        "failed" => Progress::Failed { at: settled_at()?, reason: parse_reason(row)? },
        "missed" => Progress::Missed { at: settled_at()? },
        "suppressed" => {
            Progress::Suppressed { at: settled_at()?, why: parse_suppression_reason(row)? }
        }
        _ => return Err(Fault::new("state", STATES)),
    })
}

fn parse_suppression_reason(row: &Map<String, Value>) -> Result<SuppressionReason, Fault> {
    let given = given_text(row, "reason").unwrap_or_default();
    given.parse().map_err(|_: strum::ParseError| {
        let names: Vec<&str> = SuppressionReason::iter().map(Into::into).collect();
        Fault::new("reason", format!("must be one of {}", names.join(", ")))
    })
}

/// Parses the text of a gateway; empty without one.
fn parse_reason(row: &Map<String, Value>) -> Result<Text<255>, Fault> {
    let Some(given) = row.get("reason") else { return Ok(Text::default()) };
    let text = value::parse_text(given).map_err(|rule| fault_at("reason", rule))?;
    Text::new(&text).map_err(|rule| fault_at("reason", rule))
}

fn parse_recipient(row: &Map<String, Value>) -> Result<Text<255>, Fault> {
    let Some(given) = row.get("recipient") else {
        return Err(Fault::new("recipient", "is required: an e-mail address or telephone number"));
    };
    let text = value::parse_text(given).map_err(|rule| fault_at("recipient", rule))?;
    // Neither an address nor a number holds a line break.
    Name::<255>::new(&text).map_err(|rule| fault_at("recipient", rule))?;
    Text::new(&text).map_err(|rule| fault_at("recipient", rule))
}

fn parse_id<I>(
    row: &Map<String, Value>,
    name: &str,
    new: impl Fn(u64) -> Option<I>,
) -> Result<I, Fault> {
    let given = row.get(name).map_or(Ok(None), value::parse_id);
    match given.map_err(|rule| fault_at(name, rule))?.and_then(new) {
        Some(id) => Ok(id),
        None => Err(Fault::new(name, "is required: a whole number from 1")),
    }
}

/// Parses a whole number from 0 to `max`.
fn parse_count(row: &Map<String, Value>, name: &str, max: u32) -> Result<u32, Fault> {
    let given = row.get(name).map_or(Ok(None), value::parse_integer);
    let given = given.map_err(|rule| fault_at(name, rule))?;
    match given.and_then(|number| u32::try_from(number).ok()) {
        Some(number) if number <= max => Ok(number),
        _ => Err(Fault::new(name, format!("is required: a whole number from 0 to {max}"))),
    }
}

fn parse_instant(row: &Map<String, Value>, name: &str) -> Result<Instant, Fault> {
    match parse_optional_instant(row, name)? {
        Some(at) => Ok(at),
        None => Err(Fault::new(name, "is required: YYYY-MM-DD HH:MM:SS in UTC")),
    }
}

/// Parses a time in UTC; `None` where it is missing or empty.
fn parse_optional_instant(row: &Map<String, Value>, name: &str) -> Result<Option<Instant>, Fault> {
    let Some(given) = row.get(name) else { return Ok(None) };
    let civil = value::parse_civil(given).map_err(|rule| fault_at(name, rule))?;
    let Some(civil) = civil else { return Ok(None) };
    let instant = datetime::instant_from_utc(civil).map_err(|rule| fault_at(name, rule))?;
    Ok(Some(instant))
}

fn fault_at(name: &str, InvalidValue(rule): InvalidValue) -> Fault {
    Fault::new(name, rule)
}
