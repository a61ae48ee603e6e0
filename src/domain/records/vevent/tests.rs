use super::*;
use crate::domain::time::{INSTANT_MAX, INSTANT_MIN};

#[test]
fn a_reminder_keeps_its_moment_and_its_outcome() {
    let start = Instant(1_800_000_000);
    let outcomes =
        [ReminderOutcome::No, ReminderOutcome::Sent(start), ReminderOutcome::GivenUp(start)];
    for settled in outcomes {
        let reminder = Reminder::from(StoredReminder { since: Instant(7), settled });
        assert_eq!((reminder.since(), reminder.settled()), (Instant(7), settled));
    }
    for since in [INSTANT_MIN, Instant(-1), Instant(1 << 32), Instant(-(1 << 39)), INSTANT_MAX] {
        assert_eq!(Reminder::new(since).since(), since);
    }
    for (beyond, end) in [(i64::MAX, ShortInstant::MAX), (i64::MIN, ShortInstant::MIN)] {
        assert_eq!(Reminder::new(Instant(beyond)).since(), Instant(end));
    }
}

fn appointment(seconds: u32) -> Appointment {
    Appointment {
        civil_start: Civil(3_600),
        start: Instant(0),
        length_seconds: seconds,
        intervention_id: InterventionId::new(1).expect("an id"),
        fiche_id: FicheId::new(1).expect("an id"),
        key: AppointmentKey::new("abcdefghijklmnopqrst").expect("letters"),
        state: State::default(),
        smsreminder: false,
        from_web: true,
        reminders: Reminders::since(Instant(0)),
        booking_origin: None,
    }
}

fn row(appointment: Appointment, rare: OptionalFields) -> Vevent {
    Vevent {
        id: VeventId::new(1).expect("an id"),
        calendar_id: CalendarId::new(1).expect("an id"),
        kind: VeventKind::Appointment(appointment),
        deleted: false,
        created_at: Instant(5),
        updated_at: Instant(5),
        rare: rare.boxed(),
    }
}

#[test]
fn an_appointment_begins_by_its_clock_and_takes_whole_minutes() {
    for (seconds, minutes) in [(0, 0), (1, 1), (60, 1), (1_800, 30), (1_801, 31)] {
        assert_eq!(appointment(seconds).minutes(), minutes);
    }
    let row = row(appointment(60), OptionalFields::default());
    assert_eq!(row.civil_start(), Civil(3_600));
}

#[test]
fn the_comments_of_a_booking_stay_those_of_its_client() {
    let text = |text: &str| LongText::new(text).expect("a text");
    let with = |comments: &str, booking_comments: BookingComments| {
        let comments = text(comments);
        row(
            appointment(60),
            OptionalFields { comments, booking_comments, ..OptionalFields::default() },
        )
    };
    let record =
        |booked: &str, present: &str| BookingComments::record(text(booked), &text(present));
    assert_eq!(record("a", "a"), BookingComments::Unchanged);
    assert_eq!(record("a", "b"), BookingComments::Replaced(text("a")));
    assert_eq!(record("", ""), BookingComments::Unrecorded);
    assert_eq!(with("a", BookingComments::Unchanged).booking_comments(), "a");
    assert_eq!(with("b", BookingComments::Replaced(text("a"))).booking_comments(), "a");
    // An earlier release recorded none: they are known as long as nothing has changed.
    let old = with("a", BookingComments::Unrecorded);
    assert_eq!(old.booking_comments(), "a");
    let changed = Vevent { updated_at: Instant(6), ..old.clone() };
    assert_eq!(changed.booking_comments(), "");
    let mut by_pro = old;
    if let VeventKind::Appointment(appointment) = &mut by_pro.kind {
        appointment.from_web = false;
    }
    assert_eq!(by_pro.booking_comments(), "");
}

#[test]
fn an_event_fits_into_160_bytes_with_its_two_counts() {
    assert!(size_of::<Vevent>() <= 160 - 2 * size_of::<usize>(), "{}", size_of::<Vevent>());
}

/// An appointment whose client wants a text message, or not.
fn with_sms(smsreminder: bool) -> Vevent {
    row(Appointment { smsreminder, ..appointment(60) }, OptionalFields::default())
}

/// The moments since which the reminders of a changed appointment count.
fn since(before: &Vevent, mut changed: Vevent, now: i64) -> (i64, i64) {
    changed.carry_over_reminders(Some(before), Instant(now));
    let VeventKind::Appointment(appointment) = changed.kind else { panic!("it is one") };
    (appointment.reminders.mail.since().0, appointment.reminders.sms.since().0)
}

#[test]
fn reminders_count_anew_when_an_appointment_moves_or_its_client_wants_them() {
    let moved = |smsreminder| {
        let start = Instant(600);
        row(Appointment { start, smsreminder, ..appointment(60) }, OptionalFields::default())
    };
    for (before, after, expected) in [
        (with_sms(true), with_sms(true), (0, 0)),
        (with_sms(false), with_sms(true), (0, 9)),
        (with_sms(true), with_sms(false), (0, 0)),
        (with_sms(true), moved(true), (9, 9)),
        (with_sms(false), moved(false), (9, 9)),
        (with_sms(false), moved(true), (9, 9)),
        (Vevent { deleted: true, ..with_sms(true) }, with_sms(true), (9, 9)),
    ] {
        assert_eq!(since(&before, after.clone(), 9), expected, "{before:?} {after:?}");
    }
}

#[test]
fn an_appointment_keeps_its_origin_when_a_professional_changes_it() {
    let origin = BookingOrigin { source: [7; 16], apikey: [8; 16], proof: ClientProof::KeyAlone };
    let booking_origin = Some(Box::new(origin));
    let before = row(Appointment { booking_origin, ..appointment(60) }, OptionalFields::default());
    let mut changed = with_sms(true);
    changed.keep_booking_origin(&before);
    assert!(changed.is_booked_by_key());
    assert_eq!(changed.booking_source(), Some([7; 16]));
}
