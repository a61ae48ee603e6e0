//! What a group offers: its settings, calendars, interventions, their sets and its customised attributes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::booking::obstacle::NotOffered;
use crate::domain::booking::slot_request::{BookingMode, Chain, Leg};
use crate::domain::identity::directory::IdKind;
use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::customfield::{CustomName, Customfield, Model};
use crate::domain::records::group::Group;
use crate::domain::records::ids::{
    CalendarId, CalendarsetId, CustomfieldId, InterventionId, InterventionsetId,
};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::text::Name;
use crate::domain::state::refusal::Fault;
use crate::domain::time::zone::Zone;
use crate::domain::time::{Instant, MINUTE};

/// Everything of a group that changes seldom; replaced as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalogue {
    /// The group's own fields.
    pub group: Group,
    /// Its calendars, deleted ones included.
    pub calendars: BTreeMap<CalendarId, Arc<Calendar>>,
    /// Its categories of calendars.
    pub calendarsets: BTreeMap<CalendarsetId, Arc<Calendarset>>,
    /// Its interventions, deleted ones included.
    pub interventions: BTreeMap<InterventionId, Arc<Intervention>>,
    /// Its categories of interventions.
    pub interventionsets: BTreeMap<InterventionsetId, Arc<Interventionset>>,
    /// Its customised attributes, deleted ones included.
    pub customfields: BTreeMap<CustomfieldId, Arc<Customfield>>,
}

impl Catalogue {
    /// A catalogue with nothing but the group.
    #[must_use]
    pub fn new(group: Group) -> Self {
        Self {
            group,
            calendars: BTreeMap::new(),
            calendarsets: BTreeMap::new(),
            interventions: BTreeMap::new(),
            interventionsets: BTreeMap::new(),
            customfields: BTreeMap::new(),
        }
    }

    /// The id of everything in it, by kind.
    pub fn ids(&self) -> impl Iterator<Item = (IdKind, u64)> + '_ {
        let calendars = self.calendars.keys().map(|id| (IdKind::Calendar, id.number()));
        let calendarsets = self.calendarsets.keys().map(|id| (IdKind::Calendarset, id.number()));
        let interventions = self.interventions.keys().map(|id| (IdKind::Intervention, id.number()));
        let interventionsets =
            self.interventionsets.keys().map(|id| (IdKind::Interventionset, id.number()));
        let customfields = self.customfields.keys().map(|id| (IdKind::Customfield, id.number()));
        calendars
            .chain(calendarsets)
            .chain(interventions)
            .chain(interventionsets)
            .chain(customfields)
    }

    /// Takes a category of calendars out; its calendars go on without one.
    ///
    /// # Panics
    /// Where there is no such set.
    pub(crate) fn remove_calendarset(&mut self, id: CalendarsetId, at: Instant) {
        self.calendarsets.remove(&id).expect("a removed set exists");
        for calendar in
            self.calendars.values_mut().filter(|calendar| calendar.calendarset_id == Some(id))
        {
            let calendar = Arc::make_mut(calendar);
            calendar.calendarset_id = None;
            calendar.updated_at = at;
        }
    }

    /// Takes a category of interventions out; its interventions go on without one, and what the module did not show
    /// because of the set stays hidden. Reference 6.
    ///
    /// # Panics
    /// Where there is no such set.
    pub(crate) fn remove_interventionset(&mut self, id: InterventionsetId, at: Instant) {
        let set = self.interventionsets.remove(&id).expect("a removed set exists");
        for intervention in
            self.interventions.values_mut().filter(|row| row.interventionset_id == Some(id))
        {
            let intervention = Arc::make_mut(intervention);
            intervention.interventionset_id = None;
            intervention.updated_at = at;
            if set.publicname.is_blank() {
                intervention.publicname = Name::default();
            }
        }
    }

    /// The zone of the group's clock.
    #[must_use]
    pub fn zone(&self) -> Zone {
        self.group.timezone.zone()
    }

    /// The live definition of a customised attribute.
    #[must_use]
    pub fn customfield(&self, model: Model, name: CustomName) -> Option<&Customfield> {
        self.customfields
            .values()
            .map(Arc::as_ref)
            .find(|c| c.model == model && c.name == name && !c.deleted)
    }

    /// The attributes that an object of a model must have when it is made. Reference 9.
    pub fn demanded(&self, model: Model, by_pro: bool) -> impl Iterator<Item = CustomName> + '_ {
        let counts = move |c: &&Arc<Customfield>| {
            // Nobody can be asked for what they are not shown.
            let required = if by_pro { c.pro_required } else { c.user_required && c.user_visible };
            required && c.model == model && !c.deleted
        };
        self.customfields.values().filter(counts).map(|c| c.name)
    }

    /// The legs of a chain of interventions, in the order asked for. Reference 4.
    ///
    /// # Errors
    /// No intervention at all, one that the group does not have, or, through the module, more than the group's
    /// `max_multirdvs`; the fault names `intervention_ids`.
    pub fn chain(&self, ids: &[InterventionId], mode: BookingMode) -> Result<Chain, Fault> {
        let fault = |rule: String| Fault::new("intervention_ids", rule);
        let most = self.group.max_multirdvs.number();
        match mode {
            BookingMode::Module | BookingMode::ModuleByPro
                if i64::try_from(ids.len()).is_ok_and(|n| n > most) =>
            {
                return Err(fault(format!(
                    "at most {most} can be booked in a row, not {}",
                    ids.len()
                )));
            }
            BookingMode::BackOffice if ids.len() > 100 => {
                return Err(fault(format!(
                    "at most 100 can be booked in a row, not {}",
                    ids.len()
                )));
            }
            BookingMode::Module
            | BookingMode::ModuleByPro
            | BookingMode::BackOffice
            | BookingMode::Agenda(_) => {}
        }
        let leg = |id: &InterventionId| match self.interventions.get(id) {
            Some(intervention) => Ok(Leg {
                intervention_id: *id,
                length_seconds: intervention.length.number() * MINUTE,
            }),
            None => Err(fault("must be ids of the group's interventions".into())),
        };
        let legs = ids.iter().map(leg).collect::<Result<Vec<_>, _>>()?;
        Chain::new(legs).ok_or_else(|| fault("must name at least one intervention".into()))
    }

    /// Why the module does not show an intervention, if it does not: it is deleted, or it or its set has a blank
    /// publicname. Reference 4.6.
    #[must_use]
    pub fn intervention_hidden(&self, id: InterventionId) -> Option<NotOffered> {
        let Some(intervention) = self.interventions.get(&id) else {
            return Some(NotOffered::InterventionDeleted(id));
        };
        if intervention.deleted {
            return Some(NotOffered::InterventionDeleted(id));
        }
        if intervention.publicname.is_blank() {
            return Some(NotOffered::InterventionHidden(id));
        }
        let set = intervention.interventionset_id.and_then(|set| self.interventionsets.get(&set));
        if set.is_some_and(|set| set.publicname.is_blank()) {
            return Some(NotOffered::InterventionsetHidden(id));
        }
        None
    }

    /// Why the module does not show a calendar, if it does not: it is deleted or has a blank publicname.
    #[must_use]
    pub fn calendar_hidden(&self, id: CalendarId) -> Option<NotOffered> {
        match self.calendars.get(&id) {
            None => Some(NotOffered::CalendarDeleted(id)),
            Some(calendar) if calendar.deleted => Some(NotOffered::CalendarDeleted(id)),
            Some(calendar) if calendar.publicname.is_blank() => {
                Some(NotOffered::CalendarHidden(id))
            }
            Some(_) => None,
        }
    }

    /// Everything of Reference 4.6, that keeps a chain from being offered on a calendar, whatever the time.
    pub fn not_offered(
        &self,
        calendar: CalendarId,
        chain: &Chain,
        mode: BookingMode,
    ) -> impl Iterator<Item = NotOffered> + '_ {
        let inactive = (mode == BookingMode::Module && self.group.inactive)
            .then_some(NotOffered::ModuleInactive);
        let hidden = self.calendar_hidden(calendar);
        let legs: Vec<NotOffered> = chain
            .legs()
            .iter()
            .filter_map(|leg| self.intervention_hidden(leg.intervention_id))
            .collect();
        let counts = move |why: &NotOffered| match mode {
            BookingMode::Module | BookingMode::ModuleByPro => true,
            BookingMode::BackOffice => {
                matches!(why, NotOffered::CalendarDeleted(_) | NotOffered::InterventionDeleted(_))
            }
            BookingMode::Agenda(_) => false,
        };
        inactive.into_iter().chain(hidden).chain(legs).filter(counts)
    }
}
