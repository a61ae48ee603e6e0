//! Small facts about records: names, texts and numbers that answers and pages show; and secrets that nothing shows.

use slotbook::domain::directory::confirmation_code::ConfirmationCode;
use slotbook::domain::directory::link_secret::LinkSecret;
use slotbook::domain::directory::second_factor::{GivenCode, SecondFactor, TotpSecret};
use slotbook::domain::records::account::Account;
use slotbook::domain::records::author::KeyId;
use slotbook::domain::records::booking_origin::ClientProof;
use slotbook::domain::records::calendar::Calendarset;
use slotbook::domain::records::channel::Channel;
use slotbook::domain::records::customfield::{CustomName, CustomValue, Customs};
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::ids::{CalendarsetId, FicheId, GroupId};
use slotbook::domain::records::image::{Image, ImageDigest, ImageFormat, ImageSlot};
use slotbook::domain::records::text::{Email, Name, Text};
use slotbook::domain::records::vevent::AppointmentKey;
use slotbook::domain::state::command::FollowLink;
use slotbook::domain::time::Instant;
use slotbook::domain::time::zone_names::ZoneName;

use super::shop::{SECRET, calendar, token};

#[test]
fn an_image_has_a_slot_and_a_file_of_its_digest() {
    for (name, slot) in [
        ("logo", Some(ImageSlot::Logo)),
        ("cover", Some(ImageSlot::Cover)),
        ("calendar-12", Some(ImageSlot::Calendar(calendar(12)))),
        ("calendar-012", None),
        ("calendar-+12", None),
        ("calendar-0", None),
        ("calendar-", None),
        ("Logo", None),
        ("", None),
    ] {
        assert_eq!(ImageSlot::from_name(name), slot, "{name}");
        assert!(slot.is_none_or(|slot| slot.to_string() == name));
    }
    let digest = ImageDigest([0x0a; 32]);
    assert_eq!(digest.to_string(), "0a".repeat(32));
    for (format, media_type, extension) in
        [(ImageFormat::Jpeg, "image/jpeg", "jpg"), (ImageFormat::Png, "image/png", "png")]
    {
        let image = Image { digest, format, width: 3, height: 2, bytes: [1_u8, 2, 3].into() };
        assert_eq!((format.media_type(), format.extension()), (media_type, extension));
        assert_eq!(image.file_name(), format!("{digest}.{extension}"));
        let printed = format!("{image:?}");
        assert!(printed.contains("3 x 2, 3 bytes") && !printed.contains("[1, 2"), "{printed}");
    }
}

#[test]
fn a_set_without_a_public_name_is_shown_by_its_name() {
    let mut set = Calendarset::new(CalendarsetId::new(1).expect("an id"), Instant(0));
    set.name = Name::new("Lyon").expect("a name");
    assert_eq!(set.shown_name(), "Lyon");
    set.publicname = Name::new("Our practice in Lyon").expect("a name");
    assert_eq!(set.shown_name(), "Our practice in Lyon");
}

#[test]
fn a_client_is_called_at_the_first_number_and_may_unsubscribe_without_a_change() {
    let mut client = Fiche::new(FicheId::new(1).expect("an id"), Instant(0));
    assert_eq!(client.any_phone(), "");
    client.secondphone = Text::new("0102030405").expect("a text");
    assert_eq!(client.any_phone(), "0102030405");
    client.firstphone = Text::new("0600000000").expect("a text");
    assert_eq!(client.any_phone(), "0600000000");
    client.rappel_email = true;
    client.email = Some(Email::new("ada@example.org").expect("an address"));
    assert!(client.can_be_reached(Channel::Mail));
    client.unsubscribe();
    assert!(!client.can_be_reached(Channel::Mail), "reminders end");
    client.updated_at = Instant(5);
    assert!(client.is_as_made(), "the link in a mail is no sign that the record is needed");
    let before = client.clone();
    client.record_change(Some(&before), Instant(6), Instant(6));
    assert!(!client.is_as_made());
    client.unsubscribe();
    assert!(!client.is_as_made(), "it had changed before");
}

#[test]
fn a_booking_is_proved_by_an_account_or_by_a_code() {
    for (proof, is_of_address, is_of_key) in [
        (ClientProof::Account, true, false),
        (ClientProof::MailedCode, true, true),
        (ClientProof::TextedCode, false, true),
        (ClientProof::KeyAlone, false, true),
    ] {
        assert_eq!((proof.is_of_address(), proof.is_of_key()), (is_of_address, is_of_key));
    }
    assert_eq!(ClientProof::by_code(Channel::Mail), ClientProof::MailedCode);
    assert_eq!(ClientProof::by_code(Channel::Sms), ClientProof::TextedCode);
}

#[test]
fn customised_attributes_have_34_names_and_each_a_value_or_none() {
    let names: Vec<CustomName> = CustomName::all().collect();
    assert_eq!(names.len(), 10 + 2 + 4 + 15 + 3);
    for name in &names {
        assert_eq!(CustomName::new(&name.to_string()), Some(*name));
    }
    let mut customs = Customs::default();
    assert!(customs.is_empty());
    customs.set(names[3], Some(CustomValue::Boolean(true)));
    assert!(!customs.is_empty());
    assert_eq!(customs.value(names[3]), Some(&CustomValue::Boolean(true)));
    customs.set(names[3], None);
    assert!(customs.is_empty() && customs.value(names[3]).is_none());
}

#[test]
fn what_is_printed_holds_no_secret() {
    let secret = LinkSecret::new([0x61; 32]);
    let group = GroupId::new(1).expect("an id");
    let code = ConfirmationCode::derive(&secret, group, token(1).id());
    let totp = TotpSecret::new([0x61; 20]);
    let account = Account {
        email: Email::new("ada@example.org").expect("an address"),
        fiche_id: FicheId::new(1).expect("an id"),
        password_hash: Text::new("$argon2id$aaaa").expect("a text"),
        former: Vec::new(),
        last_login: None,
    };
    let password_hash = Some(account.password_hash.clone());
    let follow = FollowLink { hash: [0x61; 32], signed: None, password_hash };
    let factor = SecondFactor::new(totp.clone(), 1, vec![[0x61; 32]], Instant(0));
    for (printed, name) in [
        (format!("{secret:?}"), "LinkSecret("),
        (format!("{code:?}"), "ConfirmationCode("),
        (format!("{totp:?}"), "TotpSecret("),
        (format!("{factor:?}"), "SecondFactor("),
        (format!("{:?}", GivenCode::read("aaaa")), "GivenCode("),
        (format!("{:?}", token(1)), "HoldToken("),
        (format!("{:?}", AppointmentKey::new(SECRET).expect("a key")), "AppointmentKey("),
        (format!("{follow:?}"), "FollowLink("),
        (format!("{account:?}"), "Account("),
    ] {
        assert!(printed.starts_with(name), "{printed}");
        for hidden in ["97", "0x61", "6161", "aaaa", "AAAA", "argon", SECRET, code.as_str()] {
            assert!(!printed.contains(hidden), "{printed}");
        }
    }
    let printed = format!("{account:?}");
    assert!(printed.contains("ada@example.org"), "whose account it is may be told: {printed}");
}

#[test]
fn what_is_no_secret_is_printed_as_it_is_written_elsewhere() {
    let key = KeyId::from_bytes([0, 1, 0xab, 0xcd, 0xef, 0xff]);
    assert_eq!(key.to_string(), "0001abcdefff");
    let zone = ZoneName::from_name("Paris").expect("a zone");
    assert_eq!((zone.to_string(), format!("{zone:?}")), ("Paris".into(), "ZoneName(Paris)".into()));
    assert!(format!("{:?}", zone.zone()).contains("Europe/Paris"));
    let email = Email::new("Ada@example.org").expect("an address");
    assert_eq!(format!("{email:?}"), "\"Ada@example.org\"");
    assert_eq!(token(7).as_str(), format!("{:032}", 7));
}
