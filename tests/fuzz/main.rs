//! Fuzz tests: bytes that a stranger, a client, an operator or a disk may give, through the real
//! code, in memory.
//!
//! `cargo test --test fuzz` runs the corpus of each target and some thousand mutations of it.
//! `tests/fuzz/run` runs a million inputs of each, which the coverage of the code guides. No input
//! may panic, be answered with a 5xx, allocate out of proportion or take two minutes.
#![cfg_attr(libfuzzer, no_main)]

mod bodies;
mod corpus;
mod dates;
mod documents;
mod harness;
mod heads;
mod mutation;
mod pages;
mod queries;
mod records;
mod rules;
mod server;
mod targets;

#[cfg(libfuzzer)]
libfuzzer_sys::fuzz_target!(|input: &[u8]| targets::check_chosen(input));
