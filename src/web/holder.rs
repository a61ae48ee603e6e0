//! A visitor who holds the secret of an appointment. Reference 7.4.

use crate::domain::decisions::cancellation;
use crate::domain::records::group::Group;
use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::{Appointment, Vevent};
use crate::domain::time::Instant;
use crate::notify::links::cancel_url;
use crate::web::shop::Visit;

/// A visitor who has proved to hold an appointment's secret.
pub(crate) struct Holder {
    pub(crate) visit: Visit,
    /// The appointment, which exists.
    pub(crate) id: VeventId,
    /// Its secret.
    pub(crate) key: String,
}

/// The progress of an appointment, for its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Cancelled,
    Past,
    TooLate,
    Open,
}

impl Holder {
    /// The event, and the appointment in it.
    pub(crate) fn appointment(&self) -> (&Vevent, &Appointment) {
        let vevent = self.visit.state.rows.get(&self.id).expect("a held appointment exists");
        (vevent, vevent.appointment().expect("a held event is an appointment"))
    }

    /// The path of the appointment's page.
    pub(crate) fn path(&self) -> String {
        let (vevent, appointment) = self.appointment();
        cancel_url("", self.visit.group().id, vevent.id, &appointment.key)
    }

    /// The last moment to move or cancel the appointment.
    pub(crate) fn changeable_until(&self) -> Instant {
        let (vevent, appointment) = self.appointment();
        cancellation::changeable_until(&self.visit.state, vevent, appointment)
    }

    /// The progress of the appointment now.
    pub(crate) fn stage(&self) -> Stage {
        let (vevent, appointment) = self.appointment();
        if vevent.deleted {
            Stage::Cancelled
        } else if appointment.start <= self.visit.now {
            Stage::Past
        } else if self.changeable_until() < self.visit.now {
            Stage::TooLate
        } else {
            Stage::Open
        }
    }

    /// Whether the public may see free times of the group. Without them, nothing can be moved here.
    pub(crate) fn can_search(&self) -> bool {
        can_search(self.visit.group())
    }
}

/// Whether the public may see free times of a group.
pub(crate) const fn can_search(group: &Group) -> bool {
    group.open_data && !group.inactive
}
