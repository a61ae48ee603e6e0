//! The fields of the form of step 3: those of the client, and the group's customised attributes.
//!
//! A field is named by its path in the body of a booking, so that a fault finds its field.

use serde_json::Value;

use crate::domain::records::channel::Channel;
use crate::domain::records::customfield::{CustomKind, Customfield, Model};
use crate::domain::records::group::ContactNeeded;
use crate::web::date_parts::{BIRTHDATE, CHARS_MAX, PARTS, RELATIVE_BIRTHDATE, split_date};
use crate::web::reason_text::Reasons;
use crate::web::shop::Visit;
use crate::web::text::Texts;
use crate::wire::params::Params;

/// The widget of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Widget {
    /// An `input` of this type.
    Input(&'static str),
    LongText,
    Checkbox,
    /// A choice among the field's options.
    Select,
    /// Day, month and year of a date, with their labels.
    DateParts([&'static str; 3]),
}

/// One of the three fields of a date.
pub(crate) struct DatePart {
    pub(crate) id: String,
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) value: String,
    pub(crate) chars_max: usize,
}

/// A field with its value, and its fault after a refusal.
#[derive(Clone, Debug)]
pub(crate) struct FieldView {
    /// The path in the body of a booking: `fiche.email`.
    pub(crate) name: String,
    pub(crate) label: String,
    /// The attribute `lang` of label and options that the shop wrote, with a space before it; empty
    /// where they have the language of the page.
    pub(crate) lang: &'static str,
    pub(crate) hint: &'static str,
    pub(crate) widget: Widget,
    /// The values of a [`Widget::Select`].
    pub(crate) options: Vec<String>,
    pub(crate) value: String,
    /// The sentence that the value comes from the link that was followed; empty for others.
    pub(crate) prefilled: &'static str,
    pub(crate) is_required: bool,
    /// The token of the HTML attribute `autocomplete`; empty for none.
    pub(crate) autocomplete: &'static str,
    /// Maximum number of characters; 0 for no limit that the browser knows.
    pub(crate) chars_max: usize,
    /// The sentence of its fault; empty without one.
    pub(crate) fault: String,
}

impl FieldView {
    pub(crate) fn new(name: &str, label: &str, widget: Widget) -> Self {
        Self {
            name: name.to_owned(),
            label: label.to_owned(),
            lang: "",
            hint: "",
            widget,
            options: Vec::new(),
            value: String::new(),
            prefilled: "",
            is_required: false,
            autocomplete: "",
            chars_max: 0,
            fault: String::new(),
        }
    }

    /// The id of its element: letters, digits and hyphens.
    pub(crate) fn id(&self) -> String {
        self.name.replace('.', "-")
    }

    /// The value of the attribute `aria-describedby`; empty if nothing describes the field.
    pub(crate) fn described_by(&self) -> String {
        let mut ids = Vec::new();
        if !self.prefilled.is_empty() {
            ids.push(format!("{}-prefilled", self.id()));
        }
        if !self.hint.is_empty() {
            ids.push(format!("{}-hint", self.id()));
        }
        if !self.fault.is_empty() {
            ids.push(format!("{}-fault", self.id()));
        }
        ids.join(" ")
    }

    /// The type of its `input`; empty for other widgets.
    pub(crate) fn input_type(&self) -> &'static str {
        match self.widget {
            Widget::Input(name) => name,
            Widget::DateParts(_) => "date",
            Widget::LongText | Widget::Checkbox | Widget::Select => "",
        }
    }

    /// The three fields of a date, the first with the id of the field; empty for other widgets.
    pub(crate) fn date_parts(&self) -> Vec<DatePart> {
        let Widget::DateParts(labels) = self.widget else { return Vec::new() };
        let mut parts = Vec::new();
        for (at, value) in split_date(&self.value).into_iter().enumerate() {
            let (name, label, chars_max) = (PARTS[at], labels[at], CHARS_MAX[at]);
            let id = if at == 0 { self.id() } else { format!("{}-{name}", self.id()) };
            parts.push(DatePart { id, name, label, value, chars_max });
        }
        parts
    }

    pub(crate) fn is_date_parts(&self) -> bool {
        matches!(self.widget, Widget::DateParts(_))
    }

    pub(crate) fn is_long_text(&self) -> bool {
        self.widget == Widget::LongText
    }

    pub(crate) fn is_checkbox(&self) -> bool {
        self.widget == Widget::Checkbox
    }

    pub(crate) fn is_select(&self) -> bool {
        self.widget == Widget::Select
    }
}

/// The name of the field with the name of another person, for whom the client books.
pub(crate) const RELATIVE_NAME: &str = "relative.name";

/// Returns the fields of the form, with the values of a form that was sent before.
pub(crate) fn form_fields(visit: &Visit, given: &Params) -> Vec<FieldView> {
    let text = visit.text;
    let field = |name: &str, label: &str, kind: &'static str, autocomplete: &'static str| {
        let widget = Widget::Input(kind);
        FieldView { autocomplete, ..FieldView::new(name, label, widget) }
    };
    let channel = visit.code_channel();
    let needed = visit.group().contact_needed;
    let reasons = Reasons::in_language(visit.language());
    let mut fields = vec![
        FieldView {
            chars_max: 64,
            ..field("fiche.firstname", text.firstname, "text", "given-name")
        },
        FieldView {
            chars_max: 64,
            is_required: true,
            ..field("fiche.lastname", text.lastname, "text", "family-name")
        },
        FieldView {
            hint: match (channel, needed) {
                (Some(Channel::Mail), _) => text.code_mail_hint,
                (_, ContactNeeded::Either) => reasons.either_hint,
                _ => text.email_hint,
            },
            is_required: !visit.group().open
                || channel == Some(Channel::Mail)
                || needed == ContactNeeded::Email,
            ..field("fiche.email", text.email, "email", "email")
        },
        FieldView {
            chars_max: 25,
            hint: if channel == Some(Channel::Sms) { text.code_sms_hint } else { "" },
            is_required: channel == Some(Channel::Sms) || needed == ContactNeeded::Phone,
            ..field("fiche.firstphone", text.firstphone, "tel", "tel")
        },
        FieldView { chars_max: 25, ..field("fiche.secondphone", text.secondphone, "tel", "") },
        FieldView {
            autocomplete: "bday",
            ..FieldView::new(BIRTHDATE, text.birthdate, date_widget(text))
        },
    ];
    for definition in visible_attributes(visit) {
        let labels = [definition.user_label.as_str(), definition.pro_label.as_str()];
        let field = attribute_field(definition, labels, definition.user_inputex.as_str());
        let name = attribute_path(definition);
        let (lang, is_required) = (visit.shop_lang(), definition.user_required);
        fields.push(FieldView { name, lang, is_required, ..field });
    }
    fields.push(FieldView::new("comments", text.comments, Widget::LongText));
    let mut fields = with_values(fields, given);
    for field in &mut fields {
        let wished = visit.preset.as_ref().and_then(|preset| preset.details.get(&field.name));
        if wished == Some(&field.value) {
            field.prefilled = text.prefilled;
        }
    }
    fields
}

fn date_widget(text: &Texts) -> Widget {
    Widget::DateParts([text.day, text.month, text.year])
}

/// Returns fields with the values of a form that was sent before.
fn with_values(mut fields: Vec<FieldView>, given: &Params) -> Vec<FieldView> {
    for field in &mut fields {
        field.value = given.value(&field.name).unwrap_or_default().to_owned();
    }
    fields
}

/// Returns the fields about another person, for whom the client books.
pub(crate) fn relative_fields(text: &Texts, given: &Params) -> Vec<FieldView> {
    let fields = vec![
        FieldView {
            chars_max: 128,
            ..FieldView::new(RELATIVE_NAME, text.relative_name, Widget::Input("text"))
        },
        FieldView::new(RELATIVE_BIRTHDATE, text.relative_birthdate, date_widget(text)),
    ];
    with_values(fields, given)
}

/// Returns the customised attributes that clients see, in their order.
fn visible_attributes(visit: &Visit) -> Vec<&Customfield> {
    let all = visit.state.catalogue.customfields.values().map(AsRef::as_ref);
    let mut visible: Vec<&Customfield> =
        all.filter(|field| field.user_visible && !field.deleted).collect();
    visible.sort_by_key(|field| (field.user_position.unwrap_or(i64::MAX), field.id));
    visible
}

/// Returns the path of an attribute in the body of a booking.
fn attribute_path(definition: &Customfield) -> String {
    match definition.model {
        Model::Fiche => format!("fiche.{}", definition.name),
        Model::Vevent => definition.name.to_string(),
    }
}

/// Returns the field of an attribute, under the first of these labels that is not blank. Its input
/// follows a description, of which only a list of choices counts.
pub(crate) fn attribute_field(
    definition: &Customfield,
    labels: [&str; 2],
    description: &str,
) -> FieldView {
    let options = parse_options(description);
    let kind = definition.name.kind();
    let widget = match kind {
        CustomKind::Boolean => Widget::Checkbox,
        CustomKind::Datetime => Widget::Input("datetime-local"),
        CustomKind::Number => Widget::Input("number"),
        CustomKind::String | CustomKind::Text if !options.is_empty() => Widget::Select,
        CustomKind::String => Widget::Input("text"),
        CustomKind::Text => Widget::LongText,
    };
    let name = definition.name.to_string();
    let label = labels.into_iter().find(|label| !label.trim().is_empty()).unwrap_or(&name);
    let chars_max = if kind == CustomKind::String { 255 } else { 0 };
    FieldView { options, chars_max, ..FieldView::new(&name, label, widget) }
}

/// Returns the texts in the list `choices` of a description of an input; none if it has no such
/// list. Reference 12.9.
fn parse_options(description: &str) -> Vec<String> {
    let Ok(Value::Object(description)) = serde_json::from_str(description) else {
        return Vec::new();
    };
    let Some(Value::Array(choices)) = description.get("choices") else { return Vec::new() };
    choices.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choices_of_a_description_become_options() {
        assert_eq!(parse_options(r#"{"type":"select","choices":["a","b",1]}"#), ["a", "b"]);
        for other in ["", "{}", "[]", r#"{"choices":"a"}"#, "{"] {
            assert!(parse_options(other).is_empty(), "{other}");
        }
    }
}
