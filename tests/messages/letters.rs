//! What arrives: headers that are what was meant, two languages, calendar parts, short texts.

use icalendar::parser::{read_calendar, unfold};
use mail_parser::{MessageParser, MimeHeaders as _, PartType};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use slotbook::domain::records::author::Author;
use slotbook::domain::records::ids::{CalendarId, FicheId};
use slotbook::domain::records::message::Progress;
use slotbook::domain::records::text::{Bounded, Email, Name, ReminderLead, Text};
use slotbook::domain::records::vevent::{Vevent, VeventKind};
use slotbook::domain::state::command::{Command, Patch, PutVevent, RecordChange, VeventDraft};
use slotbook::engine::Engine;

use super::fake_gateways::{Mood, Taken};
use super::fixture::{House, cancel, group, phone, settled, until, until_later, vevent};

pub(crate) async fn changes(
    engine: &Engine,
    id: u64,
    change: impl Fn(&mut Vevent) + Send + Sync + 'static,
) {
    let draft = VeventDraft::new(move |_, before, _, _| {
        let mut row = before.expect("it is there").clone();
        change(&mut row);
        Ok(row)
    });
    engine
        .write(group(), Author::Operator, Command::PutVevent(PutVevent::Change(vevent(id), draft)))
        .await
        .expect("free");
}

pub(crate) async fn moves(engine: &Engine, id: u64, seconds: i64) {
    let zone = engine.published().group_state(group()).expect("the group").catalogue.zone();
    changes(engine, id, move |row| {
        if let VeventKind::Appointment(appointment) = &mut row.kind {
            appointment.start = appointment.start.plus_seconds(seconds);
            appointment.civil_start = zone.civil_of(appointment.start);
        }
    })
    .await;
}

/// The plain text of a mail.
pub(crate) fn text(mail: &Taken) -> String {
    let parsed = MessageParser::default().parse(mail.text.as_bytes()).expect("a mail");
    parsed.body_text(0).expect("a text part").into_owned()
}

/// Of each calendar part: method, UID, SEQUENCE, DTSTART, STATUS.
pub(crate) fn calendars(mail: &Taken) -> Vec<[String; 5]> {
    let parsed = MessageParser::default().parse(mail.text.as_bytes()).expect("a mail");
    let mut found = Vec::new();
    for part in &parsed.parts {
        let is_calendar =
            part.content_type().is_some_and(|kind| kind.subtype() == Some("calendar"));
        let PartType::Text(text) = &part.body else { continue };
        if !is_calendar {
            continue;
        }
        let unfolded = unfold(text);
        let calendar = read_calendar(&unfolded).expect("a calendar");
        let of = |properties: &[icalendar::parser::Property<'_>], name: &str| {
            let property = properties.iter().find(|it| it.name.as_str() == name);
            property.map_or_else(String::new, |it| it.val.as_str().to_owned())
        };
        let event =
            calendar.components.iter().find(|it| it.name.as_str() == "VEVENT").expect("an event");
        found.push([
            of(&calendar.properties, "METHOD"),
            of(&event.properties, "UID"),
            of(&event.properties, "SEQUENCE"),
            of(&event.properties, "DTSTART"),
            of(&event.properties, "STATUS"),
        ]);
    }
    found
}

fn header(mail: &Taken, name: &str) -> String {
    let parsed = MessageParser::default().parse(mail.text.as_bytes()).expect("a mail");
    parsed.header_raw(name).unwrap_or_default().trim().to_owned()
}

#[test]
fn a_change_and_a_cancellation_carry_the_same_event_with_a_growing_sequence() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.address = Text::new("12 rue de l’Église").expect("short");
        group.city = Text::new("Lyon").expect("short");
        group.preposition = Text::new("au salon").expect("short");
    });
    house.knows(1, |_| {});
    let start = house.local("2026-03-05 10:00");
    house.holds(1, 1, start, 30);
    house.live(async |engine| {
        moves(engine, 1, 3_600).await;
        until(engine, "the change is told", |group_state| settled(group_state) == 1).await;
        cancel(engine, 1).await;
        until(engine, "the cancellation is told", |group_state| settled(group_state) == 2).await;
    });
    let taken = house.post.taken();
    assert_eq!(taken.len(), 2);
    let [change, cancellation] = [calendars(&taken[0]), calendars(&taken[1])];
    assert!(!change.is_empty() && change.iter().all(|it| it == &change[0]), "{change:?}");
    assert_eq!((change[0][0].as_str(), change[0][3].as_str()), ("REQUEST", "20260305T100000Z"));
    assert_eq!((cancellation[0][0].as_str(), cancellation[0][4].as_str()), ("CANCEL", "CANCELLED"));
    assert_eq!(change[0][1], cancellation[0][1], "one UID");
    let sequence = |it: &[String; 5]| it[2].parse::<u64>().expect("a number");
    assert!(sequence(&change[0]) < sequence(&cancellation[0]));
    let parsed = MessageParser::default().parse(taken[0].text.as_bytes()).expect("a mail");
    assert_eq!(parsed.subject(), Some("Votre rendez-vous au salon Cut & Co a changé"));
    let text = parsed.body_text(0).expect("a text part");
    assert!(
        text.contains("jeudi 5 mars 2026 à 11:00") && text.contains("jeudi 5 mars 2026 à 10:00"),
        "{text}"
    );
    assert!(text.contains("https://rdv.example.org/m/c.1.1.abcdefghijklmnopqrst"), "{text}");
    let html = parsed.body_html(0).expect("a page");
    assert!(html.contains("Cut &#38; Co") && html.contains("12 rue de l’Église"), "{html}");
    assert_eq!(header(&taken[0], "Message-ID"), taken[0].identity);
}

#[test]
fn a_cancellation_leads_to_the_booking_page_unless_the_public_cannot_book() {
    let cases = [
        ("FR", false, false, "Reprendre rendez-vous : https://rdv.example.org/b/cut-co/time?s=1"),
        ("GB", false, false, "Book another appointment: https://rdv.example.org/b/cut-co/time?s=1"),
        ("GB", false, true, "Book another appointment: https://rdv.example.org/b/cut-co\r\n"),
        ("GB", true, false, ""),
    ];
    for (country, inactive, hidden, line) in cases {
        let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
            group.country = Text::new(country).expect("a country");
            group.urlname = Text::new("cut-co").expect("a name");
            group.inactive = inactive;
        });
        if hidden {
            house.calls("", "Zoé");
        }
        house.knows(1, |_| {});
        house.holds(1, 1, house.local("2026-03-05 10:00"), 30);
        house.live(async |engine| {
            moves(engine, 1, 3_600).await;
            until(engine, "the change is told", |group_state| settled(group_state) == 1).await;
            cancel(engine, 1).await;
            until(engine, "the cancellation is told", |group_state| settled(group_state) == 2)
                .await;
        });
        let [change, cancellation] = <[Taken; 2]>::try_from(house.post.taken()).expect("two mails");
        assert!(!text(&change).contains("/b/cut-co"), "{}", text(&change));
        let body = text(&cancellation);
        assert_eq!(body.contains("/b/cut-co"), !line.is_empty(), "{body}");
        assert!(body.contains(line), "{line:?}: {body}");
    }
}

/// Cancels the appointment of a client with an address; returns the mail that was taken, and how the message ended.
fn sends_to(email: &'static str, takes_only_ascii: bool) -> (Option<Taken>, Progress) {
    let mut house = House::new("Paris", "2026-03-02 08:00", |_| {});
    if takes_only_ascii {
        house.post.takes_only_ascii();
    }
    house.knows(1, move |fiche| fiche.email = Some(Email::new(email).expect("an address")));
    house.holds(1, 1, house.local("2026-03-05 10:00"), 30);
    let group_state = house.live(async |engine| {
        cancel(engine, 1).await;
        until(engine, "the cancellation is settled", |group_state| settled(group_state) == 1).await
    });
    let message = group_state.outbox.messages().next().expect("there is a message");
    (house.post.taken().pop(), message.progress.clone())
}

#[test]
fn a_domain_outside_ascii_travels_in_ascii() {
    let (mail, _) = sends_to("Ann@B\u{fc}cher.example", true);
    let mail = mail.expect("it is taken without SMTPUTF8");
    assert_eq!(mail.to, "Ann@xn--bcher-kva.example");
    assert_eq!(header(&mail, "To"), "Ann@xn--bcher-kva.example");
    let parsed = MessageParser::default().parse(mail.text.as_bytes()).expect("a mail");
    let mut invitations = 0;
    for part in &parsed.parts {
        if let PartType::Text(text) = &part.body
            && text.contains("BEGIN:VCALENDAR")
        {
            assert!(unfold(text).contains("mailto:Ann@xn--bcher-kva.example"), "{text}");
            invitations += 1;
        }
    }
    assert_eq!(invitations, 2);
}

#[test]
fn an_address_outside_ascii_needs_a_server_that_takes_it() {
    let (mail, _) = sends_to("zo\u{e9}@b\u{fc}cher.example", false);
    let mail = mail.expect("it is taken with SMTPUTF8");
    assert_eq!(mail.to, "zo\u{e9}@xn--bcher-kva.example");
    let (mail, progress) = sends_to("zo\u{e9}@b\u{fc}cher.example", true);
    assert!(mail.is_none());
    let Progress::Failed { reason, .. } = progress else { panic!("{progress:?}") };
    assert!(reason.as_str().contains("SMTPUTF8"), "{reason:?}");
}

#[test]
fn a_change_says_only_times_that_the_client_was_told_and_a_restored_appointment_stands_again() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |_| {});
    house.knows(1, |_| {});
    let start = house.local("2026-03-05 10:00");
    house.holds(1, 1, start, 30);
    house.live(async |engine| {
        let told = async |count| {
            drop(until(engine, "it is told", |group_state| settled(group_state) == count).await)
        };
        changes(engine, 1, |row| row.calendar_id = CalendarId::new(9).expect("an id")).await;
        told(1).await;
        house.post.is(Mood::Busy);
        moves(engine, 1, 3_600).await;
        until(engine, "it was tried", |group_state| {
            group_state
                .outbox
                .open()
                .any(|it| matches!(it.progress, Progress::Waiting { attempts: 1, .. }))
        })
        .await;
        moves(engine, 1, 3_600).await;
        house.post.is(Mood::Takes);
        until_later(&house, engine, "the last is told", |group_state| settled(group_state) == 3)
            .await;
        cancel(engine, 1).await;
        told(4).await;
        changes(engine, 1, |row| row.deleted = false).await;
        told(5).await;
    });
    let taken: Vec<String> = house.post.taken().iter().map(text).collect();
    let [elsewhere, moved, _, restored] = &taken[..] else { panic!("{taken:?}") };
    assert!(elsewhere.contains("a changé") && !elsewhere.contains("Il était prévu"), "{elsewhere}");
    assert!(moved.contains("  jeudi 5 mars 2026 à 12:00"), "{moved}");
    assert!(
        moved.contains("Il était prévu : jeudi 5 mars 2026 à 10:00"),
        "11:00 was never told: {moved}"
    );
    assert!(
        restored.contains("il n’est plus annulé") && !restored.contains("a changé"),
        "{restored}"
    );
    assert!(restored.contains("à 12:00") && !restored.contains("Il était prévu"), "{restored}");
}

#[test]
fn a_reminder_offers_to_cancel_only_what_can_still_be_cancelled() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.mailreminder = ReminderLead::new(60).expect("a lead");
    });
    let start = house.local("2026-03-05 15:00");
    for (id, lead) in [(1, 60), (2, 61)] {
        house.places(id + 1, |calendar| {
            calendar.mintime_annulation = Bounded::new(lead).expect("a lead")
        });
        house.knows(id, |_| {});
        house.holds(id, id, start, 30);
    }
    house.at("2026-03-05 14:00");
    house.live(async |engine| {
        drop(until(engine, "both left", |group_state| settled(group_state) == 2).await)
    });
    for mail in house.post.taken() {
        let offered = text(&mail).contains("Déplacer ou annuler ce rendez-vous");
        assert_eq!(offered, mail.to == "client1@example.org", "{mail:?}");
    }
}

#[test]
fn a_client_is_sent_to_the_calendars_own_address_and_not_to_the_groups() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.address = Text::new("1 rue de Rivoli").expect("short");
        group.city = Text::new("Paris").expect("short");
    });
    house.places(2, |calendar| {
        calendar.address = Text::new("2 avenue Foch").expect("short");
        calendar.zipcode = Text::new("69006").expect("short");
        calendar.city = Text::new("Lyon").expect("short");
    });
    house.knows(1, |_| {});
    let start = house.local("2026-03-05 10:00");
    house.holds(1, 1, start, 30);
    house.live(async |engine| {
        moves(engine, 1, 3_600).await;
        until(engine, "the change is told", |group_state| settled(group_state) == 1).await;
    });
    let taken = house.post.taken();
    let parsed = MessageParser::default().parse(taken[0].text.as_bytes()).expect("a mail");
    let html = parsed.body_html(0).expect("a page");
    assert!(html.contains("2 avenue Foch<br>69006 Lyon") && !html.contains("Rivoli"), "{html}");
    let text = text(&taken[0]);
    assert!(
        text.contains("\n  2 avenue Foch\r\n  69006 Lyon\r\n") && !text.contains("Rivoli"),
        "{text}"
    );
    let is_calendar = |part: &&mail_parser::MessagePart<'_>| {
        part.content_type().is_some_and(|kind| kind.subtype() == Some("calendar"))
    };
    for part in parsed.parts.iter().filter(is_calendar) {
        let PartType::Text(calendar) = &part.body else { panic!("a calendar is a text") };
        let places = unfold(calendar);
        assert!(places.contains("LOCATION:2 avenue Foch\\, 69006 Lyon"), "{places}");
    }
}

#[test]
fn an_appointment_given_to_another_client_leaves_the_calendar_of_the_first_and_comes_into_that_of_the_second()
 {
    let mut house = House::new("Paris", "2026-03-02 08:00", |_| {});
    house.knows(1, |_| {});
    house.knows(2, |_| {});
    let start = house.local("2026-03-05 10:00");
    house.holds(1, 1, start, 30);
    house.live(async |engine| {
        moves(engine, 1, 3_600).await;
        until(engine, "the change is told", |group_state| settled(group_state) == 1).await;
        let draft = VeventDraft::new(|_, before, _, _| {
            let mut row = before.expect("it is there").clone();
            if let VeventKind::Appointment(appointment) = &mut row.kind {
                appointment.fiche_id = FicheId::new(2).expect("an id");
            }
            Ok(row)
        });
        engine
            .write(
                group(),
                Author::Operator,
                Command::PutVevent(PutVevent::Change(vevent(1), draft)),
            )
            .await
            .expect("legal");
        until(engine, "both are told", |group_state| settled(group_state) == 3).await;
    });
    let group_state = house.group_state();
    let mut taken = house.post.taken();
    taken[1..].sort_by(|a, b| a.to.cmp(&b.to));
    let [before, first, second] = &taken[..] else { panic!("{taken:?}") };
    assert_eq!(
        [&before.to, &first.to, &second.to],
        ["client1@example.org", "client1@example.org", "client2@example.org"]
    );
    let [had, gone, has] = [before, first, second].map(|mail| calendars(mail)[0].clone());
    assert_eq!(
        (gone[0].as_str(), &gone[1], &gone[3]),
        ("CANCEL", &had[1], &had[3]),
        "the event that the first had"
    );
    assert!(gone[2].parse::<u64>().expect("a number") > had[2].parse::<u64>().expect("a number"));
    assert!(has[0] == "REQUEST" && has[1] != had[1] && has[3] == had[3], "{has:?}");
    let key = group_state.rows[&vevent(1)].appointment().expect("an appointment").key;
    assert!(!first.text.contains(key.as_str()), "the new secret is the second's alone");
    assert!(
        text(first).contains("Bonjour Client 1")
            && text(first).contains("jeudi 5 mars 2026 à 11:00")
    );
    assert!(text(second).contains("Bonjour Client 2") && text(second).contains(key.as_str()));
    assert!(!text(first).contains("Client 2") && !text(second).contains("Client 1"));
}

#[test]
fn a_reminder_says_how_to_have_no_more_of_them_in_the_language_of_the_country() {
    let mut house = House::new("London", "2026-03-02 08:00", |group| {
        group.country = Text::new("United Kingdom").expect("short");
        group.mailreminder = ReminderLead::new(60).expect("a lead");
        group.smsreminder = ReminderLead::new(60).expect("a lead");
        group.country_code = Text::new("+44").expect("short");
    });
    house.knows(1, phone);
    let start = house.local("2026-03-05 15:00");
    house.holds(1, 1, start, 30);
    house.at("2026-03-05 14:00");
    house.live(async |engine| {
        until(engine, "both left", |group_state| settled(group_state) == 2).await;
    });
    let taken = house.post.taken();
    let mail = taken.iter().find(|it| it.to.contains('@')).expect("a mail");
    assert_eq!(header(mail, "List-Unsubscribe-Post"), "List-Unsubscribe=One-Click");
    // The first half of the HMAC-SHA256 of "unsubscribe.1.1.client1@example.org" under 32 bytes of 3.
    let link = "https://rdv.example.org/m/u.1.1.f5c9cf1258be897ce5253065ce38dc7d";
    assert_eq!(header(mail, "List-Unsubscribe"), format!("<{link}>"));
    let parsed = MessageParser::default().parse(mail.text.as_bytes()).expect("a mail");
    assert_eq!(parsed.subject(), Some("Reminder of your appointment at Cut & Co"));
    assert!(parsed.body_text(0).expect("a text").contains("Thursday 5 March 2026 at 15:00"));
    let text = taken.iter().find(|it| !it.to.contains('@')).expect("a text message");
    assert_eq!(text.to, "+44612345678");
    let json: serde_json::Value = serde_json::from_str(&text.text).expect("JSON");
    assert_eq!(json["text"], "Reminder: appointment at Cut & Co on 5 Mar 15:00");
    assert!(text.identity.starts_with("slotbook-1-"));
}

#[test]
fn with_nobody_to_carry_them_messages_are_kept() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.mailreminder = ReminderLead::new(60).expect("a lead");
    });
    house.carried = false;
    house.knows(1, |_| {});
    let start = house.local("2026-03-05 10:00");
    house.holds(1, 1, start, 30);
    house.live(async |engine| {
        cancel(engine, 1).await;
        until(engine, "the cancellation is kept", |group_state| settled(group_state) == 1).await;
    });
    let group_state = house.group_state();
    assert!(
        group_state
            .outbox
            .messages()
            .all(|message| matches!(message.progress, Progress::Kept { .. }))
    );
    assert!(house.post.taken().is_empty());
}

/// Names as nobody should be called, and nobody is kept from being.
fn a_name() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\u{202e}".to_owned()),
        Just("\u{2028}Bcc: x@y.example".to_owned()),
        Just("=?utf-8?q?=0d=0aBcc:_x?=".to_owned()),
        Just("\"<x@y.example>,".to_owned()),
        Just("é".repeat(40)),
        Just("東京".to_owned()),
        Just("a".repeat(90)),
        Just(" ".to_owned()),
        "[ -~]{0,20}",
    ];
    proptest::collection::vec(piece, 1..5)
        .prop_map(|pieces| pieces.concat().chars().take(200).collect())
}

#[test]
fn what_others_are_called_is_never_taken_for_anything_but_words() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.address = Text::new("12 rue\nEND:VCALENDAR\nBcc: x@y.example").expect("short");
        group.phone = Text::new("<b>1</b>;2,3\\n4").expect("short");
    });
    house.calls("X\\nBEGIN:VEVENT;A,B:<script>", "{{ said.group }}</p><a href=x>");
    house.knows(1, |fiche| {
        fiche.firstname = Name::new("\"><script>alert(1)</script>").expect("a name");
        fiche.lastname = Name::new("{% if true %}\u{202e}").expect("a name");
    });
    let start = house.local("2026-03-05 10:00");
    house.holds(1, 1, start, 30);
    house.live(async |engine| {
        moves(engine, 1, 3_600).await;
        until(engine, "it is told", |group_state| settled(group_state) == 1).await;
    });
    let taken = house.post.taken();
    let parsed = MessageParser::default().parse(taken[0].text.as_bytes()).expect("a mail");
    let html = parsed.body_html(0).expect("a page");
    assert!(
        !html.contains("<script") && !html.contains("<b>") && !html.contains("<a href=x>"),
        "{html}"
    );
    let text = parsed.body_text(0).expect("a text part");
    for said in [
        "Bonjour \"><script>alert(1)</script> {% if true %},",
        "BEGIN:VEVENT;A,B:<script>",
        "{{ said.group }}",
    ] {
        assert!(text.contains(said), "{said} in {text}");
    }
    assert!(!text.contains('\u{202e}'));
    let mut seen = 0;
    for part in &parsed.parts {
        let PartType::Text(calendar) = &part.body else { continue };
        if part.content_type().and_then(|kind| kind.subtype()) != Some("calendar") {
            continue;
        }
        let lines = unfold(calendar);
        for only in [
            "BEGIN:VEVENT",
            "END:VCALENDAR",
            "ATTENDEE",
            "ORGANIZER",
            "SUMMARY",
            "LOCATION",
            "DESCRIPTION",
            "UID",
        ] {
            assert_eq!(
                lines.lines().filter(|line| line.starts_with(only)).count(),
                1,
                "{only} in {lines}"
            );
        }
        assert!(
            !lines.lines().any(|line| line.starts_with("Bcc") || line.starts_with("A,B")),
            "{lines}"
        );
        seen += 1;
    }
    assert_eq!(seen, 2, "in the body and as a file");
}

/// Draws names, the same in every run.
fn drawn_names(count: u32) -> Vec<String> {
    let names = std::cell::RefCell::new(Vec::new());
    let mut runner = TestRunner::new_with_rng(
        Config::with_cases(count),
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    runner
        .run(&a_name(), |name| {
            names.borrow_mut().push(name);
            Ok(())
        })
        .expect("names are drawn");
    names.into_inner()
}

#[test]
fn headers_are_what_was_meant_whatever_stands_in_names() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |_| {});
    house.knows(1, |_| {});
    let start = house.local("2026-03-05 10:00");
    house.holds(1, 1, start, 30);
    let names = drawn_names(60);
    house.live(async |engine| {
        for (index, name) in names.iter().enumerate() {
            let mut fields = Patch::default();
            let Ok(name) = Name::new(name) else { continue };
            fields.push(move |group: &mut slotbook::domain::records::group::Group| {
                group.name = name.clone()
            });
            if engine
                .write(
                    group(),
                    Author::Operator,
                    Command::ChangeRecord(RecordChange::Group(fields)),
                )
                .await
                .is_err()
            {
                continue;
            }
            let before = settled(&engine.published().group_state(group()).expect("the group"));
            moves(engine, 1, if index % 2 == 0 { 3_600 } else { -3_600 }).await;
            until(engine, "it is told", |group_state| settled(group_state) == before + 1).await;
        }
    });
    let taken = house.post.taken();
    assert!(taken.len() > 30, "{} of {}", taken.len(), names.len());
    for mail in &taken {
        let (head, _) = mail.text.split_once("\r\n\r\n").expect("a head and a body");
        for line in head.split("\r\n") {
            assert!(
                line.len() <= 998 && line.is_ascii() && !line.contains(['\r', '\n', '\0']),
                "{line:?}"
            );
        }
        let parsed = MessageParser::default().parse(mail.text.as_bytes()).expect("a mail");
        let names: Vec<&str> = parsed.headers().iter().map(|header| header.name()).collect();
        for only in ["From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type"]
        {
            assert_eq!(
                names.iter().filter(|name| name.eq_ignore_ascii_case(only)).count(),
                1,
                "{only}: {names:?}"
            );
        }
        assert!(!names.iter().any(|name| name.eq_ignore_ascii_case("bcc")), "{names:?}");
        let from = parsed.from().and_then(|from| from.first()).expect("one sender");
        assert_eq!(from.address(), Some("rdv@shop.example"), "{head}");
        let to = parsed.to().expect("a recipient");
        assert_eq!(
            to.iter().filter_map(|it| it.address()).collect::<Vec<_>>(),
            ["client1@example.org"]
        );
        let subject = parsed.subject().expect("a subject");
        assert!(
            subject.starts_with("Votre rendez-vous chez") && !subject.contains('\u{202e}'),
            "{subject:?}"
        );
        assert_eq!(calendars(mail).len(), 2, "in the body and as a file");
    }
}
