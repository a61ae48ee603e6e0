//! The HTTP API: routes, rights and one file for each resource.
//!
//! `wire/` defines the shapes of requests and responses; the engine decides.

mod auth;
mod blocking_pool;
mod body;
mod body_limits;
mod booking_limit;
pub(crate) mod compression;
mod condensed_answer;
pub(crate) mod connection;
mod cors;
mod docs;
mod endpoint;
mod entity_tag;
mod error;
mod health;
mod idempotency;
mod legacy_paths;
mod limited_move;
mod metrics;
mod openapi;
mod page_links;
pub mod permissions;
mod piecewise_body;
mod pipeline;
mod request;
pub(crate) mod resources;
mod response;
mod route_table;
mod server;
mod service;
mod web_origin;
mod write_capacity;

pub(crate) use auth::origin::is_foreign;
pub(crate) use body::{Incoming, PAGE_FORM_BYTES_MAX};
pub(crate) use body_limits::SMALL_BYTES;
pub use booking_limit::BookingLimits;
pub(crate) use booking_limit::BookingOrigin;
pub use connection::listener::serve;
pub use connection::startup::serve_until_recovered;
pub use endpoint::Route;
pub(crate) use error::ApiError;
pub(crate) use limited_move::{MoveRejection, move_within_limits};
pub use metrics::{HttpMetrics, serve_metrics};
pub use openapi::import_schema;
pub(crate) use request::ClientAddress;
pub(crate) use resources::accounts::{FoundLink, find_link, group_in_token};
pub(crate) use resources::holds::{confirmation, tries_left};
pub(crate) use resources::slots::INLINE_COST_MAX;
pub use route_table::routes;
pub use server::Server;
pub use service::HttpService;
