mod history;
mod keys;
mod logins;
mod office;
mod team;

use super::*;
use crate::domain::records::text::Name;

const NOW: Instant = Instant(1_000);

fn group(id: u64) -> GroupId {
    GroupId::new(id).expect("an id")
}

fn groups(ids: &[u64]) -> BTreeSet<GroupId> {
    ids.iter().map(|id| group(*id)).collect()
}

/// The groups of a store with these.
fn store(ids: &'static [u64]) -> StoreGroups<'static> {
    StoreGroups::new(|id| ids.contains(&id.number()), groups(ids))
}

fn new_pro(email: &str, ids: &[u64], password: Option<&str>) -> ChangeAccess {
    ChangeAccess::AddPro(ProDraft {
        email: Email::new(email).expect("an address"),
        password_hash: password.map(|hash| Text::new(hash).expect("a text")),
        lastname: Name::default(),
        firstname: Name::default(),
        cellphone: Text::default(),
        groups: groups(ids),
        main: None,
        role: ProRole::Administrator,
    })
}

fn key(hash: u8, label: &str, covered: Option<&[u64]>) -> ChangeAccess {
    let label = Text::new(label).expect("a text");
    let holder = ApikeyHolder::Public;
    let groups = covered.map(groups);
    let origins = Vec::new();
    ChangeAccess::AddApikey { hash: [hash; 32], label, groups, holder, origins }
}

/// The directory after changes that all must be accepted, in a store with groups 1 and 2.
fn after(changes: &[ChangeAccess]) -> Directory {
    changes.iter().fold(Directory::default(), |directory, change| {
        directory.apply(&decide(&directory, &store(&[1, 2]), change, NOW).expect("it is possible"))
    })
}

fn refusal(directory: &Directory, change: &ChangeAccess) -> AccessRefusal {
    decide(directory, &store(&[1, 2]), change, NOW).expect_err("it is refused")
}

#[test]
fn a_key_covers_its_groups_and_is_found_by_id_label_or_itself() {
    let directory = after(&[
        key(0xab, "site", Some(&[2, 1])),
        key(0xcd, "other", None),
        key(0xce, "other", None),
    ]);
    assert!(
        directory.apikeys.get(&[0xab; 32]).expect("known").covers(group(2))
            && directory.apikeys.get(&[0xcd; 32]).expect("known").covers(group(9))
    );
    let said = |hash: u8, said: &str| {
        ChangeAccess::RevokeApikey(ApikeyName { hash: [hash; 32], text: said.into() })
    };
    for name in [
        said(0xab, "the key itself"),
        said(0, "site"),
        said(0, "ABABABABABAB"),
        said(0, &"ab".repeat(32)),
    ] {
        let event = decide(&directory, &store(&[1, 2]), &name, NOW).expect("it is known");
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
        "too few digits"
    );
    assert_eq!(refusal(&directory, &key(0xab, "", None)), AccessRefusal::ApikeyKnown);
    assert_eq!(refusal(&directory, &key(1, "", Some(&[3]))), AccessRefusal::NoGroup(group(3)));
}

#[test]
fn the_holder_of_a_key_changes_and_its_label_and_groups_stay() {
    let directory = after(&[key(0xab, "site", Some(&[2]))]);
    assert!(!directory.apikeys.get(&[0xab; 32]).expect("known").is_server());
    for (holder, is_server) in [(ApikeyHolder::Server, true), (ApikeyHolder::Public, false)] {
        let name = ApikeyName { hash: [0; 32], text: "site".into() };
        let origins = vec![SiteOrigin::new("https://shop.example").expect("an origin")];
        let holder = Some(holder);
        let origins = Some(origins);
        let change = ChangeAccess::SetApikey { name, holder, origins };
        let event = decide(&directory, &store(&[1, 2]), &change, NOW).expect("it is known");
        let apikey = directory.apply(&event).apikeys.get(&[0xab; 32]).expect("known").clone();
        assert_eq!((apikey.is_server(), apikey.label.as_str()), (is_server, "site"));
        assert_eq!(apikey.groups, Some(vec![group(2)]));
        assert!(apikey.names_origin("https://SHOP.example:443"));
        assert!(!apikey.names_origin("http://shop.example") && !apikey.names_origin("null"));
    }
    let name = ApikeyName { hash: [0; 32], text: "other".into() };
    let change = ChangeAccess::SetApikey { name, holder: None, origins: None };
    assert_eq!(refusal(&directory, &change), AccessRefusal::NoApikey("other".into()));
}

#[test]
fn a_professional_leaves_some_groups_or_all() {
    let directory = after(&[new_pro("ann@x.org", &[1, 2], Some("hash"))]);
    let remove = |email: &str, leaves: &[u64]| ChangeAccess::RemovePro {
        email: Email::new(email).expect("an address"),
        groups: groups(leaves),
    };
    let apply = |leaves: &[u64]| {
        let change = remove("ANN@x.org", leaves);
        directory.apply(&decide(&directory, &store(&[1, 2]), &change, NOW).expect("known"))
    };
    let one = apply(&[1]);
    let ann = one.pros.find_by_email("ann@x.org").expect("she is there");
    assert_eq!((&ann.groups[..], ann.main), (&[group(2)][..], group(2)));
    assert!(apply(&[]).pros.is_empty() && apply(&[1, 2]).pros.is_empty());
    let email = |text| Email::new(text).expect("an address");
    let elsewhere = AccessRefusal::WorksElsewhere(email("ann@x.org"), group(3));
    assert_eq!(refusal(&directory, &remove("ann@x.org", &[3])), elsewhere);
    let unknown = AccessRefusal::NoPro(email("bob@x.org"));
    assert_eq!(refusal(&directory, &remove("bob@x.org", &[])), unknown);
}

#[test]
fn the_id_of_a_removed_professional_is_given_to_no_other() {
    let mut directory = after(&[
        new_pro("ann@x.org", &[1], Some("hash")),
        new_pro("bob@x.org", &[1], Some("hash")),
    ]);
    let bob = directory.pros.find_by_email("bob@x.org").expect("he is there").id;
    directory.apply_in_place(&DirectoryEvent::ProRemoved { id: bob });
    let added = decide(&directory, &store(&[1]), &new_pro("eve@x.org", &[1], Some("h")), NOW);
    directory.apply_in_place(&added.expect("it is possible"));
    let eve = directory.pros.find_by_email("eve@x.org").expect("she is there").id;
    assert_eq!((bob.number(), eve.number()), (2, 3), "the history names people by their ids");
}

#[test]
fn a_second_add_of_an_address_adds_groups_to_the_same_professional() {
    let directory = after(&[
        new_pro("ann@x.org", &[2], Some("hash")),
        new_pro("bob@x.org", &[1], Some("hash")),
    ]);
    let directory = directory.apply(
        &decide(&directory, &store(&[1, 2]), &new_pro("ANN@x.org", &[1], None), Instant(2_000))
            .expect("she joins"),
    );
    let ann = directory.pros.find_by_email("ann@x.org").expect("she is there");
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
    let only = decide(&directory, &store(&[2]), &new_pro("c@x.org", &[], Some("h")), NOW);
    assert!(
        matches!(only, Ok(DirectoryEvent::ProPut { pro }) if pro.main == group(2)),
        "the only group is meant"
    );
}

#[test]
fn a_password_changes_for_an_existing_professional_only() {
    let directory = after(&[new_pro("ann@x.org", &[2], Some("hash"))]);
    let set = |email: &str, former: Option<&str>| ChangeAccess::SetPassword {
        email: Email::new(email).expect("an address"),
        former: former.map(|hash| Text::new(hash).expect("a text")),
        password_hash: Text::new("new").expect("a text"),
    };
    for former in [None, Some("hash")] {
        let change = set("Ann@X.org", former);
        let event = decide(&directory, &store(&[1, 2]), &change, NOW).expect("she is known");
        let changed = directory.apply(&event);
        let ann = changed.pros.find_by_email("ann@x.org").expect("she is there");
        assert_eq!(ann.password_hash.as_str(), "new");
        assert_eq!(
            refusal(&changed, &set("ann@x.org", Some("hash"))),
            AccessRefusal::PasswordChanged(Email::new("ann@x.org").expect("an address")),
            "it was verified before the change"
        );
    }
    assert!(matches!(refusal(&directory, &set("bob@x.org", None)), AccessRefusal::NoPro(_)));
}
