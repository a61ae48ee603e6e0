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
mod calendar_links;
mod choice;
mod closed;
mod code_step;
mod colours;
mod colours_file;
mod contact_fields;
mod date_parts;
mod deep_link;
mod done_step;
mod embed_file;
mod embedding;
mod face;
mod feed_file;
mod form_answer;
mod format;
mod free_times;
mod grid_style;
mod group_path;
mod holder;
mod home;
mod image_file;
mod language_choice;
mod limited_form;
mod link_page;
mod list_filter;
mod mail_links;
mod manage_page;
mod map_link;
mod message_page;
mod month;
mod move_page;
mod page;
mod pages;
mod practice;
mod preset;
mod pro_link;
mod reason_text;
mod refusal_text;
mod robots;
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
use axum::middleware::from_fn_with_state;
use axum::routing::get;

use crate::http::{HttpService, Server, prepare_document};
use crate::notify::{feed_link, links};
use crate::web::assets::Assets;
use crate::web::pages::Pages;

/// Makes what is made once in each process for the services, and takes tens of milliseconds. A
/// server that waits for its turn does it meanwhile.
pub(crate) fn prepare() {
    prepare_document();
    Assets::shared();
}

/// Builds the service of a server: the API and the pages.
pub fn service(server: Server) -> HttpService {
    HttpService::new(server, routes)
}

/// The routes of the pages of a server.
fn routes(server: Arc<Server>) -> Router {
    let pages = Arc::new(Pages::new(server));
    practice::routes()
        .route("/", get(home::show))
        .route("/robots.txt", get(robots::show))
        .route(asset_file::PATH, get(asset_file::show))
        .route(embed_file::PATH, get(embed_file::show))
        .route(feed_link::PATH, get(feed_file::show))
        .route(links::PATH, get(mail_links::show).post(mail_links::act))
        .route(links::MOVE_PATH, get(mail_links::show_move).post(mail_links::act_on_move))
        .merge(booking_routes(&pages))
        .with_state(pages)
}

/// The routes of the booking pages, which the sites that a group lists may show in a frame.
fn booking_routes(pages: &Arc<Pages>) -> Router<Arc<Pages>> {
    Router::new()
        .route("/b/{urlname}", get(service_step::show))
        .route("/b/{urlname}/time", get(time_step::show))
        .route("/b/{urlname}/you", get(you_step::show).post(booking_step::book))
        .route("/b/{urlname}/done", get(done_step::show))
        .route("/b/{urlname}/appointment.ics", get(calendar_file::show))
        .route("/b/{urlname}/colours.css", get(colours_file::show))
        .route(image_file::PATH, get(image_file::show))
        .route_layer(from_fn_with_state(Arc::clone(pages), embedding::allow_frames))
}
