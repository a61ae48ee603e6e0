//! Accepting and guarding connections: limits, timeouts, request targets and forwarded addresses.

pub(crate) mod forwarded;
pub(crate) mod listener;
pub(crate) mod request_target;
pub(crate) mod slow_reader_timeout;
pub(crate) mod startup;
