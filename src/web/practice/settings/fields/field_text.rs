//! The words of one field, and the widget that asks for it.

use crate::notify::language::Language;

/// A text in French and in English, in this order.
pub(crate) type BothTexts = [&'static str; 2];

/// Returns a text in a language.
pub(crate) const fn in_language(texts: BothTexts, language: Language) -> &'static str {
    match language {
        Language::French => texts[0],
        Language::English => texts[1],
    }
}

/// The words of a field that a professional sets.
pub(crate) struct FieldText {
    /// The name of the field on the wire.
    pub(crate) name: &'static str,
    pub(crate) label: BothTexts,
    /// The effect of the field, as a sentence.
    pub(crate) effect: BothTexts,
    pub(crate) widget: FieldWidget,
    /// The rule beside a wrong value, where the type of the field does not say all of it.
    pub(crate) rule: Option<BothTexts>,
    /// Whether a record keeps the value that it was made with.
    pub(crate) is_kept: bool,
}

/// The widget of a field.
#[derive(Clone, Copy)]
pub(crate) enum FieldWidget {
    /// The widget of the field's type.
    ByType,
    /// A number of minutes, which is also shown in hours and days.
    Minutes,
    /// An amount of money. The field holds cents.
    Price,
    /// A choice among these values.
    Choice(&'static [ChoiceText]),
    /// A choice among the sets of calendars.
    Calendarset,
    /// A choice among the sets of services.
    Interventionset,
    /// A choice among the time zones.
    Zone,
    /// The colours of the booking page.
    Colours,
    /// A choice among the system names of customised attributes.
    AttributeName,
}

/// A value that can be chosen.
pub(crate) struct ChoiceText {
    pub(crate) value: &'static str,
    pub(crate) label: BothTexts,
}

/// Makes a field with the widget of its type.
pub(crate) const fn field(name: &'static str, label: BothTexts, effect: BothTexts) -> FieldText {
    FieldText { name, label, effect, widget: FieldWidget::ByType, rule: None, is_kept: false }
}

/// Makes a value that can be chosen.
pub(crate) const fn choice(value: &'static str, label: BothTexts) -> ChoiceText {
    ChoiceText { value, label }
}

impl FieldText {
    /// Sets the widget.
    #[must_use]
    pub(crate) const fn asked_by(self, widget: FieldWidget) -> Self {
        Self { widget, ..self }
    }

    /// Sets the rule beside a wrong value.
    #[must_use]
    pub(crate) const fn ruled(self, rule: BothTexts) -> Self {
        Self { rule: Some(rule), ..self }
    }

    /// Marks a field whose first value stays.
    #[must_use]
    pub(crate) const fn kept(self) -> Self {
        Self { is_kept: true, ..self }
    }
}
