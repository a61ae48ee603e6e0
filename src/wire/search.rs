//! `search=`: records whose name holds some words; of people also e-mail address and telephone number. Reference 1.

use memchr::memmem::Finder;

use crate::domain::state::refusal::Fault;
use crate::wire::field::{Audience, ColumnValue, Field, Scope, Table};
use crate::wire::like_pattern::{finder, folded, push_folded};
use crate::wire::params::Params;

/// Most characters that are searched for.
const LENGTH_MAX: usize = 255;
/// Fields that name an object, of whichever it has. An event has no name of its own: its text names an appointment's
/// client.
const NAMES: [&str; 6] = ["name", "publicname", "lastname", "firstname", "email", "text"];
/// Fields that hold a telephone number.
const PHONES: [&str; 3] = ["firstphone", "secondphone", "cellphone"];

impl<R: 'static> Table<R> {
    /// The fields that a search looks for words in, and those it looks for a telephone number in, as far as the audience
    /// sees them.
    #[must_use]
    pub fn searched(&self, audience: Audience) -> (Vec<&Field<R>>, Vec<&Field<R>>) {
        let seen = |name: &&str| self.field(name).filter(|field| audience >= field.readers);
        (NAMES.iter().filter_map(seen).collect(), PHONES.iter().filter_map(seen).collect())
    }
}

/// What is searched for, and where.
pub struct Search<'t, R> {
    /// Folded; each must stand somewhere in the names.
    words: Vec<Finder<'static>>,
    /// What is left of a telephone number without its separators; `None` where it is none.
    digits: Option<Finder<'static>>,
    names: Vec<&'t Field<R>>,
    phones: Vec<&'t Field<R>>,
}

impl<'t, R: 'static> Search<'t, R> {
    /// The search that the parameters ask for; `None` where they ask for none.
    ///
    /// # Errors
    /// A text that is too long.
    pub fn parse(
        params: &Params,
        table: &'t Table<R>,
        audience: Audience,
    ) -> Result<Option<Self>, Fault> {
        let Some(text) = params.one("search") else { return Ok(None) };
        if text.chars().count() > LENGTH_MAX {
            return Err(Fault::new("search", format!("must have at most {LENGTH_MAX} characters")));
        }
        let words = folded(text).split_whitespace().map(finder).collect();
        let (names, phones) = table.searched(audience);
        Ok(Some(Self { words, digits: digits(text).as_deref().map(finder), names, phones }))
    }

    /// Whether a record is found. Its names are written into `room`, whatever stood there.
    #[must_use]
    pub fn finds(&self, record: &R, scope: &Scope<'_>, room: &mut String) -> bool {
        room.clear();
        // A line for each field, so that no word is found across two.
        for field in &self.names {
            if let ColumnValue::Text(text) = field.cell(record, scope) {
                push_folded(&text, room);
                room.push('\n');
            }
        }
        if self.words.iter().all(|word| word.find(room.as_bytes()).is_some()) {
            return true;
        }
        let Some(wanted) = &self.digits else { return false };
        self.phones.iter().any(|field| match field.cell(record, scope) {
            ColumnValue::Text(phone) => {
                room.clear();
                room.extend(phone.chars().filter(char::is_ascii_digit));
                wanted.find(room.as_bytes()).is_some()
            }
            ColumnValue::Null
            | ColumnValue::Integer(_)
            | ColumnValue::Number(_)
            | ColumnValue::Boolean(_)
            | ColumnValue::Moment(_)
            | ColumnValue::Civil(_)
            | ColumnValue::Reference(_) => false,
        })
    }
}

/// The digits of a text that could be part of a telephone number.
fn digits(text: &str) -> Option<String> {
    let separator = |c: char| c.is_whitespace() || matches!(c, '.' | '-' | '/' | '+' | '(' | ')');
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    (!digits.is_empty() && text.chars().all(|c| c.is_ascii_digit() || separator(c)))
        .then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::catalogue::Catalogue;
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
            Search::parse(&Params::of_query(&query), table, audience).expect("short enough");
        search.is_none_or(|search| search.finds(record, &Scope::of(&state()), &mut String::new()))
    }

    #[test]
    fn a_client_is_found_by_name_address_and_number() {
        let mut fiche = Fiche::new(FicheId::new(7).expect("an id"), Instant(0));
        fiche.lastname = Name::new("Lefèvre").expect("a name");
        fiche.firstname = Name::new("Anna").expect("a name");
        fiche.email = Some(Email::new("Anna.L@x.org").expect("an address"));
        fiche.firstphone = Text::new("06 12 34-56.78").expect("a number");
        fiche.comments = Text::new("red hair").expect("a text");
        for text in [
            "LEFÈV",
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
    fn a_name_that_is_not_shown_finds_nothing() {
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
    fn a_search_is_bounded() {
        let params = Params::of_query(&format!("search={}", "é".repeat(256)));
        assert!(Search::parse(&params, &FICHE, Audience::Pro).is_err());
    }
}
