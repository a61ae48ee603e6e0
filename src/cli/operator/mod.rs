//! Requests of the operator's commands, executed by the running server or on the store itself.
//! Reference 11.1.

pub(crate) mod client;
pub(crate) mod execute;
pub(crate) mod request;
pub(crate) mod socket;
pub(crate) mod store_access;
