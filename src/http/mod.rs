//! The HTTP API: routes, rights and one file per resource. What is asked and answered is shaped by `wire/`, decided by
//! the engine.

mod auth;
mod body;
mod call;
mod computing;
pub(crate) mod connection;
mod docs;
mod failure;
mod health;
mod meters;
mod older;
mod once;
mod openapi;
pub(crate) mod resources;
pub mod rights;
mod room;
mod routes;

pub use connection::listener::serve;
pub use connection::startup::answer_while;
pub use meters::{Meters, serve_metrics};
pub use routes::{Routes, Server};
