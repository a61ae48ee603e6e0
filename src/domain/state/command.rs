//! Commands to a group. Every field holds a legal value.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::directory::confirmation_code::ConfirmationCode;
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::directory::roles::ProRole;
use crate::domain::records::account::Account;
use crate::domain::records::booking_origin::BookingOrigin;
use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::customfield::{CustomName, CustomValue, Customfield};
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::{
    CalendarId, CalendarsetId, FicheId, InterventionId, InterventionsetId, ProId, VeventId,
};
use crate::domain::records::image::{Image, ImageSlot};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::message::ShopWarning;
use crate::domain::records::text::{Email, LongText, Text};
use crate::domain::state::booking_permission::BookingPermission;
use crate::domain::state::delivery_step::DeliveryStep;
use crate::domain::state::editable_record::EditableRecord as _;
use crate::domain::state::login_notice::NotifyOfLogin;
use crate::domain::state::precondition::{ExpectedEffect, Precondition};
use crate::domain::state::webhooks::settlement::WebhookCommand;
use crate::domain::time::{Civil, Instant};

pub use crate::domain::state::calendarfeed_change::{CalendarfeedChange, CalendarfeedStep};
pub use crate::domain::state::link_commands::{FollowLink, LinkRequest, RequestLink};
pub use crate::domain::state::patch::{Patch, Put};
pub use crate::domain::state::privacy_commands::{EraseClients, RetentionStep};
pub use crate::domain::state::put_vevent::{PutVevent, PutVevents, VeventDraft, VeventDraws};
use crate::domain::state::read_note::ReadNote;

/// Maximum number of ids of one kind that a command uses, if it is no batch and about one vevent at
/// most.
pub const IDS_MAX: u64 = 100;

/// The caller of a command. Reference 3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// An application by its key alone, for any client.
    Application,
    /// A logged-in client of the group. An account loses a fiche only by its erasure, and nothing
    /// new names an erased one. So a command may be decided on a later state than the one that this
    /// account is from.
    Account(Arc<Account>),
    /// A professional of the group.
    Pro(ProId),
}

/// A change of a group.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each variant is the command of its name")]
pub enum Command {
    BookAppointment(Box<BookAppointment>),
    CancelAppointment(CancelAppointment),
    PutVevent(PutVevent),
    ChangeRecord(RecordChange),
    Deliver(DeliveryStep),
    /// The inner command, without messages to clients.
    Quietly(Box<Command>),
    Conditional(Box<ConditionalCommand>),
    RequestLink(Box<RequestLink>),
    FollowLink(Box<FollowLink>),
    RemoveDeleted(RemoveDeleted),
    EmptyCancelled(EmptyCancelled),
    EndHistory(EndHistory),
    EraseClients(EraseClients),
    /// The accounts that book for this client are closed. Reference 3.12.
    CloseAccounts(FicheId),
    Retain(RetentionStep),
    ConfirmBooking(Box<ConfirmBooking>),
    MoveAppointment(MoveAppointment),
    HoldTime(Box<HoldTime>),
    ReleaseHold(HoldId),
    /// The time of a booking that waits for its code is held longer. Reference 6.8.
    ExtendHold(HoldId),
    Batch(Batch),
    WarnShop(WarnShop),
    NotifyOfLogin(Box<NotifyOfLogin>),
    PutVevents(Box<PutVevents>),
    Expecting(Box<ExpectingCommand>),
    Within(Box<CommandWithin>),
    NoteReads(Arc<[ReadNote]>),
    ChangeCalendarfeed(CalendarfeedChange),
    /// About the webhooks. Reference 18.
    Webhook(Box<WebhookCommand>),
}

/// Warns the professionals of a group, once in 24 hours of the same. Reference 7.3.
#[derive(Clone, Debug)]
pub struct WarnShop {
    /// The warning.
    pub warning: ShopWarning,
    /// The addresses of professionals, each once.
    pub recipients: Vec<Email>,
}

/// Several commands as one. Each is decided in order, on the state after those before it, and
/// those that are carried out are one event. Reference 13.18.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The commands: at most 100 of a request for a batch, and at most 1,801 of a form about
    /// displaced appointments.
    pub commands: Arc<[Command]>,
    /// Whether none is carried out if one is refused.
    pub is_atomic: bool,
}

/// Books one or several interventions in a row. Reference 6, 12.8.
#[derive(Clone, Debug)]
pub struct BookAppointment {
    /// The caller.
    pub caller: Caller,
    /// Whether the rules of the module apply.
    pub from_web: bool,
    /// The start in the group's local time.
    pub date: Civil,
    /// The interventions, in order.
    pub intervention_ids: Vec<InterventionId>,
    /// The calendar; `None` for no preference.
    pub calendar_id: Option<CalendarId>,
    /// The sets whose calendars may take a booking without preference; empty for all.
    pub calendarset_ids: Vec<CalendarsetId>,
    /// The client.
    pub client: Client,
    /// A comment on the appointment.
    pub comments: LongText,
    /// A comment that only professionals read. Only they give one.
    pub internal_comments: LongText,
    /// The names of the professional who books; empty for the public and for clients.
    pub taker: Text<255>,
    /// A label for the origin of the booking.
    pub websource: Text<255>,
    /// Whether the client wants a text message as a reminder; `None` takes the group's setting.
    pub smsreminder: Option<bool>,
    /// The customised attributes of the appointment.
    pub customs: GivenCustoms,
    /// The proof that the caller may book, if it was checked before. Else the decision checks it.
    pub permission: Option<BookingPermission>,
    /// The origin of a booking with a key alone or by an account.
    pub booking_origin: Option<Box<BookingOrigin>>,
    /// The hold whose time the booking takes over. One that has ended counts for nothing.
    pub hold: Option<HoldId>,
    /// Whether a page of the server books, which can ask its client for a code.
    pub is_by_page: bool,
    /// Whether a limit is used up, beyond which a booking with a key alone needs a mailed code.
    pub is_code_demanded: bool,
    /// Whether the group's `contact_needed` binds the caller: a page, or a key made since there is
    /// such a setting.
    pub needs_contact: bool,
}

/// Confirms a booking by the code that was sent for it. Reference 6.8.
#[derive(Clone, Debug)]
pub struct ConfirmBooking {
    /// The hold of the booking.
    pub hold: HoldId,
    /// The code that was sent; `None` if the server has no secret yet and sent none.
    pub code: Option<ConfirmationCode>,
    /// The code that the caller gives.
    pub guess: Box<str>,
}

/// Holds the time of a chain for a web caller. Reference 6.7.
#[derive(Clone, Debug)]
pub struct HoldTime {
    /// The start in the group's local time.
    pub date: Civil,
    /// The interventions, in order.
    pub intervention_ids: Vec<InterventionId>,
    /// The calendar; `None` for no preference.
    pub calendar_id: Option<CalendarId>,
    /// The hold that this one takes over. One that has ended counts for nothing.
    pub hold: Option<HoldId>,
    /// The keyed hash of the source; `None` if its holds are not limited.
    pub source: Option<[u8; 16]>,
    /// Whether the caller has a key alone.
    pub is_by_key: bool,
}

/// Customised attributes as the caller gave them; `None` for an empty value.
pub type GivenCustoms = Vec<(CustomName, Option<CustomValue>)>;

/// The client of a booking. Reference 6.3.
#[derive(Clone, Debug)]
pub struct Client {
    /// The fiche that the caller named, if any.
    pub id: Option<FicheId>,
    /// The address given, which may identify a fiche.
    pub email: Option<Email>,
    /// The plain fields given.
    pub fields: Patch<Fiche>,
    /// The customised attributes given.
    pub customs: GivenCustoms,
}

/// A command about an object, carried out only if the object still has the form that the caller
/// knows.
#[derive(Clone, Debug)]
pub struct ConditionalCommand {
    /// The command.
    pub command: Command,
    /// The form that the object must have.
    pub precondition: Precondition,
}

/// A command that is carried out only if it has the effect that the caller expects. Reference 6.19.
#[derive(Clone, Debug)]
pub struct ExpectingCommand {
    /// The command.
    pub command: Command,
    /// Its effect.
    pub expectation: ExpectedEffect,
}

/// A command that is carried out only if a professional's role allows all that it changes.
/// Reference 3.9.
#[derive(Clone, Debug)]
pub struct CommandWithin {
    /// The command.
    pub command: Command,
    /// The role.
    pub role: ProRole,
}

/// Cancels an appointment. Reference 6.10, 13.8.
#[derive(Clone, Debug)]
pub struct CancelAppointment {
    /// The appointment.
    pub id: VeventId,
    /// The right to cancel it.
    pub right: CancelRight,
}

impl Command {
    /// Returns the same command, carried out only under a precondition, if there is one.
    #[must_use]
    pub fn only_if(self, precondition: Option<Precondition>) -> Self {
        match precondition {
            Some(precondition) => {
                Self::Conditional(Box::new(ConditionalCommand { command: self, precondition }))
            }
            None => self,
        }
    }

    /// Returns the same command, carried out only as far as a role goes. Each command of a batch is
    /// checked by itself.
    #[must_use]
    pub fn within(self, role: &ProRole) -> Self {
        match self {
            _ if *role == ProRole::Administrator => self,
            Self::Quietly(inner) => Self::Quietly(Box::new(inner.within(role))),
            Self::Conditional(conditional) => {
                let ConditionalCommand { command, precondition } = *conditional;
                let command = command.within(role);
                Self::Conditional(Box::new(ConditionalCommand { command, precondition }))
            }
            Self::Expecting(expecting) => {
                let ExpectingCommand { command, expectation } = *expecting;
                let command = command.within(role);
                Self::Expecting(Box::new(ExpectingCommand { command, expectation }))
            }
            Self::Batch(Batch { commands, is_atomic }) => {
                let commands = commands.iter().map(|command| command.clone().within(role));
                Self::Batch(Batch { commands: commands.collect(), is_atomic })
            }
            command @ (Self::BookAppointment(_)
            | Self::CancelAppointment(_)
            | Self::PutVevent(_)
            | Self::PutVevents(_)
            | Self::ChangeRecord(_)
            | Self::Deliver(_)
            | Self::RequestLink(_)
            | Self::FollowLink(_)
            | Self::RemoveDeleted(_)
            | Self::EmptyCancelled(_)
            | Self::EndHistory(_)
            | Self::ConfirmBooking(_)
            | Self::MoveAppointment(_)
            | Self::HoldTime(_)
            | Self::ReleaseHold(_)
            | Self::ExtendHold(_)
            | Self::WarnShop(_)
            | Self::NotifyOfLogin(_)
            | Self::NoteReads(_)
            | Self::ChangeCalendarfeed(_)
            | Self::Webhook(_)
            | Self::EraseClients(_)
            | Self::CloseAccounts(_)
            | Self::Retain(_)
            | Self::Within(_)) => {
                Self::Within(Box::new(CommandWithin { command, role: role.clone() }))
            }
        }
    }

    /// Whether it comes from an application by its key alone, or from a caller with an
    /// appointment's secret. Then no proof links the caller to the client that its messages go to.
    pub const fn is_by_key(&self) -> bool {
        match self {
            Self::BookAppointment(command) => matches!(command.caller, Caller::Application),
            Self::CancelAppointment(command) => matches!(command.right, CancelRight::Secret(_)),
            Self::MoveAppointment(command) => matches!(command.right, CancelRight::Secret(_)),
            Self::Conditional(conditional) => conditional.command.is_by_key(),
            Self::Expecting(expecting) => expecting.command.is_by_key(),
            Self::Within(within) => within.command.is_by_key(),
            Self::PutVevent(_)
            | Self::PutVevents(_)
            | Self::ChangeRecord(_)
            | Self::Deliver(_)
            | Self::Quietly(_)
            | Self::RequestLink(_)
            | Self::FollowLink(_)
            | Self::HoldTime(_)
            | Self::ReleaseHold(_)
            | Self::ExtendHold(_)
            | Self::WarnShop(_)
            | Self::NotifyOfLogin(_)
            | Self::RemoveDeleted(_)
            | Self::EmptyCancelled(_)
            | Self::EndHistory(_)
            | Self::NoteReads(_)
            | Self::ChangeCalendarfeed(_)
            | Self::Webhook(_)
            | Self::EraseClients(_)
            | Self::CloseAccounts(_)
            | Self::Retain(_)
            | Self::Batch(_) => false,
            Self::ConfirmBooking(_) => true,
        }
    }

    /// Whether it causes no messages to clients of its own.
    pub const fn is_quiet(&self) -> bool {
        match self {
            Self::Quietly(_) => true,
            Self::Conditional(conditional) => conditional.command.is_quiet(),
            Self::Expecting(expecting) => expecting.command.is_quiet(),
            Self::Within(within) => within.command.is_quiet(),
            Self::BookAppointment(_)
            | Self::CancelAppointment(_)
            | Self::PutVevent(_)
            | Self::PutVevents(_)
            | Self::ChangeRecord(_)
            | Self::Deliver(_)
            | Self::RequestLink(_)
            | Self::FollowLink(_)
            | Self::RemoveDeleted(_)
            | Self::EmptyCancelled(_)
            | Self::EndHistory(_)
            | Self::EraseClients(_)
            | Self::CloseAccounts(_)
            | Self::Retain(_)
            | Self::ConfirmBooking(_)
            | Self::MoveAppointment(_)
            | Self::HoldTime(_)
            | Self::ReleaseHold(_)
            | Self::ExtendHold(_)
            | Self::WarnShop(_)
            | Self::NotifyOfLogin(_)
            | Self::NoteReads(_)
            | Self::ChangeCalendarfeed(_)
            | Self::Webhook(_)
            | Self::Batch(_) => false,
        }
    }

    /// Returns the kinds of ids that it may use.
    pub fn needed_ids(&self) -> Cow<'static, [IdKind]> {
        let kinds: &'static [IdKind] = match self {
            Self::BookAppointment(_) | Self::ConfirmBooking(_) => &[IdKind::Fiche, IdKind::Vevent],
            Self::PutVevent(_) | Self::PutVevents(_) => &[IdKind::Vevent],
            Self::ChangeRecord(change) => change.needed_ids(),
            Self::FollowLink(_) | Self::Retain(RetentionStep::EmptyAppointments { .. }) => {
                &[IdKind::Fiche]
            }
            Self::Quietly(inner) => return inner.needed_ids(),
            Self::Conditional(conditional) => return conditional.command.needed_ids(),
            Self::Expecting(expecting) => return expecting.command.needed_ids(),
            Self::Within(within) => return within.command.needed_ids(),
            Self::Batch(batch) => {
                let kinds = batch.commands.iter().flat_map(|it| it.needed_ids().into_owned());
                let kinds: BTreeSet<IdKind> = kinds.collect();
                return kinds.into_iter().collect();
            }
            Self::CancelAppointment(_)
            | Self::MoveAppointment(_)
            | Self::RequestLink(_)
            | Self::HoldTime(_)
            | Self::ReleaseHold(_)
            | Self::ExtendHold(_)
            | Self::WarnShop(_)
            | Self::NotifyOfLogin(_)
            | Self::Deliver(_)
            | Self::RemoveDeleted(_)
            | Self::EmptyCancelled(_)
            | Self::NoteReads(_)
            | Self::ChangeCalendarfeed(_)
            | Self::Webhook(_)
            | Self::EndHistory(_)
            | Self::EraseClients(_)
            | Self::CloseAccounts(_)
            | Self::Retain(_) => &[],
        };
        Cow::Borrowed(kinds)
    }

    /// Maximum number of ids of one kind that it uses, at most [`IDS_MAX`] but for a batch and for
    /// several vevents.
    pub fn ids_max(&self) -> u64 {
        match self {
            Self::BookAppointment(command) => command.intervention_ids.len() as u64,
            Self::Quietly(inner) => inner.ids_max(),
            Self::Conditional(conditional) => conditional.command.ids_max(),
            Self::Expecting(expecting) => expecting.command.ids_max(),
            Self::Within(within) => within.command.ids_max(),
            Self::Batch(batch) => batch.commands.iter().map(Self::ids_max).sum(),
            Self::PutVevents(command) => command.ids_max(),
            Self::PutVevent(_)
            | Self::ChangeRecord(_)
            | Self::FollowLink(_)
            | Self::CancelAppointment(_)
            | Self::MoveAppointment(_)
            | Self::RequestLink(_)
            | Self::HoldTime(_)
            | Self::ReleaseHold(_)
            | Self::ExtendHold(_)
            | Self::WarnShop(_)
            | Self::NotifyOfLogin(_)
            | Self::Deliver(_)
            | Self::RemoveDeleted(_)
            | Self::EmptyCancelled(_)
            | Self::NoteReads(_)
            | Self::ChangeCalendarfeed(_)
            | Self::Webhook(_)
            | Self::EndHistory(_)
            | Self::EraseClients(_)
            | Self::CloseAccounts(_)
            | Self::Retain(_) => 1,
            Self::ConfirmBooking(_) => IDS_MAX,
        }
    }
}

/// Removes deleted events for good. Reference 8.
#[derive(Clone, Debug)]
pub struct RemoveDeleted {
    /// The events, at most 1,000. Those that were restored meanwhile stay.
    pub ids: Vec<VeventId>,
    /// The moment before which they must have been deleted and last changed.
    pub before: Instant,
}

/// Empties deleted web bookings, and clients that never had others. Reference 6.16.
#[derive(Clone, Copy, Debug)]
pub struct EmptyCancelled {
    /// The moment before which the bookings must have been deleted and last changed.
    pub before: Instant,
}

/// Ends the rows of the history that are no longer kept. Reference 16.
#[derive(Clone, Copy, Debug)]
pub struct EndHistory {
    /// The time, which is never ahead of the clock.
    pub now: Instant,
}

/// Moves one appointment to another start. Reference 6.9.
#[derive(Clone, Debug)]
pub struct MoveAppointment {
    /// The appointment.
    pub id: VeventId,
    /// The right to move it, which is that to cancel it.
    pub right: CancelRight,
    /// The new start in the group's local time.
    pub date: Civil,
    /// The hold whose time the appointment takes. One that has ended counts for nothing.
    pub hold: Option<HoldId>,
}

/// The right to cancel, move or read an appointment.
#[derive(Clone, Debug)]
pub enum CancelRight {
    /// That of a professional of the group. No lead time applies.
    Pro,
    /// That of a logged-in client, for an appointment of its own.
    Account(Arc<Account>),
    /// That of a caller with the appointment's secret, which is given here.
    Secret(String),
}

/// Makes, changes or removes one record of the group. Reference 12.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each variant is the record of its name")]
pub enum RecordChange {
    Group(Patch<Group>),
    Fiche(Put<Fiche>),
    FicheByExternid(FicheByExternid),
    MergeFiches(MergeFiches),
    Calendar(Put<Calendar>),
    Calendarset(Put<Calendarset>),
    RemoveCalendarset(CalendarsetId),
    Intervention(Put<Intervention>),
    Interventionset(Put<Interventionset>),
    RemoveInterventionset(InterventionsetId),
    Customfield(Put<Customfield>),
    SetImage(ImageSlot, Arc<Image>),
    RemoveImage(ImageSlot),
}

impl RecordChange {
    /// Returns the kind of id that it may use, if it can make a record.
    fn needed_ids(&self) -> &'static [IdKind] {
        match self {
            Self::Fiche(_) | Self::FicheByExternid(_) => &[Fiche::KIND],
            Self::Calendar(_) => &[Calendar::KIND],
            Self::Calendarset(_) => &[Calendarset::KIND],
            Self::Intervention(_) => &[Intervention::KIND],
            Self::Interventionset(_) => &[Interventionset::KIND],
            Self::Customfield(_) => &[Customfield::KIND],
            Self::Group(_)
            | Self::MergeFiches(_)
            | Self::RemoveCalendarset(_)
            | Self::RemoveInterventionset(_)
            | Self::SetImage(..)
            | Self::RemoveImage(_) => &[],
        }
    }
}

/// Changes the one client with an identifier of another system, or makes it.
#[derive(Clone, Debug)]
pub struct FicheByExternid {
    /// The identifier.
    pub externid: i64,
    /// The fields given, the identifier among them.
    pub fields: Patch<Fiche>,
}

/// Makes one of two records of a client. Reference 6.20.
#[derive(Clone, Debug)]
pub struct MergeFiches {
    /// The record that is kept.
    pub kept: FicheId,
    /// The other record.
    pub merged: FicheId,
    /// The fields given for the kept one. What it lacks besides is taken from the other.
    pub fields: Patch<Fiche>,
}
