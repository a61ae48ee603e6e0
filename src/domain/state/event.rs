//! What has happened to a group. The journal holds these, and nothing else makes a state.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::identity::account::Account;
use crate::domain::identity::account_link::AccountLink;
use crate::domain::messaging::message::Message;
use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::customfield::Customfield;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{CalendarsetId, InterventionsetId, VeventId};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::idempotency::IdempotencyRecord;
use crate::domain::time::Instant;

/// A change of one group, decided once and never judged again. The order of the variants is the format on disk: new
/// ones go to the end, none is ever reused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// A client has one appointment or several in a row.
    AppointmentsBooked {
        /// The group's stamp of it.
        at: Instant,
        /// The client's record where the booking made or changed it.
        fiche: Option<Box<Fiche>>,
        /// One appointment per intervention, in order; at least one.
        legs: Vec<Vevent>,
    },
    /// An appointment no longer takes its time.
    AppointmentCancelled {
        /// The group's stamp of it.
        at: Instant,
        /// Which.
        id: VeventId,
    },
    /// An event of a calendar is new, or stands differently, or elsewhere.
    VeventPut {
        /// The group's stamp of it.
        at: Instant,
        /// The whole event as it is now.
        row: Box<Vevent>,
    },
    /// A client's record is new, or says something else.
    FichePut {
        /// The group's stamp of it.
        at: Instant,
        /// The whole record as it is now.
        fiche: Box<Fiche>,
    },
    /// A calendar is new, or says something else.
    CalendarPut {
        /// The group's stamp of it.
        at: Instant,
        /// The whole row as it is now.
        row: Box<Calendar>,
    },
    /// A category of calendars is new, or says something else.
    CalendarsetPut {
        /// The group's stamp of it.
        at: Instant,
        /// The whole row as it is now.
        row: Box<Calendarset>,
    },
    /// An intervention is new, or says something else.
    InterventionPut {
        /// The group's stamp of it.
        at: Instant,
        /// The whole row as it is now.
        row: Box<Intervention>,
    },
    /// A category of interventions is new, or says something else.
    InterventionsetPut {
        /// The group's stamp of it.
        at: Instant,
        /// The whole row as it is now.
        row: Box<Interventionset>,
    },
    /// The definition of a customised attribute is new, or says something else.
    CustomfieldPut {
        /// The group's stamp of it.
        at: Instant,
        /// The whole row as it is now.
        row: Box<Customfield>,
    },
    /// A category of calendars is no more; its members go on without one.
    CalendarsetRemoved {
        /// The group's stamp of it.
        at: Instant,
        /// Which.
        id: CalendarsetId,
    },
    /// A category of interventions is no more; its members go on without one.
    InterventionsetRemoved {
        /// The group's stamp of it.
        at: Instant,
        /// Which.
        id: InterventionsetId,
    },
    /// The group's own fields say something else.
    GroupChanged {
        /// The group's stamp of it.
        at: Instant,
        /// All fields as they are now.
        group: Box<Group>,
        /// Events, deleted ones included, whose instant is another by the group's clock, which is another one: of an
        /// appointment its start, of a series its UNTIL.
        resolved: Vec<(VeventId, Instant)>,
    },
    /// Something has happened of which clients are to be told: one event, so that neither comes without the other.
    Announced {
        /// What has happened; its stamp is that of the messages.
        event: Box<Event>,
        /// What is to be sent, their ids those that come next; at least one.
        messages: Vec<Message>,
    },
    /// A message is being sent, or what came of it is known.
    MessagePut {
        /// The group's stamp of it.
        at: Instant,
        /// The whole message as it is now.
        message: Box<Message>,
    },
    /// Something was done under an Idempotency-Key; its answer is given again to whoever asks the same again.
    DoneOnce {
        /// What was answered; its stamp is that of the event.
        answered: Arc<IdempotencyRecord>,
        /// What was done.
        event: Box<Event>,
    },
    /// Somebody is mailed a link about an account.
    AccountLinkRequested {
        /// The group's stamp of it.
        at: Instant,
        /// What the caller has changed at the same time.
        change: Option<Box<Event>>,
        /// The link.
        link: Box<AccountLink>,
        /// The mail, its id the one that comes next after those of the change.
        message: Box<Message>,
    },
    /// An account is new, or has another password or address: somebody has followed a link.
    AccountPut {
        /// The group's stamp of it.
        at: Instant,
        /// The hash of the link's token, which opens nothing any more.
        hash: [u8; 32],
        /// The folded address that the account had before; `None` for a new one.
        was: Option<Box<str>>,
        /// The whole account as it is now.
        account: Box<Account>,
        /// Its fiche, where that is new or has another address.
        fiche: Option<Box<Fiche>>,
    },
    /// Appointments to come start at another instant, since the zone database has changed.
    InstantsResolved {
        /// The group's stamp of it.
        at: Instant,
        /// The release of the zone database that counts from now on.
        tzdata: Box<str>,
        /// Appointments, deleted ones included, that start at another instant by it.
        resolved: Vec<(VeventId, Instant)>,
    },
    /// Events that had been deleted are no more.
    VeventsRemoved {
        /// The group's stamp of it.
        at: Instant,
        /// Which; none in [`Event::nothing`] alone.
        ids: Vec<VeventId>,
    },
}

impl Event {
    /// Nothing has happened, and takes its place in the history, its stamp and its time on the way to the disk as if
    /// something had: for what must not be told from something.
    #[must_use]
    pub fn nothing(at: Instant) -> Self {
        Self::VeventsRemoved { at, ids: Vec::new() }
    }

    /// The same event, of which clients are told by these messages; itself where there are none.
    #[must_use]
    pub fn announced_by(self, messages: Vec<Message>) -> Self {
        if messages.is_empty() { self } else { Self::Announced { event: Box::new(self), messages } }
    }
}
