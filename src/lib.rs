//! slotbook: a self-hosted appointment server that cannot double-book.

pub mod clock;
pub mod domain;
pub mod engine;
pub mod store;
pub mod transfer;
pub mod wire;
