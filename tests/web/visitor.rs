//! A visitor whose browser has no JavaScript: follows links and sends forms.

use std::sync::Arc;

use reqwest::header::{HeaderMap, LOCATION};
use reqwest::redirect::Policy;
use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::records::ids::{CalendarId, InterventionId};
use slotbook::domain::records::text::{Name, Text};
use slotbook::engine::Engine;

use crate::server::TestServer;
use crate::shop::{CALENDAR, COLOUR, CUT};

/// A page as it was answered.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) html: String,
}

/// A visitor of the pages of group 4.
pub(crate) struct Visitor {
    base: String,
    client: reqwest::Client,
    /// The value of Accept-Language.
    language: &'static str,
}

/// The shop of the API's tests with names for clients, and a free rein for each test.
pub(crate) async fn shop_with(change: impl FnOnce(&mut Catalogue)) -> TestServer {
    TestServer::with(|catalogue| {
        catalogue.group.phone = Text::new("01 99 00 12 30").expect("a phone");
        for (id, shown) in [(CUT, "Coupe"), (COLOUR, "Couleur")] {
            let id = InterventionId::new(id).expect("an id");
            let intervention = catalogue.interventions.get_mut(&id).expect("it is there");
            Arc::make_mut(intervention).publicname = Name::new(shown).expect("a name");
        }
        change(catalogue);
    })
    .await
}

/// The first calendar of the shop, for a change.
pub(crate) fn first_calendar(
    catalogue: &mut Catalogue,
) -> &mut slotbook::domain::records::calendar::Calendar {
    let id = CalendarId::new(CALENDAR).expect("an id");
    Arc::make_mut(catalogue.calendars.get_mut(&id).expect("it is there"))
}

/// Number of appointments that are live.
pub(crate) fn live_appointments(engine: &Engine) -> usize {
    let group = slotbook::domain::records::ids::GroupId::new(4).expect("an id");
    let state = engine.published().group_state(group).expect("group 4");
    state.rows.values().filter(|row| !row.deleted && row.appointment().is_some()).count()
}

impl Visitor {
    pub(crate) fn of(server: &TestServer) -> Self {
        Self::at(server.address())
    }

    pub(crate) fn at(address: &str) -> Self {
        let client = reqwest::Client::builder().redirect(Policy::none()).build().expect("a client");
        Self { base: format!("http://{address}"), client, language: "en" }
    }

    pub(crate) fn speaking(self, language: &'static str) -> Self {
        Self { language, ..self }
    }

    pub(crate) async fn get(&self, path: &str) -> Page {
        self.send(self.client.get(format!("{}{path}", self.base))).await
    }

    /// The page, which must be there.
    pub(crate) async fn open(&self, path: &str) -> Page {
        let page = self.get(path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.html);
        page
    }

    /// A request for a page.
    pub(crate) fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base))
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Page {
        let request = request.header("accept-language", self.language);
        self.execute(request.build().expect("a request")).await
    }

    pub(crate) async fn execute(&self, request: reqwest::Request) -> Page {
        let response = self.client.execute(request).await.expect("the server answers");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Page { status, headers, html: response.text().await.expect("a text") }
    }

    /// A form post as a browser sends it from a page of this server.
    pub(crate) fn form(&self, path: &str, pairs: &[(String, String)]) -> reqwest::RequestBuilder {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(pairs);
        self.client
            .post(format!("{}{path}", self.base))
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", &self.base)
            .body(body.finish())
    }

    pub(crate) async fn post(&self, path: &str, pairs: &[(String, String)]) -> Page {
        self.send(self.form(path, pairs)).await
    }

    /// The form of step 3 for a time of a service, filled in.
    pub(crate) async fn form_of(&self, service: u64, time: &str) -> Vec<(String, String)> {
        let page = self.open(&format!("/b/cut-co/you?s={service}&t={time}")).await;
        let mut pairs = page.hidden();
        set(&mut pairs, "fiche.lastname", "Durand");
        set(&mut pairs, "fiche.firstname", "Zoé");
        set(&mut pairs, "fiche.email", "zoe@example.org");
        pairs
    }
}

/// Sets a field of a form.
pub(crate) fn set(pairs: &mut Vec<(String, String)>, name: &str, value: &str) {
    pairs.retain(|(other, _)| other != name);
    pairs.push((name.to_owned(), value.to_owned()));
}

impl Page {
    /// The address that it leads to.
    pub(crate) fn location(&self) -> &str {
        assert_eq!(self.status, 303, "{}", self.html);
        self.headers[LOCATION].to_str().expect("ASCII")
    }

    /// All values of buttons and fields with a name, decoded.
    pub(crate) fn values(&self, name: &str) -> Vec<String> {
        let mark = format!("name=\"{name}\" value=\"");
        let parts = self.html.split(&mark).skip(1);
        parts.map(|rest| rest.split('"').next().expect("a value").replace("&#38;", "&")).collect()
    }

    /// The times that the page offers, as in URLs.
    pub(crate) fn offered(&self) -> Vec<String> {
        self.values("t")
    }

    /// The hidden fields of its form.
    pub(crate) fn hidden(&self) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        for rest in self.html.split("<input type=\"hidden\" name=\"").skip(1) {
            let (name, rest) = rest.split_once("\" value=\"").expect("a value");
            let value = rest.split('"').next().expect("a value");
            pairs.push((name.to_owned(), value.to_owned()));
        }
        pairs
    }

    #[track_caller]
    pub(crate) fn shows(&self, text: &str) {
        assert!(self.html.contains(text), "{text}: {}", self.html);
    }

    #[track_caller]
    pub(crate) fn hides(&self, text: &str) {
        assert!(!self.html.contains(text), "{text}: {}", self.html);
    }
}
