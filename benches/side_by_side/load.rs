//! Load generator: a process with one thread that drives one contender and prints the result.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use crate::data::{Booking, STARTS_A_DAY};
use crate::http_client::HttpClient;
use crate::parameters::{
    Latencies, LoadParameters, LoadResult, Protocol, SearchSize, Target, Work,
};
use crate::postgres_client::PostgresClient;
use crate::processes::processor_us;
use crate::search::{Places, SearchPlace};

/// Requests of a mixed load, of which one is a booking.
const MIXED_CYCLE: u64 = 20;

/// One client of a contender.
enum Client {
    Http(HttpClient),
    Postgres(PostgresClient),
}

impl Client {
    async fn connect(target: &Target, number: u64) -> Self {
        match target.protocol {
            Protocol::Http => Self::Http(HttpClient::connect(&target.address, number).await),
            Protocol::Postgres => Self::Postgres(PostgresClient::connect(&target.address).await),
        }
    }

    /// Returns whether the start was booked. Any answer but a booking or a refusal is a panic.
    async fn book(&mut self, booking: &Booking) -> bool {
        match self {
            Self::Http(client) => {
                let answer = client.book(booking).await;
                let body = String::from_utf8_lossy(answer.body);
                match answer.status {
                    201 => {
                        assert!(body.contains(r#""key":"#), "a booking has a secret: {body}");
                        true
                    }
                    400 => {
                        assert!(body.contains("NotAvailable"), "only taken starts: {body}");
                        false
                    }
                    status => panic!("{booking:?} was answered {status}: {body}"),
                }
            }
            Self::Postgres(client) => {
                client.statements.book(&client.client, booking).await.is_some()
            }
        }
    }

    /// Searches; an answer without a free start is a panic.
    async fn search(&mut self, place: &SearchPlace) {
        match self {
            Self::Http(client) => {
                let answer = client.search(place).await;
                assert_eq!(answer.status, 200, "{place:?}");
                let beginning = &answer.body[..answer.body.len().min(8_192)];
                let found = beginning.windows(10).any(|part| part == br#"{"start":""#);
                assert!(found, "{place:?}: {}", String::from_utf8_lossy(beginning));
            }
            Self::Postgres(client) => {
                let found = client.statements.search(&client.client, place).await;
                assert!(!found.is_empty(), "{place:?}");
            }
        }
    }
}

/// Counters that the clients of one load share.
struct Run {
    parameters: LoadParameters,
    /// Moment of the first request.
    began: Instant,
    /// End of the warm-up. Requests that are answered earlier do not count.
    counted_from: Instant,
    arrivals: AtomicU64,
    numbers: AtomicU64,
}

/// Times of the requests of one client, in seconds.
#[derive(Default)]
struct Samples {
    bookings: Vec<f64>,
    searches: Vec<f64>,
}

/// Runs the load that JSON describes and prints the result as JSON.
pub(crate) fn run(parameters: &str) -> String {
    let parameters: LoadParameters = serde_json::from_str(parameters).expect("parameters as JSON");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    let result = runtime.block_on(drive(parameters));
    serde_json::to_string(&result).expect("a result is plain")
}

async fn drive(parameters: LoadParameters) -> LoadResult {
    let mut clients = Vec::new();
    for number in 0..parameters.connections {
        clients.push(Client::connect(&parameters.target, number).await);
    }
    if let Work::Burst { first_day, days, random } = parameters.work {
        return drive_bursts(&parameters, clients, first_day..first_day + days, random).await;
    }
    let began = Instant::now();
    let run = Arc::new(Run {
        began,
        counted_from: began + Duration::from_secs_f64(parameters.warm_up_seconds),
        arrivals: AtomicU64::new(0),
        numbers: AtomicU64::new(parameters.first_number),
        parameters,
    });
    let mut tasks = Vec::new();
    for (index, client) in (0_u64..).zip(clients) {
        tasks.push(tokio::spawn(ask_in_loop(Arc::clone(&run), client, index)));
    }
    tokio::time::sleep_until(run.counted_from.into()).await;
    let processor_before = processor_us(&run.parameters.target.pids);
    let mut all = Samples::default();
    for task in tasks {
        let samples = task.await.expect("every answer is right");
        all.bookings.extend(samples.bookings);
        all.searches.extend(samples.searches);
    }
    let seconds = run.counted_from.elapsed().as_secs_f64();
    let requests = (all.bookings.len() + all.searches.len()) as u64;
    let processor = processor_us(&run.parameters.target.pids) - processor_before;
    assert!(requests > 0, "requests are left after the warm-up");
    LoadResult {
        requests,
        rate: requests as f64 / seconds,
        processor_us: processor / requests as f64,
        bookings: Latencies::from_seconds(all.bookings),
        searches: Latencies::from_seconds(all.searches),
        numbers_used: run.numbers.load(Ordering::Relaxed) - run.parameters.first_number,
    }
}

/// Sends requests on one connection until the load ends.
async fn ask_in_loop(run: Arc<Run>, mut client: Client, index: u64) -> Samples {
    let parameters = &run.parameters;
    let until = run.counted_from + Duration::from_secs_f64(parameters.seconds);
    let seed = parameters.seed.wrapping_add(index.wrapping_mul(1_000_003));
    let mut places = Places::seeded(parameters.shape, seed);
    let mut random = StdRng::seed_from_u64(seed);
    let mut samples = Samples::default();
    loop {
        let arrival = run.arrivals.fetch_add(1, Ordering::Relaxed);
        if arrival >= parameters.requests_max {
            return samples;
        }
        let due = match parameters.rate {
            None => Instant::now(),
            Some(rate) => wait_for_arrival(run.began, arrival, rate).await,
        };
        if due >= until {
            return samples;
        }
        let search = match parameters.work {
            Work::Searches(size) => Some(size),
            Work::Mixed(size) if !arrival.is_multiple_of(MIXED_CYCLE) => Some(size),
            Work::Mixed(_) | Work::Bookings | Work::Refusals { .. } | Work::Burst { .. } => None,
        };
        if let Some(size) = search {
            client.search(&places.draw(size)).await;
            if Instant::now() >= run.counted_from {
                samples.searches.push(due.elapsed().as_secs_f64());
            }
            continue;
        }
        let number = run.numbers.fetch_add(1, Ordering::Relaxed);
        let full_days = match parameters.work {
            Work::Refusals { full_days } => Some(full_days),
            Work::Bookings | Work::Searches(_) | Work::Mixed(_) | Work::Burst { .. } => None,
        };
        let booking = match full_days {
            None => parameters.shape.booking(number),
            Some(full_days) => {
                let day = random.random_range(0..full_days);
                let slot = random.random_range(0..STARTS_A_DAY);
                parameters.shape.booking_on_day(day, slot, number)
            }
        };
        let booked = client.book(&booking).await;
        assert_eq!(booked, full_days.is_none(), "{booking:?}");
        if Instant::now() >= run.counted_from {
            samples.bookings.push(due.elapsed().as_secs_f64());
        }
    }
}

/// Waits until an arrival of an open loop is due; returns the moment from which its time counts.
///
/// That is the moment it was due, so waiting for a free connection counts. Timers have a resolution
/// of one millisecond: where a free connection waited for the timer, the time counts from its end.
async fn wait_for_arrival(began: Instant, arrival: u64, rate: f64) -> Instant {
    let due = began + Duration::from_secs_f64(arrival as f64 / rate);
    if due <= Instant::now() {
        return due;
    }
    tokio::time::sleep_until(due.into()).await;
    Instant::now()
}

/// Starts of one calendar-day that are taken already, and the moment when the last one was.
struct Burst {
    began: Instant,
    taken: AtomicU64,
    numbers: Arc<AtomicU64>,
    day: u64,
    parameters: LoadParameters,
}

/// Runs a burst on each calendar-day. The first one warms up and does not count.
async fn drive_bursts(
    parameters: &LoadParameters,
    mut clients: Vec<Client>,
    days: std::ops::Range<u64>,
    random: bool,
) -> LoadResult {
    let numbers = Arc::new(AtomicU64::new(parameters.first_number));
    let (mut processor_before, mut number_before) = (0.0, 0);
    let mut seconds = Vec::new();
    let warm_up = days.start;
    for day in days {
        if day == warm_up + 1 {
            processor_before = processor_us(&parameters.target.pids);
            number_before = numbers.load(Ordering::Relaxed);
        }
        let burst = Arc::new(Burst {
            began: Instant::now(),
            taken: AtomicU64::new(0),
            numbers: Arc::clone(&numbers),
            day,
            parameters: parameters.clone(),
        });
        let mut tasks = Vec::new();
        for (index, client) in (0_u64..).zip(clients.drain(..)) {
            let mut slots: Vec<u64> = (0..STARTS_A_DAY).collect();
            if random {
                slots.shuffle(&mut StdRng::seed_from_u64(parameters.seed + day * 1_000 + index));
            }
            tasks.push(tokio::spawn(take_one_start(Arc::clone(&burst), client, slots)));
        }
        let mut until_taken = 0.0_f64;
        for task in tasks {
            let (client, booked_after) = task.await.expect("every answer is right");
            clients.push(client);
            until_taken = until_taken.max(booked_after);
        }
        assert_eq!(burst.taken.load(Ordering::Relaxed), STARTS_A_DAY, "each start is taken once");
        if day > warm_up {
            seconds.push(until_taken);
        }
    }
    let last_number = numbers.load(Ordering::Relaxed);
    let requests = last_number - number_before;
    let processor = processor_us(&parameters.target.pids) - processor_before;
    let starts = seconds.len() as u64 * STARTS_A_DAY;
    LoadResult {
        requests,
        rate: starts as f64 / seconds.iter().sum::<f64>(),
        processor_us: processor / requests as f64,
        bookings: Latencies::from_seconds(seconds),
        searches: Latencies::default(),
        numbers_used: last_number - parameters.first_number,
    }
}

/// Tries starts in order until one is booked; returns the seconds after which it was, or 0.
async fn take_one_start(burst: Arc<Burst>, mut client: Client, slots: Vec<u64>) -> (Client, f64) {
    for slot in slots {
        if burst.taken.load(Ordering::Relaxed) == STARTS_A_DAY {
            break;
        }
        let number = burst.numbers.fetch_add(1, Ordering::Relaxed);
        let booking = burst.parameters.shape.booking_on_day(burst.day, slot, number);
        if client.book(&booking).await {
            burst.taken.fetch_add(1, Ordering::Relaxed);
            return (client, burst.began.elapsed().as_secs_f64());
        }
    }
    (client, 0.0)
}

/// Sends one booking and one search; returns the bodies of their answers.
pub(crate) fn sample(
    address: &str,
    booking: &Booking,
    search: Option<(Places, SearchSize)>,
) -> (Vec<u8>, Vec<u8>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(async {
        let mut client = HttpClient::connect(address, 0).await;
        let booked = client.book(booking).await.body.to_vec();
        let Some((mut places, size)) = search else { return (booked, b"{}".to_vec()) };
        (booked, client.search(&places.draw(size)).await.body.to_vec())
    })
}
