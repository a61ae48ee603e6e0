//! The HTTP API: routes, rights and one file for each resource.
//!
//! `wire/` defines the shapes of requests and responses; the engine decides.

pub(crate) mod answer;
mod auth;
mod body;
pub(crate) mod connection;
mod cors;
mod endpoint;
mod error;
mod idempotency;
mod legacy_paths;
mod limits;
mod metrics;
mod openapi;
pub mod permissions;
mod pipeline;
mod preferences;
mod request;
pub(crate) mod resources;
mod response;
mod route_table;
mod server;
mod service;
mod streams;
mod writes;

pub(crate) use auth::first_run::PATH as FIRST_RUN_PATH;
pub(crate) use auth::login_uses::ActiveLogin;
pub(crate) use auth::own_factor::{FactorAction, FactorChange, FactorForm};
pub(crate) use auth::own_sessions::{EndedSessions, OwnSessions};
pub(crate) use auth::screen_login::{
    CodeResult, LoginCookies, OwnPassword, PasswordChange, ScreenLogin, ScreenLoginResult,
};
pub(crate) use auth::session::SavingWish;
pub(crate) use auth::session::SessionView;
pub(crate) use auth::session::image::RestoredSessions;
pub(crate) use auth::{AuthRequest, Person};
pub(crate) use body::{Incoming, PAGE_FORM_BYTES_MAX, PRO_FORM_BYTES_MAX};
pub(crate) use connection::departure::Departure;
pub use connection::forwarded::ForwardingHeader;
pub use connection::forwarding::{
    FollowingConnections, Forwarder, serve_following, serve_operator_following,
};
pub use connection::listener::{serve, serve_operator, serve_stream};
pub(crate) use connection::request_id::write_current;
pub use connection::start_proof::{StartProof, WrongAddress, check_own_url};
pub use connection::startup::serve_until_recovered;
pub use endpoint::Route;
pub(crate) use error::ApiError;
pub(crate) use limits::body_limits::SMALL_BYTES;
pub(crate) use limits::booking_limit::LimitSubjects;
pub use limits::booking_limits::BookingLimits;
pub(crate) use limits::guarded_write::{GuardedRejection, GuardedWrite};
pub(crate) use limits::limited_move::move_within_limits;
pub(crate) use limits::saved_counts::NamedCounts;
pub use limits::source_shares::SOURCE_CONNECTIONS_MAX;
pub use metrics::{HttpMetrics, serve_metrics};
pub use openapi::import_schema;
pub(crate) use openapi::prepare_document;
pub(crate) use request::ClientAddress;
pub(crate) use resources::accounts::{FoundLink, find_link, group_in_token};
pub(crate) use resources::agenda::find_agenda;
pub(crate) use resources::calendarfeeds::draw_secret as draw_feed_secret;
pub(crate) use resources::client_accounts::AccountClosing;
pub(crate) use resources::crud::show_record;
pub(crate) use resources::dry_runs::estimate_dry_run;
pub(crate) use resources::exports::export_client;
pub(crate) use resources::holds::{confirmation, tries_left};
pub(crate) use resources::hours::show_hours;
pub(crate) use resources::images::{make_in_turn, removal_command, set_command};
pub(crate) use resources::slots::INLINE_COST_MAX;
pub(crate) use resources::vevents::{
    draw_up_new, make_change, make_part_change, show_vevent_later,
};
pub use route_table::{operator_routes, routes};
pub use server::{ServedStore, Server, webhook_sender};
pub use service::HttpService;
pub(crate) use writes::expected::expecting;
