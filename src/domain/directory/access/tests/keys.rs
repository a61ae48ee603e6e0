//! The keys of the operator and of the groups. Reference 3.1.

use crate::domain::directory::access::tests::office::*;
use crate::domain::directory::access::*;
use crate::domain::directory::group_keys::{GROUP_KEYS_MAX, GroupKeyRefusal, begin_of_day};
use crate::domain::directory::id_blocks::{Block, IdKind};
use crate::domain::time::DAY;

#[test]
fn a_key_of_the_operator_covers_all_groups() {
    let mut office = Office::new();
    let add = |hash, covered: Option<u64>, holder| ChangeAccess::AddApikey {
        hash: [hash; 32],
        label: text(&format!("{hash}")),
        groups: covered.map(|id| BTreeSet::from([group(id)])),
        holder,
        origins: Vec::new(),
    };
    let refused = Err(AccessRefusal::OperatorGroups);
    assert_eq!(office.operator(add(1, Some(1), ApikeyHolder::Operator)), refused);
    office.operator(add(1, None, ApikeyHolder::Operator)).expect("it covers all");
    office.operator(add(2, Some(1), ApikeyHolder::Server)).expect("no key of the operator");
    let set = |label: &str| {
        let name = ApikeyName { hash: [0; 32], text: label.to_owned() };
        ChangeAccess::SetApikey { name, holder: Some(ApikeyHolder::Operator), origins: None }
    };
    assert_eq!(office.operator(set("2")), refused);
    let key = |hash: u8| office.directory.apikeys.get(&[hash; 32]).expect("known");
    assert!(key(1).is_operator() && key(1).is_server());
    assert!(!key(2).is_operator() && key(2).is_server());
    // The first group from one on that a key may cover.
    let many = Apikey { groups: Some(vec![group(3), group(5)]), ..key(2).clone() };
    for (from, first) in [(1, Some(3)), (3, Some(3)), (4, Some(5)), (6, None)] {
        assert_eq!(many.first_covered(group(from)), first.map(group), "{from}");
        assert_eq!(key(1).first_covered(group(from)), Some(group(from)));
    }
}

#[test]
fn pages_of_all_origins_use_an_old_public_key_until_origins_are_named() {
    let mut office = Office::new();
    for (hash, holder, is_open) in [
        (1, ApikeyHolder::Public, true),
        (2, ApikeyHolder::Unknown, true),
        (3, ApikeyHolder::Server, false),
        (4, ApikeyHolder::Operator, false),
    ] {
        let add = ChangeAccess::AddApikey {
            hash: [hash; 32],
            label: text(&format!("key {hash}")),
            groups: None,
            holder,
            origins: Vec::new(),
        };
        office.operator(add).expect("it is new");
        let mut apikey = office.directory.apikeys.get(&[hash; 32]).expect("known").clone();
        assert!(!apikey.is_open_to_pages(), "a new key names its origins");
        apikey.allows_any_origin = true;
        assert_eq!(apikey.is_open_to_pages(), is_open, "{holder:?}");
        let event = DirectoryEvent::ApikeyPut { hash: [hash; 32], apikey };
        office.directory.apply_in_place(&event);
        let name = ApikeyName { hash: [hash; 32], text: String::new() };
        for (origins, stays_open) in [(None, is_open), (Some(Vec::new()), false)] {
            let set = ChangeAccess::SetApikey { name: name.clone(), holder: None, origins };
            office.operator(set).expect("it is known");
            let apikey = office.directory.apikeys.get(&[hash; 32]).expect("known");
            assert_eq!((apikey.is_open_to_pages(), apikey.holder), (stays_open, holder));
        }
    }
    // Without a name, no key without a label is meant.
    let nothing = ApikeyName { hash: [0; 32], text: String::new() };
    let unlabelled = ChangeAccess::AddApikey {
        hash: [9; 32],
        label: text(""),
        groups: None,
        holder: ApikeyHolder::Public,
        origins: Vec::new(),
    };
    office.operator(unlabelled).expect("it is new");
    let refused = office.operator(ChangeAccess::RevokeApikey(nothing));
    assert_eq!(refused, Err(AccessRefusal::NoApikey(String::new())));
}

#[test]
fn a_group_makes_50_public_keys_and_revokes_its_own_only() {
    let mut office = Office::new();
    let refuse = |refusal| Err(AccessRefusal::GroupKey(refusal));
    let add = |in_group, hash: u8| {
        let group = group(in_group);
        let hash = [hash; 32];
        let label = text("k");
        let origins = Vec::new();
        ChangeAccess::ChangeGroupKeys(ChangeGroupKeys::Add { group, hash, label, origins })
    };
    let revoke = |in_group, hash: u8| {
        let group = group(in_group);
        let hash = [hash; 32];
        ChangeAccess::ChangeGroupKeys(ChangeGroupKeys::Revoke { group, hash })
    };
    for number in 0..GROUP_KEYS_MAX {
        let hash = u8::try_from(number).expect("small");
        assert_eq!(office.by(ANN, add(1, hash)), Ok(()), "{number}");
        assert_eq!(office.by(ANN, add(1, hash)), refuse(GroupKeyRefusal::Known));
    }
    assert_eq!(office.by(ANN, add(1, 200)), refuse(GroupKeyRefusal::TooMany));
    office.by(ANN, add(2, 200)).expect("the other group has none");
    assert_eq!(office.by(ANN, revoke(2, 7)), refuse(GroupKeyRefusal::NoKey));
    // A key of the operator's making that is no page's, or covers more groups, is none of them.
    for (hash, holder, covered) in [
        (201, ApikeyHolder::Server, Some(BTreeSet::from([group(1)]))),
        (202, ApikeyHolder::Public, Some(BTreeSet::from([group(1), group(2)]))),
        (203, ApikeyHolder::Public, None),
    ] {
        let label = text("o");
        let origins = Vec::new();
        let groups = covered;
        let made = ChangeAccess::AddApikey { hash: [hash; 32], label, groups, holder, origins };
        office.operator(made).expect("new");
        assert_eq!(office.by(ANN, revoke(1, hash)), refuse(GroupKeyRefusal::NoKey));
    }
    office.by(ANN, revoke(1, 7)).expect("it is the group's own");
    office.by(ANN, add(1, 7)).expect("there is room again");
}

#[test]
fn the_use_of_a_key_is_recorded_once_a_day() {
    let mut office = Office::new();
    let add = |hash: u8| {
        let group = group(1);
        let hash = [hash; 32];
        let label = text("k");
        let origins = Vec::new();
        ChangeAccess::ChangeGroupKeys(ChangeGroupKeys::Add { group, hash, label, origins })
    };
    for hash in [1, 2] {
        office.by(ANN, add(hash)).expect("new");
    }
    let uses = |hashes: &[u8]| {
        let used = hashes.iter().map(|hash| [*hash; 32]).collect();
        ChangeAccess::ChangeGroupKeys(ChangeGroupKeys::RecordUses(used))
    };
    let nothing = Err(AccessRefusal::GroupKey(GroupKeyRefusal::NothingNew));
    let today = begin_of_day(office.now);
    assert!(today <= office.now && office.now < today.plus_seconds(DAY) && today.0 % DAY == 0);
    let rows = office.directory.access_history.last();
    office.change(None, &uses(&[1, 9])).expect("the first today");
    assert_eq!(office.change(None, &uses(&[1, 9])), nothing, "9 is no key");
    office.change(None, &uses(&[1, 2])).expect("the first of 2");
    office.now = today.plus_seconds(DAY - 1);
    assert_eq!(office.change(None, &uses(&[1])), nothing);
    office.now = today.plus_seconds(DAY);
    office.change(None, &uses(&[1])).expect("another day");
    let used = |hash: u8| office.directory.keys_used.get(&[hash; 32]).copied();
    assert_eq!((used(1), used(2)), (Some(office.now), Some(today)));
    assert!(office.acts_since(rows).is_empty(), "a use is no act");
    let revoke = ChangeGroupKeys::Revoke { group: group(1), hash: [1; 32] };
    office.by(ANN, ChangeAccess::ChangeGroupKeys(revoke)).expect("its own");
    assert_eq!(office.directory.keys_used.len(), 1);
}

#[test]
fn a_directory_with_a_key_a_professional_or_a_block_is_not_blank() {
    let blank = Directory::default();
    assert!(blank.is_blank());
    let office = Office::new();
    let pros = Directory { pros: office.directory.pros.clone(), ..Directory::default() };
    let mut blocks = Directory::default();
    blocks.blocks.insert(IdKind::Fiche, 1, Block::Granted(group(1)));
    let mut keys = Directory::default();
    let apikey = Apikey {
        label: text(""),
        groups: None,
        holder: ApikeyHolder::Public,
        origins: Vec::new(),
        allows_any_origin: false,
        needs_contact: true,
    };
    keys.apikeys.insert([1; 32], apikey);
    for directory in [pros, blocks, keys] {
        assert!(!directory.is_blank());
    }
}
