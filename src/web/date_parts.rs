//! Dates of birth as three fields: day, month and year. A form sends the three; the booking, and
//! every later form, has one value as the wire has it. Reference 14.3.

use crate::wire::params::Params;

/// The name of the date of birth of the client.
pub(crate) const BIRTHDATE: &str = "fiche.birthdate";
/// The name of that of another person, for whom the client books.
pub(crate) const RELATIVE_BIRTHDATE: &str = "relative.birthdate";
/// The names of the three fields, after that of the date and a dot.
pub(crate) const PARTS: [&str; 3] = ["day", "month", "year"];
/// Maximum number of characters of each of them.
pub(crate) const CHARS_MAX: [usize; 3] = [2, 2, 4];

/// Returns a form with one value for the three fields of each date: `1980-03-05`. Fields that make
/// no date give a value that is none, so that the booking refuses it and the form shows it again.
pub(crate) fn join_dates(given: &Params) -> Params {
    let mut joined = form_urlencoded::Serializer::new(String::new());
    let dates = [BIRTHDATE, RELATIVE_BIRTHDATE];
    for (name, value) in given.iter() {
        let is_part = name
            .rsplit_once('.')
            .is_some_and(|(date, part)| dates.contains(&date) && PARTS.contains(&part));
        if !is_part {
            joined.append_pair(name, value);
        }
    }
    for date in dates {
        let parts = PARTS.map(|part| given.value(&format!("{date}.{part}")).unwrap_or_default());
        if let Some(value) = join(parts) {
            joined.append_pair(date, &value);
        }
    }
    Params::from_query(&joined.finish())
}

/// Returns the value of three fields; `None` if all are empty.
fn join(parts: [&str; 3]) -> Option<String> {
    // The separator of the value cannot stand in a part.
    let parts = parts.map(|part| part.trim().replace('-', ""));
    if parts.iter().all(String::is_empty) {
        return None;
    }
    let [day, month, year] = parts;
    Some(format!("{year}-{month:0>2}-{day:0>2}"))
}

/// Returns day, month and year of a value, as the three fields show them.
pub(crate) fn split_date(value: &str) -> [String; 3] {
    let mut parts = value.splitn(3, '-');
    let [year, month, day] = [(); 3].map(|()| parts.next().unwrap_or_default());
    [day, month, year].map(|part| part.trim_start_matches('0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_fields_are_one_value_and_one_value_is_three_fields() {
        for (typed, value) in [
            (["5", "3", "1980"], Some("1980-03-05")),
            (["05", " 12 ", "1980"], Some("1980-12-05")),
            (["", "", ""], None),
            (["", "3", "1980"], Some("1980-03-00")),
            (["3-", "mars", "80"], Some("80-mars-03")),
        ] {
            assert_eq!(join(typed).as_deref(), value, "{typed:?}");
        }
        assert_eq!(split_date("1980-03-05"), ["5", "3", "1980"]);
        assert_eq!(split_date(""), ["", "", ""]);
        assert_eq!(split_date("80-mars-03"), ["3", "mars", "80"]);
    }

    #[test]
    fn a_form_keeps_its_other_fields_and_a_date_that_is_one_value() {
        let given = "k=1&fiche.birthdate.day=5&fiche.birthdate.month=3&fiche.birthdate.year=1980\
                     &relative.birthdate=2019-03-03&comments=x";
        let joined = join_dates(&Params::from_query(given));
        let pairs: Vec<_> = joined.iter().collect();
        let expected = [
            ("k", "1"),
            ("relative.birthdate", "2019-03-03"),
            ("comments", "x"),
            ("fiche.birthdate", "1980-03-05"),
        ];
        assert_eq!(pairs, expected);
    }
}
