//! The header in which a server of a cluster says whose request it forwards, sealed under the
//! secret of the cluster. Reference 3.6.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use axum::http::{HeaderName, HeaderValue, Method, Request, Uri};
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::domain::directory::cluster_secret::ClusterSecret;
use crate::domain::time::Instant;

/// The header, which only servers of the cluster set.
pub(crate) const X_SLOTBOOK_FORWARDED: HeaderName = HeaderName::from_static("x-slotbook-forwarded");
/// Largest difference in seconds of the time in a seal from the clock of the server that opens it.
const SEAL_SECONDS_MAX: i64 = 30;
/// Time in seconds between two warnings of wrong seals, which a stranger can forge.
const WARNING_SECONDS: i64 = 60;
/// Stands for the operator's socket in a seal.
const OPERATOR: &str = "operator";
/// Parts the seal from other uses of the secret.
const PURPOSE: &[u8] = b"forwarded request";

/// The origin of a forwarded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForwardedFrom {
    /// The client of this address.
    Client(IpAddr),
    /// The operator's socket.
    OperatorSocket,
}

impl ForwardedFrom {
    /// The address of the client; `None` for the operator's socket.
    pub(crate) fn client(self) -> Option<IpAddr> {
        match self {
            Self::Client(address) => Some(address),
            Self::OperatorSocket => None,
        }
    }
}

/// A header whose seal is wrong or old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongSeal;

/// Seals and opens the header. A seal holds for one method and one target: overheard, it is of no
/// use for another request.
#[derive(Clone)]
pub(crate) struct ForwardingSeal {
    key: Hmac<Sha256>,
    /// The time of the last warning of a wrong seal, in seconds; 0 before the first.
    warned_at: Arc<AtomicI64>,
}

impl ForwardingSeal {
    /// The seal of a cluster.
    pub(crate) fn new(secret: &ClusterSecret) -> Self {
        let key = Hmac::new_from_slice(secret.bits()).expect("any length makes a key");
        Self { key, warned_at: Arc::default() }
    }

    /// Returns the header of a request: the time, the origin and the seal.
    pub(crate) fn seal(
        &self,
        from: ForwardedFrom,
        method: &Method,
        uri: &Uri,
        now: Instant,
    ) -> HeaderValue {
        let time = now.0.to_string();
        let from = match from {
            ForwardedFrom::Client(address) => address.to_string(),
            ForwardedFrom::OperatorSocket => OPERATOR.to_owned(),
        };
        let seal = self.mac(&time, &from, method, uri).finalize().into_bytes();
        let value = format!("{time} {from} {}", HEXLOWER.encode(&seal));
        HeaderValue::try_from(value).expect("digits, letters and points are visible")
    }

    /// Removes the header of a request. Returns what it says, or `None` without one.
    ///
    /// # Errors
    /// Its seal is wrong or old. Whose request it is then is not known: if it counted as that of
    /// its peer, all clients of a server with a wrong clock would share the limits of one source.
    pub(crate) fn take<B>(
        &self,
        request: &mut Request<B>,
        now: Instant,
    ) -> Result<Option<ForwardedFrom>, WrongSeal> {
        let Some(value) = request.headers_mut().remove(X_SLOTBOOK_FORWARDED) else {
            return Ok(None);
        };
        let opened = self.open(&value, request, now);
        if opened.is_none() && self.is_to_warn(now) {
            tracing::warn!(
                "a forwarded request has a wrong seal: the clocks of the servers differ by more \
                 than 30 seconds, or it is forged"
            );
        }
        opened.map(Some).ok_or(WrongSeal)
    }

    /// Whether a wrong seal at `now` is warned of: one a minute is.
    fn is_to_warn(&self, now: Instant) -> bool {
        let warned = self.warned_at.load(Ordering::Relaxed);
        now.0.abs_diff(warned) >= WARNING_SECONDS.unsigned_abs()
            && self
                .warned_at
                .compare_exchange(warned, now.0, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    fn open<B>(
        &self,
        value: &HeaderValue,
        request: &Request<B>,
        now: Instant,
    ) -> Option<ForwardedFrom> {
        let mut parts = value.to_str().ok()?.split(' ');
        let (time, from, seal) = (parts.next()?, parts.next()?, parts.next()?);
        let seal = HEXLOWER.decode(seal.as_bytes()).ok()?;
        let mac = self.mac(time, from, request.method(), request.uri());
        mac.verify_slice(&seal).ok()?;
        let sealed: i64 = time.parse().ok()?;
        if now.0.abs_diff(sealed) > SEAL_SECONDS_MAX.unsigned_abs() {
            return None;
        }
        if from == OPERATOR {
            return Some(ForwardedFrom::OperatorSocket);
        }
        from.parse().ok().map(ForwardedFrom::Client)
    }

    /// No part holds a line feed, so that no two requests have the same text.
    fn mac(&self, time: &str, from: &str, method: &Method, uri: &Uri) -> Hmac<Sha256> {
        // As it is sent: a target without a path has one on its way.
        let path = if uri.path().is_empty() { "/" } else { uri.path() };
        let mut mac = self.key.clone();
        mac.update(PURPOSE);
        for part in [time, from, method.as_str(), path, uri.query().unwrap_or_default()] {
            mac.update(b"\n");
            mac.update(part.as_bytes());
        }
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant(1_700_000_000);

    fn seal_of(byte: u8) -> ForwardingSeal {
        ForwardingSeal::new(&ClusterSecret::new([byte; 32]))
    }

    fn request(method: &str, uri: &str, headers: &[HeaderValue]) -> Request<()> {
        let mut request = Request::builder().method(method).uri(uri).body(()).expect("a request");
        for header in headers {
            request.headers_mut().append(X_SLOTBOOK_FORWARDED, header.clone());
        }
        request
    }

    /// Returns what a header of a GET says; `None` if its seal is wrong. Checks that it is removed.
    fn opened(seal: &ForwardingSeal, header: &HeaderValue, now: Instant) -> Option<ForwardedFrom> {
        let mut request = request("GET", "/a?b=c", std::slice::from_ref(header));
        let opened = seal.take(&mut request, now);
        assert!(!request.headers().contains_key(X_SLOTBOOK_FORWARDED), "it is removed");
        opened.ok().map(|from| from.expect("it has the header"))
    }

    #[test]
    fn a_target_is_sealed_as_it_is_sent() {
        let from = ForwardedFrom::Client(IpAddr::from([203, 0, 113, 7]));
        let header = seal_of(1).seal(from, &Method::GET, &Uri::from_static("http://x?b"), NOW);
        let mut sent = request("GET", "/?b", std::slice::from_ref(&header));
        assert_eq!(seal_of(1).take(&mut sent, NOW), Ok(Some(from)));
        assert_eq!(seal_of(1).take(&mut request("GET", "/", &[]), NOW), Ok(None));
    }

    fn sealed(from: ForwardedFrom) -> HeaderValue {
        seal_of(1).seal(from, &Method::GET, &Uri::from_static("/a?b=c"), NOW)
    }

    #[test]
    fn a_sealed_origin_is_read_for_half_a_minute() {
        for address in ["203.0.113.7", "2001:db8::7"] {
            let from = ForwardedFrom::Client(address.parse().expect("an address"));
            for from in [from, ForwardedFrom::OperatorSocket] {
                for (passed, is_fresh) in
                    [(-31, false), (-30, true), (0, true), (30, true), (31, false)]
                {
                    let read = opened(&seal_of(1), &sealed(from), NOW.plus_seconds(passed));
                    assert_eq!(read, is_fresh.then_some(from), "{passed}");
                }
            }
        }
    }

    #[test]
    fn a_seal_holds_for_its_secret_its_origin_and_its_request_alone() {
        let header = sealed(ForwardedFrom::Client(IpAddr::from([203, 0, 113, 7])));
        assert!(opened(&seal_of(1), &header, NOW).is_some());
        assert_eq!(opened(&seal_of(2), &header, NOW), None);
        let text = header.to_str().expect("it is ASCII");
        for forged in [
            text.replace("203.0.113.7", "203.0.113.8"),
            text.replace("203.0.113.7", OPERATOR),
            text.replace("1700000000", "1700000001"),
            text[..text.len() - 2].to_owned(),
            format!("1700000000 {OPERATOR}"),
            String::new(),
        ] {
            let header = HeaderValue::try_from(&forged).expect("a value");
            assert_eq!(opened(&seal_of(1), &header, NOW), None, "{forged}");
        }
        for (method, uri) in [("POST", "/a?b=c"), ("GET", "/a?b=d"), ("GET", "/")] {
            let mut other = request(method, uri, std::slice::from_ref(&header));
            assert_eq!(seal_of(1).take(&mut other, NOW), Err(WrongSeal), "{method} {uri}");
        }
    }

    #[test]
    fn forged_seals_fill_no_log() {
        let seal = seal_of(1);
        let warned = |seconds| seal.is_to_warn(Instant(NOW.0 + seconds));
        let found: Vec<_> = [0, 0, 59, 60, 61, 119, 120].map(warned).to_vec();
        assert_eq!(found, [true, false, false, true, false, false, true]);
    }
}
