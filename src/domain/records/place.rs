//! Where a client is to go. Reference 12.1, 12.2, 12.3.

use crate::domain::records::calendar::Calendar;
use crate::domain::records::catalogue::Catalogue;

/// An address, of which any part may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostalAddress<'a> {
    /// The street, which may be of several lines.
    pub address: &'a str,
    /// The zip code.
    pub zipcode: &'a str,
    /// The town.
    pub city: &'a str,
}

impl<'a> PostalAddress<'a> {
    /// Where the group is.
    #[must_use]
    pub fn of_group(catalogue: &'a Catalogue) -> Self {
        let group = &catalogue.group;
        Self {
            address: group.address.as_str(),
            zipcode: group.zipcode.as_str(),
            city: group.city.as_str(),
        }
    }

    /// Where a calendar's appointments are: at its own address, else at that of its set, else at the group's. An address is
    /// taken whole: whoever gives any part of one gives all of it.
    #[must_use]
    pub fn of_calendar(catalogue: &'a Catalogue, calendar: &'a Calendar) -> Self {
        let own = Self {
            address: calendar.address.as_str(),
            zipcode: calendar.zipcode.as_str(),
            city: calendar.city.as_str(),
        };
        let set = calendar.calendarset_id.and_then(|id| catalogue.calendarsets.get(&id));
        let of_set = set.map(|set| Self {
            address: set.address.as_str(),
            zipcode: set.zipcode.as_str(),
            city: set.city.as_str(),
        });
        let given = [Some(own), of_set].into_iter().flatten().find(|place| !place.is_empty());
        given.unwrap_or_else(|| Self::of_group(catalogue))
    }

    /// Zip code and town, as they stand on one line of a letter.
    #[must_use]
    pub fn town(&self) -> String {
        [self.zipcode, self.city]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn is_empty(&self) -> bool {
        [self.address, self.zipcode, self.city].iter().all(|part| part.trim().is_empty())
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
    fn a_calendar_is_at_its_own_address_else_at_that_of_its_set_else_at_the_groups() {
        let zone = ZoneName::from_name("Paris").expect("a zone");
        let mut group = Group::new(GroupId::new(1).expect("an id"), zone, Instant(0));
        group.city = Text::new("Paris").expect("short");
        let mut catalogue = Catalogue::new(group);
        let mut calendar = Calendar::new(CalendarId::new(1).expect("an id"), Instant(0));
        let of = |catalogue: &Catalogue, calendar: &Calendar| {
            PostalAddress::of_calendar(catalogue, calendar).town()
        };
        assert_eq!(of(&catalogue, &calendar), "Paris");
        let mut set = Calendarset::new(CalendarsetId::new(2).expect("an id"), Instant(0));
        calendar.calendarset_id = Some(set.id);
        catalogue.calendarsets.insert(set.id, set.clone().into());
        assert_eq!(of(&catalogue, &calendar), "Paris", "the set has none");
        set.city = Text::new("Lille").expect("short");
        catalogue.calendarsets.insert(set.id, set.into());
        assert_eq!(of(&catalogue, &calendar), "Lille");
        calendar.zipcode = Text::new("69006").expect("short");
        assert_eq!(of(&catalogue, &calendar), "69006", "no part of it is another's");
    }
}
