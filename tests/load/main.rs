//! More than the server can take: what is too much is refused at once, what was answered is kept, and nobody who dawdles
//! keeps others waiting.
//!
//! Each test prints what it measured; none asserts a time that a busy machine could miss. `SLOTBOOK_LONG=1` makes them
//! long.

mod clients;
mod overload;
mod server;
mod slow_clients;

/// The number for every run of the tests, or the one for a long run where that is asked for.
fn so_many(short: u64, long: u64) -> u64 {
    if std::env::var_os("SLOTBOOK_LONG").is_some_and(|value| value == "1") { long } else { short }
}

/// Median, 99th percentile and maximum in milliseconds.
fn told(mut seconds: Vec<f64>) -> String {
    seconds.sort_by(f64::total_cmp);
    let at = |part: usize| {
        seconds.get(seconds.len() * part / 100).or(seconds.last()).map_or(0.0, |s| s * 1_000.0)
    };
    format!(
        "{} answers, p50 {:.2} ms, p99 {:.2} ms, most {:.2} ms",
        seconds.len(),
        at(50),
        at(99),
        at(100)
    )
}

/// Memory that this process holds, in MiB.
fn resident_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number") / 1_024
}
