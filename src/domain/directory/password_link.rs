//! Links that set the password of an account. Reference 3.5.
//!
//! Nothing is stored for such a link, so no number of requests can use up a table. The token holds
//! everything, with a MAC by the store's secret. It is bound to the account as it was, so that it
//! works once: its use changes the account.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::records::account::Account;
use crate::domain::records::account_link::{LINK_SECONDS, LinkToken, PendingRdv};
use crate::domain::records::ids::GroupId;
use crate::domain::records::text::Email;
use crate::domain::time::Instant;

/// Length of the MAC in bytes: 128 bits cannot be guessed.
const MAC_BYTES: usize = 16;
/// Length of the expiry, in bytes.
const EXPIRY_BYTES: usize = 8;
/// Length of a stamp in bytes.
const STAMP_BYTES: usize = 8;

/// The state of an account to which a link is bound: a digest of its address and password, or that
/// there is no account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountStamp([u8; STAMP_BYTES]);

impl AccountStamp {
    /// Returns the stamp of an account, or of its absence. Each password hash has a salt of its
    /// own, so that the same password set again gives another stamp.
    pub fn from_account(account: Option<&Account>) -> Self {
        let Some(account) = account else { return Self([0; STAMP_BYTES]) };
        let digest = Sha256::new()
            .chain_update(account.email.folded().as_bytes())
            .chain_update([0])
            .chain_update(account.password_hash.as_str())
            .finalize();
        let mut stamp = [0; STAMP_BYTES];
        stamp.copy_from_slice(&digest[..STAMP_BYTES]);
        Self(stamp)
    }
}

/// A link that creates the account of an address, or sets its password.
#[derive(Clone, Debug, PartialEq)]
pub struct PasswordLink {
    /// The address that it is mailed to.
    pub email: Email,
    /// The account of the address at the request.
    pub stamp: AccountStamp,
    /// The end of its validity.
    pub expires: Instant,
    /// The booking in progress to return.
    pub pending_rdv: Option<PendingRdv>,
}

impl PasswordLink {
    /// Returns the token of the link: the group's id, `-`, and the link with its MAC in base64.
    ///
    /// # Panics
    /// Never: the parts of a link bound the length of its token.
    #[must_use]
    pub fn seal(&self, group: GroupId, secret: &LinkSecret) -> LinkToken {
        let email = self.email.as_str().as_bytes();
        let email_length = u16::try_from(email.len()).expect("an address has 255 characters");
        let mut bytes = self.expires.0.to_be_bytes().to_vec();
        bytes.extend(self.stamp.0);
        bytes.extend(email_length.to_be_bytes());
        bytes.extend(email);
        if let Some(pending_rdv) = &self.pending_rdv {
            bytes.extend(pending_rdv.as_str().as_bytes());
        }
        let mac = link_mac(group, &bytes, secret).finalize().into_bytes();
        bytes.extend(&mac[..MAC_BYTES]);
        let token = format!("{group}-{}", URL_SAFE_NO_PAD.encode(bytes));
        LinkToken::new(&token).expect("the parts of a link bound the length of its token")
    }

    /// Returns the link of a token; `None` if this store has not sealed it for this group.
    pub fn open(token: &str, group: GroupId, secret: &LinkSecret) -> Option<Self> {
        let encoded = token.strip_prefix(&format!("{group}-"))?;
        let bytes = URL_SAFE_NO_PAD.decode(encoded).ok()?;
        let (bytes, mac) = bytes.split_at_checked(bytes.len().checked_sub(MAC_BYTES)?)?;
        link_mac(group, bytes, secret).verify_truncated_left(mac).ok()?;
        let (expires, bytes) = bytes.split_first_chunk::<EXPIRY_BYTES>()?;
        let (stamp, bytes) = bytes.split_first_chunk::<STAMP_BYTES>()?;
        let (email_length, bytes) = bytes.split_first_chunk::<2>()?;
        let (email, pending_rdv) =
            bytes.split_at_checked(u16::from_be_bytes(*email_length).into())?;
        let pending_rdv = match pending_rdv {
            [] => None,
            text => Some(PendingRdv::new(str::from_utf8(text).ok()?).ok()?),
        };
        Some(Self {
            email: Email::new(str::from_utf8(email).ok()?).ok()?,
            stamp: AccountStamp(*stamp),
            expires: Instant(i64::from_be_bytes(*expires)),
            pending_rdv,
        })
    }

    /// Returns the stamp of its request.
    pub fn requested_at(&self) -> Instant {
        self.expires.plus_seconds(-LINK_SECONDS)
    }

    /// Returns whether it has not expired by the steady time, and the account of its address is as
    /// it was. Whether it can be followed is for
    /// [`GroupState::takes_link`](crate::domain::state::group_state::GroupState::takes_link).
    pub fn is_valid(&self, account: Option<&Account>, steady_now: Instant) -> bool {
        steady_now < self.expires && self.stamp == AccountStamp::from_account(account)
    }
}

/// Returns the length of the longest token that holds texts of this many bytes.
pub(crate) const fn longest_token_bytes(texts: u64) -> u64 {
    const ID_AND_DASH_BYTES: u64 = 17;
    const FIXED_BYTES: u64 = (EXPIRY_BYTES + STAMP_BYTES + 2 + MAC_BYTES) as u64;
    ID_AND_DASH_BYTES + (FIXED_BYTES + texts).div_ceil(3) * 4
}

/// Returns the MAC of a link. Its first word keeps it apart from the MACs of other links.
fn link_mac(group: GroupId, bytes: &[u8], secret: &LinkSecret) -> Hmac<Sha256> {
    let mut mac = Hmac::new_from_slice(secret.bits()).expect("any length makes a key");
    mac.update(format!("password.{group}.").as_bytes());
    mac.update(bytes);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::ids::FicheId;
    use crate::domain::records::text::Text;

    fn group(id: u64) -> GroupId {
        GroupId::new(id).expect("an id")
    }

    fn link(pending_rdv: Option<&str>) -> PasswordLink {
        PasswordLink {
            email: Email::new("Zoé@example.org").expect("an address"),
            stamp: AccountStamp::from_account(None),
            expires: Instant(1_000),
            pending_rdv: pending_rdv.map(|text| PendingRdv::new(text).expect("a text")),
        }
    }

    #[test]
    fn a_token_opens_with_the_secret_of_its_store_in_its_group() {
        let secret = LinkSecret::new([7; 32]);
        let longest = "é".repeat(8_192);
        for link in [link(None), link(Some("{\"a\":[1]}")), link(Some(&longest))] {
            let token = link.seal(group(4), &secret);
            let pending = link.pending_rdv.as_ref().map_or(0, |text| text.as_str().len());
            let texts = link.email.as_str().len() + pending;
            let excess = longest_token_bytes(texts as u64) - token.as_str().len() as u64;
            assert!(excess <= 17 + 2, "{excess}");
            assert_eq!(PasswordLink::open(token.as_str(), group(4), &secret), Some(link));
            let other_group = token.as_str().replacen("4-", "5-", 1);
            assert_eq!(PasswordLink::open(&other_group, group(5), &secret), None);
            let other_secret = LinkSecret::new([8; 32]);
            assert_eq!(PasswordLink::open(token.as_str(), group(4), &other_secret), None);
        }
    }

    #[test]
    fn a_changed_token_opens_nothing() {
        let secret = LinkSecret::new([7; 32]);
        let token = link(Some("1")).seal(group(4), &secret).as_str().to_owned();
        for at in 2..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            assert_eq!(PasswordLink::open(&changed, group(4), &secret), None, "{at}");
            assert_eq!(PasswordLink::open(&token[..at], group(4), &secret), None, "{at}");
        }
        for nothing in ["", "4", "4-", "4-AAAA", "4-é"] {
            assert_eq!(PasswordLink::open(nothing, group(4), &secret), None);
        }
    }

    #[test]
    fn a_link_is_valid_until_it_expires_or_the_account_changes() {
        let account = |password_hash: &str| Account {
            email: Email::new("zoé@example.org").expect("an address"),
            fiche_id: FicheId::new(7).expect("an id"),
            password_hash: Text::new(password_hash).expect("a text"),
            former: Vec::new(),
            last_login: None,
        };
        let unknown = link(None);
        assert!(unknown.is_valid(None, Instant(999)) && !unknown.is_valid(None, Instant(1_000)));
        assert!(!unknown.is_valid(Some(&account("one")), Instant(0)));
        let stamp = AccountStamp::from_account(Some(&account("one")));
        let known = PasswordLink { stamp, ..link(None) };
        assert!(known.is_valid(Some(&account("one")), Instant(0)));
        assert!(!known.is_valid(Some(&account("two")), Instant(0)));
        assert!(!known.is_valid(None, Instant(0)));
    }
}
