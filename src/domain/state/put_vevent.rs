//! Commands about vevents, as professionals give them. Every field holds a legal value.

use std::fmt;
use std::sync::Arc;

use crate::domain::availability::weekly_hours::WeeklyRange;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{CalendarId, VeventId};
use crate::domain::records::text::Text;
use crate::domain::records::vevent::{AppointmentKey, Vevent};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::{CivilDay, Instant};

/// Makes, changes or deletes a vevent on behalf of a professional. Reference 6.14, 13.7.
#[derive(Clone, Debug)]
pub enum PutVevent {
    /// A new event.
    Make(VeventDraft),
    /// A change of an existing event. It may restore a deleted one.
    Change(VeventId, VeventDraft),
    /// The deletion of an event.
    Delete(VeventId),
}

/// Makes, changes or deletes several vevents as one change: all or none. Its event has at most
/// [`ROWS_MAX`] rows.
#[derive(Clone, Debug)]
pub enum PutVevents {
    /// The weekly opening hours of a calendar.
    Hours(PutHours),
    /// A part of a series.
    Part(ChangePart),
    /// New events, none of which is an appointment.
    Make(Vec<VeventDraft>),
}

/// Maximum number of vevents that one command writes.
pub const ROWS_MAX: usize = 2_000;

/// Replaces the weekly opening hours of a calendar. Reference 6.17.
#[derive(Clone, Debug)]
pub struct PutHours {
    /// The calendar.
    pub calendar_id: CalendarId,
    /// The ranges, sorted. None of the same interventions overlap.
    pub ranges: Vec<WeeklyRange>,
    /// The names of the professional, which new availabilities show as their creator.
    pub taker: Text<255>,
}

/// Changes or deletes a part of a series. Reference 6.18.
#[derive(Clone, Debug)]
pub struct ChangePart {
    /// The series.
    pub id: VeventId,
    /// The part.
    pub part: SeriesPart,
    /// The new form of the part, drawn up from its present one; `None` deletes it.
    pub draft: Option<VeventDraft>,
}

/// A part of a series, from the occurrence that begins on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesPart {
    /// This occurrence alone.
    One(CivilDay),
    /// This occurrence and those after it.
    Following(CivilDay),
}

impl PutVevents {
    /// Maximum number of new vevents.
    pub fn ids_max(&self) -> u64 {
        match self {
            Self::Hours(hours) => hours.ranges.len() as u64,
            Self::Part(_) => 1,
            Self::Make(drafts) => drafts.len() as u64,
        }
    }
}

/// The new form of an event, as a function of the state when the command is decided. The meaning of
/// a field depends on the kind of the event, and the kind depends on fields that may not be given.
#[derive(Clone)]
pub struct VeventDraft(Arc<DrawUp>);

type DrawUp = dyn Fn(&GroupState, Option<&Vevent>, &VeventDraws, Instant) -> Result<Vevent, Vec<Fault>>
    + Send
    + Sync;

impl VeventDraft {
    /// Makes a draft from a function of the state, the present event if there is one, the random
    /// values and the stamp. The function must depend on nothing else.
    pub fn new(
        draw_up: impl Fn(
            &GroupState,
            Option<&Vevent>,
            &VeventDraws,
            Instant,
        ) -> Result<Vevent, Vec<Fault>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self(Arc::new(draw_up))
    }

    /// Returns the complete event.
    ///
    /// # Errors
    /// All faults, each by its field.
    pub fn draw_up(
        &self,
        state: &GroupState,
        before: Option<&Vevent>,
        draws: &VeventDraws,
        at: Instant,
    ) -> Result<Vevent, Vec<Fault>> {
        (self.0)(state, before, draws, at)
    }
}

impl fmt::Debug for VeventDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VeventDraft(…)")
    }
}

/// The random values of an event, for a new one or one that becomes an appointment.
#[derive(Clone, Copy, Debug)]
pub struct VeventDraws {
    /// The id of a new event.
    pub id: VeventId,
    /// The secret of a new appointment.
    pub key: AppointmentKey,
}
