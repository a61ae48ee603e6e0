//! Proofs that a person has logged in before: at this source, or with this browser. They spare
//! the person the delays by strangers who guess. Reference 3.6.

use std::net::IpAddr;

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use data_encoding::BASE64URL_NOPAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::domain::directory::known_logins::LoginPlace;
use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::directory::professionals::Pro;
use crate::domain::directory::second_factor::TotpSecret;
use crate::domain::time::{DAY, Instant};
use crate::engine::randomness::Randomness;
use crate::http::limits::source_networks::SourceNetworks;

/// Name of the cookie.
const COOKIE_NAME: &str = "_device";
/// Seconds for which a browser is known after a login.
const DEVICE_SECONDS: i64 = 180 * DAY;
/// Maximum number of persons who are known with one browser.
const PERSONS_PER_DEVICE_MAX: usize = 4;
/// Bytes of a token: its number, its time, the digest of the password, the MAC.
const TOKEN_BYTES: usize = 8 + 8 + 8 + 16;
/// Seconds within which the first code of a second factor has to follow the password.
pub(crate) const ENROLMENT_SECONDS: i64 = 900;
/// Bytes of a ticket: the secret, its time, the MAC.
const TICKET_BYTES: usize = TotpSecret::BYTES + 8 + 16;

/// The number of a browser with which a person has logged in.
pub(crate) type DeviceNumber = [u8; 8];

/// Makes and checks proofs under a secret.
pub(crate) struct LoginProofs(Hmac<Sha256>);

/// A person who logs in, as far as proofs are bound to it.
#[derive(Clone, Copy)]
pub(crate) struct Claimant<'c> {
    /// The SHA-256 of the folded address.
    pub(crate) email_hash: &'c [u8; 32],
    /// The stored hash of the password. A new password ends the proofs by a browser.
    pub(crate) password_hash: &'c str,
}

impl LoginProofs {
    /// Makes proofs under the store's secret. Without one they last as long as the process.
    pub(crate) fn new(secret: Option<&LinkSecret>) -> Self {
        let key = match secret {
            Some(secret) => *secret.bits(),
            None => Randomness::from_os().bytes(),
        };
        Self(Hmac::new_from_slice(&key).expect("any length makes a key"))
    }

    /// Returns the place of a login.
    pub(crate) fn place(&self, email_hash: &[u8; 32], from: IpAddr) -> LoginPlace {
        let network = SourceNetworks::around(from).own.to_string();
        LoginPlace {
            person: self.mac([b"login person", email_hash, b""]),
            source: self.mac([b"login source", email_hash, network.as_bytes()]),
        }
    }

    /// Returns the number of the browser, if its cookie proves that this person has logged in with
    /// it.
    pub(crate) fn find_device(
        &self,
        headers: &HeaderMap,
        claimant: Claimant<'_>,
        now: Instant,
    ) -> Option<DeviceNumber> {
        device_tokens(headers).find_map(|token| self.check(&token, claimant, now))
    }

    /// Returns the cookie of a browser with which a person has just logged in.
    pub(crate) fn device_cookie(
        &self,
        headers: &HeaderMap,
        claimant: Claimant<'_>,
        behind_tls: bool,
        now: Instant,
    ) -> HeaderValue {
        let device = Randomness::from_os().bytes()[..8].try_into().expect("32 bytes");
        self.cookie_of(device, headers, claimant, behind_tls, now)
    }

    /// Returns the cookie of a browser with a number. Other persons of the browser stay known.
    pub(crate) fn cookie_of(
        &self,
        device: DeviceNumber,
        headers: &HeaderMap,
        claimant: Claimant<'_>,
        behind_tls: bool,
        now: Instant,
    ) -> HeaderValue {
        let mut tokens = vec![self.make_token(device, claimant, now)];
        let others = device_tokens(headers).filter(|token| {
            // An old token of the same person gives way.
            self.check(token, claimant, now).is_none()
        });
        tokens.extend(others.take(PERSONS_PER_DEVICE_MAX - 1));
        let tokens: Vec<String> =
            tokens.iter().map(|token| BASE64URL_NOPAD.encode(token)).collect();
        let secure = if behind_tls { "; Secure" } else { "" };
        let cookie = format!(
            "{COOKIE_NAME}={}; path=/; Max-Age={DEVICE_SECONDS}; HttpOnly; SameSite=Lax{secure}",
            tokens.join(".")
        );
        cookie.try_into().expect("letters, digits and words make a header")
    }

    /// Returns the proof that a professional gave the password for an enrolment with a secret.
    pub(crate) fn enrolment_ticket(&self, pro: &Pro, secret: &TotpSecret, now: Instant) -> Vec<u8> {
        let mut ticket = secret.bytes().to_vec();
        ticket.extend(now.0.to_be_bytes());
        let mac: [u8; 16] = self.mac([b"enrolment", &bind(pro), &ticket]);
        ticket.extend(mac);
        ticket
    }

    /// Returns the secret of a ticket; `None` if it is too old, of another person or of another
    /// password.
    pub(crate) fn read_enrolment_ticket(
        &self,
        pro: &Pro,
        ticket: &[u8],
        now: Instant,
    ) -> Option<TotpSecret> {
        let ticket: &[u8; TICKET_BYTES] = ticket.try_into().ok()?;
        let (content, mac) = ticket.split_at(TICKET_BYTES - 16);
        let mut hmac = self.0.clone();
        for part in [b"enrolment", &bind(pro)[..], content] {
            hmac.update(part);
        }
        hmac.verify_truncated_left(mac).ok()?;
        let (secret, time) = content.split_first_chunk()?;
        let at = i64::from_be_bytes(time.try_into().expect("8 bytes"));
        let is_fresh = (0..ENROLMENT_SECONDS).contains(&now.seconds_since(Instant(at)));
        if is_fresh { Some(TotpSecret::new(*secret)) } else { None }
    }

    fn make_token(
        &self,
        device: DeviceNumber,
        claimant: Claimant<'_>,
        now: Instant,
    ) -> [u8; TOKEN_BYTES] {
        let mut token = [0; TOKEN_BYTES];
        token[..8].copy_from_slice(&device);
        token[8..16].copy_from_slice(&now.0.to_be_bytes());
        token[16..24].copy_from_slice(&digest_password(claimant));
        let mac: [u8; 16] = self.mac([b"device", claimant.email_hash, &token[..24]]);
        token[24..].copy_from_slice(&mac);
        token
    }

    fn check(
        &self,
        token: &[u8; TOKEN_BYTES],
        claimant: Claimant<'_>,
        now: Instant,
    ) -> Option<DeviceNumber> {
        let mut hmac = self.0.clone();
        for part in [b"device", &claimant.email_hash[..], &token[..24]] {
            hmac.update(part);
        }
        hmac.verify_truncated_left(&token[24..]).ok()?;
        let at = i64::from_be_bytes(token[8..16].try_into().expect("8 bytes"));
        let is_fresh = now.seconds_since(Instant(at)) < DEVICE_SECONDS;
        if !is_fresh || token[16..24] != digest_password(claimant) {
            return None;
        }
        Some(token[..8].try_into().expect("8 bytes"))
    }

    fn mac<const LENGTH: usize>(&self, parts: [&[u8]; 3]) -> [u8; LENGTH] {
        let mut hmac = self.0.clone();
        for part in parts {
            hmac.update(part);
        }
        let mac = hmac.finalize().into_bytes();
        mac[..LENGTH].try_into().expect("a MAC has 32 bytes")
    }
}

/// The digest of a professional and the password, to which a ticket is bound.
fn bind(pro: &Pro) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(pro.id.number().to_be_bytes());
    hasher.update(pro.password_hash.as_str());
    hasher.finalize().into()
}

fn digest_password(claimant: Claimant<'_>) -> [u8; 8] {
    Sha256::digest(claimant.password_hash)[..8].try_into().expect("a digest has 32 bytes")
}

/// The tokens that a request's cookies hold, in order.
fn device_tokens(headers: &HeaderMap) -> impl Iterator<Item = [u8; TOKEN_BYTES]> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|cookies| cookies.split(';'));
    let tokens = pairs.filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        if name == COOKIE_NAME { Some(value.split('.').take(PERSONS_PER_DEVICE_MAX)) } else { None }
    });
    tokens
        .take(1)
        .flatten()
        .filter_map(|token| BASE64URL_NOPAD.decode(token.as_bytes()).ok()?.try_into().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant(1_000_000);

    /// The headers of a browser that has stored a cookie.
    fn with_cookie(cookie: &HeaderValue) -> HeaderMap {
        let (pair, _) =
            cookie.to_str().expect("a text").split_once(';').expect("a cookie has attributes");
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, format!("other=1; {pair}").parse().expect("a header"));
        headers
    }

    #[test]
    fn a_browser_proves_its_persons_until_their_passwords_change() {
        let proofs = LoginProofs::new(Some(&LinkSecret::new([3; 32])));
        let ann = Claimant { email_hash: &[1; 32], password_hash: "first" };
        let bob = Claimant { email_hash: &[2; 32], password_hash: "other" };
        let nothing = HeaderMap::new();
        assert!(proofs.find_device(&nothing, ann, NOW).is_none());
        let headers = with_cookie(&proofs.device_cookie(&nothing, ann, false, NOW));
        assert!(proofs.find_device(&headers, ann, NOW).is_some());
        assert!(proofs.find_device(&headers, bob, NOW).is_none());
        let changed = Claimant { password_hash: "second", ..ann };
        assert!(proofs.find_device(&headers, changed, NOW).is_none());
        assert!(proofs.find_device(&headers, ann, NOW.plus_seconds(DEVICE_SECONDS)).is_none());
        let elsewhere = LoginProofs::new(Some(&LinkSecret::new([4; 32])));
        assert!(elsewhere.find_device(&headers, ann, NOW).is_none());
        // A second person, and again the first, who keeps one token.
        let both = with_cookie(&proofs.device_cookie(&headers, bob, false, NOW));
        let again = with_cookie(&proofs.device_cookie(&both, ann, false, NOW));
        for person in [ann, bob] {
            assert!(proofs.find_device(&again, person, NOW).is_some());
        }
        assert_eq!(device_tokens(&again).count(), 2);
    }

    #[test]
    fn a_cookie_is_for_this_server_alone() {
        let proofs = LoginProofs::new(None);
        let ann = Claimant { email_hash: &[1; 32], password_hash: "first" };
        let cookie = proofs.device_cookie(&HeaderMap::new(), ann, true, NOW);
        let cookie = cookie.to_str().expect("a text");
        assert!(cookie.ends_with("; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
    }
}
