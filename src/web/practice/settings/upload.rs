//! A form with one file, as browsers send it: `multipart/form-data`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use futures_util::stream;
use multer::Multipart;

use crate::http::Incoming;
use crate::web::pages::Pages;
use crate::web::practice::message;
use crate::web::practice::screen_request::ScreenRequest;
use crate::web::practice::visit::ProVisit;

/// Maximum number of parts of a form.
const PARTS_MAX: usize = 8;

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
            Ok(bytes) => Ok(Self { parts: read_parts(&parts.headers, bytes).await, visit }),
            Err(error) => Err(message::failed(&visit.request, &error)),
        }
    }
}

/// Returns the bytes of each part of a form, by its name.
async fn read_parts(headers: &HeaderMap, bytes: Vec<u8>) -> BTreeMap<String, Vec<u8>> {
    let mut read = BTreeMap::new();
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let boundary = declared.and_then(|declared| multer::parse_boundary(declared).ok());
    let Some(boundary) = boundary else { return read };
    let whole = stream::iter([Ok::<_, Infallible>(bytes)]);
    let mut form = Multipart::new(whole, boundary);
    while read.len() < PARTS_MAX
        && let Ok(Some(field)) = form.next_field().await
    {
        let Some(name) = field.name().map(str::to_owned) else { continue };
        let Ok(content) = field.bytes().await else { break };
        read.insert(name, content.to_vec());
    }
    read
}
