//! Calls of a history: requests, answers and times, and nothing of the server's insides.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Half hours since midnight at the beginning of 2030.
pub(crate) type HalfHour = u64;
/// Starts that a search shows, each with the calendars that are free then.
pub(crate) type Slots = BTreeMap<HalfHour, BTreeSet<u64>>;

/// Time of a calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Span {
    pub(crate) calendar: u64,
    pub(crate) start: HalfHour,
    /// Length in half hours.
    pub(crate) length: u64,
}

impl Span {
    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.calendar == other.calendar && self.meets(other)
    }

    /// Returns whether two spans have a moment in common, on whatever calendars.
    pub(crate) fn meets(self, other: Self) -> bool {
        self.start < other.start + other.length && other.start < self.start + self.length
    }

    /// Returns the half hours that it takes.
    pub(crate) fn cells(self) -> impl Iterator<Item = (u64, HalfHour)> {
        (self.start..self.start + self.length).map(move |at| (self.calendar, at))
    }
}

/// Caller of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A key alone, or with the secret of an appointment.
    Public,
    /// A professional under the rules of the module (`from_web=1`).
    ProOnModule,
    /// A professional at the back office (`from_web=0`).
    BackOffice,
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    /// A booking of half hours from a start, on a calendar or on any.
    Book {
        caller: Caller,
        client: u64,
        calendar: Option<u64>,
        start: HalfHour,
        length: u64,
        /// Number of the call that made the hold.
        hold: Option<usize>,
    },
    /// A cancellation; by a professional, or with the secret.
    Cancel { id: u64, caller: Caller },
    /// A move to another start of the same calendar.
    Move { id: u64, start: HalfHour, caller: Caller },
    /// A change of an appointment by a professional, to another calendar as well.
    Shift { id: u64, calendar: u64, start: HalfHour },
    /// A hold by a key alone.
    Hold(Span),
    /// The end of the hold that a call made, on this calendar.
    Release { hold: usize, calendar: u64 },
    /// A search of a day with a key alone.
    Search {
        calendar: Option<u64>,
        /// First half hour of the opening hours, and their end.
        open: (HalfHour, HalfHour),
        length: u64,
        hold: Option<usize>,
    },
    /// One appointment.
    Read { id: u64 },
    /// All appointments, cancelled ones included.
    List,
}

/// An appointment as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shown {
    pub(crate) span: Span,
    pub(crate) is_live: bool,
}

/// A row of a list: the appointment, and the number of the call whose mark it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) shown: Shown,
    pub(crate) booked_by: usize,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Booked {
        id: u64,
        calendar: u64,
    },
    /// Carried out: a cancellation, a move, a hold, a release.
    Done,
    /// Refused with these codes of Reference 2.2.
    Refused(BTreeSet<u64>),
    /// No such hold any more.
    Gone,
    Free(Slots),
    Seen(Shown),
    Rows(BTreeMap<u64, Row>),
    /// It was not carried out, and may not have been: not sent, 429 or 503.
    Nothing,
    /// The answer was lost. The call may have had its effect until its end, or not.
    Lost,
}

/// A call: what one client asked, was answered, and in between.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Number of the call, by which others name it.
    pub(crate) number: usize,
    pub(crate) thread: u64,
    pub(crate) group: u64,
    pub(crate) request: Request,
    pub(crate) answer: Answer,
    /// Ticks of one clock for all clients: before the first byte was sent, and after the last one
    /// was read. If the answer was lost, the end of the process that had the request.
    pub(crate) began: u64,
    pub(crate) ended: u64,
    /// Number of times that the request was sent, under one Idempotency-Key.
    pub(crate) sent: u32,
    /// The call of the first sending, of a repetition that was refused.
    pub(crate) repeats: Option<usize>,
}

impl Call {
    /// Returns whether the answer tells a state and changes none: a read, or a refusal.
    pub(crate) fn is_pure(&self) -> bool {
        match &self.answer {
            Answer::Free(_) | Answer::Seen(_) | Answer::Rows(_) => true,
            Answer::Refused(_) | Answer::Gone | Answer::Nothing => true,
            Answer::Booked { .. } | Answer::Done => false,
            Answer::Lost => match &self.request {
                Request::Search { .. } | Request::Read { .. } | Request::List => true,
                Request::Book { .. } | Request::Cancel { .. } | Request::Move { .. } => false,
                Request::Shift { .. } | Request::Hold(_) | Request::Release { .. } => false,
            },
        }
    }

    /// Returns whether the call may have had no effect at all.
    pub(crate) fn may_be_left_out(&self) -> bool {
        self.answer == Answer::Lost || self.ended == u64::MAX
    }

    /// Returns the appointment that the call names or made.
    pub(crate) fn appointment(&self) -> Option<u64> {
        match (&self.request, &self.answer) {
            (Request::Book { .. }, Answer::Booked { id, .. }) => Some(*id),
            // No answer names it, so any id serves that no answer has.
            (Request::Book { .. }, Answer::Lost) => Some(u64::MAX - self.number as u64),
            (
                Request::Cancel { id, .. }
                | Request::Move { id, .. }
                | Request::Shift { id, .. }
                | Request::Read { id },
                _,
            ) => Some(*id),
            _ => None,
        }
    }
}

/// Returns a half hour as a day of January 2030 and a time.
fn time(at: HalfHour) -> String {
    format!("{:02}T{:02}:{:02}", at / 48 + 1, at % 48 / 2, at % 2 * 30)
}

impl fmt::Display for Span {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "calendar {} {} to {}",
            self.calendar,
            time(self.start),
            time(self.start + self.length)
        )
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.span, if self.is_live { "" } else { " (cancelled)" })
    }
}

impl fmt::Display for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = |calendar: &Option<u64>| match calendar {
            Some(calendar) => format!("calendar {calendar}"),
            None => "any calendar".to_owned(),
        };
        let by = |hold: &Option<usize>| match hold {
            Some(hold) => format!(" with the hold of #{hold}"),
            None => String::new(),
        };
        match self {
            Self::Book { caller, client, calendar, start, length, hold } => write!(
                formatter,
                "book {} {} to {} for client {client} by {caller:?}{}",
                on(calendar),
                time(*start),
                time(start + length),
                by(hold)
            ),
            Self::Cancel { id, caller } => write!(formatter, "cancel {id} by {caller:?}"),
            Self::Move { id, start, caller } => {
                write!(formatter, "move {id} to {} by {caller:?}", time(*start))
            }
            Self::Shift { id, calendar, start } => {
                write!(formatter, "shift {id} to calendar {calendar} {}", time(*start))
            }
            Self::Hold(span) => write!(formatter, "hold {span}"),
            Self::Release { hold, .. } => write!(formatter, "release the hold of #{hold}"),
            Self::Search { calendar, open, length, hold } => write!(
                formatter,
                "search {} {} to {} for {length}{}",
                on(calendar),
                time(open.0),
                time(open.1),
                by(hold)
            ),
            Self::Read { id } => write!(formatter, "read {id}"),
            Self::List => write!(formatter, "list"),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Booked { id, calendar } => write!(formatter, "booked {id} on {calendar}"),
            Self::Done => write!(formatter, "done"),
            Self::Refused(codes) => write!(formatter, "refused {codes:?}"),
            Self::Gone => write!(formatter, "gone"),
            Self::Free(slots) => {
                for (start, calendars) in slots {
                    write!(formatter, "{} on {calendars:?}, ", time(*start))?;
                }
                write!(formatter, "no other free")
            }
            Self::Seen(shown) => write!(formatter, "{shown}"),
            Self::Rows(rows) => {
                for (id, row) in rows {
                    write!(formatter, "{id}: {} by #{}, ", row.shown, row.booked_by)?;
                }
                write!(formatter, "no other")
            }
            Self::Nothing => write!(formatter, "nothing done"),
            Self::Lost => write!(formatter, "LOST"),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, thread, began, ended, request, answer, sent, .. } = self;
        let again = if *sent > 1 { format!(" (sent {sent} times)") } else { String::new() };
        write!(
            formatter,
            "[{began:>5} {ended:>5}] #{number} by {thread}: {request}{again}: {answer}"
        )
    }
}
