//! The contact that a group needs, on the form of the booking page.

use slotbook::domain::records::group::ContactNeeded;

use crate::shop::CUT;
use crate::visitor::{Visitor, live_appointments, set, shop_with};

#[tokio::test]
async fn the_form_marks_the_contact_that_the_group_needs_and_says_which() {
    let email_sentence = [
        "Enter an e-mail address, so that the practice can reach you.",
        "Indiquez une adresse e-mail, pour que l’établissement puisse vous joindre.",
    ];
    let phone_sentence = [
        "Enter a phone number, so that the practice can reach you.",
        "Indiquez un numéro de téléphone, pour que l’établissement puisse vous joindre.",
    ];
    let either_sentence = [
        "Enter an e-mail address or a phone number, so that the practice can reach you.",
        "Indiquez une adresse e-mail ou un numéro de téléphone, pour que l’établissement puisse vous joindre.",
    ];
    let email = ("fiche.email", "zoe@example.org");
    let phone = ("fiche.firstphone", "06 39 98 00 01");
    let second = ("fiche.secondphone", "06 39 98 00 01");
    for (needed, id, sentences, enough, too_little) in [
        (ContactNeeded::Email, "fiche-email", email_sentence, vec![email], vec![phone]),
        (
            ContactNeeded::Phone,
            "fiche-firstphone",
            phone_sentence,
            vec![phone, second],
            vec![email, ("fiche.firstphone", "by bell")],
        ),
        (
            ContactNeeded::Either,
            "fiche-email",
            either_sentence,
            vec![email, phone, second],
            vec![("fiche.firstphone", "")],
        ),
    ] {
        let server = shop_with(|catalogue| catalogue.group.contact_needed = needed).await;
        for (language, sentence) in ["en", "fr"].into_iter().zip(sentences) {
            let visitor = Visitor::of(&server).speaking(language);
            let times = visitor.open(&format!("/b/cut-co/time?s={CUT}")).await.offered();
            for (name, value) in &too_little {
                let mut form = visitor.form_of(CUT, &times[0]).await;
                set(&mut form, "fiche.email", "");
                set(&mut form, name, value);
                let page = visitor.post("/b/cut-co/you", &form).await;
                assert_eq!(page.status, 400, "{needed:?} {name}: {}", page.html);
                page.shows(&format!("id=\"{id}-fault\">{sentence}"));
                page.shows(&format!("<a href=\"#{id}\">"));
                page.shows("value=\"Durand\"");
                assert_eq!(page.html.matches(sentence).count(), 2, "in the list and at the field");
            }
        }
        let before = live_appointments(&server.engine);
        for (nth, (name, value)) in enough.iter().enumerate() {
            let visitor = Visitor::of(&server);
            let times = visitor.open(&format!("/b/cut-co/time?s={CUT}&d=2025-06-03")).await;
            let mut form = visitor.form_of(CUT, &times.offered()[nth * 2]).await;
            set(&mut form, "fiche.email", "");
            set(&mut form, name, value);
            visitor.post("/b/cut-co/you", &form).await.location();
        }
        assert_eq!(live_appointments(&server.engine), before + enough.len());
    }
}

#[tokio::test]
async fn the_form_says_before_which_contact_is_needed() {
    for (needed, email_required, phone_required) in [
        (ContactNeeded::None, false, false),
        (ContactNeeded::Email, true, false),
        (ContactNeeded::Phone, false, true),
        (ContactNeeded::Either, false, false),
    ] {
        let server = shop_with(|catalogue| catalogue.group.contact_needed = needed).await;
        let form = format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00");
        let page = Visitor::of(&server).open(&form).await;
        for (name, is_required) in
            [("fiche.email", email_required), ("fiche.firstphone", phone_required)]
        {
            let (_, input) = page.html.split_once(&format!("name=\"{name}\"")).expect("a field");
            let (input, _) = input.split_once('>').expect("an element");
            assert_eq!(input.contains(" required"), is_required, "{needed:?} {name}: {input}");
        }
        let says = page.html.contains("An e-mail address or a phone number is needed.");
        assert_eq!(says, needed == ContactNeeded::Either);
    }
}
