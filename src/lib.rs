//! slotbook: a self-hosted appointment server that cannot double-book.

pub mod domain;
pub mod store;
