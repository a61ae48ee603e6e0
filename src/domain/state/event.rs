//! The events of a group. The journal holds them, and only they make a state.

use std::slice;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::records::account::{Account, AccountMark};
use crate::domain::records::account_link::AccountLink;
use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::calendarfeed::Calendarfeed;
use crate::domain::records::customfield::Customfield;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::hold::{Hold, HoldId};
use crate::domain::records::ids::{
    CalendarfeedId, CalendarsetId, FicheId, InterventionsetId, VeventId, WebhookId,
};
use crate::domain::records::image::{Image, ImageSlot};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::message::Message;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::cancelled_bookings::DeletionPlace;
use crate::domain::state::erasure::Erasure;
use crate::domain::state::idempotency::IdempotencyRecord;
use crate::domain::state::read_note::ReadNote;
use crate::domain::state::webhooks::webhook::{OffReason, Webhook, WebhookProgress};
use crate::domain::time::{CivilDay, Instant};

/// A change of one group. It was decided once and is never checked again. The order of the variants
/// is the format on disk: new ones go to the end, and none is reused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// One or several appointments in a row were booked.
    AppointmentsBooked {
        /// The stamp of the event.
        at: Instant,
        /// The client's fiche, if the booking made or changed it.
        fiche: Option<Box<Fiche>>,
        /// One appointment per intervention, in order; at least one.
        legs: Vec<Vevent>,
    },
    /// An appointment was cancelled.
    AppointmentCancelled {
        /// The stamp of the event.
        at: Instant,
        /// The appointment.
        id: VeventId,
    },
    /// A vevent was made, changed, deleted or restored.
    VeventPut {
        /// The stamp of the event.
        at: Instant,
        /// The vevent after the change.
        row: Box<Vevent>,
        /// The holds that it ends as a plage. Those that it ends as an appointment are not named.
        #[serde(deserialize_with = "crate::domain::records::added::in_format_2")]
        ended_holds: Vec<HoldId>,
    },
    /// A fiche was made or changed.
    FichePut {
        /// The stamp of the event.
        at: Instant,
        /// The fiche after the change.
        fiche: Box<Fiche>,
    },
    /// A calendar was made or changed.
    CalendarPut {
        /// The stamp of the event.
        at: Instant,
        /// The record after the change.
        row: Box<Calendar>,
    },
    /// A set of calendars was made or changed.
    CalendarsetPut {
        /// The stamp of the event.
        at: Instant,
        /// The record after the change.
        row: Box<Calendarset>,
    },
    /// An intervention was made or changed.
    InterventionPut {
        /// The stamp of the event.
        at: Instant,
        /// The record after the change.
        row: Box<Intervention>,
    },
    /// A set of interventions was made or changed.
    InterventionsetPut {
        /// The stamp of the event.
        at: Instant,
        /// The record after the change.
        row: Box<Interventionset>,
    },
    /// The definition of a customised attribute was made or changed.
    CustomfieldPut {
        /// The stamp of the event.
        at: Instant,
        /// The record after the change.
        row: Box<Customfield>,
    },
    /// A set of calendars was removed. Its calendars keep no set.
    CalendarsetRemoved {
        /// The stamp of the event.
        at: Instant,
        /// The set.
        id: CalendarsetId,
    },
    /// A set of interventions was removed. Its interventions keep no set.
    InterventionsetRemoved {
        /// The stamp of the event.
        at: Instant,
        /// The set.
        id: InterventionsetId,
    },
    /// The group's own fields were changed.
    GroupChanged {
        /// The stamp of the event.
        at: Instant,
        /// All fields after the change.
        group: Box<Group>,
        /// The events, deleted ones included, whose instant is another in the new time zone: the
        /// start of an appointment, the UNTIL of a series.
        resolved: Vec<(VeventId, Instant)>,
        /// The holds whose time a plage takes in the new time zone. They end.
        #[serde(deserialize_with = "crate::domain::records::added::in_format_2")]
        ended_holds: Vec<HoldId>,
    },
    /// An event with the messages that it causes. One entry of the journal holds both or neither.
    Announced {
        /// The event. Its stamp is that of the messages.
        event: Box<Event>,
        /// The messages, at least one: new ones with the next ids, and other forms of known ones.
        messages: Vec<Message>,
    },
    /// The delivery of a message made progress.
    MessagePut {
        /// The stamp of the event.
        at: Instant,
        /// The message after the change.
        message: Box<Message>,
    },
    /// A request with an Idempotency-Key was carried out. A repetition gets the same answer.
    DoneOnce {
        /// The answer. Its stamp is that of the event.
        answered: Arc<IdempotencyRecord>,
        /// The event that the request caused.
        event: Box<Event>,
    },
    /// A link about an account was requested and is mailed.
    AccountLinkRequested {
        /// The stamp of the event.
        at: Instant,
        /// The change in the same request, if any.
        change: Option<Box<Event>>,
        /// The link.
        link: Box<AccountLink>,
        /// The mail. Its id follows those of the messages of the change.
        message: Box<Message>,
    },
    /// A link was followed: an account is new, or has another password or address.
    AccountPut {
        /// The stamp of the event.
        at: Instant,
        /// The hash of the link's token. The link is used up.
        hash: [u8; 32],
        /// The folded address of the account before the change; `None` for a new account.
        was: Option<Box<str>>,
        /// The account after the change.
        account: Box<Account>,
        /// Its fiche, if that is new or has another address.
        fiche: Option<Box<Fiche>>,
    },
    /// Upcoming appointments were moved to other instants, because the zone database changed.
    InstantsResolved {
        /// The stamp of the event.
        at: Instant,
        /// The new release of the zone database.
        tzdata: Box<str>,
        /// The appointments, deleted ones included, that start at another instant by this release.
        resolved: Vec<(VeventId, Instant)>,
    },
    /// Deleted events were removed for good.
    VeventsRemoved {
        /// The stamp of the event.
        at: Instant,
        /// The events. Empty only in [`Event::nothing`].
        ids: Vec<VeventId>,
    },
    /// Deleted web bookings were emptied, and clients that had no others.
    CancelledEmptied {
        /// The stamp of the event.
        at: Instant,
        /// The last deleted web booking that was dealt with.
        until: DeletionPlace,
        /// The appointments that lose their texts. They keep their stamps.
        vevents: Vec<VeventId>,
        /// The clients that lose their personal fields.
        fiches: Vec<FicheId>,
    },
    /// Time was held for a web caller.
    HoldMade {
        /// The stamp of the event.
        at: Instant,
        /// The hold.
        hold: Box<Hold>,
        /// The hold that it takes over, which ends.
        replaced: Option<HoldId>,
    },
    /// A hold was given back by its holder, or ended for a hold of another caller.
    HoldReleased {
        /// The stamp of the event.
        at: Instant,
        /// The hold.
        id: HoldId,
    },
    /// A wrong code was given for a booking that waits for one.
    CodeRefused {
        /// The stamp of the event.
        at: Instant,
        /// The hold of the booking.
        id: HoldId,
    },
    /// A booking was confirmed by its code.
    BookingConfirmed {
        /// The stamp of the event.
        at: Instant,
        /// The hold of the booking. Its appointments end it.
        id: HoldId,
        /// The client's fiche, if it is new.
        fiche: Option<Box<Fiche>>,
        /// One appointment per intervention, in order; at least one.
        legs: Vec<Vevent>,
    },
    /// The group was founded. It is the first event of a group that no snapshot began.
    GroupFounded {
        /// The stamp of the event.
        at: Instant,
        /// The group's own fields.
        group: Box<Group>,
        /// The release of the zone database at that time.
        tzdata: Box<str>,
    },
    /// The commands of a batch were carried out.
    BatchDone {
        /// The stamp of the event.
        at: Instant,
        /// The events of the commands, in order; at least one.
        events: Vec<Event>,
    },
    /// Two records of one client became one.
    FichesMerged {
        /// The stamp of the event.
        at: Instant,
        /// The record that is kept, after the merge.
        kept: Box<Fiche>,
        /// The other record.
        merged: FicheId,
        /// The records that were merged into the other one before.
        merged_before: Vec<FicheId>,
        /// The events that named the other record, deleted ones included.
        vevents: Vec<VeventId>,
        /// The accounts that owned the other record, after the merge.
        accounts: Vec<Account>,
    },
    /// Rows of the history that are no longer kept were ended.
    HistoryEnded {
        /// The stamp of the event.
        at: Instant,
        /// Rows with a lower number end.
        below: u64,
    },
    /// A professional has read clients.
    ReadsNoted {
        /// The stamp of the event.
        at: Instant,
        /// The reads, in order.
        reads: Arc<[ReadNote]>,
    },
    /// Clients were erased.
    ClientsErased {
        /// The stamp of the event.
        at: Instant,
        /// The parts that go. They are ids: no text is in the event.
        erasure: Box<Erasure>,
    },
    /// Idle time of clients and accounts counts from now on.
    RetentionCountBegan {
        /// The stamp of the event.
        at: Instant,
    },
    /// An account was used, for the first time on a day.
    AccountUsed {
        /// The stamp of the event.
        at: Instant,
        /// The client that it books for.
        client: FicheId,
        /// The day, on the clocks of the group.
        day: CivilDay,
    },
    /// Past appointments lost their person.
    AppointmentsEmptied {
        /// The stamp of the event.
        at: Instant,
        /// The record of no person, which they get. The first such event makes it.
        placeholder: FicheId,
        /// The appointments, and the messages and kept answers about them.
        parts: Box<Erasure>,
    },
    /// Accounts were closed.
    AccountsClosed {
        /// The stamp of the event.
        at: Instant,
        /// The accounts, without their addresses.
        accounts: Vec<AccountMark>,
    },
    /// An image was put into a slot.
    ImageSet {
        /// The stamp of the event.
        at: Instant,
        /// The slot.
        slot: ImageSlot,
        /// The image.
        image: Arc<Image>,
    },
    /// A slot lost its image.
    ImageRemoved {
        /// The stamp of the event.
        at: Instant,
        /// The slot. It holds an image.
        slot: ImageSlot,
    },
    /// The time of a booking that waits for its code is held longer.
    HoldExtended {
        /// The stamp of the event.
        at: Instant,
        /// The hold of the booking.
        id: HoldId,
        /// The moment from which it blocks no caller.
        expires_at: Instant,
    },
    /// A calendar feed was made, or has another secret.
    CalendarfeedPut {
        /// The stamp of the event.
        at: Instant,
        /// The feed after the change.
        feed: Box<Calendarfeed>,
    },
    /// A calendar feed was revoked.
    CalendarfeedRevoked {
        /// The stamp of the event.
        at: Instant,
        /// The feed.
        id: CalendarfeedId,
    },
    /// A webhook was made or changed.
    WebhookPut {
        /// The stamp of the event.
        at: Instant,
        /// The webhook after the change.
        webhook: Box<Webhook>,
    },
    /// A webhook was removed.
    WebhookRemoved {
        /// The stamp of the event.
        at: Instant,
        /// The webhook.
        id: WebhookId,
    },
    /// A webhook has delivered changes, or tried to.
    WebhookSettled {
        /// The stamp of the event.
        at: Instant,
        /// The webhook.
        id: WebhookId,
        /// Its progress, with the new answers alone.
        progress: Box<WebhookProgress>,
        /// Whether another round begins.
        begins_round: bool,
        /// The reason why it is off from now on, if it is.
        off: Option<OffReason>,
    },
}

impl Event {
    /// Makes an event that changes nothing. It takes a sequence number, a stamp and a write to
    /// disk, so that a caller cannot distinguish it from a change.
    pub fn nothing(at: Instant) -> Self {
        Self::VeventsRemoved { at, ids: Vec::new() }
    }

    /// Its stamp.
    pub const fn at(&self) -> Instant {
        match self {
            Self::AppointmentsBooked { at, .. }
            | Self::AppointmentCancelled { at, .. }
            | Self::VeventPut { at, .. }
            | Self::FichePut { at, .. }
            | Self::CalendarPut { at, .. }
            | Self::CalendarsetPut { at, .. }
            | Self::InterventionPut { at, .. }
            | Self::InterventionsetPut { at, .. }
            | Self::CustomfieldPut { at, .. }
            | Self::CalendarsetRemoved { at, .. }
            | Self::InterventionsetRemoved { at, .. }
            | Self::GroupChanged { at, .. }
            | Self::MessagePut { at, .. }
            | Self::AccountLinkRequested { at, .. }
            | Self::AccountPut { at, .. }
            | Self::InstantsResolved { at, .. }
            | Self::VeventsRemoved { at, .. }
            | Self::CancelledEmptied { at, .. }
            | Self::HoldMade { at, .. }
            | Self::HoldReleased { at, .. }
            | Self::HoldExtended { at, .. }
            | Self::WebhookPut { at, .. }
            | Self::WebhookRemoved { at, .. }
            | Self::WebhookSettled { at, .. }
            | Self::CodeRefused { at, .. }
            | Self::BookingConfirmed { at, .. }
            | Self::GroupFounded { at, .. }
            | Self::BatchDone { at, .. }
            | Self::FichesMerged { at, .. }
            | Self::HistoryEnded { at, .. }
            | Self::ReadsNoted { at, .. }
            | Self::ClientsErased { at, .. }
            | Self::RetentionCountBegan { at }
            | Self::AccountUsed { at, .. }
            | Self::AppointmentsEmptied { at, .. }
            | Self::AccountsClosed { at, .. }
            | Self::ImageSet { at, .. }
            | Self::ImageRemoved { at, .. }
            | Self::CalendarfeedPut { at, .. }
            | Self::CalendarfeedRevoked { at, .. } => *at,
            Self::Announced { event, .. } | Self::DoneOnce { event, .. } => event.at(),
        }
    }

    /// The events that it carries, in order. All are one entry of the journal and have one number.
    pub fn carried(&self) -> &[Self] {
        match self {
            Self::Announced { event, .. }
            | Self::DoneOnce { event, .. }
            | Self::AccountLinkRequested { change: Some(event), .. } => slice::from_ref(event),
            Self::BatchDone { events, .. } => events,
            Self::AccountLinkRequested { change: None, .. }
            | Self::AppointmentsBooked { .. }
            | Self::AppointmentCancelled { .. }
            | Self::VeventPut { .. }
            | Self::FichePut { .. }
            | Self::CalendarPut { .. }
            | Self::CalendarsetPut { .. }
            | Self::InterventionPut { .. }
            | Self::InterventionsetPut { .. }
            | Self::CustomfieldPut { .. }
            | Self::CalendarsetRemoved { .. }
            | Self::InterventionsetRemoved { .. }
            | Self::GroupChanged { .. }
            | Self::MessagePut { .. }
            | Self::AccountPut { .. }
            | Self::InstantsResolved { .. }
            | Self::VeventsRemoved { .. }
            | Self::CancelledEmptied { .. }
            | Self::HoldMade { .. }
            | Self::HoldReleased { .. }
            | Self::HoldExtended { .. }
            | Self::WebhookPut { .. }
            | Self::WebhookRemoved { .. }
            | Self::WebhookSettled { .. }
            | Self::CodeRefused { .. }
            | Self::BookingConfirmed { .. }
            | Self::GroupFounded { .. }
            | Self::FichesMerged { .. }
            | Self::HistoryEnded { .. }
            | Self::ReadsNoted { .. }
            | Self::ClientsErased { .. }
            | Self::RetentionCountBegan { .. }
            | Self::AccountUsed { .. }
            | Self::AppointmentsEmptied { .. }
            | Self::AccountsClosed { .. }
            | Self::ImageSet { .. }
            | Self::ImageRemoved { .. }
            | Self::CalendarfeedPut { .. }
            | Self::CalendarfeedRevoked { .. } => &[],
        }
    }

    /// The hold that it makes, if any.
    pub fn made_hold(&self) -> Option<HoldId> {
        if let Self::HoldMade { hold, .. } = self {
            return Some(hold.id());
        }
        self.carried().iter().find_map(Self::made_hold)
    }

    /// Adds the messages that the event causes. Without messages the event stays as it is.
    #[must_use]
    pub fn announced_by(self, messages: Vec<Message>) -> Self {
        if messages.is_empty() { self } else { Self::Announced { event: Box::new(self), messages } }
    }
}
