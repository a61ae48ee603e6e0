//! slotbook: a self-hosted appointment server that cannot double-book.

pub mod cli;
pub mod clock;
pub mod config;
pub mod domain;
pub mod engine;
pub mod http;
pub mod notify;
pub mod password;
pub mod store;
pub mod transfer;
pub mod wire;
