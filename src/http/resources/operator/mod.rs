//! Endpoints for the operator's commands, which reach them through the socket in the data directory
//! only. Lists are JSON objects, one a line. Reference 11.1.

pub(crate) mod access_change;
pub(crate) mod erasures;
pub(crate) mod first_run;
pub(crate) mod keys;
pub(crate) mod pros;
pub(crate) mod store;
