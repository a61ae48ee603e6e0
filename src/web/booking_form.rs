//! The body of a booking, from the fields of the form of step 3.

use serde_json::{Map, Value, json};

use crate::domain::records::hold::HoldToken;
use crate::domain::records::ids::CalendarId;
use crate::domain::time::Civil;
use crate::notify::language::Language;
use crate::web::choice::Choice;
use crate::web::contact_fields::{FieldView, RELATIVE_NAME, form_fields};
use crate::web::date_parts::RELATIVE_BIRTHDATE;
use crate::web::format::parse_start;
use crate::web::shop::Visit;
use crate::web::text::{fill, texts};
use crate::wire::datetime::format_civil;
use crate::wire::params::Params;

/// The label of the origin of bookings by these pages.
const WEBSOURCE: &str = "web";

/// Returns the body of a booking, as an application would send it. Only the fields of the form are
/// taken from what was sent. The booking takes over the time of the hold.
pub(crate) fn booking_object(
    visit: &Visit,
    choice: &Choice,
    start: Civil,
    given: &Params,
    hold: Option<HoldToken>,
) -> Map<String, Value> {
    let services: Vec<u64> = choice.services.iter().map(|id| id.number()).collect();
    let mut object = Map::new();
    object.insert("date".to_owned(), format_civil(start).into());
    object.insert("intervention_ids".to_owned(), json!(services));
    let calendar = choice.calendar.map_or(0, CalendarId::number);
    object.insert("calendar_id".to_owned(), calendar.into());
    object.insert("websource".to_owned(), websource(visit).into());
    if let Some(token) = hold {
        object.insert("hold".to_owned(), token.as_str().into());
    }
    let mut fiche = Map::new();
    for field in form_fields(visit, given) {
        if field.value.is_empty() {
            continue;
        }
        let value = wire_value(&field);
        match field.name.strip_prefix("fiche.") {
            Some(name) => fiche.insert(name.to_owned(), value),
            None => object.insert(field.name.clone(), value),
        };
    }
    object.insert("fiche".to_owned(), fiche.into());
    if let Some(relative) = describe_relative(visit, given) {
        let comments = match given.value("comments") {
            Some(comments) => format!("{relative}\n{comments}"),
            None => relative,
        };
        object.insert("comments".to_owned(), comments.into());
    }
    object
}

/// Returns the origin that the link names, or that of these pages.
fn websource(visit: &Visit) -> &str {
    let named = visit.preset.as_ref().map(|preset| preset.websource.as_str());
    named.filter(|websource| !websource.is_empty()).unwrap_or(WEBSOURCE)
}

/// Returns a value as the body of a booking has it.
fn wire_value(field: &FieldView) -> Value {
    if field.input_type() == "datetime-local"
        && let Some(at) = parse_start(&field.value)
    {
        return format_civil(at).into();
    }
    field.value.as_str().into()
}

/// Returns the line about another person for whom the client books, in the language of the shop;
/// `None` if the client books for itself.
fn describe_relative(visit: &Visit, given: &Params) -> Option<String> {
    let name = given.value(RELATIVE_NAME)?;
    let person = match given.value(RELATIVE_BIRTHDATE) {
        Some(birthdate) => format!("{name}, {birthdate}"),
        None => name.to_owned(),
    };
    let language = Language::of_country(visit.group().country.as_str());
    Some(fill(texts(language).relative_comment, "name", &person))
}
