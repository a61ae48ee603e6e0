//! A form that a professional sends from a screen.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::Response;

use crate::http::{Incoming, PAGE_FORM_BYTES_MAX, PRO_FORM_BYTES_MAX};
use crate::web::pages::Pages;
use crate::web::practice::message;
use crate::web::practice::screen_request::ScreenRequest;
use crate::web::practice::visit::ProVisit;
use crate::wire::params::Params;

/// A form of a screen, logged in or not.
pub(crate) struct ScreenForm {
    pub(crate) request: ScreenRequest,
    /// The fields of the form.
    pub(crate) given: Params,
    /// Method, address and headers.
    pub(crate) parts: axum::http::request::Parts,
}

/// A form of a screen of a group.
pub(crate) struct ProForm {
    pub(crate) visit: ProVisit,
    /// The fields of the form.
    pub(crate) given: Params,
}

impl FromRequest<Arc<Pages>> for ScreenForm {
    /// The page of a form of another site, or of a body that cannot be read.
    type Rejection = Response;

    async fn from_request(request: Request, pages: &Arc<Pages>) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let Ok(request) = ScreenRequest::from_request_parts(&mut parts, pages).await;
        if pages.server.authenticator.is_cross_site_form(&parts.headers) {
            return Err(message::foreign(&request));
        }
        let mut body = Incoming::new(&pages.server, &parts.headers, request.from, body);
        let form = body.read_form(PAGE_FORM_BYTES_MAX).await;
        drop(body);
        match form {
            Ok(form) => Ok(Self { request, given: form.params, parts }),
            Err(error) => Err(message::failed(&request, &error)),
        }
    }
}

impl FromRequest<Arc<Pages>> for ProForm {
    /// As for [`ScreenForm`] and [`ProVisit`]. The body is read of professionals only.
    type Rejection = Response;

    async fn from_request(request: Request, pages: &Arc<Pages>) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        if pages.server.authenticator.is_cross_site_form(&parts.headers) {
            let Ok(request) = ScreenRequest::from_request_parts(&mut parts, pages).await;
            return Err(message::foreign(&request));
        }
        let visit = ProVisit::from_request_parts(&mut parts, pages).await?;
        let mut body = Incoming::new(&pages.server, &parts.headers, visit.request.from, body);
        match body.read_form(PRO_FORM_BYTES_MAX).await {
            Ok(form) => Ok(Self { given: form.params, visit }),
            Err(error) => Err(message::failed(&visit.request, &error)),
        }
    }
}
