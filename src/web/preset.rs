//! The wishes of a site's link, which each step of the booking pages passes on: details of the
//! client, frozen choices, colours and the origin of the booking. Reference 14.7.
//!
//! They travel sealed in the parameter `p`, so that no name stands in an address, a log or a
//! referrer. The server keeps nothing for them.

use std::collections::BTreeMap;

use data_encoding::BASE64URL_NOPAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::records::ids::{
    CalendarId, CalendarsetId, GroupId, InterventionId, InterventionsetId,
};
use crate::domain::time::{HOUR, Instant};
use crate::web::choice::Choice;

/// The parameter with a sealed preset.
pub(crate) const PRESET: &str = "p";
/// Maximum length of a sealed preset, in characters.
const SEALED_MAX: usize = 2_048;
/// Seconds for which a sealed preset is taken.
const VALID_SECONDS: i64 = HOUR;
/// Length of the random bytes of which each seal makes a key of its own. With 128 bits no two
/// seals share a key, so all may have the same nonce.
const SALT_BYTES: usize = 16;

/// The choices of a link that a visit keeps to. A list without ids leaves that choice open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Frozen {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) services: Vec<InterventionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) calendar: Option<CalendarId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sets: Vec<InterventionsetId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) calendarsets: Vec<CalendarsetId>,
    /// Whether something that the link freezes is not offered here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_gone: bool,
}

impl Frozen {
    /// Returns a choice that keeps to these. What differs from them falls back to them.
    pub(crate) fn keep(&self, mut choice: Choice, catalogue: &Catalogue) -> Choice {
        if !self.sets.is_empty() {
            choice.sets.clone_from(&self.sets);
            choice.keep_to_sets(catalogue);
        }
        if !self.calendarsets.is_empty() {
            choice.calendarsets.clone_from(&self.calendarsets);
            choice.keep_to_calendarsets(catalogue);
        }
        if !self.services.is_empty() {
            choice.services.clone_from(&self.services);
            choice.names_unknown_service = false;
        }
        if self.calendar.is_some() {
            choice.calendar = self.calendar;
            choice.has_no_preference = false;
        }
        choice
    }
}

/// The wishes of a link beyond its choices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Preset {
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) frozen: Frozen,
    /// The origin of the booking; empty for that of the pages.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) websource: String,
    /// Colours by their keys in `usercolors`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) colours: BTreeMap<String, String>,
    /// Whether the owner tries the link on the screen that makes it. Nothing is booked then, and
    /// this server may show the pages in a frame.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_preview: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) hides_logo: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) hides_footer: bool,
    /// Values of the form by the names of their fields, such as `fiche.lastname`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) details: BTreeMap<String, String>,
}

/// A preset with the end of its validity.
#[derive(Serialize, Deserialize)]
struct Sealed {
    expires: i64,
    preset: Preset,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Preset {
    /// Makes a preset of these wishes. Details that do not fit into a parameter are left out, the
    /// last ones first, and then the colours and the origin.
    pub(crate) fn fitting(self, details: Vec<(String, String)>) -> Self {
        let mut fitted = Self { details: BTreeMap::new(), ..self };
        if !fitted.fits() {
            fitted.colours.clear();
        }
        if !fitted.fits() {
            fitted.websource.clear();
        }
        if !fitted.fits() {
            fitted.frozen = Frozen::default();
        }
        for (name, value) in details {
            fitted.details.insert(name.clone(), value);
            if !fitted.fits() {
                fitted.details.remove(&name);
            }
        }
        fitted
    }

    /// Whether a visit has nothing to pass on.
    pub(crate) fn is_blank(&self) -> bool {
        is_default(self)
    }

    fn fits(&self) -> bool {
        let sealed = Sealed { expires: i64::MAX, preset: self.clone() };
        let bytes = SALT_BYTES + plain(&sealed).len() + CHACHA20_POLY1305.tag_len();
        BASE64URL_NOPAD.encode_len(bytes) <= SEALED_MAX
    }

    /// Seals it for a group until an hour after `now`. `salt` is random.
    pub(crate) fn seal(
        self,
        group: GroupId,
        now: Instant,
        salt: [u8; SALT_BYTES],
        secret: &LinkSecret,
    ) -> String {
        let expires = now.plus_seconds(VALID_SECONDS).0;
        let mut bytes = plain(&Sealed { expires, preset: self });
        key_of(&salt, group, secret)
            .seal_in_place_append_tag(nonce(), Aad::empty(), &mut bytes)
            .expect("a preset is short");
        BASE64URL_NOPAD.encode(&[&salt[..], &bytes].concat())
    }

    /// Opens a sealed preset; `None` if this store has not sealed it for this group, or its hour is
    /// over.
    pub(crate) fn open(
        sealed: &str,
        group: GroupId,
        now: Instant,
        secret: &LinkSecret,
    ) -> Option<Self> {
        if sealed.len() > SEALED_MAX {
            return None;
        }
        let bytes = BASE64URL_NOPAD.decode(sealed.as_bytes()).ok()?;
        let (salt, bytes) = bytes.split_first_chunk::<SALT_BYTES>()?;
        let mut bytes = bytes.to_vec();
        let key = key_of(salt, group, secret);
        let opened = key.open_in_place(nonce(), Aad::empty(), &mut bytes).ok()?;
        let sealed: Sealed = serde_json::from_slice(opened).ok()?;
        if sealed.expires > now.0 { Some(sealed.preset) } else { None }
    }
}

fn plain(sealed: &Sealed) -> Vec<u8> {
    serde_json::to_vec(sealed).expect("texts and numbers are JSON")
}

/// The nonce of every seal, since each has a key of its own.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; ring::aead::NONCE_LEN])
}

/// Returns the key of one seal of a group.
fn key_of(salt: &[u8; SALT_BYTES], group: GroupId, secret: &LinkSecret) -> LessSafeKey {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.bits()).expect("any length is a key");
    mac.update(b"preset");
    mac.update(&group.number().to_be_bytes());
    mac.update(salt);
    let bits = mac.finalize().into_bytes();
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &bits).expect("a key has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn group(number: u64) -> GroupId {
        GroupId::new(number).expect("an id")
    }

    fn example() -> Preset {
        let websource = "https://shop.example.org".to_owned();
        let preset = Preset { websource, ..Preset::default() };
        preset.fitting(vec![("fiche.lastname".to_owned(), "Léger".to_owned())])
    }

    #[test]
    fn a_preset_opens_for_an_hour_for_its_group_and_store_alone() {
        let secret = LinkSecret::new([7; 32]);
        let now = Instant(1_000_000);
        let sealed = example().seal(group(4), now, [1; 16], &secret);
        let open = |group, now, secret: &LinkSecret| Preset::open(&sealed, group, now, secret);
        assert_eq!(open(group(4), now.plus_seconds(3_599), &secret), Some(example()));
        assert_eq!(open(group(4), now.plus_seconds(3_600), &secret), None);
        assert_eq!(open(group(5), now, &secret), None);
        assert_eq!(open(group(4), now, &LinkSecret::new([8; 32])), None);
        assert!(!sealed.contains("ger"), "{sealed}");
        assert_ne!(sealed, example().seal(group(4), now, [2; 16], &secret));
    }

    #[test]
    fn a_changed_seal_does_not_open() {
        let secret = LinkSecret::new([7; 32]);
        let sealed = example().seal(group(4), Instant(0), [1; 16], &secret);
        let bytes = BASE64URL_NOPAD.decode(sealed.as_bytes()).expect("base64");
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let changed = BASE64URL_NOPAD.encode(&changed);
            assert_eq!(Preset::open(&changed, group(4), Instant(0), &secret), None, "{at}");
        }
        for text in ["", "p", "é", &sealed[1..], &sealed[..20]] {
            assert_eq!(Preset::open(text, group(4), Instant(0), &secret), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_seal_has_at_most_2_048_characters(
            websource in "\\PC{0,255}",
            details in prop::collection::vec(("[a-z.]{1,20}", "\\PC{0,700}"), 0..12),
            services in prop::collection::vec(1_u64..1_000_000_000, 0..300),
        ) {
            let id = |number| InterventionId::new(number).expect("an id");
            let services = services.into_iter().map(id).collect();
            let frozen = Frozen { services, ..Frozen::default() };
            let preset = Preset { frozen, websource, ..Preset::default() }.fitting(details);
            let secret = LinkSecret::new([7; 32]);
            let sealed = preset.clone().seal(group(4), Instant(0), [1; 16], &secret);
            prop_assert!(sealed.len() <= SEALED_MAX, "{}", sealed.len());
            prop_assert_eq!(Preset::open(&sealed, group(4), Instant(1), &secret), Some(preset));
        }
    }
}
