//! The links in mails: `PUBLIC_URL/m/<token>`, without an apikey. Reference 7.
//!
//! A link that cancels an appointment is made of its secret, and one that ends reminders of a proof that only the server can
//! make: an appointment's secret is also known to whoever booked it in the client's name. So nothing has to be kept for
//! either; their parts are joined by dots. A token without dots is that of an account.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::domain::identity::link_secret::LinkSecret;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{FicheId, GroupId, VeventId};
use crate::domain::records::text::Email;
use crate::domain::records::vevent::AppointmentKey;

/// Bytes of a proof: nobody guesses 128 bits.
const PROOF_BYTES: usize = 16;

/// What a link leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// Cancels an appointment under its calendar's lead time.
    Cancel(Holder),
    /// Its client wants no more e-mail reminders.
    Unsubscribe(Subscriber),
    /// An account's token, as it was given out.
    Account(String),
}

/// An appointment, and the proof of having been written to about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its group.
    pub group: GroupId,
    /// Which.
    pub appointment: VeventId,
    /// Its secret.
    pub key: String,
}

/// A client, and the proof of having been written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscriber {
    /// Its group.
    pub group: GroupId,
    /// Which.
    pub client: FicheId,
    /// In hexadecimal digits, if it is one: made of the address that was written to.
    proof: String,
}

impl Subscriber {
    /// Whether it was this client, at the address it has now, to whom the server has mailed the link.
    #[must_use]
    pub fn is(&self, client: &Fiche, seal: &LinkSecret) -> bool {
        let proves = |proof: [u8; PROOF_BYTES]| {
            mac(seal, self.group, client).verify_truncated_left(&proof).is_ok()
        };
        self.client == client.id && bytes_of(&self.proof).is_some_and(proves)
    }
}

/// What a client's proof is made of. The address is part of it, so that who had it before has no say any more.
fn mac(seal: &LinkSecret, group: GroupId, client: &Fiche) -> Hmac<Sha256> {
    let mut mac = Hmac::new_from_slice(seal.bits()).expect("any length makes a key");
    let address = client.email.as_ref().map(Email::folded).unwrap_or_default();
    mac.update(format!("unsubscribe.{group}.{}.{address}", client.id).as_bytes());
    mac
}

/// The link that cancels an appointment.
#[must_use]
pub fn cancel(
    public_url: &str,
    group: GroupId,
    appointment: VeventId,
    key: &AppointmentKey,
) -> String {
    format!("{public_url}/m/c.{group}.{appointment}.{}", key.as_str())
}

/// The link that ends e-mail reminders to a client.
#[must_use]
pub fn unsubscribe(public_url: &str, seal: &LinkSecret, group: GroupId, client: &Fiche) -> String {
    let proof = mac(seal, group, client).finalize().into_bytes();
    let proof: String = proof.iter().take(PROOF_BYTES).map(|byte| format!("{byte:02x}")).collect();
    format!("{public_url}/m/u.{group}.{}.{proof}", client.id)
}

/// The link of an account's token.
#[must_use]
pub fn account(public_url: &str, token: &str) -> String {
    format!("{public_url}/m/{token}")
}

/// What a token means; `None` where it can mean nothing.
///
/// ```
/// use slotbook::notify::links::{Link, parse};
/// assert!(matches!(parse("c.4.90.abcdefghijklmnopqrst"), Some(Link::Cancel(_))));
/// assert_eq!(parse("abc-_9"), Some(Link::Account("abc-_9".into())));
/// assert_eq!(parse("c.4.x.abc"), None);
/// ```
#[must_use]
pub fn parse(token: &str) -> Option<Link> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !token.is_empty() && token.len() <= 128 && token.chars().all(is_plain) {
        return Some(Link::Account(token.to_owned()));
    }
    let parts: Vec<&str> = token.split('.').collect();
    let [what, group, id, proof] = parts[..] else { return None };
    let group = GroupId::new(group.parse().ok()?)?;
    match what {
        "c" => {
            let appointment = VeventId::new(id.parse().ok()?)?;
            Some(Link::Cancel(Holder {
                group,
                appointment,
                key: AppointmentKey::new(proof)?.as_str().to_owned(),
            }))
        }
        "u" => {
            let client = FicheId::new(id.parse().ok()?)?;
            Some(Link::Unsubscribe(Subscriber { group, client, proof: proof.to_owned() }))
        }
        _ => None,
    }
}

/// The bytes of a proof's hexadecimal digits.
fn bytes_of(proof: &str) -> Option<[u8; PROOF_BYTES]> {
    if proof.len() != 2 * PROOF_BYTES || !proof.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; PROOF_BYTES];
    for (nth, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&proof[2 * nth..2 * nth + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Instant;

    #[test]
    fn only_the_server_can_make_the_link_that_ends_reminders_and_only_for_the_address_that_is() {
        let (seal, group) = (LinkSecret::new([7; 32]), GroupId::new(4).expect("an id"));
        let mut client = Fiche::new(FicheId::new(9).expect("an id"), Instant(0));
        client.email = Some(Email::new("ada@example.org").expect("an address"));
        let link = unsubscribe("https://x", &seal, group, &client);
        let proven = |token: &str, client: &Fiche, seal: &LinkSecret| matches!(parse(token), Some(Link::Unsubscribe(subscriber)) if subscriber.is(client, seal));
        let token = link.strip_prefix("https://x/m/").expect("a link");
        assert!(proven(token, &client, &seal));
        assert!(!proven(token, &client, &LinkSecret::new([8; 32])), "another store's");
        assert!(!proven(&token.replacen("u.4.", "u.5.", 1), &client, &seal), "another group's");
        let other = Fiche { id: FicheId::new(10).expect("an id"), ..client.clone() };
        assert!(
            !proven(token, &other, &seal)
                && !proven(&token.replacen(".9.", ".10.", 1), &other, &seal)
        );
        let moved = Fiche {
            email: Some(Email::new("bob@example.org").expect("an address")),
            ..client.clone()
        };
        assert!(!proven(token, &moved, &seal), "another address");
        for no_proof in ["abcdefghijklmnopqrst", "+fabcdefabcdefabcdefabcdefabcdef", ""] {
            assert!(parse(&format!("u.4.9.{no_proof}")).is_some(), "it says whose page it is");
            assert!(!proven(&format!("u.4.9.{no_proof}"), &client, &seal), "{no_proof}");
        }
    }
}
