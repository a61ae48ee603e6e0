//! The pages for clients: over HTTP, as a browser without JavaScript.

mod booking;
mod hostile;
mod manage;
mod modules;
mod offered;
mod refusals;
#[expect(dead_code, reason = "the API's tests use more of it")]
#[path = "../api/server.rs"]
mod server;
mod settings;
#[path = "../api/shop.rs"]
mod shop;
mod visitor;
mod zones;
