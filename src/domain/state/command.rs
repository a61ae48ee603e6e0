//! What a caller wants of a group, with every field already legal.

use std::fmt;
use std::sync::Arc;

use crate::domain::identity::account::Account;
use crate::domain::identity::account_link::PendingRdv;
use crate::domain::messaging::delivery::Deliver;
use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::catalogue::Catalogue;
use crate::domain::records::customfield::{CustomName, CustomValue, Customfield};
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{
    CalendarId, CalendarsetId, FicheId, InterventionId, InterventionsetId, ProId, VeventId,
};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::record_change::Record;
use crate::domain::records::text::{Email, LongText, Text};
use crate::domain::records::vevent::{Key, Vevent};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Fault;
use crate::domain::time::{Civil, Instant};

/// Who asks. Reference 3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// An application by its key alone, on behalf of anybody.
    Application,
    /// A client of the group, logged in. What is its own stays so, so that it may be decided on a later state.
    Account(Arc<Account>),
    /// A professional of the group.
    Pro(ProId),
}

/// A change to make to a group.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each variant is the command of its name")]
pub enum Command {
    BookAppointment(Box<BookAppointment>),
    CancelAppointment(CancelAppointment),
    PutVevent(PutVevent),
    ChangeRecord(RecordChange),
    Deliver(Deliver),
    /// The same, and nobody is written to about it.
    Quietly(Box<Command>),
    AskLink(Box<AskLink>),
    FollowLink(Box<FollowLink>),
    /// Remove events for good that were deleted before a moment: those of these that still are.
    RemoveDeleted {
        /// Which, 1,000 at most.
        ids: Vec<VeventId>,
        /// Deleted and untouched since before then.
        before: Instant,
    },
}

/// Book one or several interventions in a row. Reference 12.8, 6.
#[derive(Clone, Debug)]
pub struct BookAppointment {
    /// Who asks.
    pub caller: Caller,
    /// Whether the module's rules hold.
    pub from_web: bool,
    /// The start, as the shop's clock shows it.
    pub date: Civil,
    /// What for, in order.
    pub intervention_ids: Vec<InterventionId>,
    /// On which calendar; `None` for no preference.
    pub calendar_id: Option<CalendarId>,
    /// For whom.
    pub client: Client,
    /// A comment on the appointment.
    pub comments: LongText,
    /// An origin label.
    pub websource: Text<255>,
    /// Whether an SMS reminder is wanted; `None` takes the group's setting.
    pub smsreminder: Option<bool>,
    /// Customised attributes of the appointment, as given; `None` for an empty value.
    pub customs: GivenCustoms,
    /// The proof that the caller may book, if it was checked before. Else the decision checks it.
    pub permission: Option<BookingPermission>,
}

/// The proof that a booking is permitted on one catalogue. Reference 6.1.
///
/// Only the check itself makes one. On a later catalogue the proof does not hold, and the decision
/// repeats the check.
#[derive(Clone)]
pub struct BookingPermission(Arc<Catalogue>);

impl BookingPermission {
    pub(in crate::domain) const fn new(catalogue: Arc<Catalogue>) -> Self {
        Self(catalogue)
    }

    /// Whether the booking was checked on this very catalogue.
    pub(in crate::domain) fn holds_on(&self, catalogue: &Arc<Catalogue>) -> bool {
        Arc::ptr_eq(&self.0, catalogue)
    }
}

impl fmt::Debug for BookingPermission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BookingPermission").finish_non_exhaustive()
    }
}

/// Customised attributes as a caller gave them; `None` for an empty value.
pub type GivenCustoms = Vec<(CustomName, Option<CustomValue>)>;

/// For whom a booking is.
#[derive(Clone, Debug)]
pub struct Client {
    /// The fiche named by the caller, if any.
    pub id: Option<FicheId>,
    /// The address given, by which a fiche may be found.
    pub email: Option<Email>,
    /// The plain fields given.
    pub fields: Patch<Fiche>,
    /// The customised attributes given.
    pub customs: GivenCustoms,
}

/// Legal values for some fields of a record, to be put into whatever the record is by then.
#[derive(Clone)]
pub struct Patch<R>(Vec<Setter<R>>);

/// Puts one legal value into a record.
type Setter<R> = Arc<dyn Fn(&mut R) + Send + Sync>;

impl<R> Patch<R> {
    /// Adds one field's new value.
    pub fn push(&mut self, set: impl Fn(&mut R) + Send + Sync + 'static) {
        self.0.push(Arc::new(set));
    }

    /// Whether no field was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts all values into the record, in the order given.
    pub fn apply_to(&self, record: &mut R) {
        self.0.iter().for_each(|set| set(record));
    }
}

impl<R> Default for Patch<R> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<R> fmt::Debug for Patch<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Patch({} fields)", self.0.len())
    }
}

/// Cancel an appointment. Reference 13.8.
#[derive(Clone, Debug)]
pub struct CancelAppointment {
    /// Which.
    pub id: VeventId,
    /// By what right.
    pub right: CancelRight,
}

impl Command {
    /// Whether it comes from an application by its key alone, or from whoever knows an appointment's secret: nobody has
    /// shown to be the client whom its messages go to.
    #[must_use]
    pub const fn is_by_key(&self) -> bool {
        match self {
            Self::BookAppointment(command) => matches!(command.caller, Caller::Application),
            Self::CancelAppointment(command) => matches!(command.right, CancelRight::Secret(_)),
            Self::PutVevent(_)
            | Self::ChangeRecord(_)
            | Self::Deliver(_)
            | Self::Quietly(_)
            | Self::AskLink(_)
            | Self::FollowLink(_)
            | Self::RemoveDeleted { .. } => false,
        }
    }
}

/// By what right an appointment is cancelled or read.
#[derive(Clone, Debug)]
pub enum CancelRight {
    /// A professional of the group: no lead time binds.
    Pro,
    /// A client of the group, logged in, whose own it must be.
    Account(Arc<Account>),
    /// Whoever knows the appointment's secret.
    Secret(String),
}

/// What chance decides for a booking, drawn before it is decided.
#[derive(Clone, Debug)]
pub struct BookingDraws {
    /// The id of the fiche, should one be made.
    pub fiche_id: FicheId,
    /// One id and one secret per intervention.
    pub legs: Vec<(VeventId, Key)>,
    /// Puts the candidate calendars in order, every order as likely as any other.
    pub order: u64,
}

/// Make, change or delete an event by a professional's hand. Reference 13.7, 6.
#[derive(Clone, Debug)]
pub enum PutVevent {
    /// A new event.
    Make(VeventDraft),
    /// Another form of the event that is there; with it, a deleted one may be restored.
    Change(VeventId, VeventDraft),
    /// The event no longer counts.
    Delete(VeventId),
}

/// What an event is to be, said against whatever stands when the group's turn comes: what a field means depends on the
/// kind, and the kind on fields that are not given again.
#[derive(Clone)]
pub struct VeventDraft(Arc<DrawUp>);

type DrawUp = dyn Fn(&GroupState, Option<&Vevent>, &VeventDraws, Instant) -> Result<Vevent, Vec<Fault>>
    + Send
    + Sync;

impl VeventDraft {
    /// A draft that is drawn up by `draw_up` from the state, the event as it stands if there is one, what chance decides,
    /// and the stamp. It may depend on nothing else.
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

    /// The event, complete.
    ///
    /// # Errors
    /// Everything that is wrong with it, each by its field.
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

/// What chance decides for an event, should it be new or become an appointment.
#[derive(Clone, Copy, Debug)]
pub struct VeventDraws {
    /// Its id.
    pub id: VeventId,
    /// Its secret.
    pub key: Key,
}

/// Make or change one row of the group's records. Reference 6.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each variant is the record of its name")]
pub enum RecordChange {
    Group(Patch<Group>),
    Fiche(Put<Fiche>),
    Calendar(Put<Calendar>),
    Calendarset(Put<Calendarset>),
    RemoveCalendarset(CalendarsetId),
    Intervention(Put<Intervention>),
    Interventionset(Put<Interventionset>),
    RemoveInterventionset(InterventionsetId),
    Customfield(Put<Customfield>),
}

/// The legal values given for a row.
#[derive(Clone, Debug)]
pub struct Put<R: Record> {
    /// Which row; `None` makes one.
    pub id: Option<R::Id>,
    /// What it is to hold.
    pub fields: Patch<R>,
}

/// Mail the owner of an address a link, where one is due. Reference 3.
#[derive(Clone, Debug)]
pub struct AskLink {
    /// Where to.
    pub email: Email,
    /// What for.
    pub wish: LinkWish,
}

/// What a link is asked for.
#[derive(Clone, Debug)]
pub enum LinkWish {
    /// To have an account, or another password for it.
    Account {
        /// What is given back then.
        pending_rdv: Option<PendingRdv>,
    },
    /// To give a fiche of one's own another address.
    Email {
        /// The folded address of the account that asks.
        account: Box<str>,
        /// Which fiche, and what else of it is to be changed at once.
        put: Put<Fiche>,
    },
}

/// Follow a link. Reference 3.
#[derive(Clone)]
pub struct FollowLink {
    /// The SHA-256 of its token.
    pub hash: [u8; 32],
    /// The password that the account is to have, where the link sets one.
    pub password_hash: Option<Text<255>>,
}

/// Without the hash, which is nobody's to read.
impl fmt::Debug for FollowLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FollowLink(…)")
    }
}

/// What chance decides for a link.
#[derive(Clone, Debug)]
pub struct LinkDraws {
    /// What stands in the link: letters, digits and `-`.
    pub token: Text<128>,
    /// Its SHA-256.
    pub hash: [u8; 32],
}
