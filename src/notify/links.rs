//! Links in mails: `PUBLIC_URL/m/<token>`, used without an apikey. Reference 7.4.
//!
//! A token carries its own proof, so nothing is stored for a link. The link that cancels an
//! appointment carries the appointment's key. The link that ends reminders carries a MAC by the
//! server's secret, since an application that booked in the client's name knows the key too. So
//! do the links that let a professional log in while strangers guess, set another password, and
//! join a group.
//! The parts of these tokens are joined by dots. A token without dots belongs to an account.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use hmac::{Hmac, KeyInit as _, Mac as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::Sha256;

use crate::domain::directory::invitations::Invitation;
use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::directory::professionals::Pro;
use crate::domain::records::account_link::LinkToken;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{FicheId, GroupId, InterventionId, ProId, VeventId};
use crate::domain::records::image::Image;
use crate::domain::records::text::Email;
use crate::domain::records::vevent::AppointmentKey;
use crate::domain::time::Instant;

/// The path of all links.
pub(crate) const PATH: &str = "/m/{token}";
/// The path to move the appointment of a link.
pub(crate) const MOVE_PATH: &str = "/m/{token}/move";

/// The characters that are escaped in a segment of a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Returns the path of an image of a group. It has the digest, so that it changes with the image.
pub(crate) fn image_path(group: &Group, image: &Image) -> String {
    let urlname = utf8_percent_encode(group.urlname.as_str(), SEGMENT);
    format!("/b/{urlname}/image/{}", image.file_name())
}

/// Length of an unsubscribe link's MAC, in bytes: 128 bits cannot be guessed.
const MAC_BYTES: usize = 16;

/// Maximum length of an account's token, as in
/// [`LinkToken`](crate::domain::records::account_link::LinkToken).
const ACCOUNT_TOKEN_LENGTH_MAX: usize = 65_536;

/// A parsed token of a link. Its proof is not verified yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailLink {
    /// Cancels an appointment, subject to its calendar's lead time.
    Cancel(CancelLink),
    /// Ends e-mail reminders to a client.
    Unsubscribe(UnsubscribeLink),
    /// Lets a professional log in while strangers guess, or set another password.
    Login(LoginLink),
    /// Invites a professional to a group.
    Invitation(InvitationLink),
    /// An account's token, unchanged.
    Account(String),
}

/// The token of a cancellation link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelLink {
    /// The appointment's group.
    pub group: GroupId,
    /// The appointment.
    pub appointment: VeventId,
    /// The appointment's key, not verified.
    pub key: String,
}

/// The token of an unsubscribe link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsubscribeLink {
    /// The client's group.
    pub group: GroupId,
    /// The client.
    pub client: FicheId,
    /// The MAC in hexadecimal digits, not verified. It covers the client's mail address.
    mac: String,
}

/// The effect of following a link that is mailed to a professional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginLinkAction {
    /// Lets the browser try to log in while strangers guess.
    Admit,
    /// Sets another password.
    SetPassword,
}

impl LoginLinkAction {
    /// The first part of its tokens.
    const fn letter(self) -> &'static str {
        match self {
            Self::Admit => "l",
            Self::SetPassword => "p",
        }
    }

    /// The first word under the MAC, which keeps the links apart.
    const fn word(self) -> &'static str {
        match self {
            Self::Admit => "login",
            Self::SetPassword => "pro-password",
        }
    }
}

/// The token of a link that is mailed to a professional.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginLink {
    /// The effect of following it.
    pub action: LoginLinkAction,
    /// The group whose mail it stands in.
    pub group: GroupId,
    /// The professional.
    pub pro: ProId,
    /// The end of its validity.
    pub expires: Instant,
    /// The MAC, not verified. It covers the address and the password, so that another one ends the
    /// link.
    pub mac: [u8; MAC_BYTES],
}

impl LoginLink {
    /// Returns the link of a professional until a moment.
    pub fn new(action: LoginLinkAction, pro: &Pro, expires: Instant, secret: &LinkSecret) -> Self {
        let link = Self { action, group: pro.main, pro: pro.id, expires, mac: [0; MAC_BYTES] };
        let mac = link.make_mac(pro, secret).finalize().into_bytes();
        Self { mac: mac[..MAC_BYTES].try_into().expect("a MAC has 32 bytes"), ..link }
    }

    /// Returns the token of the link.
    ///
    /// # Panics
    /// Never: numbers and a MAC are short.
    pub fn token(&self) -> LinkToken {
        let mac = HEXLOWER.encode(&self.mac);
        let Self { action, group, pro, expires, .. } = self;
        let token = format!("{}.{group}.{pro}.{}-{mac}", action.letter(), expires.0);
        LinkToken::new(&token).expect("a token of numbers is short")
    }

    /// Returns whether the server made the link for this professional with the present password,
    /// and it has not expired.
    pub fn verify(&self, pro: &Pro, secret: &LinkSecret, now: Instant) -> bool {
        let is_own = self.pro == pro.id && self.group == pro.main && now < self.expires;
        is_own && self.make_mac(pro, secret).verify_truncated_left(&self.mac).is_ok()
    }

    fn make_mac(&self, pro: &Pro, secret: &LinkSecret) -> Hmac<Sha256> {
        let mut mac = Hmac::new_from_slice(secret.bits()).expect("any length makes a key");
        let Self { action, group, pro: id, expires, .. } = self;
        let word = action.word();
        let email = pro.email.folded();
        let password = pro.password_hash.as_str();
        mac.update(format!("{word}.{group}.{id}.{}.{email}.{password}", expires.0).as_bytes());
        mac
    }
}

/// The token of an invitation to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvitationLink {
    /// The group.
    pub group: GroupId,
    /// The number of the invitation.
    pub number: u64,
    /// The MAC, not verified. It covers the address, so that the link is bound to it.
    mac: [u8; MAC_BYTES],
}

impl InvitationLink {
    /// Returns the link of an invitation.
    ///
    /// # Panics
    /// Never: a MAC is longer than the part that is kept.
    pub fn new(group: GroupId, number: u64, invitation: &Invitation, secret: &LinkSecret) -> Self {
        let link = Self { group, number, mac: [0; MAC_BYTES] };
        let mac = link.make_mac(invitation, secret).finalize().into_bytes();
        Self { mac: mac[..MAC_BYTES].try_into().expect("a MAC has 32 bytes"), ..link }
    }

    /// Returns the token of the link.
    ///
    /// # Panics
    /// Never: numbers and a MAC are short.
    pub fn token(&self) -> LinkToken {
        let Self { group, number, mac } = self;
        let token = format!("i.{group}.{number}.{}", HEXLOWER.encode(mac));
        LinkToken::new(&token).expect("a token of numbers is short")
    }

    /// Returns whether the server made the link for this invitation.
    pub fn verify(&self, invitation: &Invitation, secret: &LinkSecret) -> bool {
        self.make_mac(invitation, secret).verify_truncated_left(&self.mac).is_ok()
    }

    fn make_mac(&self, invitation: &Invitation, secret: &LinkSecret) -> Hmac<Sha256> {
        let mut mac = Hmac::new_from_slice(secret.bits()).expect("any length makes a key");
        let Self { group, number, .. } = self;
        let (email, expires) = (invitation.email.folded(), invitation.expires.0);
        mac.update(format!("invitation.{group}.{number}.{expires}.{email}").as_bytes());
        mac
    }
}

impl UnsubscribeLink {
    /// Returns whether the server mailed the link to this client's current address.
    #[must_use]
    pub fn verify(&self, client: &Fiche, secret: &LinkSecret) -> bool {
        if self.client != client.id {
            return false;
        }
        let Some(mac) = parse_mac(&self.mac) else { return false };
        unsubscribe_mac(secret, self.group, client).verify_truncated_left(&mac).is_ok()
    }
}

/// Returns the MAC of a client's unsubscribe link. It covers the mail address, so that a link
/// mailed to a former address no longer works.
fn unsubscribe_mac(secret: &LinkSecret, group: GroupId, client: &Fiche) -> Hmac<Sha256> {
    let mut mac = Hmac::new_from_slice(secret.bits()).expect("any length makes a key");
    let address = client.email.as_ref().map(Email::folded).unwrap_or_default();
    mac.update(format!("unsubscribe.{group}.{}.{address}", client.id).as_bytes());
    mac
}

/// Returns the URL that cancels an appointment.
pub fn cancel_url(
    public_url: &str,
    group: GroupId,
    appointment: VeventId,
    key: &AppointmentKey,
) -> String {
    format!("{public_url}/m/c.{group}.{appointment}.{}", key.as_str())
}

/// Returns the URL of the booking page of a group, with an intervention chosen if there is one.
pub fn booking_url(
    public_url: &str,
    urlname: &str,
    intervention: Option<InterventionId>,
) -> String {
    let name = utf8_percent_encode(urlname, SEGMENT);
    match intervention {
        Some(intervention) => format!("{public_url}/b/{name}/time?s={intervention}"),
        None => format!("{public_url}/b/{name}"),
    }
}

/// Returns the URL that ends e-mail reminders to a client.
pub fn unsubscribe_url(
    public_url: &str,
    secret: &LinkSecret,
    group: GroupId,
    client: &Fiche,
) -> String {
    let mac = unsubscribe_mac(secret, group, client).finalize().into_bytes();
    let digits = HEXLOWER.encode(&mac[..MAC_BYTES]);
    format!("{public_url}/m/u.{group}.{}.{digits}", client.id)
}

/// Returns the URL of an account's token.
pub fn account_url(public_url: &str, token: &str) -> String {
    format!("{public_url}/m/{token}")
}

/// Replaces the token of each link in a text with an ellipsis.
///
/// ```
/// use slotbook::notify::links::hide_tokens;
/// let text = "Cancel: https://x.org/m/c.4.90.abc-_9\r\nBye";
/// assert_eq!(hide_tokens("https://x.org", text), "Cancel: https://x.org/m/…\r\nBye");
/// ```
pub fn hide_tokens(public_url: &str, text: &str) -> String {
    let beginning = format!("{public_url}/m/");
    let mut hidden = String::with_capacity(text.len());
    let mut pieces = text.split(&beginning);
    hidden.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        hidden.push_str(&beginning);
        hidden.push('…');
        hidden.push_str(piece.trim_start_matches(is_token_character));
    }
    hidden
}

/// Whether a character may stand in a token.
fn is_token_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.')
}

/// Parses a link's token; `None` if it is malformed. Proofs are not verified.
///
/// ```
/// use slotbook::notify::links::{MailLink, parse};
/// assert!(matches!(parse("c.4.90.abcdefghijklmnopqrst"), Some(MailLink::Cancel(_))));
/// assert_eq!(parse("abc-_9"), Some(MailLink::Account("abc-_9".into())));
/// assert_eq!(parse("c.4.x.abc"), None);
/// ```
pub fn parse(token: &str) -> Option<MailLink> {
    if is_account_token(token) {
        return Some(MailLink::Account(token.to_owned()));
    }
    let parts: Vec<&str> = token.split('.').collect();
    let [action, group, id, proof] = parts[..] else { return None };
    let group = GroupId::new(group.parse().ok()?)?;
    match action {
        "c" => {
            let appointment = VeventId::new(id.parse().ok()?)?;
            let key = AppointmentKey::new(proof)?.as_str().to_owned();
            Some(MailLink::Cancel(CancelLink { group, appointment, key }))
        }
        "u" => {
            let client = FicheId::new(id.parse().ok()?)?;
            Some(MailLink::Unsubscribe(UnsubscribeLink { group, client, mac: proof.to_owned() }))
        }
        "l" | "p" => {
            let is_admission = action == LoginLinkAction::Admit.letter();
            let action =
                if is_admission { LoginLinkAction::Admit } else { LoginLinkAction::SetPassword };
            let pro = ProId::new(id.parse().ok()?)?;
            let (expires, mac) = proof.split_once('-')?;
            let expires = Instant(expires.parse().ok()?);
            Some(MailLink::Login(LoginLink { action, group, pro, expires, mac: parse_mac(mac)? }))
        }
        "i" => {
            let number = id.parse().ok()?;
            Some(MailLink::Invitation(InvitationLink { group, number, mac: parse_mac(proof)? }))
        }
        _ => None,
    }
}

fn is_account_token(token: &str) -> bool {
    if token.is_empty() || token.len() > ACCOUNT_TOKEN_LENGTH_MAX {
        return false;
    }
    token.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Parses the hexadecimal digits of a MAC.
fn parse_mac(digits: &str) -> Option<[u8; MAC_BYTES]> {
    HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Instant;

    #[test]
    fn only_the_server_can_create_an_unsubscribe_link_and_only_for_the_current_address() {
        let secret = LinkSecret::new([7; 32]);
        let group = GroupId::new(4).expect("an id");
        let mut client = Fiche::new(FicheId::new(9).expect("an id"), Instant(0));
        client.email = Some(Email::new("ada@example.org").expect("an address"));
        let link = unsubscribe_url("https://x", &secret, group, &client);
        let verifies = |token: &str, client: &Fiche, secret: &LinkSecret| match parse(token) {
            Some(MailLink::Unsubscribe(link)) => link.verify(client, secret),
            Some(
                MailLink::Cancel(_)
                | MailLink::Account(_)
                | MailLink::Login(_)
                | MailLink::Invitation(_),
            )
            | None => false,
        };
        let token = link.strip_prefix("https://x/m/").expect("a link");
        assert!(verifies(token, &client, &secret));
        assert!(!verifies(token, &client, &LinkSecret::new([8; 32])), "another store's");
        assert!(!verifies(&token.replacen("u.4.", "u.5.", 1), &client, &secret), "another group's");
        let other = Fiche { id: FicheId::new(10).expect("an id"), ..client.clone() };
        assert!(
            !verifies(token, &other, &secret)
                && !verifies(&token.replacen(".9.", ".10.", 1), &other, &secret)
        );
        let moved = Fiche {
            email: Some(Email::new("bob@example.org").expect("an address")),
            ..client.clone()
        };
        assert!(!verifies(token, &moved, &secret), "another address");
        for malformed in ["abcdefghijklmnopqrst", "+fabcdefabcdefabcdefabcdefabcdef", ""] {
            assert!(parse(&format!("u.4.9.{malformed}")).is_some(), "it names the page to show");
            assert!(!verifies(&format!("u.4.9.{malformed}"), &client, &secret), "{malformed}");
        }
    }
}
