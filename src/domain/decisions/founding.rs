//! The beginning of a group in a store that is served. Reference 12.1, 15.12.

use std::collections::BTreeSet;
use std::sync::Arc;

use thiserror::Error;

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::weekly_hours::WeeklyRange;
use crate::domain::decisions;
use crate::domain::decisions::decision::{Context, Decision, Environment};
use crate::domain::directory::access::AccessRefusal;
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::directory::professionals::ProDraft;
use crate::domain::records::author::Author;
use crate::domain::records::calendar::Calendar;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{CalendarId, GroupId};
use crate::domain::records::intervention::Intervention;
use crate::domain::records::slug::unique_slug;
use crate::domain::records::text::Text;
use crate::domain::state::command::{Batch, Command, Patch, Put, RecordChange};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::put_vevent::{PutHours, PutVevents};
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

/// The first group of a store, with what it needs to be booked. Reference 15.12.
#[derive(Clone, Debug)]
pub struct FoundShop {
    /// The group.
    pub group: FoundGroup,
    /// Its calendar.
    pub calendar: Patch<Calendar>,
    /// Its services.
    pub interventions: Vec<Patch<Intervention>>,
    /// The opening hours of the calendar, sorted. None overlap.
    pub hours: Vec<WeeklyRange>,
    /// Its professional, whose `groups` do not matter: it is this one.
    pub owner: ProDraft,
}

/// The kinds of records that a shop begins with. Their ids are granted before the decision.
pub const SHOP_KINDS: [IdKind; 3] = [IdKind::Calendar, IdKind::Intervention, IdKind::Vevent];

/// Reason why no shop is founded.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ShopRefusal {
    /// The store has a group.
    #[error("the store has a group already")]
    HasGroups,
    /// The professional cannot be added.
    #[error(transparent)]
    Owner(#[from] AccessRefusal),
    /// A record breaks a rule of its resource.
    #[error("a record of the shop breaks a rule of its resource")]
    Records,
}

/// Makes the two first events of a group: the one that founds it, and the one of its calendar,
/// services and hours. Returns them with the state after them. `environment` has ids of
/// [`SHOP_KINDS`]. `author` is that of both events.
///
/// # Errors
/// A record breaks a rule of its resource.
pub fn decide_shop(
    shop: &FoundShop,
    id: GroupId,
    author: Author,
    environment: &mut dyn Environment,
    now: Instant,
) -> Result<(Event, Event, GroupState), ShopRefusal> {
    let founding = decide(&shop.group, id, |_| false, now);
    let state = GroupState::founded_by(Some(author), &founding).expect("the event founds a group");
    let calendar = environment.id(IdKind::Calendar, 0, 0);
    let calendar_id = CalendarId::new(calendar).expect("unused ids are in range");
    let mut commands = vec![Command::ChangeRecord(RecordChange::Calendar(Put {
        id: None,
        fields: shop.calendar.clone(),
    }))];
    for fields in &shop.interventions {
        let put = Put { id: None, fields: fields.clone() };
        commands.push(Command::ChangeRecord(RecordChange::Intervention(put)));
    }
    if !shop.hours.is_empty() {
        let hours = PutHours { calendar_id, ranges: shop.hours.clone(), taker: Text::default() };
        commands.push(Command::PutVevents(Box::new(PutVevents::Hours(hours))));
    }
    let batch = Command::Batch(Batch { commands: Arc::from(commands), is_atomic: true });
    let mut context = Context { state: &state, now, environment };
    match decisions::decide(&mut context, &batch) {
        Ok(Decision::Event(content, _)) => {
            let next = state.apply_by(Some(author), &content);
            Ok((founding, content, next))
        }
        Ok(Decision::Unchanged(_) | Decision::Ask(_)) | Err(_) => Err(ShopRefusal::Records),
    }
}

impl FoundShop {
    /// The owner of the shop, as a professional of the group that was founded.
    #[must_use]
    pub fn owner_of(&self, group: GroupId) -> ProDraft {
        ProDraft { groups: BTreeSet::from([group]), main: Some(group), ..self.owner.clone() }
    }
}

impl GroupState {
    /// Returns the state of a group after the event that founded it; `None` for another event.
    pub fn founded_by(author: Option<Author>, event: &Event) -> Option<Self> {
        let Event::GroupFounded { at, group, tzdata } = event else { return None };
        let mut state = Self::new(Catalogue::new(Group::clone(group)));
        state.tzdata = tzdata.as_ref().into();
        state.last_stamp = *at;
        state.sequence = 1;
        state.record_founding(author);
        Some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::directory::roles::ProRole;
    use crate::domain::records::text::{Email, Name};
    use crate::domain::state::history::row::{HistoryObject, HistoryRow, HistoryVerb};

    #[test]
    fn a_founded_group_has_the_given_fields_and_a_urlname_of_its_own() {
        let mut fields = Patch::default();
        fields.push(|group: &mut Group| group.name = Name::new("Chez Émile").expect("a name"));
        let command = FoundGroup { fields };
        let id = GroupId::new(7).expect("an id");
        let event = decide(&command, id, |slug| slug == "chez-emile", Instant(9));
        let state =
            GroupState::founded_by(Some(Author::Operator), &event).expect("it founds a group");
        let group = &state.catalogue.group;
        assert_eq!((group.id, group.urlname.as_str()), (id, "chez-emile-2"));
        assert_eq!(
            (group.created_at, state.last_stamp, state.sequence),
            (Instant(9), Instant(9), 1)
        );
        let rows: Vec<HistoryRow> =
            state.history.latest_first(u64::MAX).map(|found| found.row).collect();
        let [made] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((made.object, made.verb), (HistoryObject::of_group(id), HistoryVerb::Made));
        assert_eq!((made.author, made.sequence), (Some(Author::Operator), 1));
        assert!(GroupState::founded_by(None, &Event::nothing(Instant(9))).is_none());
    }

    #[test]
    fn a_urlname_gets_the_first_number_that_is_free() {
        let taken = ["name", "name-2", "name-3"];
        assert_eq!(unique_slug("Name", 7, |slug| taken.contains(&slug)), "name-4");
        assert_eq!(unique_slug("!", 7, |_| false), "group-7");
    }

    #[test]
    fn the_owner_of_a_shop_works_for_its_group_and_for_no_other() {
        let group = |id| GroupId::new(id).expect("an id");
        let owner = ProDraft {
            email: Email::new("ann@example.org").expect("an address"),
            password_hash: None,
            lastname: Name::default(),
            firstname: Name::default(),
            cellphone: Text::default(),
            groups: BTreeSet::from([group(1)]),
            main: Some(group(1)),
            role: ProRole::Administrator,
        };
        let shop = FoundShop {
            group: FoundGroup { fields: Patch::default() },
            calendar: Patch::default(),
            interventions: Vec::new(),
            hours: Vec::new(),
            owner,
        };
        let owner = shop.owner_of(group(7));
        assert_eq!((owner.groups, owner.main), (BTreeSet::from([group(7)]), Some(group(7))));
        assert_eq!(owner.email.as_str(), "ann@example.org");
    }
}
