//! The state in which a server awaits its first run, and the ways on which a browser may make it.
//! Reference 15.12.

use axum::http::HeaderMap;

use crate::domain::directory::apikeys::ApikeyHolder;
use crate::http::auth::request_origin::{is_at_loopback, is_foreign_form};
use crate::http::server::Server;

impl Server {
    /// Whether the store has no group, so that a browser may set up the first one.
    pub(crate) fn awaits_first_run(&self) -> bool {
        let published = self.engine.published();
        self.first_run.is_offered()
            && published.count_groups() == 0
            && published.quarantined().is_empty()
    }

    /// Whether the server has to be set up before it is ready. If its operator has given a program
    /// a key, it is ready: that program founds groups by the API.
    pub(crate) fn lacks_first_run(&self) -> bool {
        if !self.awaits_first_run() {
            return false;
        }
        let directory = self.engine.published().directory();
        !directory.apikeys.iter().any(|(_, key)| key.holder == ApikeyHolder::Operator)
    }

    /// Makes a link and ends the one before. `None` if the server awaits no first run.
    pub fn new_first_run_link(&self) -> Option<String> {
        if !self.awaits_first_run() {
            return None;
        }
        self.first_run.new_link(self.engine.clock().now())
    }

    /// Whether no one on the way can read the content of a browser's request: TLS protects it, or
    /// it goes to a loopback name, at which a browser reaches its own machine or the end of a
    /// tunnel.
    pub(crate) fn is_private_way(&self, headers: &HeaderMap) -> bool {
        self.authenticator.sessions.behind_tls || is_at_loopback(headers)
    }

    /// Whether a form of the first run comes from another site. At a loopback name that is judged
    /// by the name: the public address of the server may lead nowhere yet.
    pub(crate) fn is_foreign_first_run(&self, headers: &HeaderMap) -> bool {
        if is_at_loopback(headers) {
            return is_foreign_form(headers, false, "");
        }
        self.authenticator.is_cross_site_form(headers)
    }
}
