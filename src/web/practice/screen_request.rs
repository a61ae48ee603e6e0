//! A request for one of the practice's own screens. Reference 15.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Method, Uri};
use axum::response::Response;

use crate::domain::directory::Directory;
use crate::domain::directory::professionals::Pro;
use crate::domain::time::Instant;
use crate::http::{ActiveLogin, ClientAddress};
use crate::notify::language::Language;
use crate::web::language_choice::{self, LanguageChoice};
use crate::web::page::redirect;
use crate::web::pages::Pages;
use crate::web::practice::frame::{FramePerson, ScreenFrame, other_language};
use crate::web::practice::texts::frame::FrameTexts;
use crate::wire::params::Params;

/// A request for one of the practice's own screens, logged in or not.
pub(crate) struct ScreenRequest {
    pub(crate) pages: Arc<Pages>,
    /// Keys and professionals at the request.
    pub(crate) directory: Arc<Directory>,
    /// The login of the browser. The directory has its professional.
    pub(crate) login: Option<ActiveLogin>,
    /// The client address.
    pub(crate) from: IpAddr,
    /// The moment of the request. The clock is not read again.
    pub(crate) now: Instant,
    /// The query of the request.
    pub(crate) params: Params,
    pub(crate) lang: LanguageChoice,
    method: Method,
    uri: Uri,
}

impl FromRequestParts<Arc<Pages>> for ScreenRequest {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, pages: &Arc<Pages>) -> Result<Self, Infallible> {
        let bare = Self::without_login(pages, parts);
        let Self { directory, from, now, .. } = &bare;
        let authenticator = &pages.server.authenticator;
        let login = authenticator.page_login(&parts.headers, *from, directory, *now);
        Ok(Self { login, ..bare })
    }
}

impl ScreenRequest {
    /// A request whose cookies say nothing.
    pub(crate) fn without_login(pages: &Arc<Pages>, parts: &Parts) -> Self {
        let Parts { uri, headers, .. } = parts;
        let from = parts.extensions.get::<ClientAddress>().expect("the service sets the address").0;
        let params = Params::from_query(uri.query().unwrap_or_default());
        Self {
            pages: Arc::clone(pages),
            directory: pages.server.engine.published().directory(),
            login: None,
            from,
            now: pages.server.engine.clock().now(),
            lang: LanguageChoice::new(params.value("lang"), headers, ""),
            params,
            method: parts.method.clone(),
            uri: uri.clone(),
        }
    }

    /// The same in another language.
    pub(crate) fn speaking(self, lang: LanguageChoice) -> Self {
        Self { lang, ..self }
    }

    pub(crate) fn language(&self) -> Language {
        self.lang.language
    }

    /// The texts of the frame.
    pub(crate) fn text(&self) -> &'static FrameTexts {
        FrameTexts::in_language(self.language())
    }

    /// The professional of the login.
    pub(crate) fn pro(&self, login: ActiveLogin) -> &Pro {
        self.directory.pros.get(&login.pro).expect("a login is found with its professional")
    }

    /// Returns the URL of a page of this server. It names the language if this one does.
    pub(crate) fn url(&self, path: &str, pairs: &[(&str, &str)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(pairs);
        if self.lang.is_in_url {
            query.append_pair("lang", language_choice::tag(self.language()));
        }
        let query = query.finish();
        if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
    }

    /// Whether a form was sent, with fields that a link does not send again.
    pub(crate) fn is_form(&self) -> bool {
        self.method == Method::POST
    }

    /// Returns the answer that leads to the login, and from there to the page that was asked for.
    pub(crate) fn lead_to_login(&self) -> Response {
        let page = self.uri.path_and_query().map_or("/", |asked| asked.as_str());
        redirect(&self.url("/login", &[("next", page)]))
    }

    /// Returns the URL of this page in the other language.
    fn other_url(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.params.iter().filter(|(name, _)| *name != "lang"));
        query.append_pair("lang", language_choice::tag(other_language(self.language())));
        format!("{}?{}", self.uri.path(), query.finish())
    }

    /// Returns the frame of a page that belongs to no group.
    pub(crate) fn frame(&self, title: &str) -> ScreenFrame<'_> {
        let person = self.login.map(|login| {
            let pro = self.pro(login);
            let names = format!("{} {}", pro.firstname.as_str(), pro.lastname.as_str());
            let name = if names.trim().is_empty() { pro.email.as_str() } else { names.trim() };
            let has_several = pro.groups.len() > 1;
            FramePerson {
                name: name.to_owned(),
                logins: None,
                logout_url: self.url("/logout", &[]),
                groups_url: if has_several { self.url("/p", &[]) } else { String::new() },
            }
        });
        ScreenFrame {
            lang: language_choice::tag(self.language()),
            text: self.text(),
            title: title.to_owned(),
            style_url: self.pages.assets.practice_style_url(),
            script_url: self.pages.assets.practice_script_url(),
            other_lang: language_choice::tag(other_language(self.language())),
            other_url: self.other_url(),
            person,
            shop: None,
        }
    }
}
