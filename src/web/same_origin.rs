//! Refusal of forms that another site sends. Reference 3.3.

use axum::http::HeaderMap;

use crate::http::{Server, is_foreign};

/// Returns whether a form comes from a page of another site. Browsers say so in Sec-Fetch-Site;
/// older ones in Origin.
pub(crate) fn is_cross_site(headers: &HeaderMap, server: &Server) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site != "same-origin";
    }
    is_foreign(headers, server.authenticator.sessions.behind_tls, &server.gateways.public_url)
}
