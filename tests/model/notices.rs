//! Notices about a professional's changes wait, and become one mail or none. Reference 7.3.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use slotbook::domain::decisions::delivery;
use slotbook::domain::messaging::client_knowledge::present_details;
use slotbook::domain::records::channel::Channel;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::ids::{CalendarId, FicheId, MessageId, VeventId};
use slotbook::domain::records::known_appointment::AppointmentDetails;
use slotbook::domain::records::message::{
    AccountChange, AppointmentTime, Message, MessageContent, Progress, SuppressionReason,
};
use slotbook::domain::records::text::{Bounded, Email, Text};
use slotbook::domain::records::vevent::{Vevent, VeventKind};
use slotbook::domain::state::command::{
    CancelRight, Command, LinkRequest, Patch, Put, PutVevent, RecordChange, RequestLink,
};
use slotbook::domain::state::delivery_step::{DeliveryOutcome, DeliveryStep, DueItem};
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::recipient_quota::MessageQuota;
use slotbook::domain::time::{INSTANT_MIN, Instant};

use super::reminders::{booked, reminding};
use super::shop::{Draws, Shop, booking_of, civil, link_secret, redrawn};

/// The starts that appointments are moved to.
const STARTS: [&str; 4] = ["09:00", "09:30", "10:30", "11:00"];

/// What a mail said: the start and the calendar, or that the appointment is no more.
type Said = Option<(Instant, CalendarId)>;

/// A mail that reached a client.
#[derive(Clone, Debug)]
pub(super) struct Mail {
    pub(super) to: String,
    pub(super) content: MessageContent,
    said: Said,
}

/// An attempt under way: the message, and the state of its claim.
#[derive(Debug)]
pub(super) struct Attempt {
    claimed: Arc<GroupState>,
    message: Message,
}

/// The end of an attempt on the other side.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Taken,
    /// Refused for now, and nothing has arrived.
    Busy,
    /// It has arrived, and the answer was lost.
    Lost,
}

/// A shop whose mails a test carries.
pub(super) struct Post {
    pub(super) shop: Shop,
    /// Ada's appointment at 11:00 on Tuesday. It is Monday.
    pub(super) id: VeventId,
    pub(super) ada: FicheId,
    pub(super) bob: FicheId,
    pub(super) under_way: Vec<Attempt>,
    pub(super) arrived: Vec<Mail>,
}

fn client_of(shop: &Shop, id: VeventId) -> FicheId {
    shop.group_state.rows[&id].appointment().expect("an appointment").fiche_id
}

impl Post {
    /// Ada's booking is confirmed; Bob is a client, too.
    pub(super) fn new(delay_seconds: i64) -> Self {
        let mut shop = reminding();
        shop.announces = true;
        let id = booked(&mut shop);
        let bob = shop.book(&booking_of("Bob", "2026-03-03 11:30")).expect("free")[0];
        let (ada, bob) = (client_of(&shop, id), client_of(&shop, bob));
        let (under_way, arrived) = (Vec::new(), Vec::new());
        let mut post = Self { shop, id, ada, bob, under_way, arrived };
        post.carry();
        post.arrived.clear();
        post.set_delay(delay_seconds);
        post.shop.now = post.local("2026-03-02 10:00");
        post
    }

    fn set_delay(&mut self, seconds: i64) {
        self.shop = self.shop.clone().with_group(|group| {
            group.notice_delay_seconds = Bounded::new(seconds).expect("legal");
        });
    }

    pub(super) fn local(&self, text: &str) -> Instant {
        self.shop.group_state.catalogue.zone().instant_of(civil(text))
    }

    pub(super) fn moves(&mut self, on: u64, time: &str) {
        // A start that another client has is refused, and the agenda stays.
        drop(self.shop.moves(self.id, on, &format!("2026-03-03 {time}")));
    }

    pub(super) fn cancels(&mut self) {
        drop(self.shop.cancel(self.id, CancelRight::Pro));
    }

    pub(super) fn restores(&mut self) {
        drop(self.shop.restores(self.id));
    }

    pub(super) fn changes(&mut self, set: impl Fn(&mut Vevent) + Send + Sync + 'static) {
        drop(self.shop.by_hand(&PutVevent::Change(self.id, redrawn(move |_, row| set(row)))));
    }

    pub(super) fn gives_to(&mut self, client: FicheId) {
        self.changes(move |row| give(row, client));
    }

    fn quietly(&mut self, command: Command) {
        let draws = Draws::none(self.shop.now);
        self.shop.does(Command::Quietly(Box::new(command)), draws).expect("legal");
    }

    /// Cancels with the secret; whether it was live.
    pub(super) fn cancels_by_secret(&mut self) -> bool {
        let key = self.shop.group_state.rows[&self.id].appointment().expect("one").key;
        let right = CancelRight::Secret(key.as_str().to_owned());
        self.shop.cancel(self.id, right) == Ok(true)
    }

    /// The client cancels on the page, which says that it is done.
    fn cancels_on_the_page(&mut self) {
        let to = self.address(client_of(&self.shop, self.id));
        if self.cancels_by_secret() {
            let row = &self.shop.group_state.rows[&self.id];
            let appointment = AppointmentTime::from_vevent(row).expect("an appointment");
            let content = MessageContent::Cancellation(appointment);
            self.arrived.push(Mail { to, content, said: None });
        }
    }

    pub(super) fn waits(&mut self, seconds: i64) {
        self.shop.now = self.shop.now.plus_seconds(seconds);
    }

    /// Claims what is due and not under way.
    pub(super) fn claim(&mut self) {
        let mut due: Vec<DueItem> = Vec::new();
        for message in self.shop.group_state.outbox.open() {
            due.push(DueItem::Message(message.id));
        }
        due.push(DueItem::Reminder(self.id, Channel::Mail));
        for item in due {
            let quota = MessageQuota { recipient_daily_max: 1_000, by_key_daily_max: 0 };
            let under_way = |id: MessageId| self.under_way.iter().any(|it| it.message.id == id);
            if delivery::find_message(&self.shop.group_state, item)
                .is_some_and(|it| under_way(it.id))
            {
                continue;
            }
            if !self.shop.delivers(&DeliveryStep::Claim { item, quota, has_gateway: true }) {
                continue;
            }
            let claimed = Arc::new(self.shop.group_state.clone());
            let Some(message) = delivery::find_message(&claimed, item) else { continue };
            if matches!(message.progress, Progress::Claimed { .. }) {
                let message = message.clone();
                self.under_way.push(Attempt { claimed, message });
            }
        }
    }

    /// Ends the first attempt under way.
    pub(super) fn send(&mut self, end: End) {
        if self.under_way.is_empty() {
            return;
        }
        let Attempt { claimed, message } = self.under_way.remove(0);
        let state = &self.shop.group_state;
        let again = delivery::look_again(&claimed, state, &message, self.shop.now);
        let outcome = again.unwrap_or_else(|| {
            if !matches!(end, End::Busy) {
                self.arrived.push(mail(state, &message));
            }
            let reason = Text::new("busy").expect("short");
            match end {
                End::Taken => DeliveryOutcome::Taken,
                End::Busy | End::Lost => DeliveryOutcome::Deferred { reason, draw: 0 },
            }
        });
        let Progress::Claimed { attempt, .. } = message.progress else { panic!("{message:?}") };
        self.shop.delivers(&DeliveryStep::Settle { id: message.id, attempt, outcome });
    }

    /// Claims and sends all that is due.
    pub(super) fn carry(&mut self) {
        self.claim();
        while !self.under_way.is_empty() {
            self.send(End::Taken);
        }
    }

    /// Lets seconds pass, each with its mails.
    fn waits_carrying(&mut self, seconds: i64) {
        for _ in 0..seconds {
            self.waits(1);
            self.carry();
        }
    }

    /// Carries everything, until nothing is open.
    pub(super) fn comes_to_rest(&mut self) {
        for _ in 0..60 {
            self.carry();
            if self.shop.group_state.outbox.open().next().is_none() {
                return;
            }
            self.waits(61);
        }
        let open: Vec<_> = self.shop.group_state.outbox.open().collect();
        panic!("it comes to no rest: {open:?}");
    }

    /// The kinds of the mails that arrived, and the starts that they named.
    pub(super) fn said(&self) -> Vec<(&'static str, String)> {
        let zone = self.shop.group_state.catalogue.zone();
        let mut said = Vec::new();
        for mail in &self.arrived {
            let (kind, start) = match &mail.content {
                MessageContent::Confirmation(all) => ("confirmation", all[0].start),
                MessageContent::Change { appointment, .. } => ("change", appointment.start),
                MessageContent::Restoration(it) => ("restoration", it.start),
                MessageContent::Cancellation(it) => ("cancellation", it.start),
                MessageContent::Withdrawal(it) => ("withdrawal", it.appointment.start),
                MessageContent::Reminder(_, it) => ("reminder", it.start),
                MessageContent::AccountLink { .. }
                | MessageContent::BookingCode { .. }
                | MessageContent::AccountNotice(_)
                | MessageContent::ShopWarning(_) => panic!("{mail:?}"),
            };
            let second = zone.civil_of(start).second_of_day();
            said.push((kind, format!("{:02}:{:02}", second / 3_600, second / 60 % 60)));
        }
        said
    }

    /// The truth about the appointment for a client.
    fn truth(&self, client: FicheId) -> Said {
        let details = present_details(&self.shop.group_state, self.id, client)?;
        let AppointmentDetails { start, calendar, .. } = details;
        Some((start, calendar))
    }

    fn address(&self, client: FicheId) -> String {
        let email = self.shop.group_state.fiches[&client].email.as_ref();
        email.expect("an address").as_str().to_owned()
    }

    /// Asserts what the last mail to a client says.
    #[track_caller]
    fn assert_last(&self, client: FicheId, said: Said) {
        let address = self.address(client);
        let last = self.arrived.iter().rev().find(|mail| mail.to == address);
        assert_eq!(last.map(|mail| mail.said), Some(said), "{:?}", self.arrived);
    }

    /// Checks that the last mail to each client agrees with the agenda; without one, what the
    /// client knew at first.
    fn check(&self, first: Said) -> Result<(), TestCaseError> {
        for (client, knew) in [(self.ada, first), (self.bob, None)] {
            let to = self.address(client);
            let last = self.arrived.iter().rev().find(|mail| mail.to == to);
            let believes = last.map_or(knew, |mail| mail.said);
            prop_assert_eq!(believes, self.truth(client), "{}: {:?}", to, &self.arrived);
        }
        Ok(())
    }
}

fn give(row: &mut Vevent, client: FicheId) {
    if let VeventKind::Appointment(appointment) = &mut row.kind {
        appointment.fiche_id = client;
    }
}

/// The mail of a message that is sent in a state.
fn mail(state: &GroupState, message: &Message) -> Mail {
    let appointment = message.appointments()[0];
    let row = &state.rows[&appointment.id];
    let is_end =
        matches!(message.content, MessageContent::Cancellation(_) | MessageContent::Withdrawal(_));
    Mail {
        to: message.recipient.as_str().to_owned(),
        content: message.content.clone(),
        said: (!is_end).then_some((appointment.start, row.calendar_id)),
    }
}

pub(super) fn some(kind: &'static str, start: &str) -> (&'static str, String) {
    (kind, start.to_owned())
}

#[test]
fn four_quick_moves_are_one_mail_with_the_last_time() {
    let mut post = Post::new(60);
    for time in STARTS {
        post.moves(2, time);
        post.waits_carrying(20);
    }
    assert_eq!(post.said(), []);
    post.waits_carrying(39);
    assert_eq!(post.said(), [], "60 seconds after the last");
    post.waits_carrying(1);
    assert_eq!(post.said(), [some("change", "11:00")]);
    let eleven = post.local("2026-03-03 11:00");
    assert!(matches!(post.arrived[0].content, MessageContent::Change { was, .. } if was == eleven));
    assert_eq!(post.shop.group_state.outbox.open().count(), 0);
}

#[test]
fn what_is_undone_while_it_waits_causes_no_mail() {
    type Story = fn(&mut Post);
    let stories: [(&str, Story); 5] = [
        ("a move", |post| {
            post.moves(1, "09:00");
            post.waits_carrying(30);
            post.moves(1, "11:00");
        }),
        ("a move to another calendar", |post| {
            post.moves(2, "11:00");
            post.moves(1, "11:00");
        }),
        ("a cancellation", |post| {
            post.cancels();
            post.waits_carrying(59);
            post.restores();
        }),
        ("a cancellation after a move", |post| {
            post.moves(1, "09:00");
            post.cancels();
            post.restores();
            post.moves(1, "11:00");
        }),
        ("a gift", |post| {
            post.gives_to(post.bob);
            post.waits_carrying(30);
            post.gives_to(post.ada);
        }),
    ];
    for (name, story) in stories {
        let mut post = Post::new(60);
        story(&mut post);
        post.waits_carrying(200);
        assert_eq!(post.said(), [], "{name}");
        for message in post.shop.group_state.outbox.messages().filter(|it| it.known.is_some()) {
            let Progress::Suppressed { why, .. } = message.progress else { panic!("{message:?}") };
            let expected = [
                SuppressionReason::Unchanged,
                SuppressionReason::GivenAway,
                SuppressionReason::Replaced,
            ];
            assert!(expected.contains(&why), "{name}: {message:?}");
        }
    }
}

#[test]
fn a_cancellation_of_a_moved_appointment_names_the_start_that_the_client_knows() {
    let mut post = Post::new(60);
    post.moves(2, "09:00");
    post.waits_carrying(10);
    post.cancels();
    post.waits_carrying(60);
    assert_eq!(post.said(), [some("cancellation", "11:00")]);
    post.restores();
    post.waits_carrying(60);
    post.moves(2, "09:30");
    post.waits_carrying(60);
    post.cancels();
    post.waits_carrying(60);
    let rest =
        [some("restoration", "09:00"), some("change", "09:30"), some("cancellation", "09:30")];
    assert_eq!(post.said()[1..], rest);
}

#[test]
fn an_appointment_that_begins_within_15_minutes_is_told_at_once() {
    for (now, time, is_at_once) in [
        ("2026-03-03 10:45", "11:30", true),
        ("2026-03-03 10:43", "11:30", false),
        ("2026-03-03 08:46", "09:00", true),
        ("2026-03-03 08:43", "09:00", false),
    ] {
        let mut post = Post::new(60);
        post.shop.now = post.local(now);
        post.moves(2, time);
        post.carry();
        let changes = post.said().iter().filter(|(kind, _)| *kind == "change").count();
        assert_eq!(changes, usize::from(is_at_once), "{now} {time}");
        post.waits_carrying(60);
        assert_eq!(post.said().iter().filter(|(kind, _)| *kind == "change").count(), 1);
    }
    let mut post = Post::new(600);
    post.shop.now = post.local("2026-03-03 10:40");
    post.cancels();
    post.waits_carrying(299);
    assert_eq!(post.said().iter().filter(|(kind, _)| *kind == "cancellation").count(), 0);
    post.waits_carrying(1);
    assert_eq!(
        post.said().iter().filter(|(kind, _)| *kind == "cancellation").count(),
        1,
        "it waits no longer than up to 15 minutes before"
    );
}

#[test]
fn changes_without_an_end_are_told_after_ten_minutes() {
    let mut post = Post::new(60);
    for nth in 0..20 {
        assert_eq!(post.said(), [], "{nth}");
        post.moves(2, STARTS[nth % 4]);
        post.waits_carrying(30);
    }
    assert_eq!(post.said(), [some("change", "11:00")]);
}

#[test]
fn without_a_delay_each_change_is_told_at_once() {
    let mut post = Post::new(0);
    for time in STARTS {
        post.moves(2, time);
        post.carry();
    }
    let times = STARTS.map(|time| some("change", time));
    assert_eq!(post.said(), times);
    assert!(post.shop.group_state.outbox.messages().all(|message| message.known.is_none()));
    // A delay that is switched off meanwhile ends with the next change.
    let mut post = Post::new(60);
    post.moves(2, "09:00");
    post.set_delay(0);
    post.carry();
    assert_eq!(post.said(), []);
    post.moves(2, "09:30");
    post.carry();
    assert_eq!(post.said(), [some("change", "09:30")]);
}

#[test]
fn a_change_by_the_client_is_told_at_once_and_stands_for_what_waits() {
    let mut post = Post::new(60);
    post.moves(2, "09:00");
    post.waits_carrying(10);
    assert!(post.cancels_by_secret());
    post.carry();
    assert_eq!(post.said(), [some("cancellation", "09:00")]);
    post.waits_carrying(100);
    assert_eq!(post.said().len(), 1, "nothing else is to be said");
    post.restores();
    post.waits_carrying(60);
    assert_eq!(post.said()[1..], [some("restoration", "09:00")]);
}

#[test]
fn a_client_who_cancelled_knows_that_after_the_appointment_was_another_s() {
    type Story = fn(&mut Post);
    let stories: [(&str, Story); 2] = [
        ("the gift is told to neither", |post| post.gives_to(post.bob)),
        ("the gift is quiet", |post| {
            let bob = post.bob;
            let given = PutVevent::Change(post.id, redrawn(move |_, row| give(row, bob)));
            post.quietly(Command::PutVevent(given));
        }),
    ];
    for (name, story) in stories {
        let mut post = Post::new(60);
        // This notice never leaves. It knows of nothing but the start before it.
        post.moves(1, "09:00");
        post.cancels_on_the_page();
        post.carry();
        story(&mut post);
        post.gives_to(post.ada);
        post.restores();
        post.moves(1, "11:00");
        post.waits_carrying(60);
        let ended = some("cancellation", "09:00");
        let expected = [ended.clone(), ended, some("restoration", "11:00")];
        assert_eq!(post.said(), expected, "{name}: the page, its mail, and the truth");
    }
}

#[test]
fn a_cancellation_by_another_client_tells_its_former_client_nothing() {
    let mut post = Post::new(1);
    post.gives_to(post.bob);
    post.cancels_on_the_page();
    post.waits(1);
    post.claim();
    post.gives_to(post.ada);
    // The withdrawal from Ada is under way, and not sent, since the appointment is Ada's again.
    post.restores();
    post.send(End::Busy);
    post.cancels();
    post.comes_to_rest();
    post.assert_last(post.ada, None);
}

#[test]
fn a_mail_that_is_under_way_while_its_client_cancels_is_followed_by_the_truth() {
    let mut post = Post::new(1);
    post.gives_to(post.bob);
    post.waits(1);
    post.claim();
    post.send(End::Taken);
    post.cancels_on_the_page();
    post.restores();
    // Only now Bob's confirmation arrives.
    post.send(End::Lost);
    post.cancels();
    post.comes_to_rest();
    post.assert_last(post.bob, None);
}

#[test]
fn a_notice_that_another_mail_stood_for_is_told_if_that_never_arrives() {
    let mut post = Post::new(1);
    post.gives_to(post.bob);
    post.waits(1);
    post.claim();
    post.moves(2, "11:00");
    post.waits(1);
    post.take(&Step::Kill);
    // The confirmation is attempted again with the new calendar, so the notice is not.
    post.claim();
    post.send(End::Busy);
    post.cancels();
    post.send(End::Busy);
    post.restores();
    post.comes_to_rest();
    post.assert_last(post.bob, post.truth(post.bob));
}

#[test]
fn a_confirmation_that_a_reminder_stood_for_tells_of_no_restoration() {
    let mut post = Post::new(600);
    post.moves(1, "10:30");
    post.shop.now = post.local("2026-03-02 10:29");
    post.gives_to(post.bob);
    post.waits(60);
    // It is a day before, and the confirmation waits.
    post.carry();
    let bob = post.address(post.bob);
    assert!(post.arrived.iter().any(|mail| mail.to == bob && mail.said.is_some()));
    post.cancels_on_the_page();
    post.restores();
    post.comes_to_rest();
    post.assert_last(post.bob, post.truth(post.bob));
}

#[test]
fn a_reminder_that_leaves_meanwhile_tells_the_new_start() {
    let mut post = Post::new(60);
    post.shop.now = post.local("2026-03-02 10:29");
    post.waits(30);
    post.moves(1, "10:30");
    post.waits_carrying(70);
    assert_eq!(post.said(), [some("reminder", "10:30")], "it is a day before");
    let mut post = Post::new(60);
    post.shop.now = post.local("2026-03-02 10:29");
    post.waits(30);
    post.moves(1, "10:30");
    post.waits_carrying(31);
    post.moves(1, "11:00");
    post.waits_carrying(60);
    let both = [some("reminder", "10:30"), some("change", "11:00")];
    assert_eq!(post.said(), both, "back again is another change for the client");
}

#[test]
fn a_quiet_change_is_no_news_and_a_quiet_cancellation_ends_what_waits() {
    let mut post = Post::new(60);
    post.moves(2, "09:00");
    let command = slotbook::domain::state::command::CancelAppointment {
        id: post.id,
        right: CancelRight::Pro,
    };
    post.quietly(Command::CancelAppointment(command));
    post.waits_carrying(100);
    assert_eq!(post.said(), []);
    // It is told again from what the client knew before.
    post.restores();
    post.waits_carrying(60);
    assert_eq!(post.said(), [some("change", "09:00")]);
}

#[test]
fn an_attempt_that_may_have_arrived_is_followed_by_the_truth() {
    for end in [End::Busy, End::Lost] {
        let mut post = Post::new(60);
        post.moves(2, "09:00");
        post.waits(60);
        post.claim();
        post.send(end);
        post.moves(1, "11:00");
        post.waits_carrying(100);
        assert_eq!(post.said().last(), Some(&some("change", "11:00")), "{end:?}");
        assert_eq!(post.said().len(), 1 + usize::from(matches!(end, End::Lost)));
    }
}

#[test]
fn what_was_claimed_is_not_sent_once_it_is_undone() {
    let mut post = Post::new(60);
    post.moves(2, "09:00");
    post.waits(60);
    post.claim();
    post.moves(1, "11:00");
    post.send(End::Taken);
    post.waits_carrying(100);
    assert_eq!(post.said(), []);
}

#[test]
fn a_mail_that_was_claimed_goes_to_no_address_that_its_client_has_left() {
    let mut post = Post::new(0);
    post.moves(2, "09:00");
    post.claim();
    let mut fields = Patch::default();
    fields.push(|fiche: &mut Fiche| {
        fiche.email = Some(Email::new("new@example.org").expect("an address"));
    });
    let change = RecordChange::Fiche(Put { id: Some(post.ada), fields });
    post.shop.changes(&change).expect("legal");
    post.send(End::Taken);
    assert_eq!(post.arrived.len(), 0, "{:?}", post.arrived);
    post.waits_carrying(100);
    let recipients: Vec<_> = post.arrived.iter().map(|mail| mail.to.as_str()).collect();
    assert_eq!(recipients, ["new@example.org"]);
}

#[test]
fn a_client_who_cancelled_before_the_confirmation_left_is_told_of_the_last_restoration() {
    let mut post = Post::new(600);
    post.gives_to(post.bob);
    post.cancels_on_the_page();
    post.restores();
    post.cancels();
    post.restores();
    post.comes_to_rest();
    post.assert_last(post.bob, post.truth(post.bob));
}

#[derive(Clone, Debug)]
enum Step {
    Moves(u64, usize),
    Cancels,
    Restores,
    GivesToBob,
    GivesToAda,
    CancelsOnThePage,
    Waits(i64),
    Claims,
    Sends(u8),
    /// The server is killed: its attempts are forgotten, and those claimed are claimed again.
    Kill,
}

fn a_change() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..3_u64, 0..STARTS.len()).prop_map(|(on, time)| Step::Moves(on, time)),
        2 => Just(Step::Cancels),
        2 => Just(Step::Restores),
        1 => Just(Step::GivesToBob),
        1 => Just(Step::GivesToAda),
    ]
}

fn a_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => a_change(),
        1 => Just(Step::CancelsOnThePage),
        4 => (1..90_i64).prop_map(Step::Waits),
        3 => Just(Step::Claims),
        4 => (0..4_u8).prop_map(Step::Sends),
        1 => Just(Step::Kill),
    ]
}

impl Post {
    fn take(&mut self, step: &Step) {
        match step {
            Step::Moves(on, time) => self.moves(*on, STARTS[*time]),
            Step::Cancels => self.cancels(),
            Step::Restores => self.restores(),
            Step::GivesToBob => self.gives_to(self.bob),
            Step::GivesToAda => self.gives_to(self.ada),
            Step::CancelsOnThePage => self.cancels_on_the_page(),
            Step::Waits(seconds) => self.waits(*seconds),
            Step::Claims => self.claim(),
            Step::Sends(0) => self.send(End::Busy),
            Step::Sends(1) => self.send(End::Lost),
            Step::Sends(_) => self.send(End::Taken),
            Step::Kill => self.under_way.clear(),
        }
    }

    /// The mails about changes that arrived, by their kind.
    fn count(&self) -> BTreeMap<String, usize> {
        let mut count = BTreeMap::new();
        for mail in &self.arrived {
            *count.entry(mail.to.clone()).or_insert(0) += 1;
        }
        count
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_last_mail_agrees_with_the_agenda_once_all_is_quiet(
        delay in prop_oneof![Just(1_i64), Just(60), Just(600)],
        steps in proptest::collection::vec(a_step(), 1..50),
    ) {
        let mut post = Post::new(delay);
        // Reminders become due meanwhile.
        post.shop.now = post.local("2026-03-02 10:25");
        let first = post.truth(post.ada);
        for step in &steps {
            post.take(step);
        }
        post.comes_to_rest();
        post.check(first)?;
        prop_assert_eq!(post.shop.group_state.outbox.open().count(), 0);
    }

    #[test]
    fn no_more_mails_leave_than_without_a_delay(
        delay in prop_oneof![Just(1_i64), Just(60), Just(600)],
        steps in proptest::collection::vec((a_change(), 0..40_i64), 1..25),
    ) {
        let [mut delayed, mut immediate] = [Post::new(delay), Post::new(0)];
        let first = delayed.truth(delayed.ada);
        for post in [&mut delayed, &mut immediate] {
            for (step, seconds) in &steps {
                post.take(step);
                post.carry();
                post.waits_carrying(*seconds);
            }
            post.waits_carrying(700);
        }
        delayed.check(first)?;
        let most = immediate.count();
        for (to, mails) in delayed.count() {
            prop_assert!(mails <= most.get(&to).copied().unwrap_or(0), "{:?}", delayed.arrived);
        }
    }

    #[test]
    fn a_delay_of_no_time_is_told_by_each_change(
        changes in proptest::collection::vec(0..STARTS.len(), 1..10),
    ) {
        let mut post = Post::new(0);
        for time in changes {
            post.moves(2, STARTS[time]);
        }
        let waiting = post.shop.group_state.outbox.open().filter_map(|it| match it.progress {
            Progress::Waiting { not_before, .. } => Some(not_before),
            _ => None,
        });
        prop_assert!(waiting.into_iter().all(|not_before| not_before == INSTANT_MIN));
    }
}

#[test]
fn a_notice_shows_until_when_it_waits() {
    let mut post = Post::new(60);
    post.moves(2, "09:00");
    let notice = post.shop.group_state.outbox.open().last().expect("it waits").clone();
    let Progress::Waiting { not_before, attempts: 0, .. } = notice.progress else {
        panic!("{notice:?}")
    };
    assert_eq!(not_before, post.shop.now.plus_seconds(60));
}

/// The notices about accounts so far, each with the address that it goes to.
fn account_notices(shop: &Shop) -> Vec<(AccountChange, String)> {
    let notices = shop.group_state.outbox.messages().filter_map(|message| match &message.content {
        MessageContent::AccountNotice(change) => {
            Some((*change, message.recipient.as_str().to_owned()))
        }
        _ => None,
    });
    notices.collect()
}

#[test]
fn a_change_of_an_account_is_announced_to_the_address_before_it() {
    let mut shop = Shop::open_on_tuesday();
    shop.announces = true;
    let ada = shop.knows("Ada", "ada@example.org");
    let email = |text: &str| Email::new(text).expect("an address");
    let by_password = RequestLink {
        email: email("ada@example.org"),
        request: LinkRequest::Account { pending_rdv: None, secret: Some(link_secret()) },
    };
    let follow = |shop: &mut Shop, request: &RequestLink| {
        let link = shop.asks_link(request).expect("it is asked for").expect("it is mailed");
        shop.follows_link(link).expect("it is open");
    };
    follow(&mut shop, &by_password);
    assert_eq!(account_notices(&shop), [], "the account is new");
    follow(&mut shop, &by_password);
    let of_password = (AccountChange::Password, "ada@example.org".to_owned());
    assert_eq!(account_notices(&shop), [of_password]);
    let by_email = RequestLink {
        email: email("ada@example.com"),
        request: LinkRequest::Email {
            account: "ada@example.org".into(),
            put: Put { id: Some(ada), fields: Patch::default() },
        },
    };
    follow(&mut shop, &by_email);
    let of_email = (AccountChange::Email, "ada@example.org".to_owned());
    let last = account_notices(&shop).pop();
    assert_eq!(last, Some(of_email));
}
