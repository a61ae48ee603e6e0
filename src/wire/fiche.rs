//! Fields of fiches. Reference 12.6, 6.3.

use std::sync::LazyLock;

use crate::domain::records::customfield::Model;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;
use crate::domain::records::text::{InvalidValue, Name};
use crate::domain::time::Instant;
use crate::wire::custom_values::CustomMember;
use crate::wire::field::{
    Audience, ColumnValue, Field, FieldType, PRO, STAMP, Table, fields, plain,
};
use crate::wire::field_codec::FieldCodec as _;
use crate::wire::value;

/// Read and set by clients, in bookings and in their account.
const OWN: (Audience, Audience) = (Audience::Application, Audience::Application);

/// Every field of a fiche. A booking may hold the fields that its audience may set. Reference 6.3.
pub static FICHE: LazyLock<Table<Fiche>> = LazyLock::new(|| Table {
    resource: "fiche",
    fields: fields!(
        Fiche,
        Audience::Application,
        [
            lastname_field(),
            plain!("firstname", firstname, OWN),
            plain!("firstphone", firstphone, OWN),
            plain!("secondphone", secondphone, OWN),
            plain!("email", email, OWN),
            plain!("birthdate", birthdate, OWN),
            plain!("comments", comments, PRO),
            plain!("from_web", from_web, PRO),
            plain!("rappel_email", rappel_email, OWN),
            plain!("rappel_sms", rappel_sms, OWN),
            plain!("externid", externid, PRO),
            plain!("deleted", deleted, PRO),
            merged_into_field(),
            plain!("erased_at", erased_at, STAMP),
        ]
    ),
    required: &[&["lastname", "firstname"]],
    customs: Some(CustomMember {
        model: Model::Fiche,
        get: |fiche| Some(&fiche.customs),
        set: |fiche, name, value| fiche.customs.set(name, value),
    }),
    id: |fiche| fiche.id.number(),
    order: |a, b, _| a.id.cmp(&b.id),
    blank: Fiche::new(FicheId::new(1).expect("1 is an id"), Instant(0)),
});

/// The client that the record was merged into. Only a merge and an import set it. Reference 6.20.
fn merged_into_field() -> Field<Fiche> {
    Field::derived("merged_into", FieldType::Reference, Audience::Pro, |fiche: &Fiche, _| {
        ColumnValue::Reference(fiche.merged_into.map(FicheId::number))
    })
    .with_writer(Audience::Store, |given, _, _, patch| {
        let kept = value::parse_id(given)?.and_then(FicheId::new);
        patch.push(move |fiche| fiche.merged_into = kept);
        Ok(())
    })
}

/// Last name, rendered with a leading `$` while the fiche is deleted. Reference 6.15.
///
/// It precedes `deleted` in the table. A caller that sends a rendered deleted fiche back with
/// `deleted` unset thus restores it without the `$`.
fn lastname_field() -> Field<Fiche> {
    Field::derived("lastname", Name::<64>::FIELD_TYPE, Audience::Application, |fiche: &Fiche, _| {
        ColumnValue::Text(fiche.shown_lastname())
    })
    .with_writer(Audience::Application, |given, _, _, patch| {
        let given = value::parse_text(given)?;
        let whole: Result<Name<64>, InvalidValue> = Name::new(&given);
        let Some(rest) = given.strip_prefix('$') else {
            let name = whole?;
            patch.push(move |fiche| fiche.lastname = name.clone());
            return Ok(());
        };
        // The `$` of a deleted fiche may make the rendered name one character too long.
        let stripped = Name::new(rest)?;
        patch.push(move |fiche| {
            let live = if fiche.deleted { None } else { whole.as_ref().ok() };
            fiche.lastname = live.unwrap_or(&stripped).clone();
        });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::availability::catalogue::Catalogue;
    use crate::domain::records::customfield::{CustomName, Customfield};
    use crate::domain::records::group::Group;
    use crate::domain::records::ids::{CustomfieldId, GroupId};
    use crate::domain::state::group_state::GroupState;
    use crate::domain::time::zone_names::ZoneName;
    use crate::wire::field::Scope;
    use serde_json::{Map, Value, json};

    fn state() -> GroupState {
        let paris = ZoneName::from_name("Paris").expect("a zone");
        let mut catalogue =
            Catalogue::new(Group::new(GroupId::new(4).expect("an id"), paris, Instant(0)));
        for (id, name, visible) in [(1, "str0", true), (2, "num1", false), (3, "dt0", true)] {
            let id = CustomfieldId::new(id).expect("an id");
            let name = CustomName::new(name).expect("a name");
            let mut field = Customfield::new(id, Model::Fiche, name, Instant(0));
            field.user_visible = visible;
            catalogue.customfields.insert(id, field.into());
        }
        GroupState::new(catalogue)
    }

    fn object(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).expect("an object")
    }

    fn change_fiche(fiche: &mut Fiche, given: Value, audience: Audience) -> Vec<String> {
        let state = state();
        match FICHE.parse(&object(given), &Scope::for_group(&state), audience) {
            Ok(patch) => {
                patch.apply_to(fiche);
                Vec::new()
            }
            Err(faults) => faults.into_iter().map(|fault| fault.field).collect(),
        }
    }

    fn fiche() -> Fiche {
        Fiche::new(FicheId::new(7).expect("an id"), Instant(0))
    }

    #[test]
    fn a_deleted_fiche_loses_one_dollar_on_input_and_gains_one_on_output() {
        let state = state();
        let mut fiche = fiche();
        assert!(change_fiche(&mut fiche, json!({"lastname": "$Durand"}), Audience::Pro).is_empty());
        assert_eq!(fiche.lastname.as_str(), "$Durand", "a live one keeps it");
        fiche.deleted = true;
        assert_eq!(
            FICHE.render(&fiche, &Scope::for_group(&state), Audience::Pro)["lastname"],
            "$$Durand"
        );
        assert!(
            change_fiche(&mut fiche, json!({"lastname": "$Durand", "deleted": 0}), Audience::Pro)
                .is_empty()
        );
        assert_eq!((fiche.lastname.as_str(), fiche.deleted), ("Durand", false));
    }

    #[test]
    fn an_application_sees_and_sets_only_fields_of_clients() {
        let state = state();
        let mut fiche = fiche();
        let given = json!({"firstname": "Anna", "comments": "x", "deleted": true, "str0": "a", "num1": 3, "group_id": "4"});
        assert!(change_fiche(&mut fiche, given, Audience::Application).is_empty());
        assert_eq!(
            (fiche.firstname.as_str(), fiche.comments.as_str(), fiche.deleted),
            ("Anna", "", false)
        );
        assert_eq!(fiche.customs.iter().count(), 1);
        let shown = FICHE.render(&fiche, &Scope::for_group(&state), Audience::Application);
        assert!(!shown.contains_key("comments") && !shown.contains_key("num1"));
        assert_eq!(
            (&shown["str0"], &shown["dt0"], &shown["birthdate"]),
            (&json!("a"), &Value::Null, &Value::Null)
        );
        assert_eq!((&shown["email"], shown.contains_key("externid")), (&json!(""), false));
    }

    #[test]
    fn customised_attributes_are_checked_against_their_definitions() {
        let mut fiche = fiche();
        let given = json!({"str1": "undefined", "str2": "", "num1": "many", "dt0": "1850-02-30", "group_id": 5});
        assert_eq!(
            change_fiche(&mut fiche, given, Audience::Pro),
            ["group_id", "str1", "num1", "dt0"]
        );
        assert!(
            change_fiche(&mut fiche, json!({"num1": "2.5", "dt0": "1850-02-03"}), Audience::Pro)
                .is_empty()
        );
        assert_eq!(fiche.customs.iter().count(), 2);
        assert!(
            change_fiche(&mut fiche, json!({"num1": "", "dt0": null}), Audience::Pro).is_empty()
        );
        assert!(fiche.customs.is_empty());
    }
}
