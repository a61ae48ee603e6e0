//! The reminders an appointment is to have and their times, from the newest state alone.
//! Reference 7.1.
//!
//! A due time counts only if it is not before the last change that moved it. Such changes are the
//! making of the appointment, a move, a restoration, a setting of the group, and a client who can
//! be reached again. So no reminder is sent that would have been due before it was asked for.
//!
//! The rows store the moments of those changes, read from the clock when they were decided. The
//! field `updated_at` would not do: other changes move it too, and it does not go back when a clock
//! is corrected.

use crate::domain::availability::open_time::CalendarView;
use crate::domain::messaging::recipient::appointment_recipient;
use crate::domain::messaging::reminder;
use crate::domain::records::channel::Channel;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::ids::VeventId;
use crate::domain::records::message::{AppointmentTime, Message};
use crate::domain::records::vevent::{Appointment, ReminderOutcome, Vevent};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::domain::time::{DAY, HOUR, Instant, MINUTE};

/// Maximum seconds between a reminder's due time and its appointment. Mails are due at most 48
/// hours before, text messages at the earliest at 18:30 on the day before.
pub const LEAD_SECONDS_MAX: i64 = 2 * DAY + HOUR;

/// Minimum seconds before its appointment at which a reminder is sent.
pub const REMINDER_MARGIN_SECONDS: i64 = 15 * MINUTE;

/// Maximum seconds since the start of an appointment for which reminders are still looked for. They
/// are found to be missed.
const MISSED_LOOKBACK_SECONDS: i64 = 7 * DAY;

/// The due time of a reminder.
struct DueTime {
    due: Instant,
    /// The moment of the last change that moved it.
    moved_at: Instant,
}

/// A reminder that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedReminder {
    /// Its due time.
    pub due: Instant,
    /// Its appointment.
    pub appointment: VeventId,
    /// Its channel.
    pub channel: Channel,
}

/// The reason why no reminder is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoReminder {
    /// It is no appointment, or a cancelled one.
    NoAppointment,
    /// The public made the appointment beyond the number of messages that it may cause.
    Withheld,
    /// The client is deleted.
    ClientDeleted,
    /// The client accepts none.
    Declined,
    /// The client has no address or number.
    NoAddress,
    /// The group sends none.
    SwitchedOff,
    /// The appointment asks for none.
    NotAskedFor,
    /// The shop pays for no text message to the client's country.
    ForeignCountry,
    /// It was due before the last change that moved it.
    DueBefore,
}

/// The reminder of an appointment by a channel, for those who ask why none comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReminderPlan {
    /// It is to be sent at this time, which may be in the past.
    Due(Instant),
    /// It was sent.
    Sent,
    /// It was given up.
    GivenUp,
    /// None is planned.
    Unplanned(NoReminder),
}

/// Returns the due time of a reminder, whatever its outcome, or why none is wanted.
fn find_due_time(
    state: &GroupState,
    zone: Zone,
    row: &Vevent,
    channel: Channel,
) -> Result<DueTime, NoReminder> {
    let appointment = row.appointment().ok_or(NoReminder::NoAppointment)?;
    if row.deleted {
        return Err(NoReminder::NoAppointment);
    }
    // The public may have made it beyond the number of messages that it may cause.
    if row.is_booked_by_key() && state.outbox.is_withheld(row.id) {
        return Err(NoReminder::Withheld);
    }
    let group = &state.catalogue.group;
    let fiche = state.fiches.get(&appointment.fiche_id).ok_or(NoReminder::NoAddress)?;
    if !fiche.can_be_reached(channel) {
        return Err(find_unreachability(fiche, channel));
    }
    let due = match channel {
        Channel::Mail => {
            let lead = group.mailreminder.minutes().ok_or(NoReminder::SwitchedOff)?;
            reminder::mail_time(appointment.start, lead_minutes(lead))
        }
        Channel::Sms => {
            if !appointment.smsreminder {
                return Err(NoReminder::NotAskedFor);
            }
            if !may_be_texted(state, row) {
                return Err(NoReminder::ForeignCountry);
            }
            let lead = group.smsreminder.minutes().ok_or(NoReminder::SwitchedOff)?;
            reminder::sms_time(zone, appointment.start, lead_minutes(lead))
        }
    };
    let due = due.ok_or(NoReminder::SwitchedOff)?;
    Ok(DueTime { due, moved_at: moved_at(group, fiche, appointment, channel) })
}

/// The reason why a channel does not reach a client.
fn find_unreachability(fiche: &Fiche, channel: Channel) -> NoReminder {
    let accepts = match channel {
        Channel::Mail => fiche.rappel_email,
        Channel::Sms => fiche.rappel_sms,
    };
    if fiche.deleted {
        NoReminder::ClientDeleted
    } else if !accepts {
        NoReminder::Declined
    } else {
        NoReminder::NoAddress
    }
}

/// Returns whether a reminder is planned, and why not.
pub fn explain_reminder(
    state: &GroupState,
    zone: Zone,
    row: &Vevent,
    channel: Channel,
    now: Instant,
) -> ReminderPlan {
    match current_outcome(state, row, channel, now) {
        Some(ReminderOutcome::Sent(_)) => return ReminderPlan::Sent,
        Some(ReminderOutcome::GivenUp(_)) => return ReminderPlan::GivenUp,
        Some(ReminderOutcome::No) | None => {}
    }
    match find_due_time(state, zone, row, channel) {
        Ok(DueTime { due, moved_at }) if moved_at <= due => ReminderPlan::Due(due),
        Ok(_) => ReminderPlan::Unplanned(NoReminder::DueBefore),
        Err(reason) => ReminderPlan::Unplanned(reason),
    }
}

/// Whether text messages about an appointment may go to its client's country. The public may give
/// any number, and the shop pays for each message. A code proves that the client has an address or
/// a number, not that the shop pays for messages to that country.
fn may_be_texted(state: &GroupState, row: &Vevent) -> bool {
    let Some(proof) = row.client_proof() else { return true };
    if !proof.is_of_key() {
        return true;
    }
    let group = &state.catalogue.group;
    match appointment_recipient(state, row, Channel::Sms) {
        Some(number) => group.sms_countries.allow(&number, group.country_code.as_str()),
        None => true,
    }
}

fn lead_minutes(minutes: i64) -> u32 {
    u32::try_from(minutes).expect("a lead is at most two days")
}

fn moved_at(group: &Group, fiche: &Fiche, appointment: &Appointment, channel: Channel) -> Instant {
    let (group, fiche) = match channel {
        Channel::Mail => (group.mail_since, fiche.mail_since),
        Channel::Sms => (group.sms_since, fiche.sms_since),
    };
    appointment.reminders.by_channel(channel).since().max(group).max(fiche)
}

/// Returns the due time of the reminder of a live appointment, whatever moved it and whatever its
/// outcome; `None` if none is wanted.
pub fn due_time(state: &GroupState, zone: Zone, row: &Vevent, channel: Channel) -> Option<Instant> {
    Some(find_due_time(state, zone, row, channel).ok()?.due)
}

/// Returns the time at which a reminder is or was due, as records show it. `None` if none is wanted
/// or it was given up. Reference 12.7 `mailtime` and `smstime`.
pub fn shown_time(
    state: &GroupState,
    zone: Zone,
    row: &Vevent,
    channel: Channel,
    now: Instant,
) -> Option<Instant> {
    let DueTime { due, moved_at } = find_due_time(state, zone, row, channel).ok()?;
    match current_outcome(state, row, channel, now)? {
        ReminderOutcome::Sent(_) => Some(due),
        ReminderOutcome::No if moved_at <= due => Some(due),
        ReminderOutcome::No | ReminderOutcome::GivenUp(_) => None,
    }
}

/// Returns the due time of a reminder that is still to be sent. It may be in the past. A reminder
/// that was given up at a time after `now` is still to be sent: the clock was ahead then.
pub fn pending_due_time(
    state: &GroupState,
    zone: Zone,
    row: &Vevent,
    channel: Channel,
    now: Instant,
) -> Option<Instant> {
    match current_outcome(state, row, channel, now)? {
        ReminderOutcome::Sent(_) | ReminderOutcome::GivenUp(_) => return None,
        ReminderOutcome::No => {}
    }
    let DueTime { due, moved_at } = find_due_time(state, zone, row, channel).ok()?;
    if moved_at <= due { Some(due) } else { None }
}

/// The outcome of the reminder for the appointment's present start.
fn current_outcome(
    state: &GroupState,
    row: &Vevent,
    channel: Channel,
    now: Instant,
) -> Option<ReminderOutcome> {
    let appointment = row.appointment()?;
    let outcome = appointment.reminders.by_channel(channel).settled();
    match outcome {
        ReminderOutcome::Sent(start) | ReminderOutcome::GivenUp(start)
            if start != appointment.start =>
        {
            Some(ReminderOutcome::No)
        }
        // The row does not say when it was given up. Its message does.
        ReminderOutcome::GivenUp(_) if is_reopened(state, row, channel, now) => {
            Some(ReminderOutcome::No)
        }
        ReminderOutcome::No | ReminderOutcome::Sent(_) | ReminderOutcome::GivenUp(_) => {
            Some(outcome)
        }
    }
}

/// Whether the reminder of the present start, which was given up, is to be sent all the same.
fn is_reopened(state: &GroupState, row: &Vevent, channel: Channel, now: Instant) -> bool {
    if find_reopened_message(state, row, channel, now).is_some() {
        return true;
    }
    // It was claimed again since.
    let Some(message) = state.outbox.open_reminder(row.id, channel) else { return false };
    AppointmentTime::from_vevent(row) == message.reminder().map(|(_, announced)| announced)
}

/// Finds the message of a reminder for the present start that was given up at a time after `now`.
/// It is to be sent after all.
pub fn find_reopened_message<'a>(
    state: &'a GroupState,
    row: &Vevent,
    channel: Channel,
    now: Instant,
) -> Option<&'a Message> {
    let message = state.outbox.newest_reminder(row.id, channel)?;
    let (_, announced) = message.reminder()?;
    if message.is_reopened(now) && AppointmentTime::from_vevent(row) == Some(announced) {
        Some(message)
    } else {
        None
    }
}

/// Returns the due time as [`pending_due_time`] does; `None` if the outbox has an open message for
/// that reminder.
pub fn unclaimed_due_time(
    state: &GroupState,
    zone: Zone,
    row: &Vevent,
    channel: Channel,
    now: Instant,
) -> Option<Instant> {
    if let Some(message) = state.outbox.open_reminder(row.id, channel)
        && let Some((_, announced)) = message.reminder()
        && let Some(appointment) = row.appointment()
        && appointment.start == announced.start
    {
        return None;
    }
    pending_due_time(state, zone, row, channel, now)
}

/// The reminders of one appointment that are to be sent.
fn plan_for_vevent<'a>(
    state: &'a GroupState,
    zone: Zone,
    row: &'a Vevent,
    now: Instant,
) -> impl Iterator<Item = PlannedReminder> + 'a {
    Channel::ALL.into_iter().filter_map(move |channel| {
        let due = unclaimed_due_time(state, zone, row, channel, now)?;
        Some(PlannedReminder { due, appointment: row.id, channel })
    })
}

/// The group's reminders due before `until`, in no order. Appointments that started more than a
/// week before `now` are left out. The cost grows with the appointments of those days only.
pub fn reminders_due_before(
    state: &GroupState,
    now: Instant,
    until: Instant,
) -> impl Iterator<Item = PlannedReminder> + '_ {
    let views = state.calendars.values();
    views.flat_map(move |view| calendar_reminders_due_before(state, view, now, until))
}

/// The reminders as [`reminders_due_before`] finds them, of one calendar.
pub fn calendar_reminders_due_before<'a>(
    state: &'a GroupState,
    view: &'a CalendarView,
    now: Instant,
    until: Instant,
) -> impl Iterator<Item = PlannedReminder> + 'a {
    let zone = state.catalogue.zone();
    let window = Interval {
        start: now.plus_seconds(-MISSED_LOOKBACK_SECONDS),
        end: until.plus_seconds(LEAD_SECONDS_MAX),
    };
    let rows = view.taken().overlapping(window).filter_map(|taken| state.rows.get(&taken.id));
    let planned = rows.flat_map(move |row| plan_for_vevent(state, zone, row, now));
    planned.filter(move |planned| planned.due < until)
}
