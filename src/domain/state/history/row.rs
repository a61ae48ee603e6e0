//! The rows of a group's history. Reference 16.

use crate::domain::records::author::Author;
use crate::domain::records::ids::GroupId;
use crate::domain::time::Instant;

/// One change of one object of a group: who made it, when, and what changed. It holds ids and
/// names of fields, but no text and nothing personal, so that erasing a client leaves it as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRow {
    /// The stamp of the event that made the change.
    pub at: Instant,
    /// The number of that event. All changes of one event have one number.
    pub sequence: u64,
    /// The author; `None` for events of releases that recorded none.
    pub author: Option<Author>,
    /// The object.
    pub object: HistoryObject,
    /// The act.
    pub verb: HistoryVerb,
    /// The fields that changed, ascending by field; those that were set for a new object.
    pub fields: Vec<FieldChange>,
}

/// An object that has a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HistoryObject {
    /// The kind of record.
    pub kind: ObjectKind,
    /// Its id. That of an account is the id of its client.
    pub id: u64,
}

impl HistoryObject {
    /// The group's own fields.
    pub const fn of_group(id: GroupId) -> Self {
        Self { kind: ObjectKind::Group, id: id.number() }
    }
}

macro_rules! coded {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident => $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All variants. The index of each is its code on disk: new ones go to the end.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in answers.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// Finds a variant by its name in answers.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }

            pub(in crate::domain::state) const fn code(self) -> u8 {
                self as u8
            }

            pub(in crate::domain::state) fn from_code(code: u8) -> Option<Self> {
                Self::ALL.get(usize::from(code)).copied()
            }
        }
    };
}

coded! {
    /// A kind of object that has a history.
    ObjectKind {
        /// The group's own fields.
        Group => "group",
        /// A calendar.
        Calendar => "calendar",
        /// A set of calendars.
        Calendarset => "calendarset",
        /// An intervention.
        Intervention => "intervention",
        /// A set of interventions.
        Interventionset => "interventionset",
        /// A customised attribute.
        Customfield => "customfield",
        /// A client.
        Fiche => "fiche",
        /// An event of a calendar.
        Vevent => "vevent",
        /// The account of a client, by the client's id.
        Account => "account",
        /// All clients, by the group's id.
        Fiches => "fiches",
        /// A calendar feed.
        Calendarfeed => "calendarfeed",
        /// A webhook.
        Webhook => "webhook",
    }
}

coded! {
    /// The act of a change.
    HistoryVerb {
        /// The history of the group begins: what was before is not known.
        Begun => "begun",
        /// It was made.
        Made => "made",
        /// It was changed.
        Changed => "changed",
        /// It was deleted, or cancelled. It may be restored.
        Deleted => "deleted",
        /// It was restored.
        Restored => "restored",
        /// It was removed for good.
        Removed => "removed",
        /// It lost everything that tells of a person.
        Emptied => "emptied",
        /// It became part of another record, `fiche_id`.
        Merged => "merged",
        /// A professional has read it.
        Read => "read",
        /// The client was erased.
        Erased => "erased",
    }
}

coded! {
    /// A field of an object, by its name in the API. Those up to [`HistoryField::VALUED`] come with
    /// values, all others with their name alone.
    HistoryField {
        /// The calendar, by its id.
        CalendarId => "calendar_id",
        /// The local time of the start.
        Start => "start",
        /// The instant of the start of an appointment.
        StartUtc => "start_utc",
        /// The length of an appointment in elapsed seconds.
        Length => "length",
        /// The local time of the end of an event that is no appointment.
        End => "end",
        /// The intervention, by its id.
        InterventionId => "intervention_id",
        /// The client, by its id.
        FicheId => "fiche_id",
        /// Whether the client came, by its number.
        State => "state",
        /// Whether it is deleted.
        Deleted => "deleted",
        /// Whether it is a plage.
        Plage => "plage",
        /// Whether it is an availability.
        Availability => "availability",
        /// Whether it is a note.
        Note => "note",
        /// The repetition.
        Rrule => "rrule",
        /// The days on which a series does not take place.
        Exdate => "exdate",
        /// The interventions that an availability is open for.
        AvailableInterventions => "availableInterventions",
        /// The description.
        Text => "text",
        /// The comments.
        Comments => "comments",
        /// The comments for professionals.
        InternalComments => "internal_comments",
        /// The colour.
        Colorref => "colorref",
        /// The person who took the appointment.
        Taker => "taker",
        /// The origin of a booking.
        Websource => "websource",
        /// The values of customised attributes.
        Customs => "customs",
        /// The wish for a text message.
        Smsreminder => "smsreminder",
        /// The last name.
        Lastname => "lastname",
        /// The first name.
        Firstname => "firstname",
        /// The first telephone number.
        Firstphone => "firstphone",
        /// The second telephone number.
        Secondphone => "secondphone",
        /// The address.
        Email => "email",
        /// The birth date.
        Birthdate => "birthdate",
        /// The wish for reminders by mail.
        RappelEmail => "rappel_email",
        /// The wish for reminders by text message.
        RappelSms => "rappel_sms",
        /// The identifier of another system.
        Externid => "externid",
        /// The password of an account.
        Password => "password",
        /// The text about the use of the details of clients.
        PrivacyText => "privacy_text",
        /// The description of an intervention, or of a set of them.
        Description => "description",
        /// The release of the zone database, which gave local times other instants.
        Tzdata => "tzdata",
        /// The number of clients of a list that was read. It comes with its value.
        Count => "count",
        /// The words of a search.
        Search => "search",
        /// The logo of the group.
        Logo => "logo",
        /// The cover of the group.
        Cover => "cover",
        /// The photo of a calendar.
        Photo => "photo",
        /// The secret of a calendar feed or of a webhook.
        Secret => "secret",
        /// The address of the receiver of a webhook.
        Url => "url",
        /// The kinds of objects that a webhook tells of.
        Objects => "objects",
        /// Whether a webhook is on.
        Active => "active",
        /// The place from which a webhook goes on.
        Since => "since",
    }
}

impl HistoryField {
    /// The last field of a change that comes with values.
    pub const VALUED: Self = Self::Note;

    /// Whether its values are numbers of seconds of a wall clock.
    pub const fn is_civil(self) -> bool {
        matches!(self, Self::Start | Self::End)
    }

    /// Whether its values are 0 for no and 1 for yes.
    pub const fn is_flag(self) -> bool {
        matches!(self, Self::Deleted | Self::Plage | Self::Availability | Self::Note)
    }
}

/// A field that changed, with its values where the history keeps them. Times are seconds, flags 0
/// or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// The field.
    pub field: HistoryField,
    /// The value before; `None` if there was none, or it is not kept.
    pub before: Option<i64>,
    /// The value after; `None` if there is none, or it is not kept.
    pub after: Option<i64>,
}
