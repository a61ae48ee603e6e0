//! Fields of groups. Reference 12.1.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::decisions::founding::FoundGroup;
use crate::domain::records::fault::Fault;
use crate::domain::records::group::Group;
use crate::domain::records::ids::GroupId;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::domain::time::zone_names::ZoneName;
use crate::wire::field::{
    Audience, ColumnValue, Field, FieldType, OPEN, PRO, STAMP, Scope, Table, plain,
};

/// Every field of a group.
pub static GROUP: LazyLock<Table<Group>> = LazyLock::new(|| Table {
    resource: "group",
    fields: [identity_fields(), message_fields(), booking_fields()].into_iter().flatten().collect(),
    required: &[&["name"], &["timezone"]],
    customs: None,
    id: |group| group.id.number(),
    order: |a, b, _| a.id.cmp(&b.id),
    blank: Group::new(
        GroupId::new(1).expect("1 is an id"),
        ZoneName::from_name("UTC").expect("the table has UTC"),
        Instant(0),
    ),
});

/// Parses the fields of a group to found. Name and time zone are required.
///
/// # Errors
/// Every fault of the fields.
pub fn parse_new_group(fields: &Map<String, Value>) -> Result<FoundGroup, Vec<Fault>> {
    // Fields of a group refer to no other record, so any scope serves to read them.
    let state = GroupState::new(Catalogue::new(GROUP.blank.clone()));
    let fields = GROUP.parse_new(fields, &Scope::for_group(&state), Audience::Pro)?;
    Ok(FoundGroup { fields })
}

fn identity_fields() -> Vec<Field<Group>> {
    vec![
        Field::id(Audience::Application, |group: &Group| group.id.number()),
        plain!("name", name, OPEN),
        plain!("urlname", urlname, STAMP),
        plain!("preposition", preposition, OPEN),
        plain!("phone", phone, OPEN),
        plain!("fax", fax, OPEN),
        plain!("address", address, OPEN),
        plain!("city", city, OPEN),
        plain!("zipcode", zipcode, OPEN),
        plain!("country", country, OPEN),
        plain!("timezone", timezone, OPEN),
        Field::derived(
            "timezone_iana",
            FieldType::Text { max: 255 },
            Audience::Application,
            |group: &Group, _| ColumnValue::Text(group.timezone.zone().iana_name().into()),
        ),
        plain!("history_days", history_days, PRO),
        plain!("second_factor_required", second_factor_required, PRO),
        plain!("retention_appointments_months", retention_appointments_months, PRO),
        plain!("retention_clients_months", retention_clients_months, PRO),
        plain!("retention_accounts_months", retention_accounts_months, PRO),
        plain!("created_at", created_at, STAMP),
        plain!("updated_at", updated_at, STAMP),
    ]
}

fn message_fields() -> Vec<Field<Group>> {
    vec![
        plain!("sendmail", sendmail, PRO),
        plain!("notice_delay_seconds", notice_delay_seconds, PRO),
        plain!("mailreminder", mailreminder, PRO),
        plain!("country_code", country_code, PRO),
        plain!("smsreminder", smsreminder, PRO),
        plain!("sms_sender_name", sms_sender_name, PRO),
        plain!("sms_countries", sms_countries, PRO),
        plain!("check_sms", check_sms, PRO),
        plain!("check_sms_from_web", check_sms_from_web, PRO),
    ]
}

fn booking_fields() -> Vec<Field<Group>> {
    vec![
        plain!("inactive", inactive, OPEN),
        plain!("open", open, OPEN),
        plain!("openData", open_data, OPEN),
        plain!("calendarChoice", calendar_choice, OPEN),
        plain!("anyCalendar", any_calendar, OPEN),
        plain!("max_multirdvs", max_multirdvs, OPEN),
        plain!("usercolors", usercolors, OPEN),
        plain!("display_intervention_length", display_intervention_length, OPEN),
        plain!("display_intervention_price", display_intervention_price, OPEN),
        plain!("currency_code", currency_code, OPEN),
        plain!("validateEmail", validate_email, OPEN),
        plain!("web_page", web_page, OPEN),
        plain!("privacy_text", privacy_text, OPEN),
        plain!("access_text", access_text, OPEN),
        plain!("bring_text", bring_text, OPEN),
        plain!("embed_origins", embed_origins, PRO),
        plain!("contact_needed", contact_needed, OPEN),
        plain!("verify_bookings", verify_bookings, OPEN),
        plain!("mintime_between", mintime_between, PRO),
        plain!("maxrdv_number", maxrdv_number, PRO),
        plain!("unverified_day_percent", unverified_day_percent, PRO),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn state() -> GroupState {
        let paris = ZoneName::from_name("Paris").expect("a zone");
        GroupState::new(Catalogue::new(Group::new(
            GroupId::new(4).expect("an id"),
            paris,
            Instant(0),
        )))
    }

    #[test]
    fn an_application_sees_no_message_settings() {
        let state = state();
        let shown =
            GROUP.render(&state.catalogue.group, &Scope::for_group(&state), Audience::Application);
        for hidden in [
            "sendmail",
            "mailreminder",
            "country_code",
            "smsreminder",
            "sms_sender_name",
            "check_sms",
        ] {
            assert!(!shown.contains_key(hidden), "{hidden}");
        }
        assert_eq!(
            (&shown["id"], &shown["openData"], &shown["usercolors"]),
            (&json!(4), &json!(true), &json!(null))
        );
    }

    #[test]
    fn all_faults_are_reported_at_once() {
        let state = state();
        let object = json!({"timezone": "Europe/Lyon", "mailreminder": 59, "open": "yes", "name": "Ok", "id": 9,
            "currency_code": "eur", "created_at": "2025-01-01"});
        let object = object.as_object().expect("an object");
        let faults = GROUP
            .parse(object, &Scope::for_group(&state), Audience::Pro)
            .expect_err("four are wrong");
        let names: Vec<&str> = faults.iter().map(|fault| fault.field.as_str()).collect();
        assert_eq!(names, ["timezone", "mailreminder", "open", "currency_code"]);
    }

    #[test]
    fn an_empty_number_takes_its_default() {
        let state = state();
        let object = json!({"max_multirdvs": "3", "calendarChoice": "", "updated_at": "2025-01-01 00:00:00"});
        let object = object.as_object().expect("an object");
        let mut group = state.catalogue.group.clone();
        group.calendar_choice = 5;
        GROUP
            .parse(object, &Scope::for_group(&state), Audience::Pro)
            .expect("legal")
            .apply_to(&mut group);
        assert_eq!(
            (group.max_multirdvs.number(), group.calendar_choice, group.updated_at),
            (3, 2, Instant(0))
        );
    }
}
