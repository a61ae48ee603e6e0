//! The feed of a group's changes, as a reader sees it. Reference 18.

use crate::domain::directory::roles::Sight;
use crate::domain::records::ids::{
    CalendarId, CalendarsetId, CustomfieldId, FicheId, InterventionId, InterventionsetId, VeventId,
};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::history::cursor::{ChangeCursor, PlacedRow};
use crate::domain::state::history::row::{
    HistoryField, HistoryObject, HistoryRow, HistoryVerb, ObjectKind,
};
use crate::planted_faults::PlantedFault;

/// Maximum number of rows that one page looks at.
const LOOKED_AT_MAX: usize = 5_000;
/// Maximum number of rows of an event by which its last calendar is found.
const CALENDAR_ROWS_MAX: usize = 50;

/// The part of the feed that a reader sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedView {
    /// The calendars and clients that the reader reads.
    pub sight: Sight,
    /// Whether the reader sees the accounts of clients.
    pub sees_accounts: bool,
}

/// A change that a reader sees.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The row, and the place behind it.
    pub placed: PlacedRow,
    /// The object as it is now.
    pub presence: ObjectPresence,
}

/// An object of the feed as it is now, for a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectPresence {
    /// The reader reads it.
    Live,
    /// It is marked as deleted; the reader reads it all the same.
    Deleted,
    /// It is no longer there, or no longer among what the reader reads.
    Gone,
}

/// Changes one after another.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePage {
    /// The changes, ascending.
    pub changes: Vec<Change>,
    /// The place behind all rows that the page has looked at.
    pub next: ChangeCursor,
    /// Whether rows follow. Further changes need not be among them.
    pub has_more: bool,
}

impl ObjectKind {
    /// Whether changes of such objects are in the feed.
    pub const fn is_in_feed(self) -> bool {
        match self {
            Self::Group
            | Self::Calendar
            | Self::Calendarset
            | Self::Intervention
            | Self::Interventionset
            | Self::Customfield
            | Self::Fiche
            | Self::Vevent
            | Self::Account => true,
            Self::Fiches | Self::Calendarfeed | Self::Webhook => false,
        }
    }
}

impl HistoryVerb {
    /// Whether such acts are in the feed. Reads are not: a reader of the feed that reads a client
    /// would cause the next one.
    pub const fn is_in_feed(self) -> bool {
        !matches!(self, Self::Read | Self::Begun)
    }
}

impl HistoryRow {
    /// Whether it is a change of the feed.
    pub const fn is_in_feed(&self) -> bool {
        self.object.kind.is_in_feed() && self.verb.is_in_feed()
    }
}

impl GroupState {
    /// Returns the changes behind the row with a number, at most `limit`, which is above 0. A page
    /// looks at 5,000 rows at most.
    pub fn changes_after(&self, number: u64, view: &FeedView, limit: usize) -> ChangePage {
        let mut changes = Vec::new();
        let mut last: Option<ChangeCursor> = None;
        for placed in self.history.rows_after(number).take(LOOKED_AT_MAX) {
            last = Some(placed.cursor);
            if let Some(presence) = self.find_presence(&placed.row, view) {
                changes.push(Change { placed, presence });
            }
            if changes.len() == limit {
                break;
            }
        }
        let next = last.unwrap_or_else(|| self.history.end(self.sequence));
        ChangePage { changes, next, has_more: next.number() < self.history.last() }
    }

    /// Returns what a reader sees now of the object of a row; `None` if the change is none of the
    /// feed, or concerns what the reader never saw.
    pub fn find_presence(&self, row: &HistoryRow, view: &FeedView) -> Option<ObjectPresence> {
        if !row.is_in_feed() {
            return None;
        }
        let catalogue = &self.catalogue;
        let HistoryObject { kind, id } = row.object;
        let found = match kind {
            ObjectKind::Group => Some(false),
            ObjectKind::Calendar => {
                let calendar = CalendarId::new(id).and_then(|id| catalogue.calendars.get(&id));
                calendar.map(|it| it.deleted)
            }
            ObjectKind::Calendarset => {
                CalendarsetId::new(id).and_then(|id| catalogue.calendarsets.get(&id)).map(|_| false)
            }
            ObjectKind::Intervention => {
                let it = InterventionId::new(id).and_then(|id| catalogue.interventions.get(&id));
                it.map(|it| it.deleted)
            }
            ObjectKind::Interventionset => InterventionsetId::new(id)
                .and_then(|id| catalogue.interventionsets.get(&id))
                .map(|_| false),
            ObjectKind::Customfield => {
                let it = CustomfieldId::new(id).and_then(|id| catalogue.customfields.get(&id));
                it.map(|it| it.deleted)
            }
            ObjectKind::Account if !view.sees_accounts => return None,
            ObjectKind::Account => {
                let client = FicheId::new(id)?;
                self.accounts.of_client(client).next().map(|_| false)
            }
            ObjectKind::Fiche => return self.find_client_presence(FicheId::new(id)?, row, view),
            ObjectKind::Vevent => return self.find_event_presence(VeventId::new(id)?, row, view),
            ObjectKind::Fiches | ObjectKind::Calendarfeed | ObjectKind::Webhook => return None,
        };
        Some(presence_of(found))
    }

    fn find_client_presence(
        &self,
        id: FicheId,
        row: &HistoryRow,
        view: &FeedView,
    ) -> Option<ObjectPresence> {
        let fiche = self.fiches.get(&id);
        if view.sight == Sight::All || fiche.is_some() && self.shows_client(&view.sight, id) {
            return Some(presence_of(fiche.map(|fiche| fiche.deleted)));
        }
        // A client without an appointment in sight may have had one: copies of it have to go.
        match row.verb {
            HistoryVerb::Deleted
            | HistoryVerb::Removed
            | HistoryVerb::Emptied
            | HistoryVerb::Merged
            | HistoryVerb::Erased => Some(ObjectPresence::Gone),
            HistoryVerb::Begun
            | HistoryVerb::Made
            | HistoryVerb::Changed
            | HistoryVerb::Restored
            | HistoryVerb::Read => None,
        }
    }

    fn find_event_presence(
        &self,
        id: VeventId,
        row: &HistoryRow,
        view: &FeedView,
    ) -> Option<ObjectPresence> {
        let vevent = self.rows.get(&id);
        let is_shown = |calendar| view.sight.shows_calendar(calendar);
        if let Some(vevent) = vevent
            && (is_shown(vevent.calendar_id) || PlantedFault::FeedOfAllCalendars.is_active())
        {
            return Some(presence_of(Some(vevent.deleted)));
        }
        let former = match vevent {
            // In another calendar now: it left those of the reader with this row, or never was
            // there as far as the row says.
            Some(_) => {
                return self
                    .left_calendar(row)
                    .filter(|it| is_shown(*it))
                    .map(|_| ObjectPresence::Gone);
            }
            None => self.last_calendar(row.object),
        };
        // Nothing says in which calendar it was: a copy has to go.
        former.is_none_or(is_shown).then_some(ObjectPresence::Gone)
    }

    /// Returns the calendar that an event left with a row.
    fn left_calendar(&self, row: &HistoryRow) -> Option<CalendarId> {
        let moved = row.fields.iter().find(|it| it.field == HistoryField::CalendarId)?;
        calendar_of(moved.before?)
    }

    /// Returns the last calendar of an event that is gone, as far as its latest rows say it.
    fn last_calendar(&self, object: HistoryObject) -> Option<CalendarId> {
        let rows = self.history.of_object(object, u64::MAX).take(CALENDAR_ROWS_MAX);
        let mut placed = rows.flat_map(|found| found.row.fields);
        let last = placed.find(|it| it.field == HistoryField::CalendarId && it.after.is_some())?;
        calendar_of(last.after?)
    }
}

fn calendar_of(value: i64) -> Option<CalendarId> {
    u64::try_from(value).ok().and_then(CalendarId::new)
}

/// Returns the presence of an object by whether it is marked as deleted; `None` if it is not there.
const fn presence_of(deleted: Option<bool>) -> ObjectPresence {
    match deleted {
        Some(false) => ObjectPresence::Live,
        Some(true) => ObjectPresence::Deleted,
        None => ObjectPresence::Gone,
    }
}
