//! Fields of records in forms, made of the tables of fields and of the customised attributes.
//! Reference 15.4.
//!
//! A form sends back what differs from the record alone, so that a value that a form cannot hold to
//! the last second is no change.

use serde_json::{Map, Value};

use crate::domain::records::customfield::{Customfield, Customs, Model};
use crate::domain::records::fault::Fault;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::group_state::GroupState;
use crate::notify::language::Language;
use crate::web::contact_fields::{FieldView, Widget, attribute_field};
use crate::web::format::{self, iso_time, parse_start};
use crate::web::practice::texts::field_labels::{fiche_label, vevent_label};
use crate::web::practice::texts::form::FormTexts;
use crate::web::text::fill;
use crate::wire::custom_values::custom_column_value;
use crate::wire::datetime::format_civil;
use crate::wire::fiche::FICHE;
use crate::wire::field::{Audience, ColumnValue, FieldType, Scope};
use crate::wire::params::Params;
use crate::wire::vevent::VEVENT;

/// Maximum number of characters of a text that fits on a line.
const LINE_CHARS_MAX: usize = 255;
/// Maximum number of characters of a long text.
const LONG_TEXT_CHARS_MAX: usize = 65_535;

/// Returns the fields of a client that professionals set, with the values of a record.
pub(crate) fn fiche_fields(
    state: &GroupState,
    fiche: &Fiche,
    language: Language,
) -> Vec<FieldView> {
    let scope = Scope::for_group(state);
    let mut fields = Vec::new();
    for field in &FICHE.fields {
        if field.writers.is_none_or(|writers| Audience::Pro < writers) {
            continue;
        }
        let value = field.read_value(fiche, &scope);
        let view = FieldView::new(field.name, fiche_label(field.name, language), Widget::LongText);
        fields.push(typed(view, field.field_type, &value));
    }
    fields.extend(attribute_fields(state, Model::Fiche, Some(&fiche.customs)));
    fields
}

/// Returns some fields of an event, with its values.
pub(crate) fn vevent_fields(
    state: &GroupState,
    row: &Vevent,
    names: &[&'static str],
    language: Language,
) -> Vec<FieldView> {
    let scope = Scope::for_group(state);
    let mut fields = Vec::new();
    for name in names {
        let field = VEVENT.field(name).expect("the table has the fields of the screens");
        let view = FieldView::new(name, vevent_label(name, language), Widget::LongText);
        fields.push(typed(view, field.field_type, &field.read_value(row, &scope)));
    }
    fields
}

/// Returns the customised attributes of a model in their order, with values.
pub(crate) fn attribute_fields(
    state: &GroupState,
    model: Model,
    customs: Option<&Customs>,
) -> Vec<FieldView> {
    let all = state.catalogue.customfields.values().map(AsRef::as_ref);
    let mut definitions: Vec<&Customfield> =
        all.filter(|field| field.model == model && !field.deleted).collect();
    definitions.sort_by_key(|field| (field.pro_position, field.id));
    let mut fields = Vec::new();
    for definition in definitions {
        let labels = [definition.pro_label.as_str(), definition.user_label.as_str()];
        let described = [definition.pro_inputex.as_str(), definition.user_inputex.as_str()];
        let described = described.into_iter().find(|text| !text.trim().is_empty());
        let mut view = attribute_field(definition, labels, described.unwrap_or_default());
        let value = customs.and_then(|customs| customs.value(definition.name));
        view.value = input_value(&custom_column_value(value));
        view.autocomplete = "off";
        view.is_required = definition.pro_required && view.widget != Widget::Checkbox;
        fields.push(with_own_option(view));
    }
    fields
}

/// Returns a field with the widget of its type and a value.
fn typed(view: FieldView, field_type: FieldType, value: &ColumnValue<'_>) -> FieldView {
    let shown = input_value(value);
    let (widget, chars_max) = match field_type {
        FieldType::Text { max } if max > LINE_CHARS_MAX => (Widget::LongText, 0),
        FieldType::Text { max } | FieldType::Name { max } if view.name.ends_with("phone") => {
            (Widget::Input("tel"), max)
        }
        FieldType::Text { max } | FieldType::Name { max } => (Widget::Input("text"), max),
        FieldType::Email => (Widget::Input("email"), 0),
        FieldType::Colour => (Widget::Input("text"), 0),
        FieldType::Id | FieldType::Reference | FieldType::Integer { .. } | FieldType::Number => {
            (Widget::Input("number"), 0)
        }
        FieldType::Boolean => (Widget::Checkbox, 0),
        FieldType::CivilMoment if !shown.contains('T') || shown.ends_with("T00:00") => {
            (Widget::Input("date"), 0)
        }
        FieldType::CivilMoment | FieldType::Moment => (Widget::Input("datetime-local"), 0),
        FieldType::Choice(_) => (Widget::Select, 0),
    };
    let options = match field_type {
        FieldType::Choice(options) => options().into_iter().map(str::to_owned).collect(),
        FieldType::Id
        | FieldType::Reference
        | FieldType::Text { .. }
        | FieldType::Name { .. }
        | FieldType::Email
        | FieldType::Colour
        | FieldType::Integer { .. }
        | FieldType::Number
        | FieldType::Boolean
        | FieldType::Moment
        | FieldType::CivilMoment => Vec::new(),
    };
    let value = if widget == Widget::Input("date") {
        shown.trim_end_matches("T00:00").to_owned()
    } else {
        shown
    };
    with_own_option(FieldView { widget, options, value, chars_max, autocomplete: "off", ..view })
}

/// Adds the present value to the options of a choice that lacks it.
fn with_own_option(mut view: FieldView) -> FieldView {
    if view.is_select() && !view.value.is_empty() && !view.options.contains(&view.value) {
        view.options.push(view.value.clone());
    }
    view
}

/// Returns a value as an input holds it; empty for none.
fn input_value(value: &ColumnValue<'_>) -> String {
    match value {
        ColumnValue::Null
        | ColumnValue::Moment(_)
        | ColumnValue::Civil(None)
        | ColumnValue::Reference(None)
        | ColumnValue::Boolean(false) => String::new(),
        ColumnValue::Text(text) => text.clone().into_owned(),
        ColumnValue::Integer(number) => number.to_string(),
        ColumnValue::Number(number) => number.to_string(),
        ColumnValue::Boolean(true) => "1".to_owned(),
        ColumnValue::Civil(Some(civil)) => iso_time(*civil),
        ColumnValue::Reference(Some(id)) => id.to_string(),
    }
}

/// Returns the fields with the values of a form. A field that the form lacks keeps its own.
pub(crate) fn filled_in(before: &[FieldView], given: &Params) -> Vec<FieldView> {
    let mut fields = before.to_vec();
    for field in &mut fields {
        // A browser sends no box without a tick.
        if field.is_checkbox() || given.iter().any(|(name, _)| name == field.name) {
            field.value = given.value(&field.name).unwrap_or_default().replace("\r\n", "\n");
        }
    }
    fields
}

/// Returns whether two values of a field differ in more than line ends and surrounding spaces.
pub(crate) fn differ(one: &FieldView, other: &FieldView) -> bool {
    one.value.replace("\r\n", "\n").trim() != other.value.replace("\r\n", "\n").trim()
}

/// Returns the object of the API with the fields that differ from those of the record.
pub(crate) fn changed_object(before: &[FieldView], given: &[FieldView]) -> Map<String, Value> {
    let changed = before.iter().zip(given).filter(|(before, given)| differ(before, given));
    changed.map(|(_, field)| (field.name.clone(), wire_value(field))).collect()
}

/// Returns a value as the body of a request has it.
pub(crate) fn wire_value(field: &FieldView) -> Value {
    if field.is_checkbox() {
        return (field.value == "1").into();
    }
    if field.input_type() == "datetime-local"
        && let Some(at) = parse_start(&field.value)
    {
        return format_civil(at).into();
    }
    field.value.as_str().into()
}

/// Sets the sentence of each fault at its field. Returns those of faults without a field here.
pub(crate) fn place_faults(
    fields: &mut [FieldView],
    faults: &[Fault],
    text: &FormTexts,
) -> Vec<String> {
    let mut others = Vec::new();
    for fault in faults {
        match fields.iter_mut().find(|field| field.name == fault.field) {
            Some(field) => field.fault = fault_sentence(field, text),
            None => others.push(format!("{}: {}", fault.field, fault.rule)),
        }
    }
    others
}

fn fault_sentence(field: &FieldView, text: &FormTexts) -> String {
    let sentence = match (field.value.is_empty(), field.input_type()) {
        (true, _) if field.name == "lastname" => text.name_missing,
        (true, _) => text.required,
        (false, "email") => text.bad_email,
        (false, "date" | "datetime-local") => text.bad_date,
        (false, "number") => text.bad_number,
        (false, "text" | "tel" | "") if !field.is_select() => {
            let most = if field.chars_max > 0 { field.chars_max } else { LONG_TEXT_CHARS_MAX };
            return fill(text.too_long, "most", &most.to_string());
        }
        (false, _) => text.bad_value,
    };
    sentence.to_owned()
}

/// Returns a value in words, for a record that is only shown.
pub(crate) fn value_in_words(field: &FieldView, language: Language) -> String {
    let text = FormTexts::in_language(language);
    match field.input_type() {
        _ if field.is_checkbox() && field.value == "1" => text.yes.to_owned(),
        _ if field.is_checkbox() => text.no.to_owned(),
        "date" => match format::parse_day(&field.value) {
            Some(day) => format::date(language, day),
            None => field.value.clone(),
        },
        "datetime-local" => match parse_start(&field.value) {
            Some(at) => format!("{} {}", format::date(language, at.day()), format::time(at)),
            None => field.value.clone(),
        },
        _ => field.value.clone(),
    }
}

/// A value of a record in words.
pub(crate) struct Fact {
    pub(crate) label: String,
    pub(crate) value: String,
    /// The address of a telephone or a mailbox; empty for other values.
    pub(crate) url: String,
}

/// Returns the values of a record in words, without those that are not set.
pub(crate) fn facts(fields: &[FieldView], language: Language) -> Vec<Fact> {
    let mut facts = Vec::new();
    for field in fields {
        if field.value.is_empty() && !field.is_checkbox() {
            continue;
        }
        let url = match field.input_type() {
            "email" => format!("mailto:{}", escape_address(&field.value)),
            "tel" => phone_url(&field.value),
            _ => String::new(),
        };
        let value = value_in_words(field, language);
        facts.push(Fact { label: field.label.clone(), value, url });
    }
    facts
}

fn escape_address(address: &str) -> String {
    let escaped = form_urlencoded::byte_serialize(address.as_bytes()).collect::<String>();
    escaped.replace("%40", "@").replace('+', "%20")
}

/// Returns the address that calls a number; empty if it has no digit.
fn phone_url(phone: &str) -> String {
    let dialled: String = phone.chars().filter(|c| c.is_ascii_digit() || *c == '+').collect();
    if dialled.contains(|c: char| c.is_ascii_digit()) {
        format!("tel:{dialled}")
    } else {
        String::new()
    }
}

/// A field in two versions.
pub(crate) struct VersionRow {
    pub(crate) label: String,
    pub(crate) theirs: String,
    pub(crate) mine: String,
}

/// Returns the fields in which two versions differ.
pub(crate) fn compare_versions(
    theirs: &[FieldView],
    mine: &[FieldView],
    language: Language,
) -> Vec<VersionRow> {
    let both = theirs.iter().zip(mine).filter(|(theirs, mine)| differ(theirs, mine));
    let row = |(theirs, mine): (&FieldView, &FieldView)| VersionRow {
        label: theirs.label.clone(),
        theirs: value_in_words(theirs, language),
        mine: value_in_words(mine, language),
    };
    both.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::availability::catalogue::Catalogue;
    use crate::domain::records::group::Group;
    use crate::domain::records::ids::{FicheId, GroupId};
    use crate::domain::records::text::Text;
    use crate::domain::time::zone_names::ZoneName;
    use crate::domain::time::{Civil, Instant};

    #[test]
    fn a_form_that_is_sent_back_as_it_was_changes_nothing() {
        let paris = ZoneName::from_name("Paris").expect("a zone");
        let group = Group::new(GroupId::new(4).expect("an id"), paris, Instant(0));
        let state = GroupState::new(Catalogue::new(group));
        let mut fiche = Fiche::new(FicheId::new(7).expect("an id"), Instant(0));
        fiche.comments = Text::new(" one\r\ntwo\n").expect("a text");
        fiche.externid = Some(-5);
        for (hour, minute, second) in [(0, 0, 0), (9, 5, 0), (9, 5, 30)] {
            fiche.birthdate = Civil::from_ymd_hms(1990, 3, 1, hour, minute, second);
            let before = fiche_fields(&state, &fiche, Language::French);
            let mut given = Params::default();
            for field in &before {
                if !field.is_checkbox() || field.value == "1" {
                    given.push(&field.name, &field.value.replace('\n', "\r\n"));
                }
            }
            let changed = changed_object(&before, &filled_in(&before, &given));
            assert_eq!(changed, Map::new());
            given.push("comments", "one");
            let changed = changed_object(&before, &filled_in(&before, &given));
            assert_eq!(changed.len(), 1, "{changed:?}");
        }
    }
}
