//! Attacks on a practice by strangers, each with the bound that the server keeps.
//!
//! The practice is the demonstration with its own settings, on a server in this process. Strangers
//! have source addresses of their own: directly by 127.0.0.x, or behind a proxy that is trusted.

mod account_links;
mod alike;
mod automatic_codes;
mod codes;
mod connections;
mod dry_runs;
mod expensive_requests;
mod extensions;
mod first_run;
mod fixture;
mod foreign_pages;
mod forged_sources;
mod frames;
mod holds;
mod idempotency;
#[expect(dead_code, reason = "the API's tests use more of it")]
#[path = "../api/image_parts.rs"]
mod image_parts;
mod images;
mod lockouts;
mod logins;
mod mailbox;
mod messages;
mod moves;
mod networks;
mod operator_routes;
mod others_names;
mod page_codes;
mod practice_forms;
mod public_paths;
mod public_reads;
mod screen_logins;
mod searches;
mod space;
mod stolen_sessions;
mod strangers;
mod web_bookings;
