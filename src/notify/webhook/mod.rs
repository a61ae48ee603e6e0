//! Requests to the receivers of webhooks. Reference 18.5 and 18.6.

pub mod addresses;
pub mod client;
pub mod resolver;
pub mod signature;
