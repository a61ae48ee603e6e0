//! The rows of the history of access that acts leave. Reference 16.5.

use crate::domain::directory::access::tests::office::*;
use crate::domain::directory::access::*;
use crate::domain::directory::access_history::{AccessAct, LoginPerson};
use crate::domain::directory::second_factor::{GivenCode, SecondStep};
use crate::domain::records::text::Name;

#[test]
fn the_history_of_access_names_each_act_and_its_groups() {
    let mut office = Office::new();
    let [ann, bob] = [pro(ANN), pro(BOB)];
    let key = KeyId::of_hash(&[7; 32]);
    let named = |text: &str| ApikeyName { hash: [7; 32], text: text.to_owned() };
    let added = ChangeAccess::AddApikey {
        hash: [7; 32],
        label: text("site"),
        groups: Some(BTreeSet::from([group(1)])),
        holder: ApikeyHolder::Public,
        origins: Vec::new(),
    };
    let draft = new_pro("bob@x.org", &[2], ProRole::Reception);
    let bob_in_two = ChangeAccess::AddPro(ProDraft { password_hash: None, ..draft });
    let set = |former| ChangeAccess::SetPassword {
        email: email("ann@x.org"),
        former,
        password_hash: text("hash of ann@x.org"),
    };
    let password_hash = text("other");
    let other =
        ChangeAccess::SetPassword { email: email("ann@x.org"), former: None, password_hash };
    let ann_leaves = ChangeAccess::RemoveColleague { id: ann, group: group(2) };
    let bob_goes = ChangeAccess::RemovePro { email: email("bob@x.org"), groups: BTreeSet::new() };
    let set_key = ChangeAccess::SetApikey { name: named("site"), holder: None, origins: None };
    let log_in = ChangeAccess::LogIn(Box::new(login(ANN, "ann@x.org", 1, SecondStep::NotTaken)));
    let source = Name::new("192.0.2.1").expect("a name");
    let logged_in = AccessAct::LoggedIn { person: LoginPerson::Pro(ann), source };
    let recovery_code = GivenCode::read("ONE");
    let by_code =
        ChangeAccess::LogIn(Box::new(login(ANN, "ann@x.org", 2, SecondStep::Code(recovery_code))));
    let lost = ChangeAccess::ChangeFactor(ChangeFactor::RemoveLost(email("ann@x.org")));
    let row = |act, groups: &[u64]| (act, Some(groups.to_vec()));
    let role = |pro, role| AccessAct::RoleSet { pro, role };
    let story = [
        (added, vec![row(AccessAct::KeyAdded(key), &[1])]),
        (set_key, vec![row(AccessAct::KeyChanged(key), &[1])]),
        (ChangeAccess::RevokeApikey(named("site")), vec![row(AccessAct::KeyRevoked(key), &[1])]),
        (bob_in_two, vec![row(AccessAct::ProAdded(bob), &[2]), row(role(bob, 1), &[2])]),
        (role_put(BOB, &[2], ProRole::Professional(own(4))), vec![row(role(bob, 2), &[2])]),
        (role_put(BOB, &[2], ProRole::Administrator), vec![row(role(bob, 0), &[2])]),
        (set(None), vec![]),
        (other, vec![row(AccessAct::PasswordSet(ann), &[1, 2])]),
        (set(Some(text("other"))), vec![row(AccessAct::PasswordSet(ann), &[1, 2])]),
        (log_in, vec![row(logged_in.clone(), &[1, 2])]),
        (enrol(RIGHT_CODE, 1), vec![row(AccessAct::FactorSet(ann), &[1, 2])]),
        (by_code, vec![row(logged_in, &[1, 2])]),
        (lost, vec![row(AccessAct::FactorRemoved(ann), &[1, 2])]),
        (ann_leaves, vec![row(AccessAct::ProRemoved(ann), &[2])]),
        (bob_goes, vec![row(AccessAct::ProRemoved(bob), &[1, 2])]),
    ];
    for (change, expected) in story {
        let rows = office.directory.access_history.last();
        office.operator(change.clone()).expect("each is possible");
        assert_eq!(office.acts_since(rows), expected, "{change:?}");
        let authors = office.directory.access_history.iter().skip_while(|(n, _)| *n <= rows);
        assert!(authors.into_iter().all(|(_, row)| row.author == Some(Author::Operator)));
    }
}

#[test]
fn the_history_of_access_names_an_invitation_that_is_withdrawn_and_one_that_is_accepted() {
    let mut office = Office::new();
    let now = office.now;
    let rows = office.directory.access_history.last();
    office.by(ANN, invite("dora@x.org", ProRole::Reception, now)).expect("new");
    let first = office.last_invitation();
    office.by(ANN, ChangeAccess::Uninvite { group: group(1), number: first }).expect("open");
    office.by(ANN, invite("dora@x.org", ProRole::Reception, now)).expect("new");
    let second = office.last_invitation();
    office.change(Some(Author::Visitor), &accept(second, true, now)).expect("open");
    let dora = office.directory.pros.find_by_email("dora@x.org").expect("she has joined").id;
    let ended = |number, by| AccessAct::InvitationEnded { number, by };
    let expected = [
        AccessAct::Invited { number: first },
        ended(first, None),
        AccessAct::Invited { number: second },
        ended(second, Some(dora)),
        AccessAct::ProAdded(dora),
        AccessAct::RoleSet { pro: dora, role: 1 },
    ];
    assert_eq!(office.acts_since(rows), expected.map(|act| (act, Some(vec![1]))));
}

#[test]
fn what_is_no_act_of_a_person_leaves_no_row() {
    let mut office = Office::new();
    office.log_in(ANN, "ann@x.org", 1);
    office.by(ANN, enrol(RIGHT_CODE, 1)).expect("the code is right");
    let rows = office.directory.access_history.last();
    let place = LoginPlace { person: [1; 8], source: [2; 8] };
    office.operator(ChangeAccess::RecordLogin(place)).expect("always");
    let groups = StoreGroups::new(|_| true, [group(1)]);
    let recorded = ChangeAccess::RecordLogin(place);
    let event = decide_by(None, &office.directory, &groups, &recorded, office.now);
    assert_eq!(event, Ok(DirectoryEvent::LoginRecorded { place, at: office.now }), "no author");
    assert!(office.directory.known_logins.knows(place, office.now));
    let step = SecondStep::Code(GivenCode::read("999999"));
    let wrong = ChangeAccess::LogIn(Box::new(login(ANN, "ann@x.org", 3, step)));
    assert_eq!(office.by(ANN, wrong), Err(AccessRefusal::Factor(FactorRefusal::WrongCode)));
    let which = WhichLogins::AllBut(None);
    office.by(ANN, ChangeAccess::LogOut { pro: pro(ANN), which }).expect("one is open");
    assert!(office.acts_since(rows).is_empty());
    // Rows that others make, and the end of what is old.
    let now = office.now;
    let note = |at| AccessRow { at, author: None, act: AccessAct::Exported, groups: None };
    let notes = vec![note(now), note(now.plus_seconds(10))];
    office.operator(ChangeAccess::Note(notes)).expect("always");
    let exported = || (AccessAct::Exported, None::<Vec<u64>>);
    assert_eq!(office.acts_since(rows), [exported(), exported()]);
    let before = now.plus_seconds(1);
    office.operator(ChangeAccess::EndAccessRows { before }).expect("always");
    assert_eq!(office.acts_since(0), [exported()]);
    office.operator(ChangeAccess::EndAccessRows { before }).expect("always");
    assert_eq!(office.acts_since(0), [exported()], "nothing is older");
}
