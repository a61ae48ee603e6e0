//! The HTTP API: routes, rights and one file per resource. What is asked and answered is shaped by `wire/`, decided by
//! the engine.

mod accounts;
mod appointments;
mod auth;
mod body;
mod calendars;
mod call;
mod computing;
pub(crate) mod connection;
mod customfields;
mod docs;
mod failure;
mod fiches;
mod groups;
mod health;
mod interventions;
mod links;
mod listing;
mod login;
pub mod messages;
mod meters;
mod older;
mod once;
mod openapi;
mod pros;
mod records;
pub mod rights;
mod room;
mod routes;
mod sets;
mod slots;
mod vevents;

pub use connection::listener::serve;
pub use connection::startup::answer_while;
pub use meters::{Meters, serve_metrics};
pub use routes::{Routes, Server};
