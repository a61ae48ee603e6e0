//! The HTTP API against a real server: shapes, the order of errors, rights.

mod appointments;
mod auth;
mod bodies;
mod catalogue;
mod fiches;
mod fields;
mod lists;
mod older;
mod paths;
mod server;
mod shop;
mod slots;
mod vevents;
