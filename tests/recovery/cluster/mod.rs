//! What a cluster promises, over PostgreSQL with a standby: kills, pauses, cuts and promotions.
//!
//! Without PostgreSQL these tests are skipped with a printed reason, unless `SLOTBOOK_REQUIRE_POSTGRES` is set.

mod faults;
mod postgres;
mod promotions;
mod proxy;
mod servers;
mod trials;
