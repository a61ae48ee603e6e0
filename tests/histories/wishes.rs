//! The requests of a client, drawn by its seed from what earlier answers told.

use rand::RngExt as _;
use rand::rngs::StdRng;

use super::call::{Answer, Caller, HalfHour, Request, Span};
use super::client::{Reply, Secrets};
use super::shop::{Group, open_hours};

/// Share of requests that name a day before the newest, as one in so many.
const EARLIER_DAY: u32 = 6;

/// What the clients of a group have learnt from answers.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) secrets: Secrets,
    /// Appointments with their length.
    appointments: Vec<(u64, u64)>,
    /// Holds that were made: their client, their call and their time.
    holds: Vec<(u64, usize, Span)>,
}

impl Known {
    /// Learns from an answer.
    pub(crate) fn learn(&mut self, client: u64, number: usize, request: &Request, reply: &Reply) {
        match (request, &reply.answer, &reply.secret) {
            (Request::Book { length, .. }, Answer::Booked { id, .. }, Some(secret)) => {
                self.secrets.appointments.insert(*id, secret.clone());
                self.appointments.push((*id, *length));
            }
            (Request::Hold(span), Answer::Done, Some(token)) => {
                self.secrets.holds.insert(number, token.clone());
                self.holds.push((client, number, *span));
            }
            _ => {}
        }
    }

    /// Draws one of the client's holds, the newest most often.
    fn hold(&self, chance: &mut StdRng, client: u64) -> Option<(usize, Span)> {
        let mine = self.holds.iter().rev().filter(|(holder, ..)| *holder == client);
        let (_, number, span) = mine.take(chance.random_range(1..=2)).last()?;
        Some((*number, *span))
    }

    /// Draws an appointment, of the newest most often.
    fn appointment(&self, chance: &mut StdRng) -> Option<(u64, u64)> {
        let count = self.appointments.len();
        let newest = if chance.random() { count.saturating_sub(8) } else { 0 };
        (count > 0).then(|| self.appointments[chance.random_range(newest..count)])
    }
}

/// The choice of a client in a life of the server.
pub(crate) struct Wishes<'a> {
    pub(crate) group: &'a Group,
    /// The day that is booked in this life; earlier ones now and then.
    pub(crate) day: u64,
}

impl Wishes<'_> {
    /// Draws the next request of a client.
    pub(crate) fn draw(&self, chance: &mut StdRng, known: &Known, client: u64) -> Request {
        match chance.random_range(0..100) {
            0..30 => self.search(chance, known, client),
            30..40 => Request::Hold(self.span(chance)),
            40..43 => match known.hold(chance, client) {
                Some((hold, span)) => Request::Release { hold, calendar: span.calendar },
                None => self.search(chance, known, client),
            },
            43..68 => self.book(chance, known, client),
            kind => match known.appointment(chance) {
                Some((id, length)) => self.change(chance, kind, id, length),
                None => self.book(chance, known, client),
            },
        }
    }

    fn day(&self, chance: &mut StdRng) -> u64 {
        let is_earlier = chance.random_ratio(1, EARLIER_DAY);
        if is_earlier { chance.random_range(0..=self.day) } else { self.day }
    }

    fn start(&self, chance: &mut StdRng, length: u64) -> HalfHour {
        let (opens, closes) = open_hours(self.day(chance));
        chance.random_range(opens..=closes - length)
    }

    fn calendar(&self, chance: &mut StdRng) -> u64 {
        let nth = chance.random_range(0..self.group.shop.calendars.len());
        *self.group.shop.calendars.iter().nth(nth).expect("it is one of them")
    }

    fn span(&self, chance: &mut StdRng) -> Span {
        let length = chance.random_range(1..=2);
        Span { calendar: self.calendar(chance), start: self.start(chance, length), length }
    }

    fn search(&self, chance: &mut StdRng, known: &Known, client: u64) -> Request {
        let calendar = chance.random_ratio(1, 3).then(|| self.calendar(chance));
        let hold = if chance.random_ratio(1, 4) { known.hold(chance, client) } else { None };
        Request::Search {
            calendar,
            open: open_hours(self.day(chance)),
            length: if chance.random_ratio(1, 5) { 2 } else { 1 },
            hold: hold.map(|(number, _)| number),
        }
    }

    fn book(&self, chance: &mut StdRng, known: &Known, client: u64) -> Request {
        let named = chance.random_range(0..self.group.clients);
        if chance.random_ratio(1, 3)
            && let Some((hold, span)) = known.hold(chance, client)
        {
            let Span { calendar, start, length } = span;
            let caller = Caller::Public;
            return Request::Book {
                caller,
                client: named,
                calendar: Some(calendar),
                start,
                length,
                hold: Some(hold),
            };
        }
        let Span { calendar, start, length } = self.span(chance);
        let caller = match chance.random_range(0..10) {
            0..7 => Caller::Public,
            7 => Caller::BackOffice,
            _ => Caller::ProOnModule,
        };
        let calendar = chance.random_ratio(2, 3).then_some(calendar);
        Request::Book { caller, client: named, calendar, start, length, hold: None }
    }

    /// Draws a request about an appointment, by a number from 68 to 99.
    fn change(&self, chance: &mut StdRng, kind: u32, id: u64, length: u64) -> Request {
        let caller = if chance.random_ratio(2, 3) { Caller::Public } else { Caller::ProOnModule };
        let start = self.start(chance, length);
        match kind {
            ..77 => Request::Cancel { id, caller },
            77..86 => Request::Move { id, start, caller },
            86..93 => Request::Shift { id, calendar: self.calendar(chance), start },
            _ => Request::Read { id },
        }
    }
}
