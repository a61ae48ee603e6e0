//! A visit of a professional to a screen of a group. Reference 15.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};

use crate::domain::availability::taken_time::TakenInterval;
use crate::domain::directory::roles::{GroupRight, ProRole, Sight};
use crate::domain::records::author::Author;
use crate::domain::records::calendar::Calendar;
use crate::domain::records::group::Group;
use crate::domain::records::ids::FicheId;
use crate::domain::records::text::Text;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::CivilDay;
use crate::domain::time::zone::Zone;
use crate::http::ActiveLogin;
use crate::notify::language::Language;
use crate::web::group_path::{booking_path, practice_path};
use crate::web::language_choice::LanguageChoice;
use crate::web::page::redirect;
use crate::web::pages::Pages;
use crate::web::practice::frame::{
    FrameShop, SECOND_FACTOR_PATH, SECTIONS, ScreenFrame, Section, SectionLink,
};
use crate::web::practice::message;
use crate::web::practice::role_gate::RoleGate;
use crate::web::practice::screen_request::ScreenRequest;

/// A visit of a professional to a screen of a group that is one of theirs. The whole screen is made
/// from this one state.
pub(crate) struct ProVisit {
    pub(crate) request: ScreenRequest,
    /// The login of the browser.
    pub(crate) login: ActiveLogin,
    pub(crate) state: Arc<GroupState>,
}

impl FromRequestParts<Arc<Pages>> for ProVisit {
    /// The way to the login, or the page that says that there is no such page, or which right is
    /// missing.
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        pages: &Arc<Pages>,
    ) -> Result<Self, Self::Rejection> {
        let visit = Self::before_second_factor(parts, pages).await?;
        if visit.lacks_second_factor() {
            return Err(redirect(&visit.url(SECOND_FACTOR_PATH, &[])));
        }
        Ok(visit)
    }
}

/// The name of the group in the path, beside other placeholders.
#[derive(serde::Deserialize)]
struct UrlnamePath {
    urlname: String,
}

impl ProVisit {
    /// Returns the visit of a professional who may still lack the second factor that the group
    /// demands.
    ///
    /// # Errors
    /// The way to the login, or the page that says that there is no such page.
    pub(crate) async fn before_second_factor(
        parts: &mut Parts,
        pages: &Arc<Pages>,
    ) -> Result<Self, Response> {
        let Ok(request) = ScreenRequest::from_request_parts(parts, pages).await;
        let Some(login) = request.login else { return Err(message::login_needed(&request)) };
        let urlname = Path::<UrlnamePath>::from_request_parts(parts, pages).await;
        let Path(UrlnamePath { urlname }) = urlname.map_err(IntoResponse::into_response)?;
        let published = pages.server.engine.published();
        let pro = request.pro(login);
        let group = published.group_of_urlname(&urlname).filter(|group| pro.works_for(*group));
        let Some(state) = group.and_then(|group| published.group_state(group)) else {
            return Err(message::not_found(&request));
        };
        let country = state.catalogue.group.country.as_str();
        let lang = LanguageChoice::new(request.params.value("lang"), &parts.headers, country);
        let visit = Self { request: request.speaking(lang), login, state };
        let path = parts.uri.path().splitn(4, '/').nth(3).unwrap_or_default();
        let gate = RoleGate { request: &visit.request, state: &visit.state, role: visit.role() };
        gate.check(path).map_err(|page| *page)?;
        Ok(visit)
    }

    /// Whether the professional has set up a second factor.
    pub(crate) fn has_second_factor(&self) -> bool {
        self.request.directory.second_factors.contains_key(&self.login.pro)
    }

    /// Whether the group demands a second factor, and the professional has none.
    pub(crate) fn lacks_second_factor(&self) -> bool {
        self.group().second_factor_required && !self.has_second_factor()
    }

    /// The author of what the professional changes here.
    pub(crate) fn author(&self) -> Author {
        Author::Professional { id: self.login.pro, key: None }
    }

    /// The role of the professional in the group.
    pub(crate) fn role(&self) -> &ProRole {
        self.request.directory.roles.role_of(self.group().id, self.login.pro)
    }

    /// The part of the group that the professional reads.
    pub(crate) fn sight(&self) -> Sight {
        self.role().sight()
    }

    /// The live appointments of a client that the professional reads, ascending by start.
    pub(crate) fn appointments_of(&self, client: FicheId) -> Vec<&TakenInterval> {
        let sight = self.sight();
        let is_shown = |taken: &&TakenInterval| {
            self.state.rows.get(&taken.id).is_some_and(|row| sight.shows_vevent(row))
        };
        self.state.appointments_of(client).iter().filter(is_shown).collect()
    }

    /// The live calendars that the professional reads, in their order.
    pub(crate) fn shown_calendars(&self) -> impl Iterator<Item = &Calendar> {
        let sight = self.sight();
        let live = self.state.catalogue.live_calendars();
        live.filter(move |calendar| sight.shows_calendar(calendar.id))
    }

    /// The live calendars that the professional writes on, in their order.
    pub(crate) fn written_calendars(&self) -> impl Iterator<Item = &Calendar> {
        let live = self.state.catalogue.live_calendars();
        live.filter(|calendar| self.role().writes_on(calendar.id))
    }

    pub(crate) fn group(&self) -> &Group {
        &self.state.catalogue.group
    }

    pub(crate) fn language(&self) -> Language {
        self.request.language()
    }

    pub(crate) fn zone(&self) -> Zone {
        self.state.catalogue.zone()
    }

    /// Returns the day of the request on the clocks of the group.
    pub(crate) fn today(&self) -> CivilDay {
        self.zone().civil_of(self.request.now).day()
    }

    /// Returns the names of the professional, as the creator of new events.
    pub(crate) fn creator(&self) -> Text<255> {
        self.request.pro(self.login).names().unwrap_or_default()
    }

    /// Takes the newest state of the group, after a write that was refused because of it.
    pub(crate) fn renew(&mut self) {
        let published = self.request.pages.server.engine.published();
        if let Some(newest) = published.group_state(self.group().id) {
            self.state = newest;
        }
    }

    /// Returns the path of a screen of the group, without parameters. `step` is as in
    /// [`ProVisit::url`].
    pub(crate) fn path(&self, step: &str) -> String {
        practice_path(self.group(), step)
    }

    /// Returns the URL of a screen of the group. `step` is its path below `/p/<urlname>`.
    pub(crate) fn url(&self, step: &str, pairs: &[(&str, &str)]) -> String {
        self.request.url(&practice_path(self.group(), step), pairs)
    }

    /// Returns the URL of the first page for clients.
    pub(crate) fn booking_page_url(&self) -> String {
        self.request.url(&booking_path(self.group(), ""), &[])
    }

    /// Whether the role opens a screen.
    fn opens(&self, section: Section) -> bool {
        match section {
            Section::Settings => self.role().has(GroupRight::Settings),
            Section::History => self.role().has(GroupRight::History),
            Section::Agenda
            | Section::Logins
            | Section::Clients
            | Section::Hours
            | Section::Welcome => true,
        }
    }

    /// Returns the frame of a screen with this title. The frame marks `section` as the present one.
    pub(crate) fn frame(&self, title: &str, section: Section) -> ScreenFrame<'_> {
        let text = self.request.text();
        let link = |to: Section| SectionLink {
            label: to.label(text),
            url: self.url(to.path(), &[]),
            is_current: to == section,
        };
        let shop = FrameShop {
            name: self.group().name.as_str(),
            home: self.url(Section::Agenda.path(), &[]),
            links: SECTIONS.iter().filter(|to| self.opens(**to)).map(|to| link(*to)).collect(),
        };
        let mut frame = self.request.frame(title);
        if let Some(person) = &mut frame.person {
            person.logins = Some(link(Section::Logins));
        }
        ScreenFrame { shop: Some(shop), ..frame }
    }
}
