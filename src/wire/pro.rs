//! Fields of professionals. Reference 3.3, 3.5.

use std::sync::LazyLock;

use crate::domain::directory::professionals::Pro;
use crate::domain::directory::roles::{ProRole, Sight};
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::records::text::Email;
use crate::domain::time::Instant;
use crate::wire::field::{Audience, ColumnValue, Field, FieldType, PRO, STAMP, Table, plain};
use crate::wire::role::{CALENDAR_IDS, READS_ALL, ROLE, calendars_text, parse_name};
use crate::wire::value;

/// The calendars of a professional's own, as a text.
const CALENDARS: FieldType = FieldType::Text { max: 2_000 };

fn role_names() -> Vec<&'static str> {
    ProRole::NAMES.to_vec()
}

/// Every field of a professional except the password. An import reads the role in its group beside
/// the table.
pub static PROFESSIONAL: LazyLock<Table<Pro>> = LazyLock::new(|| Table {
    resource: "pro",
    fields: vec![
        Field::id(Audience::Pro, |pro: &Pro| pro.id.number()),
        plain!("lastname", lastname, PRO),
        plain!("firstname", firstname, PRO),
        Field::derived("email", FieldType::Email, Audience::Pro, |pro: &Pro, _| {
            ColumnValue::Text(pro.email.as_str().into())
        })
        .with_writer(Audience::Store, |given, _, _, patch| {
            let email = Email::new(value::parse_text(given)?.trim())?;
            patch.push(move |pro| pro.email = email.clone());
            Ok(())
        }),
        plain!("cellphone", cellphone, PRO),
        Field::derived(ROLE, FieldType::Choice(role_names), Audience::Pro, |pro: &Pro, scope| {
            ColumnValue::Text(scope.role_of(pro.id).name().into())
        })
        .with_writer(Audience::Store, |given, _, _, _| parse_name(given).map(drop)),
        Field::derived(CALENDAR_IDS, CALENDARS, Audience::Pro, |pro: &Pro, scope| {
            ColumnValue::Text(calendars_text(scope.role_of(pro.id)).into())
        })
        .with_writer(Audience::Store, |given, _, _, _| value::parse_ids(given).map(drop)),
        Field::derived(READS_ALL, FieldType::Boolean, Audience::Pro, |pro: &Pro, scope| {
            ColumnValue::Boolean(scope.role_of(pro.id).sight() == Sight::All)
        })
        .with_writer(Audience::Store, |given, _, _, _| value::parse_boolean(given).map(drop)),
        plain!("synched_at", synched_at, STAMP),
        plain!("created_at", created_at, STAMP),
        plain!("updated_at", updated_at, STAMP),
    ],
    required: &[&["email"]],
    customs: None,
    id: |pro| pro.id.number(),
    order: |a, b, _| a.id.cmp(&b.id),
    blank: Pro::blank(
        ProId::new(1).expect("1 is an id"),
        GroupId::new(1).expect("1 is an id"),
        Instant(0),
    ),
});
