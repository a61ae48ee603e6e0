//! Logins at the screens and second factors: what opens and what ends them. Reference 3.11, 15.1.

use crate::domain::directory::access::tests::office::*;
use crate::domain::directory::access::*;
use crate::domain::directory::factor_changes::FactorProof;
use crate::domain::directory::professionals::{Pro, Professionals};
use crate::domain::directory::second_factor::{
    GivenCode, SecondStep, WRONG_CODES_MAX, hash_recovery,
};

#[test]
fn a_login_replaces_that_of_its_browser_and_ends_by_logging_out_or_another_password() {
    let mut office = Office::new();
    for token in 1..=4 {
        office.log_in(ANN, "ann@x.org", token);
    }
    office.log_in(BOB, "bob@x.org", 9);
    let replacing = ProLoginDraft {
        replaced: Some([1; 32]),
        ..login(ANN, "ann@x.org", 5, SecondStep::NotTaken)
    };
    office.by(ANN, ChangeAccess::LogIn(Box::new(replacing))).expect("the password is right");
    assert_eq!(office.logins(ANN), [2, 3, 4, 5]);
    let log_out = |which| ChangeAccess::LogOut { pro: pro(ANN), which };
    office.by(ANN, log_out(WhichLogins::One([3; 32]))).expect("it is open");
    assert_eq!(office.logins(ANN), [2, 4, 5]);
    let gone = office.by(ANN, log_out(WhichLogins::One([3; 32])));
    assert_eq!(gone, Err(AccessRefusal::NoLogin));
    let foreign = office.by(ANN, log_out(WhichLogins::One([9; 32])));
    assert_eq!(foreign, Err(AccessRefusal::NoLogin));
    office.by(ANN, log_out(WhichLogins::AllBut(Some([4; 32])))).expect("two others are open");
    assert_eq!((office.logins(ANN), office.logins(BOB)), (vec![4], vec![9]));
    // Fields other than the password leave the logins open; another password ends all.
    let draft = new_pro("bob@x.org", &[2], ProRole::Administrator);
    let more = ProDraft { password_hash: None, ..draft };
    office.operator(ChangeAccess::AddPro(more)).expect("Bob joins group 2");
    assert_eq!(office.logins(BOB), [9]);
    let set = |address: &str| ChangeAccess::SetPassword {
        email: email(address),
        former: None,
        password_hash: text("another"),
    };
    office.operator(set("bob@x.org")).expect("known");
    assert_eq!((office.logins(ANN), office.logins(BOB)), (vec![4], vec![]));
    let old = login(BOB, "bob@x.org", 10, SecondStep::NotTaken);
    let refused = office.by(BOB, ChangeAccess::LogIn(Box::new(old)));
    assert_eq!(refused, Err(AccessRefusal::PasswordChanged(email("bob@x.org"))));
    let unknown = login(77, "x@x.org", 10, SecondStep::NotTaken);
    let refused = office.operator(ChangeAccess::LogIn(Box::new(unknown)));
    assert_eq!(refused, Err(AccessRefusal::NoLogin));
}

#[test]
fn a_second_factor_is_set_up_with_a_code_and_asked_at_every_login() {
    let mut office = Office::new();
    let refuse = |refusal| Err(AccessRefusal::Factor(refusal));
    office.log_in(ANN, "ann@x.org", 1);
    office.log_in(ANN, "ann@x.org", 2);
    assert_eq!(office.by(ANN, enrol("123456", 1)), refuse(FactorRefusal::WrongCode));
    assert_eq!(office.by(ANN, enrol("ONE", 1)), refuse(FactorRefusal::WrongCode));
    office.by(ANN, enrol(RIGHT_CODE, 2)).expect("the code is right");
    assert_eq!(office.logins(ANN), [2], "the other logins end");
    assert_eq!(office.by(ANN, enrol(RIGHT_CODE, 2)), refuse(FactorRefusal::FactorKnown));
    let attempt = |step| ChangeAccess::LogIn(Box::new(login(ANN, "ann@x.org", 3, step)));
    let code = |text| attempt(SecondStep::Code(GivenCode::read(text)));
    assert_eq!(office.by(ANN, attempt(SecondStep::NotTaken)), refuse(FactorRefusal::CodeNeeded));
    // The code that set the factor up is used.
    assert_eq!(office.by(ANN, code(RIGHT_CODE)), refuse(FactorRefusal::WrongCode));
    assert_eq!(office.logins(ANN), [2]);
    office.by(ANN, code("one")).expect("a recovery code");
    assert_eq!(office.logins(ANN), [2, 3]);
    assert_eq!(office.by(ANN, code("one")), refuse(FactorRefusal::WrongCode), "it counts once");
    office.by(ANN, attempt(SecondStep::TakenBefore)).expect("the login goes on");
    // Wrong codes are counted, up to another password.
    for _ in 0..WRONG_CODES_MAX {
        let _ = office.by(ANN, code("999999"));
    }
    assert_eq!(office.by(ANN, code("999999")), refuse(FactorRefusal::CodesExhausted));
    let password_hash = text("hash of ann@x.org");
    let email = email("ann@x.org");
    let former = None;
    let same = ChangeAccess::SetPassword { email, former, password_hash };
    office.operator(same).expect("known");
    assert_eq!(office.by(ANN, code("999999")), refuse(FactorRefusal::CodesExhausted));
    let email = self::email("ann@x.org");
    let other = ChangeAccess::SetPassword { email, former: None, password_hash: text("other") };
    office.operator(other).expect("known");
    let draft = login(ANN, "ann@x.org", 5, SecondStep::Code(GivenCode::read("999999")));
    let draft = ProLoginDraft { password_hash: text("other"), ..draft };
    let counted = office.by(ANN, ChangeAccess::LogIn(Box::new(draft)));
    assert_eq!(counted, refuse(FactorRefusal::WrongCode));
}

#[test]
fn a_second_factor_changes_with_password_and_code_or_by_the_operator() {
    let mut office = Office::new();
    let refuse = |refusal| Err(AccessRefusal::Factor(refusal));
    let factor = ChangeAccess::ChangeFactor;
    let renew = |code: &str| {
        let recovery = vec![hash_recovery(pro(ANN), "NEW")];
        factor(ChangeFactor::RenewRecovery { proof: proof(code), recovery })
    };
    let none = refuse(FactorRefusal::NoFactor(email("ann@x.org")));
    assert_eq!(office.by(ANN, renew("ONE")), none);
    assert_eq!(office.by(ANN, factor(ChangeFactor::Remove(proof("ONE")))), none);
    office.log_in(ANN, "ann@x.org", 1);
    office.by(ANN, enrol(RIGHT_CODE, 1)).expect("the code is right");
    assert_eq!(office.by(ANN, renew("XXX")), refuse(FactorRefusal::WrongCode));
    office.by(ANN, renew("ONE")).expect("the code is right");
    assert_eq!(office.logins(ANN), [1], "no login ends");
    assert_eq!(office.by(ANN, renew("TWO")), refuse(FactorRefusal::WrongCode), "it is replaced");
    let remove = |code: &str| factor(ChangeFactor::Remove(proof(code)));
    assert_eq!(office.by(ANN, remove("TWO")), refuse(FactorRefusal::WrongCode));
    let changed = FactorProof { password_hash: text("old"), ..proof("NEW") };
    let refused = office.by(ANN, factor(ChangeFactor::Remove(changed)));
    assert_eq!(refused, refuse(FactorRefusal::ProChanged));
    office.by(ANN, remove("NEW")).expect("the code is right");
    assert!(office.directory.second_factors.is_empty());
    // The operator removes the one of a lost telephone.
    office.by(ANN, enrol(RIGHT_CODE, 1)).expect("none is set up");
    let lost = |address| factor(ChangeFactor::RemoveLost(email(address)));
    let unknown = refuse(FactorRefusal::NoPro(email("x@x.org")));
    assert_eq!(office.operator(lost("x@x.org")), unknown);
    let without = refuse(FactorRefusal::NoFactor(email("bob@x.org")));
    assert_eq!(office.operator(lost("bob@x.org")), without);
    office.operator(lost("Ann@x.org")).expect("it is known");
    assert!(office.directory.second_factors.is_empty());
}

#[test]
fn a_merge_keeps_the_logins_of_the_same_person_only() {
    let mut office = Office::new();
    for (id, address) in [(ANN, "ann@x.org"), (BOB, "bob@x.org"), (CLEO, "cleo@x.org")] {
        office.log_in(id, address, u8::try_from(id).expect("small"));
    }
    office.by(ANN, enrol(RIGHT_CODE, 1)).expect("the code is right");
    let with = |change: &dyn Fn(&mut Pro)| {
        let mut directory = office.directory.clone();
        let mut ann = directory.pros.get(&pro(ANN)).expect("known").clone();
        change(&mut ann);
        let mut merged = Professionals::default();
        merged.insert(ann.id, ann);
        directory.replace_pros(merged);
        assert_eq!(directory.pros.last_id(), CLEO, "no id is given again");
        let left = directory.pro_logins.iter().map(|(hash, _)| hash[0]).collect::<Vec<_>>();
        (left, directory.second_factors.len())
    };
    assert_eq!(with(&|_| {}), (vec![1], 1));
    assert_eq!(with(&|ann| ann.email = email("ANN@x.org")), (vec![1], 1), "the same address");
    assert_eq!(with(&|ann| ann.password_hash = text("other")), (vec![], 1));
    assert_eq!(with(&|ann| ann.email = email("other@x.org")), (vec![], 0), "another person");
}
