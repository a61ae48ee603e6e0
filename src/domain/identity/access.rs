//! Who is let in: what the operator does to application keys and professionals. Reference 11.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::domain::identity::directory::{Apikey, Directory, DirectoryEvent, Pro};
use crate::domain::records::ids::{GroupId, ID_MAX, ProId};
use crate::domain::records::text::{Email, Name, Text};
use crate::domain::time::Instant;

/// Hexadecimal digits by which a key is called at least.
pub const ID_DIGITS: usize = 12;

/// A change of who is let in, with every field already legal.
#[derive(Clone, Debug)]
pub enum ChangeAccess {
    /// A new application key, of which only the SHA-256 is ever known here.
    AddApikey {
        /// The SHA-256 of the key.
        hash: [u8; 32],
        /// What the operator calls it.
        label: Text<255>,
        /// The groups it covers; `None` for all.
        groups: Option<BTreeSet<GroupId>>,
    },
    /// A key opens nothing any more, and every session it opened ends.
    RevokeApikey(ApikeyName),
    /// A new professional, or further groups for one who is known.
    AddPro(NewPro),
    /// Another password; every session of the professional ends.
    SetPassword {
        /// Whose.
        email: Email,
        /// The password at rest.
        password_hash: Text<255>,
    },
}

/// What the operator calls a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApikeyName {
    /// The SHA-256 of what was said, which may be the key itself.
    pub hash: [u8; 32],
    /// What was said, which may be a label, or the first digits of the key's SHA-256.
    pub said: String,
}

/// A professional to let in.
#[derive(Clone, Debug)]
pub struct NewPro {
    /// The address it logs in with: one person per address.
    pub email: Email,
    /// The password at rest; `None` for who is known.
    pub password_hash: Option<Text<255>>,
    /// Last name.
    pub lastname: Name<64>,
    /// First name.
    pub firstname: Name<64>,
    /// Mobile phone.
    pub cellphone: Text<25>,
    /// Groups it works for; may be left out where there is only one.
    pub groups: BTreeSet<GroupId>,
    /// The one of them that older paths mean; the first where it is left out.
    pub main: Option<GroupId>,
}

/// Why who is let in stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "each says what it means")]
pub enum AccessRefusal {
    #[error("this key is known already")]
    ApikeyKnown,
    #[error(
        "no key is called {0:?}: say its id or its label as in `slotbook key list`, or the key itself"
    )]
    NoApikey(String),
    #[error("{1} keys are called {0:?}: say the id of one of them as in `slotbook key list`")]
    ManyApikeys(String, usize),
    #[error("there is no group {0}")]
    NoGroup(GroupId),
    #[error("the store holds no group yet: fill it with `slotbook import`")]
    NoGroups,
    #[error("say for which group: there are {0}")]
    WhichGroup(String),
    #[error("the main group {0} is none of the groups that the professional works for")]
    MainElsewhere(GroupId),
    #[error("no professional has the address {}", .0.as_str())]
    NoPro(Email),
    #[error("a new professional needs a password")]
    NoPassword,
    #[error(
        "{} is known already: their password changes with `slotbook pro password`, other groups join without one",
        .0.as_str()
    )]
    ProKnown(Email),
    #[error("{} works for these groups already", .0.as_str())]
    NothingNew(Email),
}

/// Decides a change against the groups there are. Nothing has changed before the event is applied.
///
/// # Errors
/// What stands in its way.
pub fn decide(
    directory: &Directory,
    groups: &BTreeSet<GroupId>,
    change: &ChangeAccess,
    now: Instant,
) -> Result<DirectoryEvent, AccessRefusal> {
    match change {
        ChangeAccess::AddApikey { hash, label, groups: covered } => {
            if directory.apikeys.contains_key(hash) {
                return Err(AccessRefusal::ApikeyKnown);
            }
            all_exist(covered.iter().flatten(), groups)?;
            let covered = covered.as_ref().map(|covered| covered.iter().copied().collect());
            Ok(DirectoryEvent::ApikeyAdded {
                hash: *hash,
                apikey: Apikey { label: label.clone(), groups: covered },
            })
        }
        ChangeAccess::RevokeApikey(name) => {
            let hash = called(directory, name)?;
            Ok(DirectoryEvent::ApikeyRevoked { hash })
        }
        ChangeAccess::AddPro(new) => add_pro(directory, groups, new, now),
        ChangeAccess::SetPassword { email, password_hash } => {
            let pro = directory
                .pro_of_email(&email.folded())
                .ok_or_else(|| AccessRefusal::NoPro(email.clone()))?;
            let pro = Pro {
                password_hash: password_hash.clone(),
                updated_at: now.max(pro.updated_at),
                ..pro.clone()
            };
            Ok(DirectoryEvent::ProPut { pro: Box::new(pro) })
        }
    }
}

fn all_exist<'g>(
    named: impl IntoIterator<Item = &'g GroupId>,
    groups: &BTreeSet<GroupId>,
) -> Result<(), AccessRefusal> {
    named
        .into_iter()
        .find(|group| !groups.contains(group))
        .map_or(Ok(()), |group| Err(AccessRefusal::NoGroup(*group)))
}

/// The one key of a name: the key itself, else its label, else the beginning of its SHA-256.
fn called(directory: &Directory, name: &ApikeyName) -> Result<[u8; 32], AccessRefusal> {
    if directory.apikeys.contains_key(&name.hash) {
        return Ok(name.hash);
    }
    let by_id = |hash: &[u8; 32]| {
        name.said.len() >= ID_DIGITS && hex(hash).starts_with(&name.said.to_ascii_lowercase())
    };
    let called = |(hash, apikey): &(&[u8; 32], &Apikey)| {
        by_id(hash) || !name.said.is_empty() && apikey.label.as_str() == name.said
    };
    let found: Vec<_> = directory.apikeys.iter().filter(called).map(|(hash, _)| *hash).collect();
    match found[..] {
        [hash] => Ok(hash),
        [] => Err(AccessRefusal::NoApikey(name.said.clone())),
        [..] => Err(AccessRefusal::ManyApikeys(name.said.clone(), found.len())),
    }
}

/// The SHA-256 of a key as hexadecimal digits.
#[must_use]
pub fn hex(hash: &[u8; 32]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn add_pro(
    directory: &Directory,
    groups: &BTreeSet<GroupId>,
    new: &NewPro,
    now: Instant,
) -> Result<DirectoryEvent, AccessRefusal> {
    all_exist(&new.groups, groups)?;
    let mut works_for = new.groups.clone();
    if works_for.is_empty() {
        let mut all = groups.iter();
        match (all.next(), all.next()) {
            (Some(only), None) => works_for.insert(*only),
            (None, _) => return Err(AccessRefusal::NoGroups),
            (Some(_), Some(_)) => {
                let all: Vec<String> = groups.iter().take(20).map(ToString::to_string).collect();
                return Err(AccessRefusal::WhichGroup(all.join(", ")));
            }
        };
    }
    let known = directory.pro_of_email(&new.email.folded());
    works_for.extend(known.iter().flat_map(|pro| &pro.groups));
    let first =
        known.map(|pro| pro.main).or(new.groups.first().copied()).or(works_for.first().copied());
    let main = new.main.or(first).expect("a professional works for some group");
    if !works_for.contains(&main) {
        return Err(AccessRefusal::MainElsewhere(main));
    }
    let groups: Vec<GroupId> = works_for.into_iter().collect();
    let pro = match (known, &new.password_hash) {
        (Some(_), Some(_)) => return Err(AccessRefusal::ProKnown(new.email.clone())),
        (Some(pro), None) if pro.groups == groups && pro.main == main => {
            return Err(AccessRefusal::NothingNew(new.email.clone()));
        }
        (Some(pro), None) => {
            Pro { groups, main, updated_at: now.max(pro.updated_at), ..pro.clone() }
        }
        (None, None) => return Err(AccessRefusal::NoPassword),
        (None, Some(password_hash)) => Pro {
            id: next_id(directory),
            email: new.email.clone(),
            password_hash: password_hash.clone(),
            lastname: new.lastname.clone(),
            firstname: new.firstname.clone(),
            cellphone: new.cellphone.clone(),
            groups,
            main,
            synched_at: None,
            created_at: now,
            updated_at: now,
        },
    };
    Ok(DirectoryEvent::ProPut { pro: Box::new(pro) })
}

fn next_id(directory: &Directory) -> ProId {
    let last = directory.pros.keys().next_back().map_or(0, |id| id.number());
    ProId::new((last + 1).min(ID_MAX)).expect("a number from 1 up to the largest is an id")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant(1_000);

    fn group(id: u64) -> GroupId {
        GroupId::new(id).expect("an id")
    }

    fn groups(ids: &[u64]) -> BTreeSet<GroupId> {
        ids.iter().map(|id| group(*id)).collect()
    }

    fn new_pro(email: &str, ids: &[u64], password: Option<&str>) -> ChangeAccess {
        ChangeAccess::AddPro(NewPro {
            email: Email::new(email).expect("an address"),
            password_hash: password.map(|hash| Text::new(hash).expect("a text")),
            lastname: Name::default(),
            firstname: Name::default(),
            cellphone: Text::default(),
            groups: groups(ids),
            main: None,
        })
    }

    fn key(hash: u8, label: &str, covered: Option<&[u64]>) -> ChangeAccess {
        let label = Text::new(label).expect("a text");
        ChangeAccess::AddApikey { hash: [hash; 32], label, groups: covered.map(groups) }
    }

    /// The directory after changes that all must be possible, in a store with groups 1 and 2.
    fn after(changes: &[ChangeAccess]) -> Directory {
        changes.iter().fold(Directory::default(), |directory, change| {
            directory
                .apply(&decide(&directory, &groups(&[1, 2]), change, NOW).expect("it is possible"))
        })
    }

    fn refusal(directory: &Directory, change: &ChangeAccess) -> AccessRefusal {
        decide(directory, &groups(&[1, 2]), change, NOW).expect_err("it is refused")
    }

    #[test]
    fn a_key_covers_what_was_said_and_is_called_by_id_label_or_itself() {
        let directory = after(&[
            key(0xab, "site", Some(&[2, 1])),
            key(0xcd, "other", None),
            key(0xce, "other", None),
        ]);
        assert!(
            directory.apikeys[&[0xab; 32]].covers(group(2))
                && directory.apikeys[&[0xcd; 32]].covers(group(9))
        );
        let said = |hash: u8, said: &str| {
            ChangeAccess::RevokeApikey(ApikeyName { hash: [hash; 32], said: said.into() })
        };
        for name in [
            said(0xab, "the key itself"),
            said(0, "site"),
            said(0, "ABABABABABAB"),
            said(0, &"ab".repeat(32)),
        ] {
            let event = decide(&directory, &groups(&[1]), &name, NOW).expect("it is known");
            assert_eq!(event, DirectoryEvent::ApikeyRevoked { hash: [0xab; 32] });
            assert_eq!(directory.apply(&event).apikeys.len(), 2);
        }
        assert_eq!(
            refusal(&directory, &said(0, "other")),
            AccessRefusal::ManyApikeys("other".into(), 2)
        );
        assert_eq!(
            refusal(&directory, &said(0, "abab")),
            AccessRefusal::NoApikey("abab".into()),
            "too short to be meant"
        );
        assert_eq!(refusal(&directory, &key(0xab, "", None)), AccessRefusal::ApikeyKnown);
        assert_eq!(refusal(&directory, &key(1, "", Some(&[3]))), AccessRefusal::NoGroup(group(3)));
    }

    #[test]
    fn one_address_is_one_person_whose_groups_grow() {
        let directory = after(&[
            new_pro("ann@x.org", &[2], Some("hash")),
            new_pro("bob@x.org", &[1], Some("hash")),
        ]);
        let directory = directory.apply(
            &decide(
                &directory,
                &groups(&[1, 2]),
                &new_pro("ANN@x.org", &[1], None),
                Instant(2_000),
            )
            .expect("she joins"),
        );
        let ann = directory.pro_of_email("ann@x.org").expect("she is there");
        assert_eq!(
            (ann.id.number(), &ann.groups[..], ann.main),
            (1, &[group(1), group(2)][..], group(2))
        );
        assert_eq!((ann.password_hash.as_str(), ann.updated_at), ("hash", Instant(2_000)));
        assert_eq!(directory.pros.len(), 2);
        let email = |text| Email::new(text).expect("an address");
        let again = new_pro("ann@x.org", &[1], None);
        assert_eq!(refusal(&directory, &again), AccessRefusal::NothingNew(email("ann@x.org")));
        let other = new_pro("ann@x.org", &[1], Some("other"));
        assert_eq!(refusal(&directory, &other), AccessRefusal::ProKnown(email("ann@x.org")));
        assert_eq!(refusal(&directory, &new_pro("c@x.org", &[1], None)), AccessRefusal::NoPassword);
        assert_eq!(
            refusal(&directory, &new_pro("c@x.org", &[7], Some("h"))),
            AccessRefusal::NoGroup(group(7))
        );
        assert_eq!(
            refusal(&directory, &new_pro("c@x.org", &[], Some("h"))),
            AccessRefusal::WhichGroup("1, 2".into())
        );
        let only = decide(&directory, &groups(&[2]), &new_pro("c@x.org", &[], Some("h")), NOW);
        assert!(
            matches!(only, Ok(DirectoryEvent::ProPut { pro }) if pro.main == group(2)),
            "the only group is meant"
        );
    }

    #[test]
    fn a_password_changes_for_who_is_known() {
        let directory = after(&[new_pro("ann@x.org", &[2], Some("hash"))]);
        let set = |email: &str| ChangeAccess::SetPassword {
            email: Email::new(email).expect("an address"),
            password_hash: Text::new("new").expect("a text"),
        };
        let changed = directory.apply(
            &decide(&directory, &groups(&[2]), &set("Ann@X.org"), NOW).expect("she is known"),
        );
        assert_eq!(
            changed.pro_of_email("ann@x.org").expect("she is there").password_hash.as_str(),
            "new"
        );
        assert!(matches!(refusal(&directory, &set("bob@x.org")), AccessRefusal::NoPro(_)));
    }
}
