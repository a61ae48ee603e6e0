//! slotbook: a self-hosted appointment server that cannot double-book.
//!
//! A shop is a *group*. It has calendars, clients (*fiches*) and services (*interventions*). The
//! public searches free starts and books them over an HTTP API; professionals change the agenda.
//!
//! Rules are pure functions in [`domain`]. The [`engine`] runs one actor for each group and each
//! calendar in use. A group decides one command at a time, so no hour is given away twice.
//! A decision is an event; the state is the result of all events. The [`store`] makes events
//! durable before the engine answers. Readers use immutable published states and wait for no actor.
//! [`http`] and [`wire`] translate requests, [`web`] shows pages to clients, [`notify`] sends
//! messages, [`cli`] starts it all.
//!
//! Read these five modules first:
//! - [`domain::availability::bookable`]: the rules by which a start can be booked.
//! - [`domain::state::group_state`]: the immutable state of a group, and the effect of an event.
//! - [`engine::group`]: the actor that decides a group's commands, one at a time.
//! - [`store`]: the files of a data directory, and recovery.
//! - [`http`]: the API, from a request to its answer.

pub mod cli;
pub mod clock;
pub mod config;
pub mod domain;
pub mod engine;
pub mod http;
pub mod notify;
pub mod password;
mod planted_faults;
pub mod store;
pub mod transfer;
pub mod web;
pub mod wire;
