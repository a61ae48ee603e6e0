//! The postal address of an appointment. Reference 12.1, 12.2, 12.3.

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::records::calendar::Calendar;

/// A postal address. Any part may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostalAddress<'a> {
    /// The street; may have several lines.
    pub address: &'a str,
    /// The zip code.
    pub zipcode: &'a str,
    /// The town.
    pub city: &'a str,
}

impl<'a> PostalAddress<'a> {
    /// The address of the group.
    pub fn of_group(catalogue: &'a Catalogue) -> Self {
        let group = &catalogue.group;
        Self {
            address: group.address.as_str(),
            zipcode: group.zipcode.as_str(),
            city: group.city.as_str(),
        }
    }

    /// The address of a calendar's appointments: its own, else that of its set, else the group's. A
    /// record with any part of an address replaces the whole of it.
    pub fn of_calendar(catalogue: &'a Catalogue, calendar: &'a Calendar) -> Self {
        let own = Self {
            address: calendar.address.as_str(),
            zipcode: calendar.zipcode.as_str(),
            city: calendar.city.as_str(),
        };
        if !own.is_empty() {
            return own;
        }
        if let Some(id) = calendar.calendarset_id
            && let Some(set) = catalogue.calendarsets.get(&id)
        {
            let of_set = Self {
                address: set.address.as_str(),
                zipcode: set.zipcode.as_str(),
                city: set.city.as_str(),
            };
            if !of_set.is_empty() {
                return of_set;
            }
        }
        Self::of_group(catalogue)
    }

    /// The line with the zip code and the town; empty if both are.
    pub fn town_line(&self) -> String {
        match (self.zipcode, self.city) {
            ("", city) => city.to_owned(),
            (zipcode, "") => zipcode.to_owned(),
            (zipcode, city) => format!("{zipcode} {city}"),
        }
    }

    fn is_empty(&self) -> bool {
        self.address.trim().is_empty()
            && self.zipcode.trim().is_empty()
            && self.city.trim().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::calendar::Calendarset;
    use crate::domain::records::group::Group;
    use crate::domain::records::ids::{CalendarId, CalendarsetId, GroupId};
    use crate::domain::records::text::Text;
    use crate::domain::time::Instant;
    use crate::domain::time::zone_names::ZoneName;

    #[test]
    fn a_calendar_has_its_own_address_else_that_of_its_set_else_that_of_the_group() {
        let zone = ZoneName::from_name("Paris").expect("a zone");
        let mut group = Group::new(GroupId::new(1).expect("an id"), zone, Instant(0));
        group.city = Text::new("Paris").expect("short");
        let mut catalogue = Catalogue::new(group);
        let mut calendar = Calendar::new(CalendarId::new(1).expect("an id"), Instant(0));
        let town = |catalogue: &Catalogue, calendar: &Calendar| {
            PostalAddress::of_calendar(catalogue, calendar).town_line()
        };
        assert_eq!(town(&catalogue, &calendar), "Paris");
        let mut set = Calendarset::new(CalendarsetId::new(2).expect("an id"), Instant(0));
        calendar.calendarset_id = Some(set.id);
        catalogue.calendarsets.insert(set.id, set.clone().into());
        assert_eq!(town(&catalogue, &calendar), "Paris", "the set has none");
        set.city = Text::new("Lille").expect("short");
        catalogue.calendarsets.insert(set.id, set.into());
        assert_eq!(town(&catalogue, &calendar), "Lille");
        calendar.zipcode = Text::new("69006").expect("short");
        assert_eq!(
            town(&catalogue, &calendar),
            "69006",
            "the address is not mixed from several records"
        );
    }
}
