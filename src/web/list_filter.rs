//! The filter of a long list: of people or of services. It is a form, and the script filters while
//! the visitor types. Reference 14.2.

use crate::domain::records::folding::fold_text;
use crate::web::shop::Visit;
use crate::web::text::fill;

/// Number of people up to which all are shown at once.
pub(crate) const PEOPLE_MAX: usize = 6;
/// Number of services up to which all are shown at once.
pub(crate) const SERVICES_MAX: usize = 15;

/// The parameter of the filter of services.
pub(crate) const SERVICE_FILTER: &str = "q";

/// A filter with the words of the visitor.
pub(crate) struct ListFilter {
    /// The name of its parameter.
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    /// The words as they were typed; empty without a search.
    pub(crate) value: String,
    /// The page with the list.
    pub(crate) action: String,
    /// Names and values of the form.
    pub(crate) kept: Vec<(&'static str, String)>,
    /// Number of results in words; empty without a search.
    pub(crate) found: String,
    /// The same for the script: of one, of `{count}` and of none.
    pub(crate) found_words: [&'static str; 3],
    /// The words in their folded form, all of which an entry has to contain.
    folded: Vec<String>,
}

impl ListFilter {
    /// Returns the filter of people, by the parameter `w`.
    pub(crate) fn of_people(
        visit: &Visit,
        action: String,
        kept: Vec<(&'static str, String)>,
    ) -> Self {
        Self::new(visit, "w", visit.text.find_person, action, kept)
    }

    /// Returns the filter of services, by the parameter `q`.
    pub(crate) fn of_services(
        visit: &Visit,
        action: String,
        kept: Vec<(&'static str, String)>,
    ) -> Self {
        Self::new(visit, SERVICE_FILTER, visit.text.find_service, action, kept)
    }

    fn new(
        visit: &Visit,
        name: &'static str,
        label: &'static str,
        action: String,
        kept: Vec<(&'static str, String)>,
    ) -> Self {
        let value = visit.params.value(name).unwrap_or_default().trim().to_owned();
        let folded = fold_text(&value).split_whitespace().map(str::to_owned).collect();
        let text = visit.text;
        let found_words = [text.one_found, text.many_found, text.none_found];
        Self { name, label, value, action, kept, found: String::new(), found_words, folded }
    }

    /// Whether the visitor searches.
    pub(crate) fn is_active(&self) -> bool {
        !self.folded.is_empty()
    }

    /// Whether an entry with this text is shown: it contains all words, by the folded forms.
    pub(crate) fn shows(&self, text: &str) -> bool {
        let folded = fold_text(text);
        self.folded.iter().all(|word| folded.contains(word.as_str()))
    }

    /// Says how many entries a search has found.
    pub(crate) fn say_found(&mut self, count: usize) {
        let [one, many, none] = self.found_words;
        self.found = match count {
            _ if !self.is_active() => String::new(),
            0 => none.to_owned(),
            1 => one.to_owned(),
            count => fill(many, "count", &count.to_string()),
        };
    }
}
