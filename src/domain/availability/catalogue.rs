//! The catalogue of a group: its settings, calendars, interventions, their sets and its customised
//! attributes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::availability::obstacle::NotOffered;
use crate::domain::availability::slot_request::{BookingMode, Chain, Leg};
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::customfield::{CustomName, Customfield, Model};
use crate::domain::records::fault::Fault;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{
    CalendarId, CalendarsetId, CustomfieldId, InterventionId, InterventionsetId,
};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::text::Name;
use crate::domain::time::zone::Zone;
use crate::domain::time::{Instant, MINUTE};

/// Maximum number of interventions in one booking from the back office.
const BACK_OFFICE_LEGS_MAX: i64 = 100;

/// The records of a group that change seldom. The state holds them in one `Arc`.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalogue {
    /// The group's own fields.
    pub group: Group,
    /// Its calendars, deleted ones included.
    pub calendars: BTreeMap<CalendarId, Arc<Calendar>>,
    /// Its sets of calendars.
    pub calendarsets: BTreeMap<CalendarsetId, Arc<Calendarset>>,
    /// Its interventions, deleted ones included.
    pub interventions: BTreeMap<InterventionId, Arc<Intervention>>,
    /// Its sets of interventions.
    pub interventionsets: BTreeMap<InterventionsetId, Arc<Interventionset>>,
    /// Its customised attributes, deleted ones included.
    pub customfields: BTreeMap<CustomfieldId, Arc<Customfield>>,
}

impl Catalogue {
    /// Makes a catalogue without rows.
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

    /// The ids of all rows with their kinds.
    pub fn ids(&self) -> Vec<(IdKind, u64)> {
        let mut ids = Vec::new();
        ids.extend(self.calendars.keys().map(|id| (IdKind::Calendar, id.number())));
        ids.extend(self.calendarsets.keys().map(|id| (IdKind::Calendarset, id.number())));
        ids.extend(self.interventions.keys().map(|id| (IdKind::Intervention, id.number())));
        ids.extend(self.interventionsets.keys().map(|id| (IdKind::Interventionset, id.number())));
        ids.extend(self.customfields.keys().map(|id| (IdKind::Customfield, id.number())));
        ids
    }

    /// Removes a set of calendars. Its calendars keep no set.
    ///
    /// # Panics
    /// If there is no such set.
    pub(crate) fn remove_calendarset(&mut self, id: CalendarsetId, at: Instant) {
        self.calendarsets.remove(&id).expect("a removed set exists");
        for calendar in self.calendars.values_mut() {
            if calendar.calendarset_id != Some(id) {
                continue;
            }
            let calendar = Arc::make_mut(calendar);
            calendar.calendarset_id = None;
            calendar.updated_at = at;
        }
    }

    /// Removes a set of interventions. Its interventions keep no set. If the set hid them from the
    /// module, they stay hidden. Reference 12.5.
    ///
    /// # Panics
    /// If there is no such set.
    pub(crate) fn remove_interventionset(&mut self, id: InterventionsetId, at: Instant) {
        let set = self.interventionsets.remove(&id).expect("a removed set exists");
        for intervention in self.interventions.values_mut() {
            if intervention.interventionset_id != Some(id) {
                continue;
            }
            let intervention = Arc::make_mut(intervention);
            intervention.interventionset_id = None;
            intervention.updated_at = at;
            if set.publicname.is_blank() {
                intervention.publicname = Name::default();
            }
        }
    }

    /// The group's time zone.
    pub fn zone(&self) -> Zone {
        self.group.timezone.zone()
    }

    /// The live calendars in the order in which they are shown: by `sort`, then by id.
    pub fn live_calendars(&self) -> impl Iterator<Item = &Calendar> {
        let mut live: Vec<&Calendar> = self.calendars.values().map(AsRef::as_ref).collect();
        live.retain(|calendar| !calendar.deleted);
        live.sort_by_key(|calendar| calendar.sort);
        live.into_iter()
    }

    /// Finds the live definition of a customised attribute.
    pub fn customfield(&self, model: Model, name: CustomName) -> Option<&Customfield> {
        let mut fields = self.customfields.values().map(Arc::as_ref);
        fields.find(|field| field.model == model && field.name == name && !field.deleted)
    }

    /// The attributes that a new record of a model must have. A professional and a client may have
    /// to give different ones. Reference 9.
    pub fn required_customfields(
        &self,
        model: Model,
        by_pro: bool,
    ) -> impl Iterator<Item = CustomName> + use<> {
        let mut required = Vec::new();
        for field in self.customfields.values() {
            if field.deleted || field.model != model {
                continue;
            }
            // A client cannot give an attribute that the form does not show.
            let is_required =
                if by_pro { field.pro_required } else { field.user_required && field.user_visible };
            if is_required {
                required.push(field.name);
            }
        }
        required.into_iter()
    }

    /// Makes the chain of some interventions, in the given order. Reference 6.2.
    ///
    /// # Errors
    /// There is no intervention, one that the group does not have, or more than allowed. The limit
    /// is `max_multirdvs` through the module and 100 in the back office. The fault names
    /// `intervention_ids`.
    pub fn chain(&self, ids: &[InterventionId], mode: BookingMode) -> Result<Chain, Fault> {
        let fault = |rule: String| Fault::new("intervention_ids", rule);
        let legs_max = match mode {
            BookingMode::Module | BookingMode::ModuleByAccount | BookingMode::ModuleByPro => {
                self.group.max_multirdvs.number()
            }
            BookingMode::BackOffice => BACK_OFFICE_LEGS_MAX,
            BookingMode::Agenda(_) => i64::MAX,
        };
        let count = ids.len();
        if i64::try_from(count).is_ok_and(|count| count > legs_max) {
            return Err(fault(format!("at most {legs_max} can be booked in a row, not {count}")));
        }
        let mut legs = Vec::with_capacity(count);
        for id in ids {
            let Some(intervention) = self.interventions.get(id) else {
                return Err(fault("must be ids of the group's interventions".into()));
            };
            let length_seconds = intervention.length.number() * MINUTE;
            legs.push(Leg { intervention_id: *id, length_seconds });
        }
        Chain::new(legs).ok_or_else(|| fault("must name at least one intervention".into()))
    }

    /// Returns the reason why the module does not show an intervention; `None` if it does. The
    /// intervention is deleted, or it or its set has a blank `publicname`. Reference 4.6.
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
        if let Some(set) = intervention.interventionset_id
            && let Some(set) = self.interventionsets.get(&set)
            && set.publicname.is_blank()
        {
            return Some(NotOffered::InterventionsetHidden(id));
        }
        None
    }

    /// Returns the reason why the module does not show a calendar; `None` if it does. The calendar
    /// is deleted or has a blank `publicname`. Reference 4.6.
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

    /// Returns the reasons why a chain is not offered on a calendar at any time: first that of the
    /// group, then that of the calendar, then those of the interventions. Reference 4.6.
    pub fn not_offered(
        &self,
        calendar: CalendarId,
        chain: &Chain,
        mode: BookingMode,
    ) -> impl Iterator<Item = NotOffered> + use<> {
        let mut reasons = Vec::new();
        if mode.is_for_web_callers() && self.group.inactive {
            reasons.push(NotOffered::ModuleInactive);
        }
        reasons.extend(self.calendar_hidden(calendar));
        for leg in chain.legs() {
            reasons.extend(self.intervention_hidden(leg.intervention_id));
        }
        match mode {
            BookingMode::Module | BookingMode::ModuleByAccount | BookingMode::ModuleByPro => {}
            // Staff may book what clients are not shown, but nothing that is deleted.
            BookingMode::BackOffice => reasons.retain(|reason| {
                matches!(
                    reason,
                    NotOffered::CalendarDeleted(_) | NotOffered::InterventionDeleted(_)
                )
            }),
            BookingMode::Agenda(_) => reasons.clear(),
        }
        reasons.into_iter()
    }
}
