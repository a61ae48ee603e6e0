//! The fields of a form of the settings, as its template shows them. They are made from the tables
//! of `wire`, and from the words of each field.

use serde_json::{Map, Value};

use crate::domain::records::customfield::{CustomKind, CustomName};
use crate::domain::records::fault::Fault;
use crate::domain::records::group::Usercolors;
use crate::domain::time::zone_names::ZoneName;
use crate::notify::language::Language;
use crate::web::colours;
use crate::web::format;
use crate::web::practice::settings::fields::field_text::{FieldText, FieldWidget, in_language};
use crate::web::practice::settings::given::{given_value, to_amount};
use crate::web::practice::settings::rule_text::{describe_fault, group_digits};
use crate::web::practice::texts::settings::SettingsTexts;
use crate::web::text::fill;
use crate::wire::field::{ColumnValue, Field, FieldType, Scope, Table};
use crate::wire::params::Params;

/// Number of characters of a usual line, whose limit is said with its fault only. A longer text is
/// asked for in several lines.
const LINE_MAX: usize = 255;
/// Bounds beyond which a range is no help to a person.
const SHOWN_MAX: i64 = 100_000_000;

/// A record, and a form that was sent to change it.
pub(crate) struct Sheet<'s, R: 'static> {
    pub(crate) table: &'static Table<R>,
    pub(crate) words: &'static [FieldText],
    pub(crate) record: &'s R,
    /// Whether the record is one to make, with its defaults.
    pub(crate) is_new: bool,
    pub(crate) scope: Scope<'s>,
    pub(crate) language: Language,
    pub(crate) given: Option<&'s Params>,
    pub(crate) faults: &'s [Fault],
    /// Whether the record was changed after the form was shown.
    pub(crate) is_overtaken: bool,
}

/// The element of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Line,
    Number,
    Lines,
    Checkbox,
    Select,
    Colour,
    Colours,
    /// A value that stays.
    Kept,
}

/// A field of a form.
pub(crate) struct Control {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) effect: &'static str,
    /// Limit, default, and a length in other units; empty for none.
    pub(crate) limit: String,
    pub(crate) element: Element,
    pub(crate) value: String,
    pub(crate) options: Vec<ControlOption>,
    pub(crate) colours: Vec<ColourControl>,
    pub(crate) is_required: bool,
    /// The sentence of its fault; empty without one.
    pub(crate) fault: String,
    /// The sentence with the value that was saved meanwhile; empty if it is the same.
    pub(crate) meanwhile: String,
}

/// A value of a choice.
pub(crate) struct ControlOption {
    pub(crate) value: String,
    pub(crate) label: String,
}

/// One of the colours of the booking page.
pub(crate) struct ColourControl {
    pub(crate) key: &'static str,
    pub(crate) label: &'static str,
    /// The label of the colour itself, beside the box to tick.
    pub(crate) of_label: String,
    pub(crate) is_on: bool,
    pub(crate) value: String,
    /// The correction that the page makes; empty for none.
    pub(crate) note: String,
}

impl Control {
    /// The ids of the elements that describe it.
    pub(crate) fn described_by(&self) -> String {
        let mut ids = vec![format!("{}-effect", self.name)];
        if !self.fault.is_empty() {
            ids.push(format!("{}-fault", self.name));
        }
        if !self.meanwhile.is_empty() {
            ids.push(format!("{}-meanwhile", self.name));
        }
        ids.join(" ")
    }
}

impl<R: 'static> Sheet<'_, R> {
    /// Returns the fields of the form, in order.
    pub(crate) fn controls(&self) -> Vec<Control> {
        let controls = self.words.iter().map(|text| {
            let field = self.table.field(text.name).expect("the words are of fields of the table");
            self.control(text, field)
        });
        controls.collect()
    }

    fn control(&self, text: &FieldText, field: &Field<R>) -> Control {
        let saved = self.saved_value(text, field);
        let given = self.given.and_then(|given| given_value(text, given));
        let value = given.unwrap_or_else(|| saved.clone());
        let options = self.options(text, field, &value);
        let element = self.element(text, field, &value);
        let meanwhile = if self.is_overtaken && value != saved && element != Element::Kept {
            let shown = self.display(&saved, &options, element);
            fill(self.text().saved_value, "value", &shown)
        } else {
            String::new()
        };
        let fault = self.faults.iter().find(|fault| fault.field == text.name);
        let is_required = self.table.required.iter().any(|names| names.contains(&text.name));
        Control {
            name: text.name,
            label: in_language(text.label, self.language),
            effect: in_language(text.effect, self.language),
            limit: self.limit(text, field, &value),
            element,
            colours: if element == Element::Colours { self.colours(&value) } else { Vec::new() },
            is_required,
            fault: fault.map_or_else(String::new, |fault| {
                describe_fault(self.language, text, field.field_type, fault, value.trim())
            }),
            meanwhile,
            options,
            value,
        }
    }

    fn text(&self) -> &'static SettingsTexts {
        SettingsTexts::in_language(self.language)
    }

    /// Returns the value of the record, as a form gives it.
    fn saved_value(&self, text: &FieldText, field: &Field<R>) -> String {
        // A new record comes after the last, unless it is given another place.
        if self.is_new && text.name == "sort" {
            return String::new();
        }
        let value = field.read_value(self.record, &self.scope).to_json(self.scope.zone);
        match (value, text.widget) {
            (Value::Null, _) => String::new(),
            (Value::Bool(flag), _) => String::from(if flag { "1" } else { "0" }),
            (Value::String(text), _) => text,
            (value, FieldWidget::Price) => value.as_i64().map_or_else(String::new, to_amount),
            (value, _) => value.to_string(),
        }
    }

    fn element(&self, text: &FieldText, field: &Field<R>, value: &str) -> Element {
        if text.is_kept && !self.is_new {
            return Element::Kept;
        }
        match text.widget {
            FieldWidget::Choice(_)
            | FieldWidget::Calendarset
            | FieldWidget::Interventionset
            | FieldWidget::Zone
            | FieldWidget::AttributeName => return Element::Select,
            FieldWidget::Colours => return Element::Colours,
            FieldWidget::Price => return Element::Line,
            FieldWidget::Minutes => return Element::Number,
            FieldWidget::ByType => {}
        }
        match field.field_type {
            FieldType::Text { max } if max > LINE_MAX => Element::Lines,
            // The browser shows no colour of another form, and would lose what was typed.
            FieldType::Colour if colours::is_colour(value) => Element::Colour,
            FieldType::Integer { .. } => Element::Number,
            FieldType::Boolean => Element::Checkbox,
            FieldType::Choice(_) => Element::Select,
            FieldType::Id
            | FieldType::Reference
            | FieldType::Text { .. }
            | FieldType::Name { .. }
            | FieldType::Email
            | FieldType::Colour
            | FieldType::Number
            | FieldType::Moment
            | FieldType::CivilMoment => Element::Line,
        }
    }

    /// Returns the values to choose from. The present one is among them.
    fn options(&self, text: &FieldText, field: &Field<R>, value: &str) -> Vec<ControlOption> {
        let mut options = Vec::new();
        let mut add = |value: &str, label: &str| {
            options.push(ControlOption { value: value.to_owned(), label: label.to_owned() });
        };
        let catalogue = &self.scope.state.catalogue;
        match (text.widget, field.field_type) {
            (FieldWidget::Choice(choices), _) => {
                for choice in choices {
                    add(choice.value, in_language(choice.label, self.language));
                }
            }
            (FieldWidget::Calendarset, _) => {
                add("", self.text().no_choice);
                for set in catalogue.calendarsets.values() {
                    add(&set.id.to_string(), set.name.as_str());
                }
            }
            (FieldWidget::Interventionset, _) => {
                add("", self.text().no_choice);
                for set in catalogue.interventionsets.values() {
                    add(&set.id.to_string(), set.name.as_str());
                }
            }
            (FieldWidget::Zone, _) => {
                for name in ZoneName::texts() {
                    add(name, name);
                }
            }
            (FieldWidget::AttributeName, _) => {
                for name in CustomName::all() {
                    let kind = self.kind_name(name.kind());
                    add(&name.to_string(), &format!("{name} – {kind}"));
                }
            }
            (FieldWidget::ByType, FieldType::Choice(choices)) => {
                for choice in choices() {
                    add(choice, choice);
                }
            }
            (
                FieldWidget::ByType
                | FieldWidget::Minutes
                | FieldWidget::Price
                | FieldWidget::Colours,
                _,
            ) => return options,
        }
        if !options.iter().any(|option| option.value == value) {
            options.push(ControlOption { value: value.to_owned(), label: value.to_owned() });
        }
        options
    }

    fn kind_name(&self, kind: CustomKind) -> &'static str {
        let text = self.text();
        match kind {
            CustomKind::Boolean => text.kind_boolean,
            CustomKind::Datetime => text.kind_datetime,
            CustomKind::Number => text.kind_number,
            CustomKind::String => text.kind_string,
            CustomKind::Text => text.kind_text,
        }
    }

    /// Returns a saved value in words.
    fn display(&self, value: &str, options: &[ControlOption], element: Element) -> String {
        let text = self.text();
        if element == Element::Checkbox {
            return (if value == "1" { text.yes } else { text.no }).to_owned();
        }
        if element == Element::Colours && !value.is_empty() {
            let on = self.colours(value).into_iter().filter(|colour| colour.is_on);
            let parts: Vec<String> =
                on.map(|colour| format!("{} {}", colour.label, colour.value)).collect();
            return parts.join(", ");
        }
        match options.iter().find(|option| option.value == value) {
            Some(option) => option.label.clone(),
            None if value.is_empty() => text.empty_value.to_owned(),
            None => value.to_owned(),
        }
    }

    /// Returns limit and default of a field, and the length of its minutes in other units.
    fn limit(&self, text: &FieldText, field: &Field<R>, value: &str) -> String {
        let texts = self.text();
        let mut sentences = Vec::new();
        match (text.widget, field.field_type) {
            (FieldWidget::ByType | FieldWidget::Minutes, FieldType::Integer { min, max }) => {
                if max <= SHOWN_MAX && text.rule.is_none() {
                    let range = fill(texts.limit_range, "min", &group_digits(self.language, min));
                    sentences.push(fill(&range, "max", &group_digits(self.language, max)));
                    let default = field.read_value(&self.table.blank, &self.scope);
                    if let ColumnValue::Integer(default) = default {
                        let default = group_digits(self.language, default);
                        sentences.push(fill(texts.default_value, "value", &default));
                    }
                }
                let minutes = value.parse().ok().filter(|minutes| *minutes >= 60);
                if let (FieldWidget::Minutes, Some(minutes)) = (text.widget, minutes) {
                    let length = format::length(self.language, minutes);
                    sentences.push(fill(texts.same_time, "length", &length));
                }
            }
            (FieldWidget::ByType, FieldType::Text { max } | FieldType::Name { max })
                if max != LINE_MAX =>
            {
                let max = i64::try_from(max).expect("a number of characters");
                sentences.push(fill(texts.limit_text, "max", &group_digits(self.language, max)));
            }
            (_, _) => {}
        }
        sentences.join(" ")
    }

    /// Returns the colours of a value.
    fn colours(&self, value: &str) -> Vec<ColourControl> {
        let given: Map<String, Value> = serde_json::from_str(value).unwrap_or_default();
        let text = self.text();
        let controls = Usercolors::KEYS.into_iter().map(|key| {
            let label = match key {
                "page_bg" => text.colour_page_bg,
                "page_text" => text.colour_page_text,
                "main_bg" => text.colour_main_bg,
                "main_text" => text.colour_main_text,
                "content_bg" => text.colour_content_bg,
                "content_text" => text.colour_content_text,
                _ => text.colour_content_links,
            };
            let chosen = given.get(key).and_then(Value::as_str);
            let note = colours::correction(&given, key);
            let note = note.map(|shown| fill(text.colour_corrected, "shown", &shown));
            ColourControl {
                key,
                label,
                of_label: fill(text.colour_of, "name", label),
                is_on: chosen.is_some(),
                value: chosen.map_or_else(|| colours::default_colour(key), str::to_owned),
                note: note.unwrap_or_default(),
            }
        });
        controls.collect()
    }
}
