//! The people of a group: their roles, invitations and groups. Reference 3.9, 3.10.

use crate::domain::directory::access::tests::office::*;
use crate::domain::directory::access::*;
use crate::domain::directory::invitations::{INVITATION_SECONDS, INVITATIONS_MAX};
use crate::domain::directory::joining::JoinRefusal;
use crate::domain::directory::professionals::Pro;
use crate::domain::directory::roles::OwnCalendars;
use crate::domain::records::text::{Name, Text};

#[test]
fn a_role_has_the_rights_that_the_reference_lists() {
    let own = OwnCalendars { calendars: [calendar(4), calendar(6)].into(), reads_all: false };
    let reader = ProRole::Professional(OwnCalendars { reads_all: true, ..own.clone() });
    let blinkered = ProRole::Professional(own);
    let rights = [
        (GroupRight::Agenda, "agenda", true),
        (GroupRight::Clients, "clients", true),
        (GroupRight::Settings, "settings", false),
        (GroupRight::Team, "team", false),
        (GroupRight::Keys, "keys", false),
        (GroupRight::Export, "export", false),
        (GroupRight::History, "history", false),
    ];
    for (right, name, is_of_reception) in rights {
        assert!(ProRole::Administrator.has(right));
        assert_eq!(ProRole::Reception.has(right), is_of_reception, "{name}");
        assert!(!reader.has(right) && !blinkered.has(right), "{name}");
        let refusal = AccessRefusal::Lacks(right).to_string();
        assert!(refusal.contains(&format!("the right \"{name}\" is needed")), "{refusal}");
    }
    for (role, name, reads_others, writes_others) in [
        (&ProRole::Administrator, "administrator", true, true),
        (&ProRole::Reception, "reception", true, true),
        (&reader, "professional", true, false),
        (&blinkered, "professional", false, false),
    ] {
        assert_eq!(role.name(), name);
        for (number, is_own) in [(4, true), (5, false), (6, true)] {
            let shown = role.sight().shows_calendar(calendar(number));
            assert_eq!(shown, is_own || reads_others, "{name} {number}");
            assert_eq!(role.writes_on(calendar(number)), is_own || writes_others, "{name}");
        }
    }
}

#[test]
fn only_an_administrator_of_the_group_changes_its_team_and_keys() {
    let mut office = Office::new();
    office.by(ANN, role_put(BOB, &[1], ProRole::Reception)).expect("Ann administers the group");
    assert_eq!((office.role(1, BOB), office.role(1, ANN)), ("reception", "administrator"));
    let key = |hash| {
        let group = group(1);
        let hash = [hash; 32];
        let label = text("site");
        let origins = Vec::new();
        ChangeAccess::ChangeGroupKeys(ChangeGroupKeys::Add { group, hash, label, origins })
    };
    office.by(ANN, key(7)).expect("Ann administers the group");
    let revoked = ChangeGroupKeys::Revoke { group: group(1), hash: [7; 32] };
    let now = office.now;
    let team = [
        role_put(ANN, &[1], ProRole::Reception),
        invite("new@x.org", ProRole::Reception, now),
        ChangeAccess::Uninvite { group: group(1), number: 1 },
        ChangeAccess::RemoveColleague { id: pro(ANN), group: group(1) },
    ];
    let keys = [key(8), ChangeAccess::ChangeGroupKeys(revoked)];
    let before = office.directory.clone();
    // Bob receives, and Cleo works for another group.
    for person in [BOB, CLEO] {
        for change in &team {
            let refused = office.by(person, change.clone());
            assert_eq!(refused, Err(AccessRefusal::Lacks(GroupRight::Team)), "{change:?}");
        }
        for change in &keys {
            let refused = office.by(person, change.clone());
            assert_eq!(refused, Err(AccessRefusal::Lacks(GroupRight::Keys)), "{change:?}");
        }
    }
    // A change of two groups needs the right in both.
    let both = role_put(ANN, &[1, 2], ProRole::Reception);
    assert_eq!(office.by(CLEO, both), Err(AccessRefusal::Lacks(GroupRight::Team)));
    assert_eq!(office.directory, before);
    // What a person does with the own login needs no right.
    office.log_in(BOB, "bob@x.org", 1);
    let all = ChangeAccess::LogOut { pro: pro(BOB), which: WhichLogins::AllBut(None) };
    office.by(BOB, all).expect("the login is Bob's");
    office.by(ANN, keys[1].clone()).expect("Ann administers the group");
    assert!(office.directory.apikeys.is_empty());
}

#[test]
fn a_group_keeps_an_administrator_unless_the_operator_takes_the_last_one() {
    let mut office = Office::new();
    office.by(ANN, role_put(BOB, &[1], ProRole::Reception)).expect("Ann is another one");
    let last = Err(AccessRefusal::LastAdministrator(group(1)));
    assert_eq!(office.by(ANN, role_put(ANN, &[1], ProRole::Reception)), last);
    let leave = |id| ChangeAccess::RemoveColleague { id: pro(id), group: group(1) };
    assert_eq!(office.by(ANN, leave(ANN)), last);
    office.by(ANN, role_put(ANN, &[1], ProRole::Administrator)).expect("nothing is lowered");
    office.by(ANN, role_put(ANN, &[2], ProRole::Reception)).expect("Cleo administers group 2");
    let lowered = ChangeAccess::SetRole {
        pro: pro(ANN),
        groups: BTreeSet::from([group(1)]),
        role: ProRole::Reception,
        former: Some(ProRole::Administrator),
        is_operator: true,
    };
    office.operator(lowered.clone()).expect("the operator may");
    assert_eq!(office.operator(lowered), Err(AccessRefusal::RoleChanged(pro(ANN))));
    let unknown = Err(AccessRefusal::NoColleague(group(1), pro(CLEO)));
    assert_eq!(office.operator(role_put(CLEO, &[1], ProRole::Reception)), unknown);
    assert_eq!(office.operator(leave(CLEO)), unknown);
    office.operator(leave(BOB)).expect("Bob is no administrator");
    assert!(office.directory.pros.get(&pro(BOB)).is_none(), "Bob worked for one group only");
    assert_eq!(office.operator(leave(ANN)), Err(AccessRefusal::LastOfGroup(group(1))));
}

#[test]
fn one_who_leaves_a_group_leaves_its_role_and_main_group_too() {
    let mut office = Office::new();
    office.by(ANN, role_put(ANN, &[1, 2], ProRole::Reception)).expect("others administer");
    assert_eq!((office.role(1, ANN), office.role(2, ANN)), ("reception", "reception"));
    let leave = ChangeAccess::RemoveColleague { id: pro(ANN), group: group(1) };
    office.by(BOB, leave).expect("Bob stays");
    assert_eq!(office.groups(ANN), [2]);
    assert_eq!(office.directory.pros.get(&pro(ANN)).expect("known").main, group(2));
    assert_eq!((office.role(1, ANN), office.role(2, ANN)), ("administrator", "reception"));
    // Once back, she has no role of before.
    let back = ProDraft {
        password_hash: None,
        ..new_pro("ann@x.org", &[1], ProRole::Professional(own(4)))
    };
    office.operator(ChangeAccess::AddPro(back)).expect("Ann comes back");
    assert_eq!((office.role(1, ANN), office.role(2, ANN)), ("professional", "reception"));
    // With the person go its roles, logins and second factor.
    office.log_in(ANN, "ann@x.org", 1);
    office.by(ANN, enrol(RIGHT_CODE, 1)).expect("the code is right");
    let email = email("ann@x.org");
    office.operator(ChangeAccess::RemovePro { email, groups: BTreeSet::new() }).expect("known");
    assert_eq!(office.directory.roles.iter().count(), 0);
    assert!(office.directory.pro_logins.is_empty() && office.directory.second_factors.is_empty());
}

#[test]
fn the_main_group_is_one_that_the_professional_works_for() {
    let mut office = Office::new();
    let elsewhere =
        ProDraft { main: Some(group(2)), ..new_pro("dora@x.org", &[1], ProRole::Administrator) };
    let refused = office.operator(ChangeAccess::AddPro(elsewhere));
    assert_eq!(refused, Err(AccessRefusal::MainElsewhere(group(2))));
    let chosen = |groups: &[u64], main| {
        let draft = new_pro("ann@x.org", groups, ProRole::Administrator);
        ChangeAccess::AddPro(ProDraft { main: Some(group(main)), password_hash: None, ..draft })
    };
    assert_eq!(office.directory.pros.get(&pro(ANN)).expect("known").main, group(1));
    office.operator(chosen(&[1], 2)).expect("she works for both");
    assert_eq!(office.directory.pros.get(&pro(ANN)).expect("known").main, group(2));
    let same = office.operator(chosen(&[1], 2));
    assert_eq!(same, Err(AccessRefusal::NothingNew(email("ann@x.org"))));
    // One who leaves another group than the main one keeps that.
    let leave = ChangeAccess::RemoveColleague { id: pro(ANN), group: group(1) };
    office.operator(leave).expect("Bob stays");
    assert_eq!(office.directory.pros.get(&pro(ANN)).expect("known").main, group(2));
    let none = StoreGroups::new(|_| false, []);
    let new = ChangeAccess::AddPro(new_pro("x@x.org", &[], ProRole::Administrator));
    let refused = decide_by(None, &office.directory, &none, &new, NOW);
    assert_eq!(refused, Err(AccessRefusal::NoGroups));
}

#[test]
fn an_invitation_makes_a_new_professional_of_its_role_and_ends() {
    let mut office = Office::new();
    let now = office.now;
    office.by(ANN, invite("dora@x.org", ProRole::Reception, now)).expect("she is new");
    let number = office.last_invitation();
    let refuse = |refusal| Err(AccessRefusal::Joining(refusal));
    let link = Some(Author::Visitor);
    let unknown = office.change(link, &accept(number, false, now));
    assert_eq!(unknown, refuse(JoinRefusal::Unknown));
    let ended = now.plus_seconds(INVITATION_SECONDS);
    let late = office.change(link, &accept(number, true, ended));
    assert_eq!(late, refuse(JoinRefusal::NoInvitation));
    let other = office.change(link, &accept(number + 1, true, now));
    assert_eq!(other, refuse(JoinRefusal::NoInvitation));
    office.change(link, &accept(number, true, ended.plus_seconds(-1))).expect("it is open");
    let dora = office.directory.pros.find_by_email("dora@x.org").expect("she has joined").clone();
    assert_eq!((dora.id.number(), &dora.groups[..], dora.main), (4, &[group(1)][..], group(1)));
    assert_eq!((dora.lastname.as_str(), dora.firstname.as_str()), ("Doe", "Dora"));
    assert_eq!(
        (dora.cellphone.as_str(), dora.password_hash.as_str()),
        ("0600000000", "hash of dora")
    );
    assert_eq!((office.role(1, 4), office.invited()), ("reception", vec![]));
    let again = office.change(link, &accept(number, true, now));
    assert_eq!(again, refuse(JoinRefusal::NoInvitation), "it is accepted once");
    let again = office.by(ANN, invite("DORA@x.org", ProRole::Reception, now));
    assert_eq!(again, refuse(JoinRefusal::WorksHere));
}

#[test]
fn an_invited_professional_of_another_group_keeps_name_and_password() {
    let mut office = Office::new();
    let now = office.now;
    office.by(ANN, invite("Cleo@x.org", ProRole::Professional(own(4)), now)).expect("not here");
    let number = office.last_invitation();
    let known = office.change(None, &accept(number, true, now));
    assert_eq!(known, Err(AccessRefusal::Joining(JoinRefusal::Known)));
    office.now = NOW.plus_seconds(-5);
    let before = office.directory.pros.get(&pro(CLEO)).expect("known").clone();
    office.by(CLEO, accept(number, false, now)).expect("it is hers");
    let after = office.directory.pros.get(&pro(CLEO)).expect("known").clone();
    let groups = vec![group(1), group(2)];
    assert_eq!(after, Pro { groups, ..before }, "a clock that was set back changes no stamp");
    assert_eq!((office.role(1, CLEO), office.role(2, CLEO)), ("professional", "administrator"));
    assert!(office.invited().is_empty());
}

#[test]
fn an_invitation_changes_no_role_of_one_who_works_for_the_group_already() {
    let mut office = Office::new();
    let now = office.now;
    // An import brings professionals and leaves the invitations.
    let expires = now.plus_seconds(INVITATION_SECONDS);
    let email = email("bob@x.org");
    let role = ProRole::Reception;
    let invitation = Invitation { email, role, by: None, expires };
    office.directory.invitations.open(group(1), 99, invitation, now);
    let refused = office.by(BOB, accept(99, false, now));
    assert_eq!(refused, Err(AccessRefusal::Joining(JoinRefusal::WorksHere)));
    assert_eq!(office.role(1, BOB), "administrator");
}

#[test]
fn one_invitation_of_an_address_is_open_and_50_of_a_group() {
    let mut office = Office::new();
    let now = office.now;
    for number in 0..INVITATIONS_MAX {
        let change = invite(&format!("{number}@x.org"), ProRole::Reception, now);
        office.by(ANN, change).expect("there is room");
    }
    let full = Err(AccessRefusal::Joining(JoinRefusal::ManyInvitations));
    assert_eq!(office.by(ANN, invite("new@x.org", ProRole::Reception, now)), full);
    // Another one of the same address takes its place.
    office.by(ANN, invite("3@X.org", ProRole::Administrator, now)).expect("it is replaced");
    let invited = office.invited();
    assert_eq!((invited.len(), &*invited[INVITATIONS_MAX - 1].1), (INVITATIONS_MAX, "3@X.org"));
    // Withdrawn, or taken over by the work of the person: both make room.
    let withdrawn = ChangeAccess::Uninvite { group: group(1), number: invited[0].0 };
    office.by(ANN, withdrawn.clone()).expect("it is open");
    let gone = Err(AccessRefusal::Joining(JoinRefusal::NoInvitation));
    assert_eq!(office.by(ANN, withdrawn), gone);
    let added = new_pro("1@x.org", &[1], ProRole::Administrator);
    office.operator(ChangeAccess::AddPro(added)).expect("1@x.org is new");
    assert_eq!(office.invited().len(), INVITATIONS_MAX - 2);
    assert!(
        !office.invited().iter().any(|(_, address)| address == "0@x.org" || address == "1@x.org")
    );
    let full_again = ["a@x.org", "b@x.org"];
    for address in full_again {
        office.by(ANN, invite(address, ProRole::Reception, now)).expect("there is room");
    }
    let last_second = now.plus_seconds(INVITATION_SECONDS - 1);
    assert_eq!(office.by(ANN, invite("late@x.org", ProRole::Reception, last_second)), full);
    // Those that have expired do not count, and go with the next one.
    let later = now.plus_seconds(INVITATION_SECONDS);
    office.by(ANN, invite("late@x.org", ProRole::Reception, later)).expect("none is open");
    assert_eq!(office.invited().len(), 1);
    assert_eq!(office.last_invitation(), office.directory.sequence, "it is that of its event");
    office.directory.invitations.remove_group(group(2));
    assert_eq!(office.invited().len(), 1, "it is one of another group");
    office.directory.invitations.remove_group(group(1));
    assert_eq!(office.invited().len(), 0);
}

#[test]
fn a_new_professional_has_the_names_of_the_draft_and_each_change_its_stamp() {
    let mut office = Office::new();
    let named = ProDraft {
        lastname: Name::new("Doe").expect("a name"),
        firstname: Name::new("Dora").expect("a name"),
        cellphone: Text::new("0600000000").expect("a text"),
        ..new_pro("dora@x.org", &[1, 2], ProRole::Administrator)
    };
    office.operator(ChangeAccess::AddPro(named)).expect("she is new");
    let find = |office: &Office| {
        office.directory.pros.find_by_email("dora@x.org").expect("she is there").clone()
    };
    let dora = find(&office);
    assert_eq!((dora.lastname.as_str(), dora.firstname.as_str()), ("Doe", "Dora"));
    assert_eq!((dora.cellphone.as_str(), dora.updated_at), ("0600000000", office.now));
    let dora_email = || email("dora@x.org");
    let changes = [
        ChangeAccess::SetPassword {
            email: dora_email(),
            former: None,
            password_hash: text("another"),
        },
        ChangeAccess::RemovePro { email: dora_email(), groups: [group(1)].into() },
        ChangeAccess::AddPro(ProDraft {
            password_hash: None,
            ..new_pro("dora@x.org", &[1], ProRole::Administrator)
        }),
        ChangeAccess::RemovePro { email: dora_email(), groups: [group(1)].into() },
    ];
    for change in changes {
        office.now = office.now.plus_seconds(60);
        office.operator(change).expect("she is known");
        assert_eq!(find(&office).updated_at, office.now);
    }
    let now = office.now.plus_seconds(60);
    office.now = now;
    office.by(ANN, invite("dora@x.org", ProRole::Administrator, now)).expect("she left");
    let number = office.last_invitation();
    office.by(dora.id.number(), accept(number, false, now)).expect("it is hers");
    assert_eq!(find(&office).updated_at, now);
}
