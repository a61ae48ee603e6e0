//! The look of mails: the colours of the group, readable, and its logo.

use std::sync::Arc;

use mail_parser::MessageParser;
use slotbook::domain::records::group::Usercolors;
use slotbook::domain::records::image::{Image, ImageDigest, ImageFormat, ImageSlot};
use slotbook::domain::records::text::Text;

use super::fixture::{House, settled, until};
use super::letters::moves;

#[test]
fn a_mail_has_the_colours_of_the_group_corrected_and_its_logo_by_its_address() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        // Yellow on white cannot be read.
        let colours = r##"{"content_links":"#ffff00","main_bg":"#102030","main_text":"#203040",
            "content_text":"#334455"}"##;
        group.urlname = Text::new("cut-co").expect("short");
        group.usercolors = Some(Usercolors::new(colours).expect("colours"));
    });
    let digest = ImageDigest([0xab; 32]);
    let bytes = vec![0; 10].into();
    let logo = Image { digest, format: ImageFormat::Png, width: 240, height: 120, bytes };
    house.first.images.put(ImageSlot::Logo, Arc::new(logo));
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
    for readable in ["background:#102030", ";color:#334455"] {
        assert!(html.contains(readable), "{readable}: {html}");
    }
    for unreadable in ["#ffff00", "#203040"] {
        assert!(!html.contains(unreadable), "{unreadable}: {html}");
    }
    let url = format!("https://rdv.example.org/b/cut-co/image/{}.png", "ab".repeat(32));
    assert!(html.contains(&format!("<img src=\"{url}\" width=\"120\" height=\"60\"")), "{html}");
}
