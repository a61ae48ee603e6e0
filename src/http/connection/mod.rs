//! Connections: limits, timeouts, request targets and forwarded addresses. Reference 1.1.

pub(crate) mod activity;
pub(crate) mod connection_table;
pub(crate) mod departure;
pub(crate) mod forwarded;
pub(crate) mod forwarding;
pub(crate) mod forwarding_body;
pub(crate) mod forwarding_client;
pub(crate) mod forwarding_seal;
pub(crate) mod listener;
pub(crate) mod request_id;
pub(crate) mod request_target;
pub(crate) mod shared_timer;
pub(crate) mod slow_reader_timeout;
pub(crate) mod start_proof;
pub(crate) mod startup;
pub(crate) mod unproven_connections;
