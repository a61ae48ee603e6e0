//! Pages for clients: booking under `/b/<urlname>`, and the pages behind mailed links under
//! `/m/<token>`. Reference 14. The practice's own screens stand under `/p/<urlname>`. Reference 15.
//!
//! Pages are rendered on the server and work without JavaScript. Those for clients act as an
//! application `web` with its key alone: they send the same commands as the API, under the same
//! limits.

mod appointment_view;
mod asset_file;
mod assets;
mod bare_page;
mod booking_form;
mod booking_step;
mod calendar_file;
mod choice;
mod code_step;
mod colours;
mod colours_file;
mod contact_fields;
mod deep_link;
mod done_step;
mod form_answer;
mod format;
mod free_times;
mod grid_style;
mod group_path;
mod holder;
mod home;
mod image_file;
mod language_choice;
mod link_page;
mod mail_links;
mod manage_page;
mod message_page;
mod month;
mod move_page;
mod page;
mod pages;
mod practice;
mod preset;
mod pro_link;
mod refusal_text;
mod service_step;
mod shop;
mod text;
mod text_table;
mod time_step;
mod times_address;
mod times_view;
mod you_step;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use crate::http::{HttpService, Server};
use crate::notify::links;
use crate::web::pages::Pages;

/// Builds the service of a server: the API and the pages.
pub fn service(server: Server) -> HttpService {
    HttpService::new(server, routes)
}

/// The routes of the pages of a server.
fn routes(server: Arc<Server>) -> Router {
    practice::routes()
        .route("/", get(home::show))
        .route(asset_file::PATH, get(asset_file::show))
        .route("/b/{urlname}", get(service_step::show))
        .route("/b/{urlname}/time", get(time_step::show))
        .route("/b/{urlname}/you", get(you_step::show).post(booking_step::book))
        .route("/b/{urlname}/done", get(done_step::show))
        .route("/b/{urlname}/appointment.ics", get(calendar_file::show))
        .route("/b/{urlname}/colours.css", get(colours_file::show))
        .route(image_file::PATH, get(image_file::show))
        .route(links::PATH, get(mail_links::show).post(mail_links::act))
        .route(links::MOVE_PATH, get(mail_links::show_move).post(mail_links::act_on_move))
        .with_state(Arc::new(Pages::new(server)))
}
