//! The space of a group: what each of its records counts, and the history beside them. Reference 3.8.

use slotbook::domain::records::account::Account;
use slotbook::domain::records::customfield::{CustomName, CustomValue, Customs};
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::ids::{FicheId, VeventId};
use slotbook::domain::records::image::{Image, ImageDigest, ImageFormat, ImageSlot};
use slotbook::domain::records::text::{Email, LongText, Name, Text};
use slotbook::domain::records::vevent::{OptionalFields, Vevent};
use slotbook::domain::state::command::CancelRight;

use super::shop::{Shop, booking_of};

/// The bytes by which a change makes the records of a group grow.
fn growth(shop: &mut Shop, change: impl FnOnce(&mut Shop)) -> u64 {
    let before = shop.group_state.records_bytes();
    change(shop);
    shop.group_state.records_bytes() - before
}

fn account(email: &str, fiche_id: FicheId) -> Account {
    let email = Email::new(email).expect("an address");
    let password_hash = Text::default();
    Account { email, fiche_id, password_hash, former: Vec::new(), last_login: None }
}

fn image(seed: u8) -> Image {
    let digest = ImageDigest([seed; 32]);
    Image { digest, format: ImageFormat::Png, width: 1, height: 1, bytes: vec![seed; 100].into() }
}

/// A text, a long text and a flag: three attributes with nine bytes of texts.
fn customs() -> Customs {
    let name = |text: &str| CustomName::new(text).expect("a name");
    let mut customs = Customs::default();
    let text = Text::new("blue").expect("a text");
    customs.set(name("str0"), Some(CustomValue::String(text)));
    let long = LongText::new("green").expect("a text");
    customs.set(name("txt0"), Some(CustomValue::Text(long)));
    customs.set(name("bool0"), Some(CustomValue::Boolean(true)));
    customs
}

#[test]
fn each_record_counts_its_texts_and_a_share_of_its_kind() {
    let mut shop = Shop::open_on_tuesday();
    let ada = FicheId::new(2).expect("an id");
    let client = growth(&mut shop, |shop| {
        assert_eq!(shop.knows("Ada", "ada@example.org"), ada);
    });
    assert_eq!(client, 384 + 3 + 15);
    let texts = growth(&mut shop, |shop| {
        let mut fiche = Fiche::clone(&shop.group_state.fiches[&ada]);
        fiche.firstname = Name::new("Augusta").expect("a name");
        fiche.comments = LongText::new("likes numbers").expect("a text");
        fiche.customs = customs();
        shop.group_state.put_fiche(fiche.into());
    });
    assert_eq!(texts, 7 + 13 + 3 * 48 + 9);
    for address in ["ada@example.org", "other@example.org"] {
        let account = account(address, ada);
        let bytes = growth(&mut shop, |shop| {
            shop.group_state.accounts.insert(account.email.folded(), account.into());
        });
        assert_eq!(bytes, 512);
    }
    let file =
        growth(&mut shop, |shop| shop.group_state.images.put(ImageSlot::Logo, image(1).into()));
    assert_eq!(file, 256 + 100);
    for scope in [1, 2] {
        assert_eq!(growth(&mut shop, |shop| shop.keeps_answer(scope, "[1]")), 256 + 3);
    }
    // The group's records count whatever its state was made of.
    let state = &shop.group_state;
    assert_eq!(
        state.records_bytes() - 320,
        384 + 3 + 15 + 7 + 13 + 3 * 48 + 9 + 2 * 512 + 256 + 100 + 2 * 259,
        "the rest is its opening"
    );
}

#[test]
fn an_event_counts_its_texts_and_loses_them_again() {
    let mut shop = Shop::open_on_tuesday();
    let plain = growth(&mut shop, |shop| {
        let closed = shop.clone().closed(1, "2026-03-03 11:00", "2026-03-03 12:00");
        *shop = closed;
    });
    assert_eq!(plain, 320);
    let id: VeventId = *shop.group_state.rows.keys().next_back().expect("the closure");
    let told = growth(&mut shop, |shop| {
        let rare = OptionalFields {
            taker: Text::new("Eve").expect("a text"),
            text: LongText::new("holidays").expect("a text"),
            customs: customs(),
            ..OptionalFields::default()
        };
        let row = Vevent::clone(&shop.group_state.rows[&id]);
        shop.group_state.put_vevent(Vevent { rare: rare.boxed(), ..row }.into());
    });
    assert_eq!(told, 192 + 3 + 8 + 3 * 48 + 9);
    let before = shop.group_state.records_bytes();
    let row = Vevent::clone(&shop.group_state.rows[&id]);
    shop.group_state.put_vevent(Vevent { rare: None, ..row }.into());
    assert_eq!(shop.group_state.records_bytes(), before - told);
}

#[test]
fn the_history_counts_beside_the_records_and_not_among_them() {
    let mut shop = Shop::open_on_tuesday();
    let booked = shop.book(&booking_of("Ada", "2026-03-03 09:00")).expect("free");
    let before = shop.group_state.clone();
    shop.cancel(booked[0], CancelRight::Pro).expect("a professional may");
    let state = &shop.group_state;
    assert_eq!(state.history.len(), before.history.len() + 1);
    assert_eq!(state.space_bytes() - state.records_bytes(), state.history.len() * 120);
    assert!(before.history.len() > 1);
}
