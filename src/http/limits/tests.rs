use crate::domain::decisions::held_share::{
    HELD_DAY_PERCENT, HELD_SECONDS_PER_SOURCE_MAX, HOLDS_PER_SOURCE_MAX,
};
use crate::domain::decisions::hold::{CHOSEN_MINUTES, UNCONFIRMED_MINUTES};
use crate::domain::directory::known_logins::KNOWN_SECONDS;
use crate::domain::directory::pro_logins::{LOGINS_MAX, LOGINS_PER_PRO_MAX, STAY_SECONDS};
use crate::domain::records::hold::WRONG_CODES_MAX;
use crate::domain::state::idempotency::IdempotencyShare;
use crate::domain::state::recipient_quota::MessageQuota;
use crate::domain::state::space_quota::{ACCOUNT_PERCENT, GROUP_MIB, KEY_ALONE_PERCENT};
use crate::domain::time::{DAY, HOUR, MINUTE};
use crate::http::auth::session::{SESSIONS_MAX, SESSIONS_PER_PERSON_MAX};
use crate::http::body::PAGE_FORM_BYTES_MAX;
use crate::http::limits::body_limits::{
    ANSWER_BYTES_PER_SOURCE_MAX, LARGE_BYTES_MAX, LARGE_BYTES_PER_SOURCE_MAX, LONG_ANSWER_BYTES,
    SMALL_BYTES, UNIDENTIFIED_MAX, UNIDENTIFIED_PER_SOURCE_MAX,
};
use crate::http::limits::booking_limit::{HOLDS_PER_BOOKING, MOVES_PER_BOOKING};
use crate::http::limits::booking_limits::BookingLimits;
use crate::http::limits::enumeration_limit::{
    REFUSALS_PER_EMAIL_MAX, REFUSALS_PER_SITE_MAX, REFUSALS_PER_SOURCE_MAX, WAIT_MAX,
};
use crate::http::limits::link_limit::{
    EMAIL_SECONDS, LINK_BYTES_MAX, LINKS_PER_EMAIL_MAX, LINKS_PER_SOURCE_MAX, NETWORK_PARTS,
};
use crate::http::limits::login_limit;
use crate::http::limits::password_pool::WAITING_PER_SOURCE;
use crate::http::limits::sliding_window::KEYS_MAX;
use crate::http::limits::source_shares::SOURCE_CONNECTIONS_MAX;
use crate::wire::booking::WEB_TEXT_CHARS_MAX;
use crate::wire::params::PARAMETERS_MAX;

const KIB: usize = 1_024;
const MIB: usize = KIB * KIB;

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
    let group_mib = GROUP_MIB * KEY_ALONE_PERCENT / 100;
    assert_says(
        "docs/security.md",
        include_str!("../../../docs/security.md"),
        &[
            format!("| connections at the same time | {SOURCE_CONNECTIONS_MAX} |"),
            format!("| {WEB_TEXT_CHARS_MAX} characters, about"),
            format!("| {KEY_ALONE_PERCENT} % of `--group-mib`, by default {group_mib} MiB |"),
            format!("| {HOLDS_PER_SOURCE_MAX} at once, {}", hour * holds),
            format!("each for {CHOSEN_MINUTES} minutes"),
            format!("of all sources | {HELD_DAY_PERCENT} %, or a single hold |"),
            format!("| {HOLDS_PER_SOURCE_MAX} | {}, or", HELD_SECONDS_PER_SOURCE_MAX / MINUTE),
            format!("free again after {UNCONFIRMED_MINUTES} minutes"),
            format!("| {} MiB of one group;", IdempotencyShare::Application.bytes_max() / MIB),
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
            format!("| {PARAMETERS_MAX}, and {} KiB of a page", PAGE_FORM_BYTES_MAX / KIB),
            format!(
                "under way | {} MiB, and {} KiB for each connection |",
                LARGE_BYTES_PER_SOURCE_MAX / MIB,
                SMALL_BYTES / KIB
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

/// MiB of links that a source, a /56 and a /48 may ask for.
fn link_shares() -> String {
    let [source, site, widest] = NETWORK_PARTS.map(|part| (LINK_BYTES_MAX >> 20) / part);
    format!("{source}, {site} and {widest}")
}

#[test]
fn the_reference_states_the_limits_on_callers_in_force() {
    let minutes = login_limit::WINDOW_SECONDS / 60;
    assert_says(
        "docs/reference/03-access.md",
        include_str!("../../../docs/reference/03-access.md"),
        &[
            format!("from one source | {} in {minutes} minutes |", login_limit::PAIR_FAILURES_MAX),
            format!(
                "failed logins from one source | {} in {minutes} minutes |",
                login_limit::SOURCE_FAILURES_MAX
            ),
            format!(
                "| {} an hour; each further one delays the next attempt by 1, 2, 4 … {} seconds",
                login_limit::EMAIL_FAILURES_FREE,
                login_limit::EMAIL_DELAY_SECONDS_MAX
            ),
            format!("logged in within {} days", KNOWN_SECONDS / DAY),
            format!(
                "| {REFUSALS_PER_EMAIL_MAX} an hour for one e-mail at one source, {REFUSALS_PER_SOURCE_MAX} an hour for one source, {REFUSALS_PER_SITE_MAX} for a /56 and {} for a /48 |",
                2 * REFUSALS_PER_SITE_MAX
            ),
            format!("| {LINKS_PER_SOURCE_MAX} an hour |"),
            format!("(3.5) | {} MiB in 24 hours | 429 |", link_shares()),
            format!("not left (3.5) | {} MiB |", LINK_BYTES_MAX >> 20),
            format!("| {LINKS_PER_EMAIL_MAX} in {} hours |", EMAIL_SECONDS / HOUR),
            format!("| {WAITING_PER_SOURCE} for each core |"),
            format!("at most {} seconds (503)", WAIT_MAX.as_secs()),
            format!(
                "at most {SESSIONS_PER_PERSON_MAX} sessions and the server at most {SESSIONS_MAX}."
            ),
            format!("- At {KEY_ALONE_PERCENT} % of `--group-mib`"),
            format!("at {ACCOUNT_PERCENT} % those by accounts"),
        ],
    );
}

#[test]
fn the_reference_states_the_limits_on_logins_at_the_screens_in_force() {
    assert_says(
        "docs/reference/15-screens.md",
        include_str!("../../../docs/reference/15-screens.md"),
        &[
            format!("at most {LOGINS_PER_PRO_MAX} logins and the server at most {LOGINS_MAX}."),
            format!("it ends after {} days", STAY_SECONDS / DAY),
        ],
    );
}

#[test]
fn the_reference_states_the_limits_on_bookings_and_holds_in_force() {
    let limits = BookingLimits::DEFAULT;
    let moves = u32::try_from(MOVES_PER_BOOKING).expect("small");
    assert_says(
        "docs/reference/06-booking.md",
        include_str!("../../../docs/reference/06-booking.md"),
        &[
            format!(
                "| source, in an hour and in 24 hours | {} and {} |",
                limits.source_hourly_max, limits.source_daily_max
            ),
            format!("or account, in an hour | {} |", limits.client_hourly_max),
            format!(
                "these are {} an hour and {} in 24 hours from one source, and {} an hour of one",
                limits.source_hourly_max * moves,
                limits.source_daily_max * moves,
                limits.client_hourly_max * moves
            ),
            format!("Each table holds {KEYS_MAX} sources or clients."),
            format!("keeps the time of a chain for {CHOSEN_MINUTES} minutes."),
            format!("at most {HOLDS_PER_SOURCE_MAX} live holds that wait for a booking"),
            format!("take at most {} hours together", HELD_SECONDS_PER_SOURCE_MAX / HOUR),
            format!("take at most {HELD_DAY_PERCENT} % of a calendar's open time of a day"),
            format!("its time is held for {UNCONFIRMED_MINUTES} minutes."),
            format!(
                "{} MiB of such answers for keys alone, {} MiB for accounts and {} MiB for",
                IdempotencyShare::Application.bytes_max() / MIB,
                IdempotencyShare::Account.bytes_max() / MIB,
                IdempotencyShare::Pro.bytes_max() / MIB
            ),
        ],
    );
    assert_eq!((HOLDS_PER_BOOKING, MOVES_PER_BOOKING, WRONG_CODES_MAX), (3, 3, 5), "in words");
}

#[test]
fn the_reference_states_the_limits_on_requests_in_force() {
    assert_says(
        "docs/reference/01-wire-format.md",
        include_str!("../../../docs/reference/01-wire-format.md"),
        &[
            format!("A source has at most {SOURCE_CONNECTIONS_MAX} connections"),
            format!(
                "Bodies above {} KiB have {} MiB of memory together, and {} MiB for one source.",
                SMALL_BYTES / KIB,
                LARGE_BYTES_MAX / MIB,
                LARGE_BYTES_PER_SOURCE_MAX / MIB
            ),
            format!(
                "There {UNIDENTIFIED_MAX} larger bodies at once are read before the key is known, \
                 and {UNIDENTIFIED_PER_SOURCE_MAX} of one source."
            ),
        ],
    );
}
