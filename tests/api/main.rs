//! The HTTP API against a real server: shapes, the order of errors, rights.

mod accounts;
mod appointments;
mod auth;
mod bodies;
mod catalogue;
mod docs;
mod enrolment;
mod enumeration_limit;
mod examples;
mod fiches;
mod fields;
mod idempotency;
mod instants;
mod legacy_paths;
mod lists;
mod messages;
mod overload;
mod paths;
mod raw;
mod replays;
mod rights;
mod server;
mod sessions;
mod shop;
mod slots;
mod vevents;
