//! Names and texts that try to become something else.

use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::records::text::{Bounded, LongText, Name, Text};

use crate::browser::{Browser, Look, PHONE};
use crate::shop::CUT;
use crate::visitor::{Visitor, set, shop_with};

const SCRIPT: &str = "<script>document.title='owned'</script>\"'>";
/// Right to left, 64 characters without a space.
const LONG: &str = "שלוםWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW";

fn name<const MAX: usize>(text: &str) -> Name<MAX> {
    Name::new(text).expect("a name")
}

fn hostile(catalogue: &mut Catalogue) {
    let both = format!("{SCRIPT}{LONG}");
    catalogue.group.name = name(&both);
    catalogue.group.address = Text::new(&both).expect("a text");
    catalogue.group.privacy_text = LongText::new(&both).expect("a text");
    for calendar in catalogue.calendars.values_mut() {
        if !calendar.publicname.is_blank() {
            std::sync::Arc::make_mut(calendar).publicname = name(&both);
        }
    }
    for intervention in catalogue.interventions.values_mut() {
        let intervention = std::sync::Arc::make_mut(intervention);
        intervention.publicname = name(&both);
        intervention.description = LongText::new(&both).expect("a text");
    }
    for calendar in catalogue.calendars.values_mut() {
        let lead = Bounded::new(0).expect("a lead");
        std::sync::Arc::make_mut(calendar).mintime_annulation = lead;
    }
    for field in catalogue.customfields.values_mut() {
        std::sync::Arc::make_mut(field).user_label = Text::new(&both).expect("a text");
    }
}

#[tokio::test]
async fn hostile_names_are_text_everywhere() {
    let server = shop_with(hostile).await;
    let visitor = Visitor::of(&server);
    let mut form = visitor.form_of(CUT, "2025-06-02T09:00").await;
    set(&mut form, "fiche.firstname", LONG);
    set(&mut form, "fiche.lastname", "<b>");
    set(&mut form, "comments", SCRIPT);
    let done = visitor.post("/b/cut-co/you", &form).await.location().to_owned();
    let you = format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00");
    let times = format!("/b/cut-co/time?s={CUT}&c=%22%3E%3Cscript%3E&lang=%3Cb%3E");
    let link = crate::manage::link_of(&visitor.open(&done).await);
    let choice = format!("{link}/move?lang=%3Cscript%3E");
    let question = format!("{link}/move?t=2025-06-02T10:00");
    let refused = format!("{link}/move?t=2025-06-02T13:00");
    let paths = ["/b/cut-co", &times, &you, &done, &link, &choice, &question];
    for path in paths {
        let page = visitor.open(path).await;
        page.hides("<script>");
        page.hides("<b>");
        page.shows("&#60;script&#62;");
    }
    visitor.get(&refused).await.hides("<script>");
    let Some(browser) = Browser::open(server.address(), Look { width: 320, ..PHONE }).await else {
        return;
    };
    for path in paths.into_iter().chain([refused.as_str()]) {
        browser.goto(path).await;
        browser.assert_fits(path).await;
        assert_ne!(browser.run("return document.title").await, "owned");
    }
    browser.picture("hostile").await;
}
