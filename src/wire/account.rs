//! Fields of the accounts of clients, as administrators see them. Reference 3.12.

use std::sync::LazyLock;

use crate::domain::records::account::Account;
use crate::domain::records::ids::FicheId;
use crate::domain::records::text::{Email, Text};
use crate::domain::time::CivilDay;
use crate::wire::datetime::{DATE_LENGTH, format_civil};
use crate::wire::field::{Audience, ColumnValue, Field, FieldType, Table};

/// A day, YYYY-MM-DD.
const DAY: FieldType = FieldType::Text { max: DATE_LENGTH };

/// Every field of an account that an answer shows. None is written by field.
pub static ACCOUNT: LazyLock<Table<Account>> = LazyLock::new(|| Table {
    resource: "account",
    fields: vec![
        Field::derived("fiche_id", FieldType::Id, Audience::Pro, |account: &Account, _| {
            ColumnValue::Reference(Some(account.fiche_id.number()))
        }),
        Field::derived("email", FieldType::Email, Audience::Pro, |account: &Account, _| {
            ColumnValue::Text(account.email.as_str().into())
        }),
        Field::derived("last_login", DAY, Audience::Pro, |account: &Account, _| {
            match account.last_login {
                Some(day) => ColumnValue::Text(format_day(day).into()),
                None => ColumnValue::Null,
            }
        }),
    ],
    required: &[],
    customs: None,
    id: |account| account.fiche_id.number(),
    // Several accounts of one client have an order that does not depend on the list.
    order: |a, b, _| {
        a.fiche_id.cmp(&b.fiche_id).then_with(|| a.mark().address_hash.cmp(&b.mark().address_hash))
    },
    blank: Account {
        email: Email::new("client@example.org").expect("an address"),
        fiche_id: FicheId::new(1).expect("1 is an id"),
        password_hash: Text::default(),
        former: Vec::new(),
        last_login: None,
    },
});

/// Returns a day as YYYY-MM-DD.
pub(crate) fn format_day(day: CivilDay) -> String {
    format_civil(day.midnight())[..DATE_LENGTH].to_owned()
}
