//! `search=`: finds records by words in their names, and people also by address and telephone
//! number. Reference 1.4.

use memchr::memmem::Finder;

use crate::domain::records::fault::Fault;
use crate::domain::records::folding::{append_folded, fold_text};
use crate::wire::field::{Audience, ColumnValue, Field, Scope, Table};
use crate::wire::like_pattern::make_finder;
use crate::wire::params::Params;

/// Maximum number of characters of a search.
const LENGTH_MAX: usize = 255;
/// Fields in which words are searched. `text` of an appointment holds its client's names.
const NAMES: [&str; 6] = ["name", "publicname", "lastname", "firstname", "email", "text"];
/// Fields in which telephone numbers are searched.
const PHONES: [&str; 3] = ["firstphone", "secondphone", "cellphone"];

impl<R: 'static> Table<R> {
    /// Returns the name fields and the telephone fields of a search, as far as the audience sees
    /// them.
    pub fn searched_fields(&self, audience: Audience) -> (Vec<&Field<R>>, Vec<&Field<R>>) {
        (self.visible_fields(&NAMES, audience), self.visible_fields(&PHONES, audience))
    }

    fn visible_fields(&self, names: &[&str], audience: Audience) -> Vec<&Field<R>> {
        let fields = names.iter().filter_map(|name| self.field(name));
        fields.filter(|field| audience >= field.readers).collect()
    }
}

/// Parsed search, with the fields to look at.
pub struct Search<'t, R> {
    /// Folded words. A record is found by its names if each word occurs in one of them.
    words: Vec<Finder<'static>>,
    /// Digits of the search; `None` unless all of it could be part of a telephone number.
    digits: Option<Finder<'static>>,
    names: Vec<&'t Field<R>>,
    phones: Vec<&'t Field<R>>,
}

impl<'t, R: 'static> Search<'t, R> {
    /// Parses the parameter `search`; `None` if it is absent or empty.
    ///
    /// # Errors
    /// A text of more than 255 characters.
    pub fn parse(
        params: &Params,
        table: &'t Table<R>,
        audience: Audience,
    ) -> Result<Option<Self>, Fault> {
        let Some(text) = params.value("search") else { return Ok(None) };
        if text.chars().count() > LENGTH_MAX {
            return Err(Fault::new("search", format!("must have at most {LENGTH_MAX} characters")));
        }
        let words = fold_text(text).split_whitespace().map(make_finder).collect();
        let digits = phone_digits(text).as_deref().map(make_finder);
        let (names, phones) = table.searched_fields(audience);
        Ok(Some(Self { words, digits, names, phones }))
    }

    /// Returns whether a record is found. `buffer` is overwritten.
    pub fn matches(&self, record: &R, scope: &Scope<'_>, buffer: &mut String) -> bool {
        buffer.clear();
        for field in &self.names {
            if let ColumnValue::Text(text) = field.read_value(record, scope) {
                append_folded(&text, buffer);
                // A separator, so that no word matches across two fields.
                buffer.push('\n');
            }
        }
        if self.words.iter().all(|word| word.find(buffer.as_bytes()).is_some()) {
            return true;
        }
        let Some(digits) = &self.digits else { return false };
        for field in &self.phones {
            if let ColumnValue::Text(phone) = field.read_value(record, scope) {
                buffer.clear();
                buffer.extend(phone.chars().filter(char::is_ascii_digit));
                if digits.find(buffer.as_bytes()).is_some() {
                    return true;
                }
            }
        }
        false
    }
}

/// Returns the digits of a text that holds only digits and telephone separators, at least one
/// digit.
fn phone_digits(text: &str) -> Option<String> {
    let mut digits = String::new();
    for c in text.chars() {
        if c.is_ascii_digit() {
            digits.push(c);
        } else if !c.is_whitespace() && !matches!(c, '.' | '-' | '/' | '+' | '(' | ')') {
            return None;
        }
    }
    if digits.is_empty() { None } else { Some(digits) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::availability::catalogue::Catalogue;
    use crate::domain::records::fiche::Fiche;
    use crate::domain::records::group::Group;
    use crate::domain::records::ids::{CalendarId, FicheId, GroupId};
    use crate::domain::records::text::{Email, Name, Text};
    use crate::domain::state::group_state::GroupState;
    use crate::domain::time::Instant;
    use crate::domain::time::zone_names::ZoneName;
    use crate::wire::calendar::CALENDAR;
    use crate::wire::fiche::FICHE;

    fn state() -> GroupState {
        let paris = ZoneName::from_name("Paris").expect("a zone");
        GroupState::new(Catalogue::new(Group::new(
            GroupId::new(4).expect("an id"),
            paris,
            Instant(0),
        )))
    }

    fn finds<R: 'static>(table: &Table<R>, record: &R, audience: Audience, text: &str) -> bool {
        let query =
            form_urlencoded::Serializer::new(String::new()).append_pair("search", text).finish();
        let search =
            Search::parse(&Params::from_query(&query), table, audience).expect("short enough");
        search.is_none_or(|search| {
            search.matches(record, &Scope::for_group(&state()), &mut String::new())
        })
    }

    #[test]
    fn a_client_is_found_by_name_address_and_telephone_number() {
        let mut fiche = Fiche::new(FicheId::new(7).expect("an id"), Instant(0));
        fiche.lastname = Name::new("Lefèvre").expect("a name");
        fiche.firstname = Name::new("Anna").expect("a name");
        fiche.email = Some(Email::new("Anna.L@x.org").expect("an address"));
        fiche.firstphone = Text::new("06 12 34-56.78").expect("a number");
        fiche.comments = Text::new("red hair").expect("a text");
        for text in [
            "LEFÈV",
            "lefev",
            "anna lef",
            " lefèvre  ANNA ",
            "l@X.org",
            "0612345678",
            "34 56",
            "(12) 34/56",
            "",
        ] {
            assert!(finds(&FICHE, &fiche, Audience::Pro, text), "{text}");
        }
        for text in ["anna z", "red", "0612345679", "06 12 anna", "reanna", "+"] {
            assert!(!finds(&FICHE, &fiche, Audience::Pro, text), "{text}");
        }
    }

    #[test]
    fn a_name_that_the_audience_does_not_see_is_not_searched() {
        let mut calendar = CALENDAR.blank.clone();
        calendar.id = CalendarId::new(11).expect("an id");
        calendar.name = Name::new("Inside").expect("a name");
        calendar.publicname = Name::new("Shown").expect("a name");
        assert!(
            finds(&CALENDAR, &calendar, Audience::Pro, "INS")
                && finds(&CALENDAR, &calendar, Audience::Pro, "own")
        );
        assert!(!finds(&CALENDAR, &calendar, Audience::Application, "ins"));
        assert!(finds(&CALENDAR, &calendar, Audience::Application, "shown"));
    }

    #[test]
    fn a_search_of_256_characters_is_refused() {
        let params = Params::from_query(&format!("search={}", "é".repeat(256)));
        assert!(Search::parse(&params, &FICHE, Audience::Pro).is_err());
    }
}
