//! The knowledge of clients by the fates of the messages about their appointments. Reference 7.3.

use slotbook::domain::messaging::client_knowledge::{
    find_knowledge, has_open_confirmation, is_overtaken, is_up_to_date, spread_news,
    surest_expectation, update_notice,
};
use slotbook::domain::records::channel::Channel;
use slotbook::domain::records::ids::{FicheId, MessageId, VeventId};
use slotbook::domain::records::known_appointment::{
    AppointmentDetails, Expectation, KnownAppointment, News,
};
use slotbook::domain::records::message::{
    AppointmentTime, Message, MessageContent, Progress, SuppressionReason, WithdrawnAppointment,
};
use slotbook::domain::records::text::{LongText, Text};
use slotbook::domain::records::vevent::{Appointment, OptionalFields, Vevent, VeventKind};
use slotbook::domain::time::{INSTANT_MIN, Instant};

use super::reminders::{booked, reminding};
use super::shop::{Shop, calendar, civil, intervention};

/// Ada's appointment at 11:00 on Tuesday on calendar 1, and the messages about it.
#[derive(Clone)]
struct Desk {
    shop: Shop,
    id: VeventId,
    ada: FicheId,
    bob: FicheId,
}

type Change = fn(&mut Desk);

fn waiting(attempts: u32) -> Progress {
    Progress::Waiting { attempts, not_before: INSTANT_MIN, reason: Text::default() }
}

/// The time of attempts and of ends: Friday at noon.
const AT: Instant = Instant(1_772_190_000);
const CLAIMED: Progress = Progress::Claimed { attempt: 1, at: AT };
const SENT: Progress = Progress::Sent { at: AT, attempts: 1 };
const UNCHANGED: Progress = Progress::Suppressed { at: AT, why: SuppressionReason::Unchanged };

fn failed() -> Progress {
    Progress::Failed { at: AT, reason: Text::default() }
}

impl Desk {
    /// No message was caused yet.
    fn new() -> Self {
        let mut shop = reminding();
        let id = booked(&mut shop);
        let ada = shop.group_state.rows[&id].fiche_id().expect("an appointment");
        let bob = shop.knows("Bob", "bob@example.org");
        Self { shop, id, ada, bob }
    }

    fn row(&self) -> &Vevent {
        &self.shop.group_state.rows[&self.id]
    }

    /// Changes the appointment, as a quiet command would.
    fn sets(&mut self, set: impl FnOnce(&mut Vevent)) {
        let mut row = self.row().clone();
        set(&mut row);
        self.shop.group_state.put_vevent(row.into());
    }

    fn sets_appointment(&mut self, set: impl FnOnce(&mut Appointment)) {
        self.sets(|row| match &mut row.kind {
            VeventKind::Appointment(appointment) => set(appointment),
            other => panic!("{other:?}"),
        });
    }

    fn moves(&mut self, start: &str) {
        let start = self.at(start);
        self.sets_appointment(|appointment| appointment.start = start);
    }

    fn cancels(&mut self) {
        self.sets(|row| row.deleted = true);
    }

    fn gives_to_bob(&mut self) {
        let bob = self.bob;
        self.sets_appointment(|appointment| appointment.fiche_id = bob);
    }

    /// A time on Tuesday.
    fn at(&self, time: &str) -> Instant {
        let zone = self.shop.group_state.catalogue.zone();
        zone.instant_of(civil(&format!("2026-03-03 {time}")))
    }

    fn time(&self, start: &str) -> AppointmentTime {
        AppointmentTime { id: self.id, start: self.at(start) }
    }

    fn change(&self, start: &str) -> MessageContent {
        MessageContent::Change { appointment: self.time(start), was: self.at("08:00") }
    }

    fn confirmation(&self, start: &str) -> MessageContent {
        MessageContent::Confirmation(vec![self.time(start)])
    }

    fn cancellation(&self, start: &str) -> MessageContent {
        MessageContent::Cancellation(self.time(start))
    }

    fn restoration(&self, start: &str) -> MessageContent {
        MessageContent::Restoration(self.time(start))
    }

    fn reminder(&self, channel: Channel, start: &str) -> MessageContent {
        MessageContent::Reminder(channel, self.time(start))
    }

    fn withdrawal(&self, client: FicheId, details: AppointmentDetails) -> MessageContent {
        MessageContent::Withdrawal(Box::new(WithdrawnAppointment {
            appointment: AppointmentTime { id: self.id, start: details.start },
            length_seconds: details.length_seconds,
            client,
            calendar: details.calendar,
            intervention: details.intervention,
            key: self.row().appointment().expect("one").key,
        }))
    }

    /// The appointment as it is, at a start.
    fn details(&self, start: &str) -> AppointmentDetails {
        let present = AppointmentDetails::from_vevent(self.row()).expect("an appointment");
        AppointmentDetails { start: self.at(start), ..present }
    }

    fn expects(&self, start: &str) -> Expectation {
        Expectation { details: self.details(start), is_expected: true }
    }

    fn expects_none(&self, start: &str) -> Expectation {
        Expectation { is_expected: false, ..self.expects(start) }
    }

    /// The message of a content to a client, which is not in the outbox yet.
    fn draft(&self, content: MessageContent, client: FicheId, progress: Progress) -> Message {
        let state = &self.shop.group_state;
        let email = state.fiches[&client].email.as_ref().expect("an address");
        let draft = state.outbox.draft(0, self.shop.now, content, email.as_str());
        let is_begun = match progress {
            Progress::Waiting { attempts, .. } => attempts > 0,
            Progress::Suppressed { .. } => false,
            _ => true,
        };
        let first_claimed_at = is_begun.then_some(self.shop.now);
        Message { progress, first_claimed_at, ..draft }
    }

    fn adds(&mut self, message: &Message) -> MessageId {
        self.shop.group_state.enqueue(message);
        message.id
    }

    /// Adds a message about the booking, or about a change by the client.
    fn plain(&mut self, content: MessageContent, to: FicheId, progress: Progress) -> MessageId {
        self.adds(&self.draft(content, to, progress))
    }

    /// Adds a notice about a professional's change.
    fn notice(
        &mut self,
        content: MessageContent,
        known: KnownAppointment,
        progress: Progress,
    ) -> MessageId {
        let draft = self.draft(content, known.client, progress);
        self.adds(&Message { known: Some(Box::new(known)), ..draft })
    }

    fn knowledge(&self, client: FicheId) -> KnownAppointment {
        find_knowledge(&self.shop.group_state, self.row(), client)
    }
}

const fn knows(client: FicheId, sure: Expectation) -> KnownAppointment {
    KnownAppointment { client, sure, news: None, in_doubt: false }
}

#[test]
fn news_are_the_surest_knowledge_once_their_message_has_arrived() {
    for (progress, start) in [
        (SENT, "09:00"),
        (Progress::Kept { at: AT }, "09:00"),
        (CLAIMED, "11:00"),
        (waiting(0), "11:00"),
        (waiting(1), "11:00"),
        (failed(), "11:00"),
        (UNCHANGED, "11:00"),
    ] {
        let mut desk = Desk::new();
        let by = desk.plain(desk.change("09:00"), desk.ada, progress.clone());
        let news = Some(News { by, expectation: desk.expects("09:00") });
        let known = KnownAppointment { news, ..knows(desk.ada, desk.expects("11:00")) };
        let surest = surest_expectation(&desk.shop.group_state.outbox, &known);
        assert_eq!(surest, desk.expects(start), "{progress:?}");
    }
    let desk = Desk::new();
    let by = MessageId::new(99).expect("an id");
    let news = Some(News { by, expectation: desk.expects("09:00") });
    let known = KnownAppointment { news, ..knows(desk.ada, desk.expects("11:00")) };
    let surest = surest_expectation(&desk.shop.group_state.outbox, &known);
    assert_eq!(surest, desk.expects("09:00"), "it was sent 90 days ago");
}

#[test]
fn a_client_knows_all_about_a_removed_appointment_that_it_does_not_expect() {
    let desk = Desk::new();
    let removed = VeventId::new(999).expect("an id");
    for (sure, knows_all) in [(desk.expects_none("11:00"), true), (desk.expects("11:00"), false)] {
        let known = knows(desk.ada, sure);
        assert_eq!(is_up_to_date(&desk.shop.group_state, removed, &known), knows_all);
    }
}

#[test]
fn a_message_under_way_will_arrive_if_what_it_says_is_still_true() {
    type Content = fn(&Desk) -> MessageContent;
    let stays: Change = |_| {};
    let moves: Change = |desk| desk.moves("09:00");
    let cancels: Change = Desk::cancels;
    let gives: Change = Desk::gives_to_bob;
    let gives_cancelled: Change = |desk| {
        desk.gives_to_bob();
        desk.cancels();
    };
    let change: Content = |desk| desk.change("11:00");
    let cancellation: Content = |desk| desk.cancellation("11:00");
    let withdrawal: Content = |desk| desk.withdrawal(desk.ada, desk.details("11:00"));
    for (name, content, become_of_it, is_true) in [
        ("a change", change, stays, true),
        ("a change to another start", change, moves, false),
        ("a change of a cancelled one", change, cancels, false),
        ("a change of another's", change, gives, false),
        ("a confirmation", |desk| desk.confirmation("11:00"), stays, true),
        ("a restoration", |desk| desk.restoration("11:00"), stays, true),
        ("a reminder", |desk| desk.reminder(Channel::Mail, "11:00"), stays, true),
        ("a cancellation", cancellation, cancels, true),
        ("a cancellation of a live one", cancellation, stays, false),
        ("a cancellation of another's", cancellation, gives_cancelled, false),
        ("a withdrawal", withdrawal, gives, true),
        ("a withdrawal of a cancelled one", withdrawal, cancels, true),
        ("a withdrawal of one's own", withdrawal, stays, false),
    ] {
        for progress in [CLAIMED, waiting(1)] {
            let mut desk = Desk::new();
            let by = desk.plain(content(&desk), desk.ada, progress);
            become_of_it(&mut desk);
            let expectation = Expectation::of_row(desk.row(), desk.ada).expect("an appointment");
            let news = Some(News { by, expectation });
            let known = KnownAppointment { news, ..knows(desk.ada, desk.expects("10:00")) };
            let is_known = is_up_to_date(&desk.shop.group_state, desk.id, &known);
            assert_eq!(is_known, is_true, "{name}");
        }
    }
}

#[test]
fn a_client_knows_its_own_change_for_sure_unless_an_earlier_mail_to_it_is_under_way() {
    let earlier: [(&str, Change, bool); 6] = [
        ("none", |_| {}, false),
        ("a notice", |desk| notice_to(desk, desk.ada, CLAIMED), true),
        ("a mail", |desk| mail_to(desk, desk.ada, CLAIMED), true),
        ("one that was sent", |desk| notice_to(desk, desk.ada, SENT), false),
        ("a notice to Bob", |desk| notice_to(desk, desk.bob, CLAIMED), false),
        ("a mail to Bob", |desk| mail_to(desk, desk.bob, CLAIMED), false),
    ];
    for (name, earlier, in_doubt) in earlier {
        let mut desk = Desk::new();
        earlier(&mut desk);
        desk.cancels();
        desk.plain(desk.cancellation("11:00"), desk.ada, CLAIMED);
        let expected = knows(desk.ada, desk.expects_none("11:00"));
        assert_eq!(desk.knowledge(desk.ada), KnownAppointment { in_doubt, ..expected }, "{name}");
    }
}

/// Adds a mail about a change by the client itself.
fn mail_to(desk: &mut Desk, client: FicheId, progress: Progress) {
    desk.plain(desk.change("11:00"), client, progress);
}

/// Adds a notice about a professional's change.
fn notice_to(desk: &mut Desk, client: FicheId, progress: Progress) {
    let known = knows(client, desk.expects("10:00"));
    desk.notice(desk.change("11:00"), known, progress);
}

#[test]
fn a_quiet_change_after_a_notice_that_said_nothing_new_is_known() {
    let mut desk = Desk::new();
    let known = knows(desk.ada, desk.expects("11:00"));
    desk.notice(desk.change("11:00"), known, UNCHANGED);
    desk.moves("09:00");
    assert_eq!(desk.knowledge(desk.ada), knows(desk.ada, desk.expects("09:00")));
    // If another message said it, that one may not have arrived.
    let mut desk = Desk::new();
    let by = desk.plain(desk.change("11:00"), desk.ada, CLAIMED);
    let with_news = |start: &str, desk: &Desk| {
        let news = Some(News { by, expectation: desk.expects(start) });
        KnownAppointment { news, ..knows(desk.ada, desk.expects("10:00")) }
    };
    desk.notice(desk.change("11:00"), with_news("11:00", &desk), UNCHANGED);
    desk.moves("09:00");
    assert_eq!(desk.knowledge(desk.ada), with_news("09:00", &desk));
}

#[test]
fn a_withdrawal_tells_its_own_client_alone() {
    for to_ada in [false, true] {
        let mut desk = Desk::new();
        let known = knows(desk.ada, desk.expects("11:00"));
        desk.notice(desk.change("10:00"), known, waiting(0));
        let client = if to_ada { desk.ada } else { desk.bob };
        desk.plain(desk.withdrawal(client, desk.details("10:00")), client, SENT);
        desk.moves("09:00");
        let knows_start = if to_ada { "09:00" } else { "11:00" };
        assert_eq!(desk.knowledge(desk.ada), knows(desk.ada, desk.expects(knows_start)));
    }
}

#[test]
fn a_client_is_in_doubt_after_a_second_message_unless_the_first_one_has_arrived_or_never_left() {
    for (first, was_in_doubt, start, in_doubt) in [
        (SENT, true, "10:00", false),
        (SENT, false, "10:00", false),
        (waiting(0), false, "11:00", false),
        (waiting(0), true, "11:00", true),
        (CLAIMED, false, "11:00", true),
        (waiting(1), false, "11:00", true),
        (failed(), false, "11:00", true),
    ] {
        let mut desk = Desk::new();
        let first_by = desk.plain(desk.change("10:00"), desk.ada, first.clone());
        desk.moves("09:00");
        let news = Some(News { by: first_by, expectation: desk.expects("10:00") });
        let known = knows(desk.ada, desk.expects("11:00"));
        let known = KnownAppointment { news, in_doubt: was_in_doubt, ..known };
        let by = desk.notice(desk.change("09:00"), known, CLAIMED);
        let news = Some(News { by, expectation: desk.expects("09:00") });
        let sure = desk.expects(start);
        let expected = KnownAppointment { client: desk.ada, sure, news, in_doubt };
        assert_eq!(desk.knowledge(desk.ada), expected, "{first:?} {was_in_doubt}");
    }
}

/// The knowledge of a waiting notice once a message has begun to leave; `None` if it learns
/// nothing.
fn informed(desk: &Desk, content: MessageContent) -> Option<Box<KnownAppointment>> {
    let message = desk.draft(content, desk.ada, CLAIMED);
    let mut informed = spread_news(&desk.shop.group_state, &message);
    assert!(informed.len() <= 1, "{informed:?}");
    informed.pop().map(|notice| notice.known.expect("it is a notice"))
}

#[test]
fn a_reminder_tells_of_what_it_names_only() {
    for (channel, on) in [(Channel::Mail, calendar(2)), (Channel::Sms, calendar(1))] {
        let mut desk = Desk::new();
        let known = knows(desk.ada, desk.expects("11:00"));
        desk.notice(desk.change("09:00"), known.clone(), waiting(0));
        desk.moves("09:00");
        desk.sets_appointment(|appointment| appointment.length_seconds = 3_600);
        desk.sets(|row| row.calendar_id = calendar(2));
        let learnt = informed(&desk, desk.reminder(channel, "09:00")).expect("it is news");
        let details =
            AppointmentDetails { start: desk.at("09:00"), calendar: on, ..known.sure.details };
        let expectation = Expectation { details, is_expected: true };
        assert_eq!(learnt.news.expect("news").expectation, expectation, "{channel:?}");
        assert_eq!(learnt.sure, known.sure);
    }
}

#[test]
fn a_message_that_says_what_is_known_for_sure_is_no_news() {
    for (has_news, in_doubt, is_news) in
        [(false, false, false), (false, true, true), (true, false, true)]
    {
        let mut desk = Desk::new();
        let by = desk.plain(desk.change("10:00"), desk.ada, CLAIMED);
        let news = has_news.then_some(News { by, expectation: desk.expects("10:00") });
        let known = knows(desk.ada, desk.expects("11:00"));
        let known = KnownAppointment { news, in_doubt, ..known };
        desk.notice(desk.change("11:00"), known, waiting(0));
        let learnt = informed(&desk, desk.reminder(Channel::Mail, "11:00"));
        assert_eq!(learnt.is_some(), is_news, "{has_news} {in_doubt}");
    }
}

/// Details of the appointment before a change, none of which it has now.
fn known_details(desk: &Desk) -> AppointmentDetails {
    AppointmentDetails {
        start: desk.at("10:30"),
        length_seconds: 900,
        calendar: calendar(2),
        intervention: intervention(2),
    }
}

#[test]
fn a_notice_that_leaves_tells_what_leads_from_the_knowledge_to_the_agenda() {
    type Content = fn(&Desk) -> MessageContent;
    let moves: Change = |desk| desk.moves("09:00");
    let cancels: Change = Desk::cancels;
    let gives: Change = Desk::gives_to_bob;
    let change = |desk: &Desk, was: &str| MessageContent::Change {
        appointment: desk.time("09:00"),
        was: desk.at(was),
    };
    let cases: [(&str, Content, bool, Change, MessageContent); 9] = {
        let desk = Desk::new();
        [
            ("moved", |desk| desk.change("10:00"), true, moves, change(&desk, "10:30")),
            ("restored", |desk| desk.restoration("10:00"), true, moves, change(&desk, "10:30")),
            ("news", |desk| desk.change("10:00"), false, moves, desk.restoration("09:00")),
            ("live", |desk| desk.restoration("10:00"), false, moves, desk.restoration("09:00")),
            ("made", |desk| desk.confirmation("10:00"), false, moves, desk.confirmation("09:00")),
            ("gone", |desk| desk.cancellation("10:00"), true, cancels, desk.cancellation("10:30")),
            (
                "given away",
                |desk| desk.withdrawal(desk.ada, desk.details("10:00")),
                true,
                gives,
                desk.withdrawal(desk.ada, known_details(&desk)),
            ),
            // Another message says it.
            ("unknown", |desk| desk.cancellation("10:00"), false, cancels, {
                desk.cancellation("10:00")
            }),
            ("not gone", |desk| desk.cancellation("10:00"), false, moves, {
                desk.cancellation("10:00")
            }),
        ]
    };
    for (name, content, is_expected, become_of_it, expected) in cases {
        let mut desk = Desk::new();
        let details = known_details(&desk);
        let known = knows(desk.ada, Expectation { details, is_expected });
        let mut message = desk.draft(content(&desk), desk.ada, waiting(0));
        message.known = Some(Box::new(known));
        become_of_it(&mut desk);
        update_notice(&desk.shop.group_state, &mut message);
        assert_eq!(message.content, expected, "{name}");
    }
}

#[test]
fn a_confirmation_that_its_client_will_get_stands_for_a_later_notice() {
    let later: [(&str, Change, bool); 5] = [
        ("none", |_| {}, true),
        (
            "a reminder",
            |desk| {
                let content = desk.reminder(Channel::Mail, "11:00");
                desk.plain(content, desk.bob, CLAIMED);
            },
            true,
        ),
        ("to Ada", |desk| mail_to(desk, desk.ada, SENT), true),
        ("by Bob himself", |desk| mail_to(desk, desk.bob, SENT), false),
        ("of a professional", |desk| notice_to(desk, desk.bob, SENT), true),
    ];
    for (name, later, is_open) in later {
        let mut desk = Desk::new();
        desk.gives_to_bob();
        let known = knows(desk.bob, desk.expects_none("11:00"));
        desk.notice(desk.confirmation("11:00"), known, waiting(0));
        later(&mut desk);
        let has_open = |client| has_open_confirmation(&desk.shop.group_state, desk.id, client);
        assert_eq!((has_open(desk.bob), has_open(desk.ada)), (is_open, false), "{name}");
    }
    // By a key alone, the quota may still hold back a confirmation that was not attempted.
    for (by_key, attempts, is_open) in
        [(false, 0, true), (false, 1, true), (true, 0, false), (true, 1, true)]
    {
        let mut desk = Desk::new();
        let draft = desk.draft(desk.confirmation("11:00"), desk.ada, waiting(attempts));
        desk.adds(&if by_key { draft.caused_by_key() } else { draft });
        // The booking's own confirmation is sent though its client has moved it since.
        desk.plain(desk.change("11:00"), desk.ada, SENT);
        let has_open = has_open_confirmation(&desk.shop.group_state, desk.id, desk.ada);
        assert_eq!(has_open, is_open, "{by_key} {attempts}");
    }
}

#[test]
fn a_claim_is_overtaken_by_a_change_whose_notice_waits() {
    let notices: fn(&mut Desk) = |desk| notice_to(desk, desk.ada, waiting(0));
    let cases: [(&str, Change, bool); 7] = [
        (
            "a move",
            |desk| {
                desk.moves("09:00");
                notice_to(desk, desk.ada, waiting(0));
            },
            true,
        ),
        (
            "a cancellation",
            |desk| {
                desk.cancels();
                notice_to(desk, desk.ada, waiting(0));
            },
            true,
        ),
        (
            "other fields",
            |desk| {
                let comments = LongText::new("a window seat").expect("a text");
                let rare = OptionalFields { comments, ..OptionalFields::default() };
                desk.sets(|row| row.rare = Some(Box::new(rare)));
                notice_to(desk, desk.ada, waiting(0));
            },
            false,
        ),
        ("nothing", notices, false),
        ("a quiet move", |desk| desk.moves("09:00"), false),
        (
            "a move whose notice is under way",
            |desk| {
                desk.moves("09:00");
                notice_to(desk, desk.ada, CLAIMED);
            },
            false,
        ),
        (
            "a move by the client",
            |desk| {
                desk.moves("09:00");
                desk.plain(desk.change("09:00"), desk.ada, waiting(0));
            },
            false,
        ),
    ];
    for (name, become_of_it, expected) in cases {
        let desk = Desk::new();
        let message = desk.draft(desk.confirmation("11:00"), desk.ada, CLAIMED);
        let mut newest = desk.clone();
        become_of_it(&mut newest);
        let (claimed, newest) = (&desk.shop.group_state, &newest.shop.group_state);
        assert_eq!(is_overtaken(claimed, newest, &message), expected, "{name}");
    }
}
