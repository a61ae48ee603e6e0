//! The operator's way to the API: the socket of the running server, or without one the same service
//! over the store, in the process of the command. Reference 11.1.

pub(crate) mod api;
pub(crate) mod opened_store;
pub(crate) mod socket;
