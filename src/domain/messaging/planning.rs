//! Which reminders an appointment is to have, and when: from the newest state alone. Reference 7.
//!
//! A time counts only if it lies after the last change that moved it: the making of the appointment, a move, a
//! restoration, a setting of the group, a client who can be reached again. So nobody is written to about what would have
//! been due before anybody asked for it. The moments of those changes stand in the rows, read from the clock as they were
//! decided; `updated_at` would not do, since other changes move it too and it does not go back when a clock is mended.

use crate::domain::booking::open_time::CalendarView;
use crate::domain::messaging::outbox::{AppointmentTime, Channel};
use crate::domain::messaging::reminder;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::{Appointment, ReminderOutcome, Vevent};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::domain::time::{DAY, HOUR, Instant, MINUTE};

/// No reminder is due earlier before its appointment than this, in seconds: mails at most 48 hours, text messages at most
/// from 18:30 on the day before.
pub const LEAD_SECONDS_MAX: i64 = 2 * DAY + HOUR;

/// A reminder is sent while the appointment is more than this ahead, in seconds.
pub const TOO_LATE_SECONDS: i64 = 15 * MINUTE;

/// When a reminder of an appointment is due, whatever became of it; `None` where nobody wants it.
fn due(
    state: &GroupState,
    zone: Zone,
    row: &Vevent,
    channel: Channel,
) -> Option<(Instant, Instant)> {
    let appointment = row.appointment().filter(|_| !row.deleted)?;
    let group = &state.catalogue.group;
    let fiche = state.fiches.get(&appointment.fiche_id)?;
    if !fiche.can_be_reached(channel) {
        return None;
    }
    let lead = |minutes: i64| u32::try_from(minutes).expect("a lead is at most two days");
    let due = match channel {
        Channel::Mail => {
            reminder::mail_time(appointment.start, lead(group.mailreminder.minutes()?))
        }
        Channel::Sms if !appointment.smsreminder => None,
        Channel::Sms => {
            reminder::sms_time(zone, appointment.start, lead(group.smsreminder.minutes()?))
        }
    }?;
    Some((due, moved_at(group, fiche, appointment, channel)))
}

/// When the last change moved that time.
fn moved_at(group: &Group, fiche: &Fiche, appointment: &Appointment, channel: Channel) -> Instant {
    let (group, fiche) = match channel {
        Channel::Mail => (group.mail_since, fiche.mail_since),
        Channel::Sms => (group.sms_since, fiche.sms_since),
    };
    appointment.reminders.of(channel).since.max(group).max(fiche)
}

/// When a reminder of an appointment leaves, or left; `None` when none will, or when it was too late. Reference 12.7 `mailtime`
/// and `smstime`.
#[must_use]
pub fn shown(state: &GroupState, zone: Zone, row: &Vevent, channel: Channel) -> Option<Instant> {
    let (due, moved_at) = due(state, zone, row, channel)?;
    match settled(row, channel)? {
        ReminderOutcome::Sent(_) => Some(due),
        ReminderOutcome::GivenUp(_) => None,
        ReminderOutcome::No => (moved_at <= due).then_some(due),
    }
}

/// When a reminder that is still to be sent is due, past moments included.
#[must_use]
pub fn pending(state: &GroupState, zone: Zone, row: &Vevent, channel: Channel) -> Option<Instant> {
    match settled(row, channel)? {
        ReminderOutcome::Sent(_) | ReminderOutcome::GivenUp(_) => None,
        ReminderOutcome::No => due(state, zone, row, channel)
            .filter(|(due, moved_at)| moved_at <= due)
            .map(|(due, _)| due),
    }
}

/// What became of the reminder for the start that the appointment has.
fn settled(row: &Vevent, channel: Channel) -> Option<ReminderOutcome> {
    let appointment = row.appointment()?;
    let settled = appointment.reminders.of(channel).settled;
    Some(match settled {
        ReminderOutcome::Sent(start) | ReminderOutcome::GivenUp(start)
            if start != appointment.start =>
        {
            ReminderOutcome::No
        }
        ReminderOutcome::No | ReminderOutcome::Sent(_) | ReminderOutcome::GivenUp(_) => settled,
    })
}

/// The same, unless a message for it is under way already.
#[must_use]
pub fn unclaimed(
    state: &GroupState,
    zone: Zone,
    row: &Vevent,
    channel: Channel,
) -> Option<Instant> {
    let open = state.outbox.open_reminder(row.id, channel).and_then(|message| message.reminder());
    if open
        .is_some_and(|(_, standing)| row.appointment().is_some_and(|it| it.start == standing.start))
    {
        return None;
    }
    pending(state, zone, row, channel)
}

/// A reminder that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedReminder {
    /// When.
    pub due: Instant,
    /// Of which appointment.
    pub appointment: VeventId,
    /// By what.
    pub channel: Channel,
}

/// The reminders of one appointment that are to be sent.
pub fn of_row<'a>(
    state: &'a GroupState,
    zone: Zone,
    row: &'a Vevent,
) -> impl Iterator<Item = PlannedReminder> + 'a {
    [Channel::Mail, Channel::Sms].into_iter().filter_map(move |channel| {
        let due = unclaimed(state, zone, row, channel)?;
        Some(PlannedReminder { due, appointment: row.id, channel })
    })
}

/// Every reminder of the group due before `until` whose appointment began at most a week before `now` or has not begun, in
/// no order: what has begun is to be told missed. Looks at the appointments of those days only.
pub fn due_before(
    state: &GroupState,
    now: Instant,
    until: Instant,
) -> impl Iterator<Item = PlannedReminder> + '_ {
    state.calendars.values().flat_map(move |view| due_of(state, view, now, until))
}

/// The same of one of the group's calendars.
pub fn due_of<'a>(
    state: &'a GroupState,
    view: &'a CalendarView,
    now: Instant,
    until: Instant,
) -> impl Iterator<Item = PlannedReminder> + 'a {
    let zone = state.catalogue.zone();
    let window =
        Interval { start: now.plus_seconds(-7 * DAY), end: until.plus_seconds(LEAD_SECONDS_MAX) };
    let rows = view.taken.meeting(window).filter_map(|taken| state.rows.get(&taken.id));
    rows.flat_map(move |row| of_row(state, zone, row)).filter(move |planned| planned.due < until)
}

/// The appointment as it stands.
#[must_use]
pub fn standing(row: &Vevent) -> Option<AppointmentTime> {
    row.appointment().map(|appointment| AppointmentTime { id: row.id, start: appointment.start })
}

/// When the reminder of a live appointment is wanted, whatever has moved that time and whatever became of it.
#[must_use]
pub fn wanted_at(
    state: &GroupState,
    zone: Zone,
    row: &Vevent,
    channel: Channel,
) -> Option<Instant> {
    due(state, zone, row, channel).map(|(due, _)| due)
}
