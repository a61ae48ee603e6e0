//! Fields of professionals. Reference 3.3, 3.5.

use std::sync::LazyLock;

use crate::domain::directory::professionals::Pro;
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::records::text::Email;
use crate::domain::time::Instant;
use crate::wire::field::{Audience, ColumnValue, Field, FieldType, PRO, STAMP, Table, plain};
use crate::wire::value;

/// Every field of a professional except the password.
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
