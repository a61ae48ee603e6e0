//! Every relation on every type of value.

use super::*;
use crate::domain::availability::catalogue::Catalogue;
use crate::domain::records::customfield::{CustomName, CustomValue, Customfield, Model};
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{CustomfieldId, FicheId, GroupId};
use crate::domain::records::text::{Email, Name, Text};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::domain::time::zone_names::ZoneName;
use crate::wire::fiche::FICHE;

fn state() -> GroupState {
    let paris = ZoneName::from_name("Paris").expect("a zone");
    let mut catalogue =
        Catalogue::new(Group::new(GroupId::new(4).expect("an id"), paris, Instant(0)));
    for (id, name) in [(1, "str0"), (2, "num0"), (3, "bool0"), (4, "dt0")] {
        let id = CustomfieldId::new(id).expect("an id");
        let name = CustomName::new(name).expect("a name");
        let field = Customfield::new(id, Model::Fiche, name, Instant(0));
        catalogue.customfields.insert(id, field.into());
    }
    GroupState::new(catalogue)
}

/// Three fiches: the first has no value in any optional field, the third in all of them.
fn fiches(state: &GroupState) -> Vec<Fiche> {
    let at = |text: &str| datetime::parse(text).expect("a time");
    let fiche = |id: u64, name: &str, made: &str| {
        let made = state.catalogue.zone().instant_of(at(made));
        let mut fiche = Fiche::new(FicheId::new(id).expect("an id"), made);
        fiche.lastname = Name::new(name).expect("a name");
        fiche
    };
    let mut second = fiche(2, "Durand", "2025-06-01 10:00:00");
    second.externid = Some(-7);
    second.birthdate = Some(at("1950-02-03"));
    second.rappel_sms = false;
    let mut third = fiche(3, "Éric, fils", "2025-06-02 00:00:00");
    third.externid = Some(30);
    third.birthdate = Some(at("1990-01-01"));
    third.email = Some(Email::new("Eric@x.org").expect("an address"));
    let values = [
        ("str0", CustomValue::String(Text::new("red").expect("a text"))),
        ("num0", CustomValue::Number(2.5)),
        ("bool0", CustomValue::Boolean(false)),
        ("dt0", CustomValue::Datetime(at("1850-01-01"))),
    ];
    for (name, value) in values {
        third.customs.set(CustomName::new(name).expect("a name"), Some(value));
    }
    vec![fiche(1, "", "2025-05-01 09:00:00"), second, third]
}

/// Returns the ids that match `field op value`, or the parts that are wrong.
fn matching_ids(
    field: &str,
    op: &str,
    value: &str,
    audience: Audience,
) -> Result<Vec<u64>, Vec<String>> {
    let state = state();
    let scope = Scope::for_group(&state);
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("conditions[3][field]", field).append_pair("conditions[3][op]", op);
    let params = Params::from_query(&query.append_pair("conditions[3][value]", value).finish());
    let conditions = Condition::parse_all(&params, &FICHE, &scope, audience)
        .map_err(|faults| faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>())?;
    let fiches = fiches(&state);
    let met = fiches.iter().filter(|fiche| {
        conditions
            .iter()
            .all(|condition| condition.matches_record(fiche, &scope, &mut String::new()))
    });
    Ok(met.map(|fiche| fiche.id.number()).collect())
}

/// Asserts the ids that each line `field op value` finds.
#[track_caller]
fn assert_found(lines: &[(&str, &str, &str, &[u64])]) {
    for (field, op, value, ids) in lines {
        assert_eq!(
            matching_ids(field, op, value, Audience::Pro).as_deref(),
            Ok(*ids),
            "{field} {op} {value}"
        );
    }
}

#[test]
fn texts_are_compared_as_texts_and_an_unset_one_is_empty() {
    assert_found(&[
        ("lastname", "=", "Durand", &[2]),
        ("lastname", "=", "durand", &[]),
        ("lastname", "=", "", &[1]),
        ("lastname", "!=", "", &[2, 3]),
        ("lastname", ">", "Durand", &[3]),
        ("lastname", "<=", "Durand", &[1, 2]),
        ("lastname", "like", "dur%", &[2]),
        ("lastname", "LIKE", "éRIC%", &[3]),
        ("lastname", "not like", "%d%", &[1, 3]),
        ("lastname", "in", ",Durand", &[1, 2]),
        ("lastname", "not in", "Durand", &[1, 3]),
        ("email", "!=", "", &[3]),
        ("email", "like", "%@X.ORG", &[3]),
        ("str0", "=", "", &[1, 2]),
        ("str0", ">=", "red", &[3]),
        ("str0", "<=", "red", &[3]),
        ("str0", ">=", "", &[3]),
        ("email", "<", "F", &[1, 2, 3]),
        ("str0", "not in", "red,blue", &[1, 2]),
    ]);
}

#[test]
fn numbers_are_compared_as_numbers_and_an_unset_one_is_null() {
    assert_found(&[
        ("externid", "=", "30", &[3]),
        ("externid", "!=", "30", &[1, 2]),
        ("externid", "=", "", &[1]),
        ("externid", ">", "-8", &[2, 3]),
        ("externid", ">=", "30", &[3]),
        ("externid", "<", "30", &[2]),
        ("externid", "<=", " 30 ", &[2, 3]),
        ("externid", "in", "30, -7", &[2, 3]),
        ("externid", "in", ",30,", &[3]),
        ("externid", "not in", "30", &[1, 2]),
        ("externid", "like", "3%", &[3]),
        ("num0", "=", "2.50", &[3]),
        ("num0", "<", "10", &[3]),
        ("num0", "!=", "", &[3]),
        ("num0", "in", "", &[1, 2]),
        ("id", ">=", "2", &[2, 3]),
        ("id", "in", "1,3", &[1, 3]),
        ("group_id", "=", "4", &[1, 2, 3]),
    ]);
}

#[test]
fn dates_are_compared_as_dates_in_the_zone_of_the_group() {
    assert_found(&[
        ("birthdate", "=", "1950-02-03", &[2]),
        ("birthdate", "=", "", &[1]),
        ("birthdate", "!=", "1950-02-03 00:00:00", &[1, 3]),
        ("birthdate", "<", "1990-01-01", &[2]),
        ("birthdate", "<=", "1990-01-01", &[2, 3]),
        ("birthdate", ">", "1850-01-01", &[2, 3]),
        ("birthdate", "in", "1990-01-01,1991-01-01", &[3]),
        ("birthdate", "not in", "1990-01-01", &[1, 2]),
        ("dt0", "=", "1850-01-01", &[3]),
        ("created_at", "=", "2025-06-01 10:00:00", &[2]),
        ("created_at", ">=", "2025-06-02", &[3]),
        ("created_at", ">", "2025-06-01", &[2, 3]),
        ("created_at", "like", "2025-06-%", &[2, 3]),
    ]);
}

#[test]
fn booleans_have_all_their_spellings() {
    for (no, yes) in [("0", "1"), ("false", "true")] {
        assert_found(&[
            ("rappel_sms", "=", no, &[2]),
            ("rappel_sms", "!=", no, &[1, 3]),
            ("rappel_sms", "<", yes, &[2]),
            ("rappel_sms", ">=", yes, &[1, 3]),
            ("rappel_sms", "in", yes, &[1, 3]),
            ("bool0", "=", no, &[3]),
            ("bool0", "!=", yes, &[1, 2, 3]),
        ]);
    }
    assert_found(&[("bool0", "=", "", &[1, 2]), ("rappel_sms", "like", "fal%", &[2])]);
}

#[test]
fn each_wrong_part_is_reported() {
    let wrong = |field: &str, op: &str, value: &str| {
        matching_ids(field, op, value, Audience::Pro).expect_err(value)
    };
    for (field, value) in [
        ("externid", "many"),
        ("externid", "1.5"),
        ("num0", "inf"),
        ("birthdate", "yesterday"),
        ("created_at", "1900-01-01"),
        ("rappel_sms", "yes"),
        ("rappel_sms", ""),
        ("id", "-1"),
    ] {
        assert_eq!(wrong(field, "=", value), ["conditions[3][value]"], "{field}");
        assert_eq!(wrong(field, "in", &format!("1,{value}x")), ["conditions[3][value]"], "{field}");
    }
    assert_eq!(wrong("birthdate", "<", ""), ["conditions[3][value]"]);
    assert_eq!(wrong("str1", "=", ""), ["conditions[3][field]"], "it is not defined");
    assert_eq!(wrong("", "<>", ""), ["conditions[3][field]", "conditions[3][op]"]);
    for hidden in ["comments", "str0"] {
        let read = matching_ids(hidden, "=", "", Audience::Application);
        assert_eq!(read, Err(vec!["conditions[3][field]".to_owned()]), "as if it did not exist");
    }
}

#[test]
fn at_most_fifty_conditions_are_taken_under_numbers_of_any_size() {
    let state = state();
    let faults = |query: &str| {
        let read = Condition::parse_all(
            &Params::from_query(query),
            &FICHE,
            &Scope::for_group(&state),
            Audience::Pro,
        );
        let faults = read.err().unwrap_or_default();
        faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
    };
    let condition = |n: i64| {
        format!("conditions[{n}][field]=id&conditions[{n}][op]=>&conditions[{n}][value]=1&")
    };
    assert!(faults(&(-20..30).map(condition).collect::<String>()).is_empty());
    assert_eq!(faults(&(-20..31).map(condition).collect::<String>()), ["conditions"]);
    assert!(faults(&condition(i64::MIN)).is_empty());
    assert_eq!(faults("conditions[a][field]=id"), ["conditions[a]"]);
    assert_eq!(faults("conditions[][field]=id"), ["conditions[]"]);
}
