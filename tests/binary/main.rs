//! The program as people run it: a process of its own, a store on a real disk, HTTP over loopback.

mod bursts;
mod calendarfeeds;
mod client_examples;
mod commands;
mod contact;
mod create;
mod first_run;
mod freed_memory;
mod import;
mod lockouts;
mod metrics;
mod operator;
mod readme;
mod server;
mod service;
mod streams;
mod transfer;
