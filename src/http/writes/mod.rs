//! Writes as handlers prepare them, to be sent alone or as rows of a batch. Reference 13.18.

pub(crate) mod batch_row;
pub(crate) mod expected;
pub(crate) mod prepared_write;
