//! The pages for clients: over HTTP as a browser without JavaScript, and in a real browser.

mod accessible;
#[expect(dead_code, reason = "other tests use more of it")]
#[path = "../binary/authority.rs"]
mod authority;
mod booking;
mod browser;
mod clients;
mod codes;
mod contact;
mod crash;
mod deep_links;
mod docs_page;
mod done;
mod embedding;
mod events;
mod face;
mod figures;
mod framed;
mod framed_looks;
mod framed_site;
mod front;
mod hostile;
mod in_browser;
mod login;
mod manage;
mod modules;
mod moves;
mod offered;
mod practice_absence;
mod practice_accounts;
mod practice_agenda;
mod practice_create;
mod practice_erasure;
mod practice_export;
mod practice_feeds;
mod practice_first_run;
mod practice_grid;
mod practice_grid_absence;
mod practice_history;
mod practice_hours;
mod practice_hours_faults;
mod practice_interruptions;
mod practice_keys;
mod practice_links;
mod practice_live;
mod practice_looks;
mod practice_pictures;
mod practice_retention;
mod practice_roles;
mod practice_settings;
mod practice_webhooks;
#[expect(dead_code, reason = "the program's tests use more of it")]
#[path = "../binary/server.rs"]
mod program;
mod reasons;
mod refusals;
mod second_factor;
mod sending;
#[expect(dead_code, reason = "the API's tests use more of it")]
#[path = "../api/server.rs"]
mod server;
mod settings;
#[path = "../api/shop.rs"]
mod shop;
mod shop_pictures;
mod site;
mod visitor;
mod wcag;
mod zones;
