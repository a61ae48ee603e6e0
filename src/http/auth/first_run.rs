//! The link by which the first shop of a store is set up in a browser. Reference 15.12.
//!
//! Its token is 256 random bits, of which the server keeps the SHA-256 alone, in memory. So a
//! restart ends the link, and so does the next one.

use std::net::IpAddr;

use data_encoding::BASE64URL_NOPAD;
use hmac::digest::CtOutput;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::domain::time::{DAY, Instant};
use crate::engine::randomness::Randomness;
use crate::http::error::ApiError;
use crate::http::limits::sliding_window::{SlidingWindow, source};

/// The path of the link, before its token.
pub(crate) const PATH: &str = "/first-run";
/// Seconds for which a link is valid.
pub(crate) const LINK_SECONDS: i64 = DAY;
/// Number of wrong tokens of one source within [`WRONG_SECONDS`] after which further ones get 429.
pub(crate) const WRONG_MAX: usize = 30;
/// Seconds for which a wrong token counts.
const WRONG_SECONDS: i64 = 600;

/// The first run of a server.
#[derive(Debug)]
pub(crate) struct FirstRun {
    /// The beginning of the link: scheme, host and port. `None` if the server offers no first run.
    site: Option<String>,
    /// The newest link; `None` once it has ended.
    link: Mutex<Option<Link>>,
    /// Wrong tokens by source.
    wrong: SlidingWindow<IpAddr>,
}

/// A link that was made.
struct Link {
    /// The SHA-256 of its token. It is compared in constant time.
    hash: CtOutput<Sha256>,
    /// The end of its validity.
    until: Instant,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("until", &self.until).finish_non_exhaustive()
    }
}

impl FirstRun {
    /// The first run of a server whose link begins with `site`; `None` for none.
    pub(crate) fn new(site: Option<String>) -> Self {
        let wrong = SlidingWindow::new(WRONG_MAX, WRONG_SECONDS);
        Self { site, link: Mutex::new(None), wrong }
    }

    /// Whether the server offers a first run.
    pub(crate) const fn is_offered(&self) -> bool {
        self.site.is_some()
    }

    /// Makes a link and ends the one before. `None` if the server offers no first run.
    pub(crate) fn new_link(&self, now: Instant) -> Option<String> {
        let site = self.site.as_ref()?;
        let token = BASE64URL_NOPAD.encode(&Randomness::from_os().bytes());
        let until = now.plus_seconds(LINK_SECONDS);
        *self.link.lock() = Some(Link { hash: hash(&token), until });
        Some(format!("{site}{PATH}/{token}"))
    }

    /// Whether a token is that of the link. A wrong one counts for its source. The right one is
    /// never locked out: no number of tries guesses 256 bits, and a container sees the operator and
    /// strangers at one address.
    ///
    /// # Errors
    /// 429 for a wrong one after too many.
    pub(crate) fn check(&self, token: &str, from: IpAddr, now: Instant) -> Result<bool, ApiError> {
        let given = hash(token);
        let is_right = match &*self.link.lock() {
            Some(link) => link.hash == given && now < link.until,
            None => false,
        };
        if is_right {
            return Ok(true);
        }
        match self.wrong.try_add(&source(from), 1, now) {
            Ok(()) => Ok(false),
            Err(seconds) => Err(ApiError::too_many("wrong links came from this address", seconds)),
        }
    }

    /// Ends the link.
    pub(crate) fn end_link(&self) {
        *self.link.lock() = None;
    }
}

fn hash(token: &str) -> CtOutput<Sha256> {
    CtOutput::new(Sha256::digest(token))
}
