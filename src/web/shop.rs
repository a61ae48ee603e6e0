//! A visit to the pages of a group: the group, its state, and the language of the visitor.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

use crate::domain::availability::module_offer::offers_all;
use crate::domain::availability::postal_address::PostalAddress;
use crate::domain::decisions::unconfirmed::find_page_code_channel;
use crate::domain::records::channel::Channel;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{CalendarId, InterventionId};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::zone::Zone;
use crate::domain::time::{Civil, Instant};
use crate::notify::language::Language;
use crate::web::assets::short_hash;
use crate::web::bare_page;
use crate::web::choice::Choice;
use crate::web::colours;
use crate::web::embedding::{EMBEDDER, find_embedder};
use crate::web::face::Face;
use crate::web::format;
use crate::web::group_path::booking_path;
use crate::web::language_choice::{self, LanguageChoice};
use crate::web::page::{Frame, Place};
use crate::web::pages::Pages;
use crate::web::preset::{Frozen, PRESET, Preset};
use crate::web::text::{Texts, fill, texts};
use crate::wire::params::Params;

/// A request for a page of a group. The whole page is made from this one state.
pub(crate) struct Visit {
    pub(crate) pages: Arc<Pages>,
    pub(crate) state: Arc<GroupState>,
    /// The moment of the request. The clock is not read again.
    pub(crate) now: Instant,
    /// The query of the request.
    pub(crate) params: Params,
    pub(crate) lang: LanguageChoice,
    pub(crate) text: &'static Texts,
    /// The wishes of the link that the visitor followed, if there was one.
    pub(crate) preset: Option<Preset>,
    /// The same, sealed; empty without one.
    sealed_preset: String,
    /// The origin of the page that shows this one in a frame, if the group lists it.
    embedder: Option<String>,
    /// The path of the request.
    path: String,
}

/// A visit to a page that groups without booking pages have too, since links in mails lead to it.
pub(crate) struct UnlistedVisit(pub(crate) Visit);

impl FromRequestParts<Arc<Pages>> for UnlistedVisit {
    /// The page that says that there is no such page.
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        pages: &Arc<Pages>,
    ) -> Result<Self, Self::Rejection> {
        let urlname = Path::<String>::from_request_parts(parts, pages).await;
        let Path(urlname) = urlname.map_err(IntoResponse::into_response)?;
        let Parts { uri, headers, .. } = parts;
        let published = pages.server.engine.published();
        let group = published.group_of_urlname(&urlname);
        match group.and_then(|group| published.group_state(group)) {
            Some(state) => Ok(Self(Visit::of_group(Arc::clone(pages), state, uri, headers))),
            None => {
                let params = Params::from_query(uri.query().unwrap_or_default());
                let lang = LanguageChoice::new(params.value("lang"), headers, "");
                Err(not_found(pages, lang.language))
            }
        }
    }
}

impl FromRequestParts<Arc<Pages>> for Visit {
    /// The page that says that there is no such page.
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        pages: &Arc<Pages>,
    ) -> Result<Self, Self::Rejection> {
        let UnlistedVisit(mut visit) = UnlistedVisit::from_request_parts(parts, pages).await?;
        visit.open_preset();
        if visit.group().web_page { Ok(visit) } else { Err(not_found(pages, visit.lang.language)) }
    }
}

impl Visit {
    /// Begins a visit to a page of a group that does not depend on its `web_page`.
    pub(crate) fn of_group(
        pages: Arc<Pages>,
        state: Arc<GroupState>,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Self {
        let params = Params::from_query(uri.query().unwrap_or_default());
        let country = state.catalogue.group.country.as_str();
        let lang = LanguageChoice::new(params.value("lang"), headers, country);
        let now = pages.server.engine.clock().now();
        let text = texts(lang.language);
        let embedder = find_embedder(&state.catalogue.group, uri.path(), &params);
        let path = uri.path().to_owned();
        Self {
            pages,
            state,
            now,
            params,
            lang,
            text,
            preset: None,
            sealed_preset: String::new(),
            embedder,
            path,
        }
    }

    /// Takes the preset in the query. One that does not open is left out, and so passed on no more.
    fn open_preset(&mut self) {
        let Some(sealed) = self.params.value(PRESET) else { return };
        let secret = self.pages.server.link_secret();
        self.preset = Preset::open(sealed, self.group().id, self.now, &secret);
        if self.preset.is_some() {
            self.sealed_preset = sealed.to_owned();
        }
    }

    /// Returns this visit with another preset, which its links pass on.
    pub(crate) fn sealing(&self, preset: Preset) -> Self {
        let sealed_preset = if preset.is_blank() {
            String::new()
        } else {
            let secret = self.pages.server.link_secret();
            preset.clone().seal(self.group().id, self.now, self.pages.new_salt(), &secret)
        };
        Self {
            pages: Arc::clone(&self.pages),
            state: Arc::clone(&self.state),
            now: self.now,
            params: self.params.clone(),
            lang: self.lang,
            text: self.text,
            preset: Some(preset),
            sealed_preset,
            embedder: self.embedder.clone(),
            path: self.path.clone(),
        }
    }

    /// Reads the choices in a query or a form, and keeps to those that the link froze.
    pub(crate) fn choice(&self, given: &Params) -> Choice {
        let choice = Choice::read(given, &self.state);
        match &self.preset {
            Some(preset) => preset.frozen.keep(choice, &self.state.catalogue),
            None => choice,
        }
    }

    /// The choices that the link froze.
    pub(crate) fn frozen(&self) -> Frozen {
        self.preset.as_ref().map(|preset| preset.frozen.clone()).unwrap_or_default()
    }

    /// The colours of the group, with those of the link in their place.
    pub(crate) fn colours(&self) -> Map<String, Value> {
        let mut colours = colours::of_group(self.group());
        for (key, colour) in self.preset.iter().flat_map(|preset| &preset.colours) {
            colours.insert(key.clone(), colour.as_str().into());
        }
        colours
    }

    /// Returns the URL of the stylesheet with the colours; empty without any.
    fn colours_url(&self) -> String {
        let colours = self.colours();
        if colours.is_empty() {
            return String::new();
        }
        let version = short_hash(colours::stylesheet(&colours).as_bytes());
        let mut pairs = vec![("v", version)];
        if self.preset.as_ref().is_some_and(|preset| !preset.colours.is_empty()) {
            pairs.push((PRESET, self.sealed_preset.clone()));
        }
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        format!("{}?{query}", self.path_of("/colours.css"))
    }

    /// Whether the owner tries a link, so that nothing is booked.
    pub(crate) fn is_preview(&self) -> bool {
        self.preset.as_ref().is_some_and(|preset| preset.is_preview)
    }

    /// Whether the link hides the logo.
    fn hides_logo(&self) -> bool {
        self.preset.as_ref().is_some_and(|preset| preset.hides_logo)
    }

    pub(crate) fn group(&self) -> &Group {
        &self.state.catalogue.group
    }

    /// The origin of the page that shows this one in a frame, if the group lists it.
    pub(crate) fn embedder(&self) -> Option<&str> {
        self.embedder.as_deref()
    }

    pub(crate) fn language(&self) -> Language {
        self.lang.language
    }

    pub(crate) fn zone(&self) -> Zone {
        self.state.catalogue.zone()
    }

    /// The channel of the code that a booking needs; `None` if it needs none.
    pub(crate) fn code_channel(&self) -> Option<Channel> {
        find_page_code_channel(self.group())
    }

    /// Whether the server can send the code that a booking needs, if it needs one.
    pub(crate) fn can_send_code(&self) -> bool {
        let gateways = &self.pages.server.gateways;
        self.code_channel().is_none_or(|channel| gateways.can_send_code(channel))
    }

    /// Whether a calendar has, or will have, open time for each of some services.
    pub(crate) fn offers_all(&self, calendar: CalendarId, services: &[InterventionId]) -> bool {
        let GroupState { catalogue, calendars, .. } = &*self.state;
        offers_all(catalogue, calendars, calendar, services, self.now)
    }

    /// The newest state of the group that is durable.
    pub(crate) fn newest_state(&self) -> Arc<GroupState> {
        let published = self.pages.server.engine.published();
        published.group_state(self.group().id).unwrap_or_else(|| Arc::clone(&self.state))
    }

    /// Formats a moment in the shop's zone, in words.
    pub(crate) fn when(&self, moment: Instant) -> String {
        format::moment(self.language(), self.zone().civil_of(moment))
    }

    /// Formats a civil start, in words.
    pub(crate) fn when_civil(&self, at: Civil) -> String {
        format::moment(self.language(), at)
    }

    /// Returns names and values that each link and form of a page passes on to the next: the
    /// language, if the query names it, the sealed wishes of the link, and the origin of the page
    /// around the frame.
    pub(crate) fn carried_pairs(&self) -> Vec<(&'static str, String)> {
        let mut carried = Vec::new();
        if self.lang.is_in_url {
            carried.push(("lang", language_choice::tag(self.language()).to_owned()));
        }
        if !self.sealed_preset.is_empty() {
            carried.push((PRESET, self.sealed_preset.clone()));
        }
        if let Some(embedder) = &self.embedder {
            carried.push((EMBEDDER, embedder.clone()));
        }
        carried
    }

    /// Returns a path below `/b/<urlname>`.
    pub(crate) fn path_of(&self, step: &str) -> String {
        booking_path(self.group(), step)
    }

    /// Returns a URL below `/b/<urlname>` with a query. It names the language if this one does.
    pub(crate) fn url(&self, step: &str, pairs: &[(&str, String)]) -> String {
        self.url_of(&self.path_of(step), pairs)
    }

    /// Returns a URL of this server with a query. It names the language if this one does.
    pub(crate) fn url_of(&self, path: &str, pairs: &[(&str, String)]) -> String {
        let mut url = path.to_owned();
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(pairs).extend_pairs(self.carried_pairs());
        let query = query.finish();
        if !query.is_empty() {
            url.push('?');
            url.push_str(&query);
        }
        url
    }

    /// The attribute `lang` of texts that the shop wrote, with a space before it; empty where they
    /// have the language of the page.
    pub(crate) fn shop_lang(&self) -> &'static str {
        language_choice::shop_attribute(self.language(), self.group().country.as_str())
    }

    /// Returns the frame of a page that shows a form with faults: its title says so first.
    pub(crate) fn fault_frame(&self, title: &str) -> Frame<'_> {
        self.frame(&fill(self.text.fault_title, "title", title))
    }

    /// Returns the frame of a page with this title.
    pub(crate) fn frame(&self, title: &str) -> Frame<'_> {
        let group = self.group();
        let other = match self.language() {
            Language::French => Language::English,
            Language::English => Language::French,
        };
        let address = PostalAddress::of_group(&self.state.catalogue);
        let mut lines: Vec<String> = address.address.lines().map(str::to_owned).collect();
        lines.push(address.town_line());
        lines.retain(|line| !line.trim().is_empty());
        Frame {
            lang: language_choice::tag(self.language()),
            text: self.text,
            title: title.to_owned(),
            style_url: self.pages.assets.style_url(),
            script_url: self.pages.assets.script_url(),
            colours_url: self.colours_url(),
            other_lang: language_choice::tag(other),
            other_url: self.url_in(other),
            embedder: self.embedder().unwrap_or_default().to_owned(),
            is_preview: self.is_preview(),
            shop_lang: self.shop_lang(),
            place: Some(Place {
                name: group.name.as_str(),
                face: Face::new(
                    &self.state,
                    self.text,
                    &self.pages.server.gateways.public_url,
                    self.hides_logo(),
                    &lines,
                ),
                home: self.url("", &[]),
                phone: group.phone.as_str(),
                phone_url: phone_url(group.phone.as_str()),
                address: lines,
                zone: self.zone().iana_name(),
                has_footer: !self.preset.as_ref().is_some_and(|preset| preset.hides_footer),
                zone_notice: fill(self.text.zone_notice, "zone", &readable_zone(self.zone())),
            }),
        }
    }

    /// Returns the URL of this page in another language.
    fn url_in(&self, language: Language) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let is_kept = |name: &str| match name {
            "lang" => false,
            PRESET => !self.sealed_preset.is_empty(),
            EMBEDDER => self.embedder.is_some(),
            _ => true,
        };
        query.extend_pairs(self.params.iter().filter(|(name, _)| is_kept(name)));
        query.append_pair("lang", language_choice::tag(language));
        format!("{}?{}", self.path, query.finish())
    }
}

/// Returns the page that says that there is no such page.
fn not_found(pages: &Pages, language: Language) -> Response {
    let text = texts(language);
    let status = StatusCode::NOT_FOUND;
    bare_page::without_group(pages, language, status, text.not_found_title, text.not_found)
}

/// Returns the URL that calls a number; empty without digits.
pub(crate) fn phone_url(phone: &str) -> String {
    let dialled: String = phone.chars().filter(|c| c.is_ascii_digit() || *c == '+').collect();
    if dialled.is_empty() { dialled } else { format!("tel:{dialled}") }
}

/// Returns a zone in words: `Paris (Europe/Paris)`.
fn readable_zone(zone: Zone) -> String {
    let name = zone.iana_name();
    match name.rsplit_once('/') {
        Some((_, city)) => format!("{} ({name})", city.replace('_', " ")),
        None => name.to_owned(),
    }
}
