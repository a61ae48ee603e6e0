//! Requests of the operator's commands, executed by the running server or on the store itself.
//! Reference 11.1.

pub(super) mod client;
pub(super) mod execute;
pub(super) mod request;
pub(super) mod socket;
pub(super) mod store_access;
