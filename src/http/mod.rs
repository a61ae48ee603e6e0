//! The HTTP API: routes, rights and one file per resource. What is asked and answered is shaped by `wire/`, decided by
//! the engine.

mod auth;
mod blocking_pool;
mod body;
pub(crate) mod connection;
mod docs;
mod error;
mod health;
mod idempotency;
mod legacy_paths;
mod metrics;
mod openapi;
pub mod permissions;
mod pipeline;
pub(crate) mod resources;
mod route_table;
mod write_capacity;

pub use connection::listener::serve;
pub use connection::startup::serve_until_recovered;
pub use metrics::{Meters, serve_metrics};
pub use route_table::{Routes, Server};
