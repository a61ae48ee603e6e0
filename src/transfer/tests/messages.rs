//! Messages and ids of removed rows through an export and an import.

use serde_json::{Value, json};
use strum::IntoEnumIterator as _;

use super::{assert_same, changed, exported, hash, import, merged, now, shop};
use crate::domain::decisions::decision::{Context, Decision, Environment, LinkDraws};
use crate::domain::decisions::delivery;
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::messaging::planning;
use crate::domain::records::channel::Channel;
use crate::domain::records::hold::{HoldId, HoldToken};
use crate::domain::records::ids::{
    CalendarId, CalendarsetId, FicheId, GroupId, InterventionId, MessageId, VeventId,
};
use crate::domain::records::known_appointment::{
    AppointmentDetails, Expectation, KnownAppointment, News,
};
use crate::domain::records::message::{
    AccountChange, AppointmentTime, LinkPurpose, Message, MessageContent, Progress, ShopWarning,
    SuppressionReason, WithdrawnAppointment,
};
use crate::domain::records::text::Text;
use crate::domain::records::vevent::{AppointmentKey, ReminderOutcome};
use crate::domain::state::delivery_step::{DeliveryStep, DueItem, LatePolicy};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::outbox::Outbox;
use crate::domain::state::recipient_quota::MessageQuota;
use crate::domain::time::{DAY, HOUR, INSTANT_MIN, Instant};
use crate::notify::Gateways;
use crate::transfer::import::read_document;
use crate::transfer::{StoreContent, export};
use crate::wire::field::{Audience, Scope};
use crate::wire::message::{Ledger, MESSAGE};

/// The token of every account link.
const TOKEN: &str = "4-the-token-of-a-link";

fn text(text: &str) -> Text<255> {
    Text::new(text).expect("a short text")
}

fn contents() -> Vec<MessageContent> {
    let appointment = |id, start| AppointmentTime {
        id: VeventId::new(id).expect("an id"),
        start: Instant(start),
    };
    let link = |purpose| MessageContent::AccountLink {
        purpose,
        token: Text::new(TOKEN).expect("a token"),
        expires: now().plus_seconds(DAY),
    };
    let first = appointment(90, 1_729_993_500);
    let second = appointment(91, 1_749_714_000);
    let withdrawn = WithdrawnAppointment {
        appointment: second,
        length_seconds: 900,
        client: FicheId::new(7).expect("an id"),
        calendar: CalendarId::new(1).expect("an id"),
        intervention: InterventionId::new(11).expect("an id"),
        key: AppointmentKey::new("abcdefghijklmnopqrst").expect("a key"),
    };
    vec![
        link(LinkPurpose::Confirm),
        link(LinkPurpose::NewPassword),
        link(LinkPurpose::NewEmail),
        MessageContent::Confirmation(vec![first, second]),
        MessageContent::Change { appointment: second, was: first.start },
        MessageContent::Cancellation(first),
        MessageContent::Reminder(Channel::Mail, first),
        MessageContent::Reminder(Channel::Sms, second),
        MessageContent::Withdrawal(Box::new(withdrawn)),
        MessageContent::Restoration(second),
        MessageContent::AccountNotice(AccountChange::Password),
        MessageContent::AccountNotice(AccountChange::Email),
        MessageContent::AccountNotice(AccountChange::Device),
        MessageContent::ShopWarning(ShopWarning::CodesHalfUsed),
        MessageContent::ShopWarning(ShopWarning::CodesAsked),
        MessageContent::ShopWarning(ShopWarning::CodesNoLongerAsked),
        code(Channel::Mail),
        code(Channel::Sms),
        link(LinkPurpose::Login),
        link(LinkPurpose::ProPassword),
        link(LinkPurpose::Invitation),
    ]
}

fn code(channel: Channel) -> MessageContent {
    MessageContent::BookingCode { channel, hold: HoldId::NONE, expires: now().plus_seconds(HOUR) }
}

fn all_progress() -> Vec<Progress> {
    let at = now().plus_seconds(-HOUR);
    let mut all = vec![
        Progress::Waiting { attempts: 0, not_before: INSTANT_MIN, reason: text("") },
        Progress::Waiting { attempts: 3, not_before: now(), reason: text("421 try\nlater") },
        Progress::Claimed { attempt: 2, at },
        Progress::Sent { at, attempts: 2 },
        Progress::Kept { at },
        Progress::Failed { at, reason: text("550 no such mailbox") },
        Progress::Failed { at, reason: text("") },
        Progress::Missed { at },
    ];
    for why in SuppressionReason::iter() {
        all.push(Progress::Suppressed { at, why });
    }
    all
}

/// The knowledge of a message's client: none, a little, or all that a notice can hold.
fn known_of(number: u64) -> Option<Box<KnownAppointment>> {
    let details = AppointmentDetails {
        start: Instant(1_749_714_000),
        length_seconds: 900,
        calendar: CalendarId::new(1).expect("an id"),
        intervention: InterventionId::new(11).expect("an id"),
    };
    let sure = Expectation { details, is_expected: number.is_multiple_of(2) };
    let by = MessageId::new(42).expect("an id");
    let news = News { by, expectation: Expectation { is_expected: !sure.is_expected, ..sure } };
    let known = KnownAppointment {
        client: FicheId::new(7).expect("an id"),
        sure,
        news: (number % 5 == 1).then_some(news),
        in_doubt: number % 5 == 2,
    };
    (number % 5 < 3).then(|| Box::new(known))
}

/// The shop with a message of every content in every state, numbered after a gap.
fn shop_with_all_messages() -> StoreContent {
    let mut messages = Vec::new();
    // A key alone can cause a confirmation, a change, a cancellation and both reminders.
    let by_key = contents().into_iter().skip(3).take(5).map(|content| (content, true));
    let others = contents().into_iter().map(|content| (content, false));
    for (content, by_key) in others.chain(by_key) {
        for progress in all_progress() {
            let number = 100 + messages.len() as u64;
            let first_claimed_at =
                if number.is_multiple_of(3) { None } else { Some(Instant(1_749_715_000)) };
            let message = Message {
                id: MessageId::new(number).expect("an id"),
                created_at: now().plus_seconds(-DAY),
                content: content.clone(),
                by_key: false,
                recipient: text("c@example.org"),
                first_claimed_at,
                progress,
                known: known_of(number),
            };
            messages.push(if by_key { message.caused_by_key() } else { message });
        }
    }
    with_messages(messages, 1_000)
}

fn with_messages(messages: Vec<Message>, last_id: u64) -> StoreContent {
    let mut content = import(&shop()).expect("legal");
    let messages = messages.into_iter().map(Into::into).collect();
    content.group_states[0].outbox = Outbox::from_messages(messages, last_id);
    content
}

/// Whether an export leaves out what the message was for.
fn ends_with_export(message: &Message) -> bool {
    matches!(
        message.content,
        MessageContent::AccountLink { .. } | MessageContent::BookingCode { .. }
    )
}

/// The message as an import restores it.
fn without_link(message: &Message) -> Message {
    let mut message = message.clone();
    let is_open = message.is_open();
    if let MessageContent::AccountLink { token, .. } = &mut message.content {
        *token = Text::default();
    }
    if is_open && ends_with_export(&message) {
        message.progress = Progress::Suppressed { at: now(), why: SuppressionReason::Expired };
    }
    message
}

fn reimported(content: &StoreContent) -> StoreContent {
    read_document(exported(content).as_bytes(), now(), &hash).expect("an export is legal")
}

/// The list of messages as the API shows it, without those of account links and codes.
fn ledger(content: &StoreContent) -> Vec<Value> {
    let ledger = Ledger::new(content.group_states[0].clone().into(), now());
    let mut lines = Vec::new();
    for entry in ledger.entries() {
        if !entry.message().is_some_and(ends_with_export) {
            let scope = Scope::for_group(ledger.group_state());
            lines.push(Value::Object(MESSAGE.render(&entry, &scope, Audience::Pro)));
        }
    }
    lines
}

#[test]
fn messages_of_every_kind_and_state_are_restored_exactly() {
    let content = shop_with_all_messages();
    let again = reimported(&content);
    assert_same(&content, &again);
    let before = &content.group_states[0].outbox;
    let after = &again.group_states[0].outbox;
    assert_eq!(before.messages().len(), 26 * 20);
    for (before, after) in before.messages().zip(after.messages()) {
        assert_eq!(**after, without_link(before));
    }
    assert_eq!(ledger(&content), ledger(&again));
    let first = exported(&again);
    assert_eq!(exported(&reimported(&again)), first, "a second export equals the first");
}

fn message(number: u64, content: MessageContent, progress: Progress) -> Message {
    Message {
        id: MessageId::new(number).expect("an id"),
        created_at: now().plus_seconds(-HOUR),
        content,
        by_key: false,
        recipient: text("c@example.org"),
        first_claimed_at: None,
        progress,
        known: None,
    }
}

fn waiting() -> Progress {
    Progress::Waiting { attempts: 0, not_before: INSTANT_MIN, reason: text("") }
}

/// The shop with an upcoming appointment whose reminder was sent, and three messages.
fn shop_with_a_queue() -> StoreContent {
    let mut document = shop();
    // Reminded an hour before 12:30, at 11:30; it is 12:00.
    let appointment = &mut document["groups"][0]["vevents"][0];
    (appointment["start"], appointment["end"]) =
        (json!("2025-06-12 12:30:00"), json!("2025-06-12 12:45:00"));
    (appointment["mail_sent"], appointment["smsreminder"]) = (true.into(), false.into());
    let mut content = import(&document).expect("legal");
    let state = &mut content.group_states[0];
    let id = VeventId::new(91).expect("an id");
    let standing = AppointmentTime::from_vevent(&state.rows[&id]).expect("an appointment");
    let sent = Progress::Sent { at: now().plus_seconds(-1_800), attempts: 1 };
    let link = contents().swap_remove(0);
    let messages = vec![
        message(42, MessageContent::Confirmation(vec![standing]), waiting()).into(),
        message(43, MessageContent::Reminder(Channel::Mail, standing), sent).into(),
        message(44, link, waiting()).into(),
    ];
    state.outbox = Outbox::from_messages(messages, 0);
    content
}

fn claim(state: &GroupState, item: DueItem) -> Option<Progress> {
    let step = DeliveryStep::Claim {
        item,
        quota: MessageQuota { recipient_daily_max: 20, by_key_daily_max: 0 },
        has_gateway: true,
    };
    let mut context = Context { state, now: now(), environment: &mut NoDraws };
    match delivery::decide(&mut context, &step).expect("never refused") {
        Decision::Event(Event::MessagePut { message, .. }, _) => Some(message.progress),
        Decision::Unchanged(_) => None,
        other @ (Decision::Event(..) | Decision::Ask(_)) => {
            panic!("a claim changes a message: {other:?}")
        }
    }
}

/// The environment of a decision that draws nothing.
struct NoDraws;

impl Environment for NoDraws {
    fn id(&self, _: IdKind, _: u64, _: usize) -> u64 {
        unreachable!("a claim makes no record")
    }

    fn number(&mut self) -> u64 {
        unreachable!("a claim needs no number")
    }

    fn key(&mut self) -> AppointmentKey {
        unreachable!("a claim makes no appointment")
    }

    fn hold_token(&mut self) -> HoldToken {
        unreachable!("a claim makes no hold")
    }

    fn link(&mut self, _: GroupId) -> LinkDraws {
        unreachable!("a claim makes no link")
    }

    fn steady_now(&self) -> Instant {
        now()
    }

    fn late_policy(&self) -> LatePolicy {
        LatePolicy::GiveUp
    }
}

#[test]
fn a_queued_confirmation_is_sent_after_an_import_and_a_sent_reminder_is_not() {
    let again = reimported(&shop_with_a_queue());
    let state = &again.group_states[0];
    let open: Vec<u64> = state.outbox.open().map(|message| message.id.number()).collect();
    assert_eq!(open, [42]);
    let message = |number| DueItem::Message(MessageId::new(number).expect("an id"));
    assert_eq!(claim(state, message(42)), Some(Progress::Claimed { attempt: 1, at: now() }));
    assert_eq!((claim(state, message(43)), claim(state, message(44))), (None, None));
    let id = VeventId::new(91).expect("an id");
    assert_eq!(claim(state, DueItem::Reminder(id, Channel::Mail)), None);
    let appointment = state.rows[&id].appointment().expect("an appointment");
    assert_eq!(appointment.reminders.mail.settled(), ReminderOutcome::Sent(appointment.start));
    let planned = planning::reminders_due_before(state, now(), now().plus_seconds(DAY));
    assert_eq!(planned.filter(|planned| planned.appointment == id).count(), 0);
}

#[test]
fn an_account_link_ends_with_an_export() {
    let content = shop_with_a_queue();
    let document = exported(&content);
    assert!(!document.contains(TOKEN), "no document holds a token");
    assert!(document.contains("\"expires_at_utc\":\"2025-06-13 10:00:00\""), "{document}");
    let later = now().plus_seconds(60);
    let again = read_document(document.as_bytes(), later, &hash).expect("an export is legal");
    let link = again.group_states[0].outbox.message(MessageId::new(44).expect("an id"));
    let ended = Progress::Suppressed { at: later, why: SuppressionReason::Expired };
    assert_eq!(link.map(|link| link.progress.clone()), Some(ended));
    assert_eq!(again.group_states[0].links.iter().count(), 0);
    // The text of a kept message would show the link.
    let kept = message(45, contents().swap_remove(0), Progress::Kept { at: now() });
    let content = with_messages(vec![kept], 0);
    let previews = [&content, &reimported(&content)].map(|content| {
        let state = &content.group_states[0];
        let kept = state.outbox.messages().next().expect("it is kept");
        Gateways::unconfigured("https://rdv.example.org").preview(state, kept)
    });
    assert!(previews[0].as_ref().is_some_and(|preview| preview.text.contains(TOKEN)));
    assert_eq!(previews[1], None);
}

#[test]
fn a_document_says_what_it_leaves_out() {
    let document: Value =
        serde_json::from_str(&exported(&import(&shop()).expect("legal"))).expect("JSON");
    assert_eq!(document["left_out"], export::LEFT_OUT);
    for part in ["sessions", "Idempotency-Keys", "account links", "secret of mailed unsubscribe"] {
        assert!(export::LEFT_OUT.contains(part), "{part}");
    }
}

/// A legal member `known` but for one value.
fn knowledge_with(name: &str, value: Value) -> Value {
    let mut known = json!({"fiche_id": 7, "start_utc": "2025-06-12 08:00:00",
        "length_seconds": 900, "calendar_id": 1, "intervention_id": 11, "expected": true});
    match name.strip_prefix("news.") {
        Some(part) => known["news"] = json!({ part: value }),
        None => known[name] = value,
    }
    known
}

#[test]
fn a_wrong_message_is_reported_by_path() {
    let good = json!({"id": 5, "kind": "withdrawal", "state": "planned", "recipient": "c@example.org",
        "created_at_utc": "2025-06-12 09:00:00", "attempts": 0, "length_seconds": 900, "fiche_id": 7,
        "calendar_id": 1, "intervention_id": 11, "key": "abcdefghijklmnopqrst",
        "appointments": [{"id": 91, "start_utc": "2025-06-12 08:00:00"}]});
    let faults = |edit: &dyn Fn(&mut Value)| {
        let mut row = good.clone();
        edit(&mut row);
        changed(|document| {
            document["groups"][0]["messages"] = json!([good_of_other_id(&good), row])
        })
    };
    let set = |name: &str, value: Value| faults(&|row| row[name] = value.clone());
    for (name, value) in [
        ("id", json!(6)),
        ("id", json!(null)),
        ("id", json!(9_007_199_254_740_991_u64)),
        ("kind", json!("greeting")),
        ("state", json!("waiting")),
        ("recipient", json!("a@b\nBcc: c@d")),
        ("created_at_utc", json!("2025-06-12T09:00:00Z")),
        ("created_at_utc", json!("2025-06-14 09:00:00")),
        ("first_attempt_at_utc", json!(7)),
        ("attempts", json!(-1)),
        ("attempts", json!(4_294_967_295_u64)),
        ("not_before_utc", json!("soon")),
        ("reason", json!("x".repeat(256))),
        ("key", json!("short")),
        ("fiche_id", json!("x")),
        ("appointments", json!([])),
        ("by_key", json!("perhaps")),
        ("known", json!(7)),
    ] {
        assert_eq!(set(name, value.clone()), [format!("groups[0].messages[1].{name}")], "{value}");
    }
    for (name, value) in [
        ("fiche_id", json!(0)),
        ("start_utc", json!("soon")),
        ("length_seconds", json!(-1)),
        ("calendar_id", json!("x")),
        ("intervention_id", json!(null)),
        ("expected", json!("perhaps")),
        ("in_doubt", json!(2)),
        ("news", json!([])),
        ("news.message_id", json!(0)),
    ] {
        let known = knowledge_with(name, value);
        assert_eq!(set("known", known), [format!("groups[0].messages[1].known.{name}")]);
    }
    let settled = |state: &str| {
        faults(&|row| (row["state"], row["reason"]) = (state.into(), "because".into()))
    };
    assert_eq!(settled("sent"), ["groups[0].messages[1].settled_at_utc"]);
    assert_eq!(settled("sending"), ["groups[0].messages[1].attempted_at_utc"]);
    let suppressed = faults(&|row| {
        row["settled_at_utc"] = "2025-06-12 09:30:00".into();
        (row["state"], row["reason"]) = ("suppressed".into(), "because".into());
    });
    assert_eq!(suppressed, ["groups[0].messages[1].reason"]);
    let about = |id: u64, start: &str| {
        let list = json!([{"id": id, "start_utc": start}]);
        set("appointments", list)
    };
    assert_eq!(about(98, "2025-06-12 08:00:00"), ["groups[0].messages[1].appointments[0].id"]);
    assert_eq!(about(91, "8 a.m."), ["groups[0].messages[1].appointments[0].start_utc"]);
    let object = changed(|document| document["groups"][0]["messages"] = json!({}));
    assert!(object[0].starts_with("line "), "{object:?}");
}

fn good_of_other_id(row: &Value) -> Value {
    let mut row = row.clone();
    row["id"] = 6.into();
    row
}

#[test]
fn the_id_of_a_removed_set_is_not_assigned_again_after_an_import() {
    use crate::domain::directory::id_blocks::IdKind;
    let mut content = import(&shop()).expect("legal");
    let removed = Event::CalendarsetRemoved {
        at: now().plus_seconds(1),
        id: CalendarsetId::new(1).expect("an id"),
    };
    let state = &mut content.group_states[0];
    *state = state.apply(&removed);
    state.record_removed_id(IdKind::Interventionset, 8);
    let fiches = state.highest_ids.fiche;
    let vevents = state.highest_ids.vevent;
    (state.highest_ids.fiche, state.highest_ids.vevent) = (fiches + 5, vevents + 6);
    let document = exported(&content);
    let again = read_document(document.as_bytes(), now(), &hash).expect("an export is legal");
    for kind in IdKind::iter() {
        let ids = [&content, &again].map(|content| content.group_states[0].highest_id(kind));
        assert_eq!(ids[0], ids[1], "{kind:?}");
    }
    assert_eq!(again.group_states[0].highest_id(IdKind::Calendarset), 1);
    // Neither does a row without an id get it, in the same document or by a merge.
    let mut edited: Value = serde_json::from_str(&document).expect("JSON");
    edited["groups"][0]["calendarsets"] = json!([{"name": "New"}]);
    let first_set =
        |state: &GroupState| state.catalogue.calendarsets.keys().next().map(|id| id.number());
    assert_eq!(first_set(&import(&edited).expect("legal").group_states[0]), Some(2));
    let other = json!({"groups": [{"name": "Other", "timezone": "Paris", "calendarsets": [{"name": "New"}]}]});
    let both = merged(again, &other).expect("nothing clashes");
    assert_eq!(first_set(&both.group_states[2]), Some(2));
}

#[test]
fn wrong_highest_ids_are_reported_by_path() {
    let given = |value: Value| changed(|document| document["groups"][1]["highest_ids"] = value);
    assert_eq!(given(json!([7])), ["groups[1].highest_ids"]);
    assert_eq!(given(json!({"pros": 7})), ["groups[1].highest_ids.pros"]);
    for wrong in [json!(-1), json!("x"), json!(9_007_199_254_740_991_u64)] {
        assert_eq!(given(json!({"fiches": wrong})), ["groups[1].highest_ids.fiches"]);
    }
}

#[test]
fn a_merge_sends_nothing_again_that_was_settled_since_the_export() {
    let older = shop_with_a_queue();
    let mut newer = older.clone();
    let state = &mut newer.group_states[0];
    let confirmation = state.outbox.message(MessageId::new(42).expect("an id")).expect("there");
    let sent = Progress::Sent { at: now(), attempts: 1 };
    let sent = Message { progress: sent, ..Message::clone(confirmation) };
    let other = message(45, MessageContent::Confirmation(Vec::new()), waiting());
    state.outbox = Outbox::from_messages(vec![sent.into(), other.into()], 0);
    let document: Value = serde_json::from_str(&exported(&older)).expect("JSON");
    let merged = merged(newer, &document).expect("its own ids");
    let outbox = &merged.group_states[0].outbox;
    let states: Vec<(u64, bool)> =
        outbox.messages().map(|message| (message.id.number(), message.is_open())).collect();
    assert_eq!(states, [(42, false), (43, false), (44, false)]);
    assert_eq!(outbox.last_id(), 45);
    // Another message of the same number is not the same message.
    let mut unrelated = older;
    let state = &mut unrelated.group_states[0];
    let mut sent = message(42, MessageContent::Confirmation(Vec::new()), waiting());
    (sent.created_at, sent.progress) = (now(), Progress::Kept { at: now() });
    state.outbox = Outbox::from_messages(vec![sent.into()], 0);
    let merged = super::merged(unrelated, &document).expect("its own ids");
    assert_eq!(merged.group_states[0].outbox.open().count(), 1);
}

#[test]
fn a_merge_takes_each_message_of_the_document_that_the_group_has_not_settled_since() {
    let older = shop_with_a_queue();
    let mut newer = older.clone();
    let known = &mut newer.group_states[0].outbox;
    let change = |number: u64, progress: Progress| {
        let id = MessageId::new(number).expect("an id");
        let of_document = older.group_states[0].outbox.message(id).expect("there");
        Message { progress, ..Message::clone(of_document) }
    };
    let tried = Progress::Waiting { attempts: 3, not_before: now(), reason: text("try later") };
    let sent_later = Progress::Sent { at: now(), attempts: 4 };
    let changed = vec![change(42, tried).into(), change(43, sent_later).into()];
    *known = Outbox::from_messages(changed, 0);
    let document = serde_json::from_str(&exported(&older)).expect("JSON");
    let merged = merged(newer, &document).expect("its own ids");
    for number in [42, 43] {
        let id = MessageId::new(number).expect("an id");
        let [of_document, taken] =
            [&older, &merged].map(|content| content.group_states[0].outbox.message(id));
        assert_eq!(taken, of_document, "message {number}");
    }
}

#[test]
fn a_message_that_may_go_out_at_once_is_exported_without_a_time() {
    let document: Value =
        serde_json::from_str(&exported(&shop_with_a_queue())).expect("an export is JSON");
    let row = &document["groups"][0]["messages"][0];
    assert_eq!((&row["id"], &row["state"]), (&json!(42), &json!("planned")));
    assert_eq!(row.get("not_before_utc"), None);
}
