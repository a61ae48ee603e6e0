//! Searches: the place of one, as HTTP request and back.

use std::fmt::Write as _;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::data::{APIKEY, civil_text, parse_civil};
use crate::parameters::{SearchSize, Shape};

/// Calendars and window of one search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SearchPlace {
    pub(crate) group: u64,
    pub(crate) calendars: Vec<u64>,
    /// Minutes since 1970, at midnight.
    pub(crate) start: u64,
    pub(crate) days: u64,
    pub(crate) first: bool,
}

/// Draws places of one size.
pub(crate) struct Places {
    shape: Shape,
    random: StdRng,
}

impl Places {
    pub(crate) fn seeded(shape: Shape, seed: u64) -> Self {
        Self { shape, random: StdRng::seed_from_u64(seed) }
    }

    /// Returns neighbouring calendars of any group and a window within the booked days.
    pub(crate) fn draw(&mut self, size: SearchSize) -> SearchPlace {
        let shape = &self.shape;
        let group = self.random.random_range(0..shape.groups);
        let offset = self.random.random_range(0..=shape.calendars - size.calendars);
        let day = self.random.random_range(0..=shape.booked_days().saturating_sub(size.days));
        // Bookings must stay within 10 years, and searches where bookings are.
        let day = shape.first_day + day % 3_000;
        let first_calendar = group * shape.calendars + offset + 1;
        SearchPlace {
            group: group + 1,
            calendars: (first_calendar..first_calendar + size.calendars).collect(),
            start: day * 1_440,
            days: size.days,
            first: size.first,
        }
    }
}

impl SearchPlace {
    pub(crate) fn http_request(&self) -> String {
        let mut text = format!(
            "GET /api/v1/groups/{group}/availabletimeslots?apikey={APIKEY}&intervention_ids[]={group}",
            group = self.group
        );
        let in_memory = "memory can be written";
        for calendar in &self.calendars {
            write!(text, "&calendar_ids[]={calendar}").expect(in_memory);
        }
        let start = civil_text(self.start).replace(' ', "%20");
        write!(text, "&start={start}&nDays={}", self.days).expect(in_memory);
        if self.first {
            text.push_str("&first=1");
        }
        text.push_str(" HTTP/1.1\r\nHost: bench\r\n\r\n");
        text
    }

    /// Reads the query string of such a request.
    pub(crate) fn from_query(group: u64, query: &str) -> Option<Self> {
        let mut place = Self { group, ..Self::default() };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "calendar_ids[]" => place.calendars.push(value.parse().ok()?),
                "start" => place.start = parse_civil(&value)?,
                "nDays" => place.days = value.parse().ok()?,
                "first" => place.first = value == "1",
                _ => {}
            }
        }
        Some(place)
    }
}
