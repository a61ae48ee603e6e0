//! A form with one file, as browsers send it: `multipart/form-data`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;

use crate::http::Incoming;
use crate::web::pages::Pages;
use crate::web::practice::message;
use crate::web::practice::screen_request::ScreenRequest;
use crate::web::practice::visit::ProVisit;
use crate::wire::file_form::read_file_form;

/// A form of a screen of a group, with a file.
pub(crate) struct ProUpload {
    pub(crate) visit: ProVisit,
    /// The bytes of each part, by its name. A form that cannot be read has none.
    parts: BTreeMap<String, Vec<u8>>,
}

impl ProUpload {
    /// Returns the text of a field; an empty one without it.
    pub(crate) fn text(&self, name: &str) -> &str {
        let bytes = self.parts.get(name).map(Vec::as_slice).unwrap_or_default();
        str::from_utf8(bytes).unwrap_or_default()
    }

    /// Takes the bytes of a file; none without it.
    pub(crate) fn take_file(&mut self, name: &str) -> Vec<u8> {
        self.parts.remove(name).unwrap_or_default()
    }
}

impl FromRequest<Arc<Pages>> for ProUpload {
    /// As for [`crate::web::practice::form::ProForm`].
    type Rejection = Response;

    async fn from_request(request: Request, pages: &Arc<Pages>) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        if pages.server.authenticator.is_cross_site_form(&parts.headers) {
            let Ok(request) = ScreenRequest::from_request_parts(&mut parts, pages).await;
            return Err(message::foreign(&request));
        }
        let visit = ProVisit::from_request_parts(&mut parts, pages).await?;
        let mut body = Incoming::new(&pages.server, &parts.headers, visit.request.from, body);
        match body.read_upload().await {
            Ok(bytes) => {
                let declared = parts.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
                Ok(Self { parts: read_file_form(declared, bytes).await, visit })
            }
            Err(error) => Err(message::failed(&visit.request, &error)),
        }
    }
}
