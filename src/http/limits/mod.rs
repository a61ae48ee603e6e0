//! Limits on what callers may do and cost. A source is an IPv4 address or an IPv6 /64 network.
//!
//! | counted | by | how many | options | Reference |
//! | --- | --- | --- | --- | --- |
//! | bookings | source; client; key and group | `BookingLimits` | `--bookings-…` | 6.11 |
//! | holds | the same | `HOLDS_PER_BOOKING` times those | the same | 6.7 |
//! | moves | source; appointment; key, group | `MOVES_PER_BOOKING` times those | the same | 6.9 |
//! | refusals that tell of a client | e-mail; source | [`enumeration_limit`] | none | 3.6 |
//! | failed logins | e-mail and source; source; e-mail | [`login_limit`] | none | 3.6 |
//! | passwords that wait | source | `WAITING_PER_SOURCE` for each core | none | 3.6 |
//! | account links | source; e-mail and group | [`link_limit`] | none | 3.6 |
//! | memory of bodies and answers | all; source | [`body_limits`] | none | 1.1 |
//! | connections | all; source | [`source_shares`] | `--…connections-max` | 1.1 |
//! | requests behind a proxy | source | [`source_shares`] | `--source-connections-max` | 1.1 |
//! | writes; space of a group | group | [`write_capacity`] | `--group-mib` | 2.3, 3.8 |
//!
//! Bookings, holds and moves pass their limits by a [`guarded_write`] alone. Time limits on slow
//! clients stand in `http/connection/`. Those on messages: `domain/state/recipient_quota.rs`.

pub(crate) mod body_limits;
pub(crate) mod booking_limit;
pub(crate) mod enumeration_limit;
pub(crate) mod guarded_write;
pub(crate) mod limited_move;
pub(crate) mod link_limit;
pub(crate) mod login_limit;
pub(crate) mod ranked_map;
pub(crate) mod sliding_window;
pub(crate) mod source_shares;
pub(crate) mod write_capacity;

#[cfg(test)]
mod tests {
    use crate::domain::state::recipient_quota::MessageQuota;
    use crate::domain::time::{DAY, HOUR};
    use crate::http::auth::password_pool::WAITING_PER_SOURCE;
    use crate::http::body::PAGE_FORM_BYTES_MAX;
    use crate::http::limits::body_limits::{
        ANSWER_BYTES_PER_SOURCE_MAX, LARGE_BYTES_MAX, LARGE_BYTES_PER_SOURCE_MAX,
        LONG_ANSWER_BYTES, SMALL_BYTES,
    };
    use crate::http::limits::booking_limit::{BookingLimits, HOLDS_PER_BOOKING, MOVES_PER_BOOKING};
    use crate::http::limits::enumeration_limit::{
        REFUSALS_PER_EMAIL_MAX, REFUSALS_PER_SOURCE_MAX, WAIT_MAX,
    };
    use crate::http::limits::link_limit::{
        EMAIL_SECONDS, LINKS_PER_EMAIL_MAX, LINKS_PER_SOURCE_MAX,
    };
    use crate::http::limits::login_limit;
    use crate::wire::params::PARAMETERS_MAX;

    const MIB: usize = 1_024 * 1_024;

    /// Asserts that a document says each of some phrases, in which only line breaks may differ.
    fn assert_says(name: &str, document: &str, phrases: &[String]) {
        let words = document.split_whitespace().collect::<Vec<_>>().join(" ").replace(',', "");
        for phrase in phrases {
            assert!(words.contains(&phrase.replace(',', "")), "{name} does not say: {phrase}");
        }
    }

    #[test]
    fn the_security_document_states_the_limits_in_force() {
        let limits = BookingLimits::DEFAULT;
        let [hour, day, client] =
            [limits.source_hourly_max, limits.source_daily_max, limits.client_hourly_max];
        let moves = u32::try_from(MOVES_PER_BOOKING).expect("small");
        let holds = u32::try_from(HOLDS_PER_BOOKING).expect("small");
        let guesses = i64::try_from(login_limit::SOURCE_FAILURES_MAX).expect("small");
        let own = i64::try_from(login_limit::PAIR_FAILURES_MAX).expect("small");
        let rounds = HOUR / login_limit::WINDOW_SECONDS;
        assert_says(
            "docs/security.md",
            include_str!("../../../docs/security.md"),
            &[
                format!("| bookings | {hour}, and {day} in 24 hours; {client} for one e-mail"),
                format!(
                    "| {}, and {} in 24 hours; {} of one appointment |",
                    hour * moves,
                    day * moves,
                    client * moves
                ),
                format!("at once, {} in an hour, {} in 24 hours;", hour * holds, day * holds),
                format!(
                    "| guesses of passwords | {}, and {} for one e-mail address |",
                    guesses * rounds,
                    own * rounds
                ),
                format!(
                    "| {LINKS_PER_SOURCE_MAX}, and {LINKS_PER_EMAIL_MAX} to one address in {} hours |",
                    EMAIL_SECONDS / HOUR
                ),
                format!(
                    "| {REFUSALS_PER_SOURCE_MAX}, and {REFUSALS_PER_EMAIL_MAX} for one e-mail address |"
                ),
                format!("| {PARAMETERS_MAX}, and {} KiB of a page", PAGE_FORM_BYTES_MAX / 1_024),
                format!(
                    "under way | {} MiB, and {} KiB for each connection |",
                    LARGE_BYTES_PER_SOURCE_MAX / MIB,
                    SMALL_BYTES / 1_024
                ),
                format!("of all sources | {} MiB, and", LARGE_BYTES_MAX / MIB),
                format!(
                    "| {} MiB, and {} KiB for each connection | `searches.rs` |",
                    ANSWER_BYTES_PER_SOURCE_MAX / MIB,
                    LONG_ANSWER_BYTES / 1_024
                ),
                format!("{} of one group in 24 hours", MessageQuota::DEFAULT.by_key_daily_max),
            ],
        );
    }

    #[test]
    fn the_reference_states_the_limits_on_guessing_in_force() {
        let minutes = login_limit::WINDOW_SECONDS / 60;
        assert_says(
            "docs/reference/03-access.md",
            include_str!("../../../docs/reference/03-access.md"),
            &[
                format!(
                    "from one source | {} in {minutes} minutes |",
                    login_limit::PAIR_FAILURES_MAX
                ),
                format!(
                    "failed logins from one source | {} in {minutes} minutes |",
                    login_limit::SOURCE_FAILURES_MAX
                ),
                format!(
                    "| {} an hour; each further one delays the next attempt by 1, 2, 4 … {} seconds",
                    login_limit::EMAIL_FAILURES_FREE,
                    login_limit::EMAIL_DELAY_SECONDS_MAX
                ),
                format!("logged in within {} days", login_limit::KNOWN_SECONDS / DAY),
                format!(
                    "| {REFUSALS_PER_EMAIL_MAX} an hour for one e-mail, {REFUSALS_PER_SOURCE_MAX} an hour for one source |"
                ),
                format!("| {LINKS_PER_SOURCE_MAX} an hour |"),
                format!("| {LINKS_PER_EMAIL_MAX} in {} hours |", EMAIL_SECONDS / HOUR),
                format!("| {WAITING_PER_SOURCE} for each core |"),
                format!("at most {} seconds (503)", WAIT_MAX.as_secs()),
            ],
        );
    }
}
