//! The beginning of a group in a store that is served. Reference 12.1.

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::records::group::Group;
use crate::domain::records::ids::GroupId;
use crate::domain::records::slug::unique_slug;
use crate::domain::records::text::Text;
use crate::domain::state::command::Patch;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::domain::time::zone::tzdata_version;
use crate::domain::time::zone_names::ZoneName;

/// A group to found.
#[derive(Clone, Debug)]
pub struct FoundGroup {
    /// Its fields, with a name and a time zone. Those that are not given keep their defaults.
    pub fields: Patch<Group>,
}

/// Makes the event that founds a group with a new id. `is_taken` says whether another group has a
/// `urlname`.
#[must_use]
pub fn decide(
    command: &FoundGroup,
    id: GroupId,
    is_taken: impl Fn(&str) -> bool,
    now: Instant,
) -> Event {
    let utc = ZoneName::from_name("UTC").expect("the table has UTC");
    let mut group = Group::new(id, utc, now);
    command.fields.apply_to(&mut group);
    let slug = unique_slug(group.name.as_str(), id.number(), is_taken);
    group.urlname = Text::new(&slug).expect("a slug is short");
    Event::GroupFounded { at: now, group: Box::new(group), tzdata: tzdata_version().into() }
}

impl GroupState {
    /// Returns the state of a group after the event that founded it; `None` for another event.
    pub fn founded_by(event: &Event) -> Option<Self> {
        let Event::GroupFounded { at, group, tzdata } = event else { return None };
        let mut state = Self::new(Catalogue::new(Group::clone(group)));
        state.tzdata = tzdata.as_ref().into();
        state.last_stamp = *at;
        state.sequence = 1;
        Some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::text::Name;

    #[test]
    fn a_founded_group_has_the_given_fields_and_a_urlname_of_its_own() {
        let mut fields = Patch::default();
        fields.push(|group: &mut Group| group.name = Name::new("Chez Émile").expect("a name"));
        let command = FoundGroup { fields };
        let id = GroupId::new(7).expect("an id");
        let event = decide(&command, id, |slug| slug == "chez-emile", Instant(9));
        let state = GroupState::founded_by(&event).expect("it founds a group");
        let group = &state.catalogue.group;
        assert_eq!((group.id, group.urlname.as_str()), (id, "chez-emile-2"));
        assert_eq!(
            (group.created_at, state.last_stamp, state.sequence),
            (Instant(9), Instant(9), 1)
        );
        assert!(GroupState::founded_by(&Event::nothing(Instant(9))).is_none());
    }
}
