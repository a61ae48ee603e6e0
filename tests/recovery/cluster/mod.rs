//! The promises of a cluster, over PostgreSQL with a standby: kills, pauses, cuts and promotions.
//!
//! Without PostgreSQL these tests are skipped with a printed reason, unless `SLOTBOOK_REQUIRE_POSTGRES` is set.

mod backups;
mod counts;
mod deaths;
mod faults;
mod feed;
mod from_one_to_three;
mod hand_over;
mod histories;
mod imports;
mod joins;
mod mails;
mod metrics;
mod outages;
mod patroni;
mod pooler;
mod postgres;
mod postgres_programs;
mod promotions;
mod proxy;
mod releases;
mod required;
mod schema;
mod servers;
mod sessions;
mod snapshots;
mod tls;
mod trials;
