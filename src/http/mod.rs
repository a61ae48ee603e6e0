//! The HTTP API: routes, rights and one file per resource. What is asked and answered is shaped by `wire/`, decided by
//! the engine.

mod accept;
mod accounts;
mod appointments;
mod auth;
mod body;
mod calendars;
mod call;
mod computing;
mod customfields;
mod docs;
mod failure;
mod fiches;
mod groups;
mod guesses;
mod health;
mod interventions;
mod leniency;
mod links;
mod listing;
mod login;
pub mod messages;
mod meters;
mod older;
mod once;
mod openapi;
mod patience;
mod pros;
mod proxies;
mod records;
mod recovering;
pub mod rights;
mod room;
mod routes;
mod session;
mod sets;
mod slots;
mod throttle;
mod verifying;
mod vevents;
mod window;

pub use accept::serve;
pub use meters::{Meters, serve_metrics};
pub use recovering::answer_while;
pub use routes::{Routes, Server};
