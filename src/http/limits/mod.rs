//! Limits on what callers may do and cost. A source is an IPv4 address or an IPv6 /64 network.
//!
//! | counted | by | how many | options | Reference |
//! | --- | --- | --- | --- | --- |
//! | bookings | source, networks; client; key, group | `BookingLimits` | `--bookings-…` | 6.11 |
//! | holds | the same | `HOLDS_PER_BOOKING` times those | the same | 6.7 |
//! | moves | source; appointment; key, group | `MOVES_PER_BOOKING` times those | the same | 6.9 |
//! | refusals about a client | e-mail; source, networks | `REFUSALS_PER_…_MAX` | none | 3.6 |
//! | codes not given | group; network; recipient | `CODES_…` | `--codes-…` | 6.8 |
//! | failed logins | e-mail and source; source; e-mail | `…_FAILURES_…` | none | 3.6 |
//! | passwords that wait | source | `WAITING_PER_SOURCE` for each core | none | 3.6 |
//! | account links | source; e-mail and group | `LINKS_PER_…_MAX` | none | 3.6 |
//! | bytes of account links | group; group and network | `LINK_BYTES_…MAX` | `--group-mib` | 3.6 |
//! | reads of calendar feeds | link; source of wrong ones | `READS_…`, `WRONG_…` | none | 19.4 |
//! | memory of bodies | all; source | `LARGE_BYTES_…MAX` | none | 1.1 |
//! | bodies without a key | all; source | `UNIDENTIFIED_…MAX` | none | 1.1 |
//! | memory of long answers | all; source | `ANSWER_BYTES_…MAX` | none | 1.1 |
//! | connections | all; network; source | `SOURCE_CONNECTIONS_MAX` | `--…connections-max` | 1.1 |
//! | requests behind a proxy | source | the same | `--source-connections-max` | 1.1 |
//! | long computations | all | one for each core, `…WAITING_…MAX` wait | none | 4.7 |
//! | space of a group | role | `GROUP_MIB`, `…_PERCENT` | `--group-mib` | 3.8 |
//!
//! Bookings, holds and moves pass their limits by a [`guarded_write`] alone. Counts of all that is
//! above the memory of bodies, and not of what waits, pass from one server of a cluster to the
//! next, by [`saved_counts`]. Limits that other layers hold, because they decide or record by them:
//!
//! | counted | by | how many | options | Reference |
//! | --- | --- | --- | --- | --- |
//! | bytes, depth and time of a body | request | `http/body.rs` | none | 1.1 |
//! | bytes and time of a head | connection | `http/connection/listener.rs` | none | 1.1 |
//! | places of connections | all; network | `http/connection/connection_table.rs` | none | 1.1 |
//! | bytes read of an answer | connection | `http/connection/slow_reader_timeout.rs` | none | 1.1 |
//! | parameters | request | `PARAMETERS_MAX` of `wire/params.rs` | none | 10 |
//! | sessions | all; person | `SESSIONS_…MAX` of `http/auth/session.rs` | none | 3.3 |
//! | logins at the screens | all; person | `LOGINS_…MAX` of `pro_logins.rs` | none | 15.1 |
//! | mails about logins | person | `NoticeLimit` of `login_notice.rs` | none | 3.3, 3.6, 15.2 |
//! | writes under way | all; group | `AdmissionLimits`, by [`write_capacity`] | none | 2.3 |
//! | holds that wait for a booking | source, networks; day | `held_share.rs` | none | 6.7 |
//! | wrong codes | booking | `WRONG_CODES_MAX` | none | 6.8 |
//! | kept answers | group and role | `IdempotencyShare` | none | 6.6 |
//! | messages | recipient; group | `MessageQuota` | `--messages-…` | 7.6 |

pub(crate) mod blocking_pool;
pub(crate) mod body_limits;
pub(crate) mod booking_limit;
pub(crate) mod booking_limits;
pub(crate) mod client_hash;
pub(crate) mod code_budget;
pub(crate) mod enumeration_limit;
pub(crate) mod feed_limit;
pub(crate) mod guarded_write;
pub(crate) mod hash_secret;
pub(crate) mod image_pool;
pub(crate) mod limited_move;
pub(crate) mod link_limit;
pub(crate) mod login_limit;
pub(crate) mod password_pool;
pub(crate) mod ranked_map;
pub(crate) mod saved_counts;
pub(crate) mod sliding_window;
pub(crate) mod source_networks;
pub(crate) mod source_shares;
pub(crate) mod under_way;
pub(crate) mod write_capacity;

#[cfg(test)]
mod tests;
