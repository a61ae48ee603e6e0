//! The practice's own screens: `/login`, `/logout`, and `/p/<urlname>/…` for professionals who are
//! logged in. Reference 15.
//!
//! A screen is rendered on the server and works without JavaScript. It begins with a
//! [`visit::ProVisit`], or with a [`form::ProForm`] if it sends something.

mod absence;
mod access_page;
mod agenda;
mod appointment_lines;
mod book_again;
mod choose;
mod client_erase;
mod client_export;
mod client_list;
mod client_merge;
mod client_page;
mod code_page;
mod displaced;
mod event_change;
mod event_move;
mod event_page;
mod explained;
mod feeds;
mod first_run;
mod forgotten;
mod form;
mod frame;
mod history_lines;
mod history_page;
mod hours;
mod listed_calendar;
mod login_page;
mod logins;
mod logout;
pub(crate) mod message;
mod message_lines;
mod new_client;
mod new_event;
pub(crate) mod new_password;
mod next_page;
mod obstacle_words;
mod own_password;
mod qr_drawing;
mod record_fields;
mod record_path;
mod revision;
mod role_gate;
mod rule_words;
pub(crate) mod screen_request;
mod second_factor;
mod series_event;
mod settings;
mod start_fields;
mod target_obstacles;
pub(crate) mod team;
mod texts;
mod typed_start;
mod visit;
mod why_page;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use crate::web::pages::Pages;

/// The routes of the screens.
pub(crate) fn routes() -> Router<Arc<Pages>> {
    Router::new()
        .route("/login", get(login_page::show).post(login_page::log_in))
        .route(next_page::CODE_PATH, get(code_page::show).post(code_page::log_in))
        .route(forgotten::PATH, get(forgotten::show).post(forgotten::ask))
        .route("/logout", get(logout::show).post(logout::log_out))
        .route("/first-run/{token}", get(first_run::show).post(first_run::act))
        .route("/p", get(choose::show))
        .route("/p/{urlname}", get(agenda::lead))
        .route("/p/{urlname}/agenda", get(agenda::show))
        .route("/p/{urlname}/welcome", get(first_run::welcome))
        .route("/p/{urlname}/logins", get(logins::show).post(logins::end))
        .route("/p/{urlname}/feeds", get(feeds::show).post(feeds::change))
        .route("/p/{urlname}/password", get(own_password::show).post(own_password::change))
        .route("/p/{urlname}/second-factor", get(second_factor::show).post(second_factor::change))
        .route("/p/{urlname}/clients", get(client_list::show))
        .route("/p/{urlname}/clients/new", get(new_client::show).post(new_client::make))
        .route("/p/{urlname}/clients/{id}", get(client_page::show).post(client_page::change))
        .route("/p/{urlname}/clients/{id}/erase", get(client_erase::ask).post(client_erase::erase))
        .route("/p/{urlname}/clients/{id}/export", get(client_export::download))
        .route("/p/{urlname}/clients/{id}/merge", get(client_merge::show).post(client_merge::merge))
        .route("/p/{urlname}/events/new", get(new_event::show).post(new_event::act))
        .route("/p/{urlname}/events/why", get(why_page::show))
        .route("/p/{urlname}/events/{id}", get(event_page::show).post(event_change::change))
        .route("/p/{urlname}/events/{id}/state", post(event_change::set_state))
        .route("/p/{urlname}/events/{id}/cancel", post(event_change::cancel))
        .route("/p/{urlname}/events/{id}/restore", post(event_change::restore))
        .route("/p/{urlname}/events/{id}/move", get(event_move::show).post(event_move::act))
        .route("/p/{urlname}/events/{id}/series", get(event_page::show).post(series_event::change))
        .route(
            "/p/{urlname}/events/{id}/booked",
            get(event_page::show).post(series_event::settle_booked),
        )
        .route("/p/{urlname}/history", get(history_page::show))
        .route("/p/{urlname}/history/access", get(access_page::show))
        .route("/p/{urlname}/absences/new", get(absence::show).post(absence::make))
        .merge(hours::routes())
        .merge(settings::routes())
        .merge(team::routes())
}
