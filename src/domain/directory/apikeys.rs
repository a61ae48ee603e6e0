//! The application keys, and what each may do. Reference 3.1.

use std::ops::Deref;

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Deserializer, Serialize};

use crate::domain::records::added::{in_format_2, in_format_2_or, in_format_3_or, in_format_7};
use crate::domain::records::ids::GroupId;
use crate::domain::records::site_origin::SiteOrigin;
use crate::domain::records::text::Text;
use crate::planted_faults::PlantedFault;

/// An application key. Reference 3.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Apikey {
    /// The label that the operator gave it.
    pub label: Text<255>,
    /// The groups it covers, ascending; `None` for all groups.
    pub groups: Option<Vec<GroupId>>,
    /// The program that holds the key.
    #[serde(deserialize_with = "holder_unless_known")]
    pub holder: ApikeyHolder,
    /// The origins of other sites whose pages may change something with this key and log people
    /// in, in the order in which they were given. Reference 3.3.
    #[serde(deserialize_with = "in_format_2")]
    pub origins: Vec<SiteOrigin>,
    /// Whether pages of all origins may change something with this key, without a login. So it is
    /// for keys made before they named their origins, until the operator names some.
    #[serde(deserialize_with = "true_unless_known")]
    pub allows_any_origin: bool,
    /// Whether bookings with the key give the contact that their group needs. So it is for keys
    /// made since groups have that setting, and not for those before. Reference 6.3.
    #[serde(deserialize_with = "in_format_7")]
    pub needs_contact: bool,
}

/// The operator's reference to an application key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApikeyName {
    /// The SHA-256 of the text, which may be the key itself.
    pub hash: [u8; 32],
    /// The text: the key, its label, or the first digits of its SHA-256.
    pub text: String,
}

/// The program that holds an application key. Reference 3.1. The order of the variants is the
/// format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApikeyHolder {
    /// A page or program of the public, which can read the key.
    Public,
    /// A site's own server or a trusted integration. Its source address stands for many clients.
    Server,
    /// Unknown: the key comes from a store that did not hold this. It counts as a server's.
    Unknown,
    /// A program of the operator, which may also found groups. The key covers all groups.
    Operator,
}

/// Decodes the holder of a key; unknown in records of format 1.
fn holder_unless_known<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<ApikeyHolder, D::Error> {
    in_format_2_or(deserializer, ApikeyHolder::Unknown)
}

/// Decodes whether pages of all origins may use a key; true in records of earlier formats.
fn true_unless_known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    in_format_3_or(deserializer, true)
}

impl Apikey {
    /// Whether the key covers a group.
    pub fn covers(&self, group: GroupId) -> bool {
        if PlantedFault::ForeignGroupKeyAccepted.is_active() {
            return true;
        }
        match &self.groups {
            Some(groups) => groups.binary_search(&group).is_ok(),
            None => true,
        }
    }

    /// The first group, from `from` on, that the key may cover; `None` if it covers none of them.
    pub fn first_covered(&self, from: GroupId) -> Option<GroupId> {
        match &self.groups {
            Some(groups) => groups.get(groups.partition_point(|group| *group < from)).copied(),
            None => Some(from),
        }
    }

    /// Whether pages of an origin, as a browser sends it, may change something with this key and
    /// log people in.
    pub fn names_origin(&self, origin: &str) -> bool {
        match SiteOrigin::new(origin) {
            Ok(origin) => self.origins.contains(&origin),
            Err(_) => false,
        }
    }

    /// Whether the key counts as one of a server.
    pub const fn is_server(&self) -> bool {
        !matches!(self.holder, ApikeyHolder::Public)
    }

    /// Whether pages of all origins may change something with a key that the public can read.
    /// Reference 3.3.
    pub const fn is_open_to_pages(&self) -> bool {
        self.allows_any_origin
            && matches!(self.holder, ApikeyHolder::Public | ApikeyHolder::Unknown)
    }

    /// Whether the key is held by the operator.
    pub fn is_operator(&self) -> bool {
        self.holder == ApikeyHolder::Operator
    }
}

/// The application keys by the SHA-256 of the key, by label, and by the origins that they name.
/// They are read as the map by hash.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Apikeys {
    by_hash: OrdMap<[u8; 32], Apikey>,
    /// The label of each, with its hash.
    labels: OrdSet<(Box<str>, [u8; 32])>,
    /// Each origin that a key names, with its hash.
    origins: OrdSet<(SiteOrigin, [u8; 32])>,
}

impl Deref for Apikeys {
    type Target = OrdMap<[u8; 32], Apikey>;

    fn deref(&self) -> &Self::Target {
        &self.by_hash
    }
}

impl Apikeys {
    /// Returns the hashes of the keys with this label, ascending.
    pub fn with_label(&self, label: &str) -> impl Iterator<Item = [u8; 32]> {
        let entries = self.labels.range((Box::from(label), [0; 32])..=(label.into(), [0xff; 32]));
        entries.map(|(_, hash)| *hash)
    }

    /// Returns the hashes that begin with these lower-case hexadecimal digits, ascending; none if
    /// these are no digits, or too many.
    pub fn with_digits(&self, digits: &str) -> impl Iterator<Item = [u8; 32]> {
        let bounds = fill_digits(digits, 0).zip(fill_digits(digits, 15));
        let found = bounds.into_iter().flat_map(|(first, last)| self.by_hash.range(first..=last));
        found.map(|(hash, _)| *hash)
    }

    /// Whether some key names an origin, as a browser sends it.
    pub fn name_origin(&self, origin: &str) -> bool {
        let Ok(origin) = SiteOrigin::new(origin) else { return false };
        let mut naming = self.origins.range((origin.clone(), [0; 32])..=(origin, [0xff; 32]));
        naming.next().is_some()
    }

    /// Inserts a key, or replaces the one with its hash. Returns the one before.
    pub fn insert(&mut self, hash: [u8; 32], apikey: Apikey) -> Option<Apikey> {
        let before = self.remove(&hash);
        self.labels.insert((apikey.label.as_str().into(), hash));
        self.origins.extend(apikey.origins.iter().map(|origin| (origin.clone(), hash)));
        self.by_hash.insert(hash, apikey);
        before
    }

    /// Removes a key, if it is known, and returns it.
    pub fn remove(&mut self, hash: &[u8; 32]) -> Option<Apikey> {
        let before = self.by_hash.remove(hash)?;
        self.labels.remove(&(before.label.as_str().into(), *hash));
        for origin in &before.origins {
            self.origins.remove(&(origin.clone(), *hash));
        }
        Some(before)
    }
}

impl Extend<([u8; 32], Apikey)> for Apikeys {
    fn extend<I: IntoIterator<Item = ([u8; 32], Apikey)>>(&mut self, apikeys: I) {
        for (hash, apikey) in apikeys {
            self.insert(hash, apikey);
        }
    }
}

/// Returns the hash that begins with these lower-case hexadecimal digits and ends with another one,
/// repeated. `None` if they are no such digits, or too many.
fn fill_digits(digits: &str, last: u8) -> Option<[u8; 32]> {
    if digits.len() > 64 {
        return None;
    }
    let mut hash = [last << 4 | last; 32];
    for (at, digit) in digits.bytes().enumerate() {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        let byte = &mut hash[at / 2];
        *byte = if at % 2 == 0 { value << 4 | last } else { *byte & 0xf0 | value };
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::records::added;

    fn apikey(label: &str, origins: &[u8]) -> Apikey {
        let mut named = Vec::new();
        for number in origins {
            named.push(SiteOrigin::new(&format!("https://{number}.example")).expect("an origin"));
        }
        let label = Text::new(label).expect("a text");
        let holder = ApikeyHolder::Public;
        Apikey {
            label,
            groups: None,
            holder,
            origins: named,
            allows_any_origin: false,
            needs_contact: true,
        }
    }

    proptest! {
        #[test]
        fn keys_are_found_as_in_a_plain_list(
            steps in proptest::collection::vec(
                (0..6_u8, "[ab]?", proptest::collection::vec(0..3_u8, 0..3), any::<bool>()), 0..30,
            ),
            length in 0..66_usize,
        ) {
            let mut apikeys = Apikeys::default();
            let mut plain = std::collections::BTreeMap::new();
            for (number, label, origins, removes) in steps {
                // Hashes that differ in the second digit, the last one, or both.
                let mut hash = [0xa0 | (number % 2); 32];
                hash[31] = number / 2;
                if removes {
                    prop_assert_eq!(apikeys.remove(&hash), plain.remove(&hash));
                } else {
                    let apikey = apikey(&label, &origins);
                    prop_assert_eq!(apikeys.insert(hash, apikey.clone()), plain.insert(hash, apikey));
                }
            }
            prop_assert!(apikeys.iter().eq(plain.iter()));
            for label in ["", "a", "b", "c"] {
                let expected = plain.iter().filter(|(_, key)| key.label.as_str() == label);
                prop_assert!(apikeys.with_label(label).eq(expected.map(|(hash, _)| *hash)));
            }
            for number in 0..3 {
                let origin = format!("https://{number}.example");
                let expected = plain.values().any(|key| key.names_origin(&origin));
                prop_assert_eq!(apikeys.name_origin(&origin), expected);
            }
            for digits in ["a1".repeat(33), "a0".repeat(31) + "0102", "a".repeat(66), "g".into()] {
                let digits = &digits[..length.min(digits.len())];
                let expected =
                    plain.keys().filter(|hash| HEXLOWER.encode(*hash).starts_with(digits));
                prop_assert!(apikeys.with_digits(digits).eq(expected.copied()), "{digits}");
            }
        }
    }

    #[test]
    fn a_key_of_a_format_that_named_no_origins_is_open_to_pages_of_all() {
        let config = bincode::config::standard();
        for allows_any_origin in [true, false] {
            let stored = Apikey { allows_any_origin, ..apikey("site", &[1]) };
            let bytes = bincode::serde::encode_to_vec(&stored, config).expect("it is written");
            let read = bincode::serde::decode_from_slice(&bytes, config);
            assert_eq!(read.expect("it is read"), (stored.clone(), bytes.len()));
            // Format 2 ends with the origins.
            let before = &bytes[..bytes.len() - 2];
            let read = added::of_format(2, || bincode::serde::decode_from_slice(before, config));
            let (read, length): (Apikey, usize) = read.expect("it is read");
            assert_eq!(length, before.len());
            assert!(read.allows_any_origin, "it goes on as before");
            assert_eq!(read.origins, stored.origins);
        }
    }
}
