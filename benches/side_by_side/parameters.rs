//! Parameters and results that the processes of the benchmark pass to each other as JSON.

use serde::{Deserialize, Serialize};

/// Content of a store: groups of the same size with the same appointments.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub(crate) groups: u64,
    /// Calendars of each group.
    pub(crate) calendars: u64,
    /// Minutes a day during which each calendar is open: 480 from 09:00, or all 1,440.
    pub(crate) open_minutes: u64,
    /// Appointments of each calendar, from `first_day` on. They need 480 open minutes.
    pub(crate) appointments: u64,
    /// Appointments of a booked day: a multiple of 4, below 32.
    pub(crate) appointments_a_day: u64,
    /// First day of appointments and bookings, in days since 1970-01-01.
    pub(crate) first_day: u64,
}

/// Protocol of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Protocol {
    /// HTTP/1.1 at an address.
    Http,
    /// PostgreSQL through a connection string.
    Postgres,
}

/// Address and processes of a contender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Target {
    pub(crate) protocol: Protocol,
    /// `host:port`, or a connection string.
    pub(crate) address: String,
    /// Processes whose processor time counts, each with its children.
    pub(crate) pids: Vec<u32>,
}

/// Search for free starts of one intervention.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SearchSize {
    pub(crate) calendars: u64,
    pub(crate) days: u64,
    /// Only the first start is asked for.
    pub(crate) first: bool,
}

/// Requests of a load.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Work {
    /// Bookings of starts that are all different and free. Each is answered 201.
    Bookings,
    /// Bookings on the calendar-days 0 to `full_days`, which are full. Each is answered 400.
    Refusals { full_days: u64 },
    /// Searches at random places. Each has an answer that is not empty.
    Searches(SearchSize),
    /// 19 searches, then a booking.
    Mixed(SearchSize),
    /// All clients book the 32 starts of one calendar-day, then of the next. The first day warms
    /// up.
    Burst { first_day: u64, days: u64, random: bool },
}

/// A load on one contender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LoadParameters {
    pub(crate) target: Target,
    pub(crate) shape: Shape,
    pub(crate) work: Work,
    pub(crate) connections: u64,
    /// Time before the load counts, in which connections prepare their plans and caches.
    pub(crate) warm_up_seconds: f64,
    /// Duration of what counts.
    pub(crate) seconds: f64,
    /// Number of requests, with those of the warm-up, after which the load ends earlier.
    pub(crate) requests_max: u64,
    /// Requests a second of an open loop; without it the loop is closed.
    pub(crate) rate: Option<f64>,
    /// Number of the first booking. Numbers stand for starts and clients that are all different.
    pub(crate) first_number: u64,
    pub(crate) seed: u64,
}

/// Percentiles of the times of one kind of request, in milliseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Latencies {
    pub(crate) count: u64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
}

impl Latencies {
    /// Returns the percentiles of times in seconds.
    pub(crate) fn from_seconds(mut seconds: Vec<f64>) -> Self {
        if seconds.is_empty() {
            return Self::default();
        }
        seconds.sort_by(f64::total_cmp);
        let last = seconds.len() - 1;
        let percentile = |per_mille: usize| {
            let position = seconds.len() * per_mille / 1_000;
            seconds[position.min(last)] * 1_000.0
        };
        Self {
            count: seconds.len() as u64,
            p50: percentile(500),
            p99: percentile(990),
            p999: percentile(999),
        }
    }
}

/// Result of one load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LoadResult {
    /// Requests that were answered.
    pub(crate) requests: u64,
    /// Requests a second, or starts taken a second by a burst.
    pub(crate) rate: f64,
    pub(crate) bookings: Latencies,
    pub(crate) searches: Latencies,
    /// Processor time of the contender for each request, in microseconds.
    pub(crate) processor_us: f64,
    /// Number of bookings from `first_number` on that were tried.
    pub(crate) numbers_used: u64,
}

/// Parameters of the bare server: files with the bodies that it returns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BareParameters {
    pub(crate) booking_status: u16,
    pub(crate) booking_body: String,
    pub(crate) search_body: String,
}

/// Parameters of followers of the first group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FollowParameters {
    pub(crate) address: String,
    pub(crate) streams: u64,
    /// Whether they read more than the beginning.
    pub(crate) reads: bool,
}
