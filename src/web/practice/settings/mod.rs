//! The settings of a group: its own fields part by part, and the records that it lists.
//! Reference 15.7.
//!
//! The forms are made from the field tables of `wire`. What they send is parsed and decided as the
//! same write of an application.

pub(crate) mod accounts_screen;
mod control;
mod delete_screen;
pub(crate) mod fields;
mod form_screen;
mod given;
mod group_form;
mod images_screen;
mod index;
mod keys_screen;
mod links_screen;
mod list_screen;
mod listed_record;
pub(crate) mod part;
mod record_form;
mod rule_text;
pub(crate) mod saving;
mod upload;
mod webhook_screen;
mod webhooks_screen;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::customfield::Customfield;
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::web::pages::Pages;
use crate::web::practice::settings::listed_record::SettingsRecord;

/// The routes of the settings.
pub(crate) fn routes() -> Router<Arc<Pages>> {
    Router::new()
        .route("/p/{urlname}/settings", get(index::show))
        .route("/p/{urlname}/settings/{part}", get(group_form::show).post(group_form::change))
        .route("/p/{urlname}/settings/links", get(links_screen::show))
        .route("/p/{urlname}/settings/images", get(images_screen::show).post(images_screen::change))
        .route("/p/{urlname}/settings/keys", get(keys_screen::show).post(keys_screen::change))
        .route(
            "/p/{urlname}/settings/webhooks",
            get(webhooks_screen::show).post(webhooks_screen::make),
        )
        .route(
            "/p/{urlname}/settings/webhooks/{id}",
            get(webhook_screen::show).post(webhook_screen::change),
        )
        .route(
            "/p/{urlname}/settings/accounts",
            get(accounts_screen::show).post(accounts_screen::log_out),
        )
        .route(
            "/p/{urlname}/settings/accounts/{id}",
            get(accounts_screen::ask).post(accounts_screen::close),
        )
        .merge(record_routes::<Calendar>())
        .merge(record_routes::<Calendarset>())
        .merge(record_routes::<Intervention>())
        .merge(record_routes::<Interventionset>())
        .merge(record_routes::<Customfield>())
}

fn record_routes<R: SettingsRecord>() -> Router<Arc<Pages>> {
    let path = |rest: &str| format!("/p/{{urlname}}{}{rest}", R::PART.path());
    Router::new()
        .route(&path(""), get(list_screen::show::<R>))
        .route(&path("/new"), get(record_form::show_blank::<R>).post(record_form::create::<R>))
        .route(&path("/{id}"), get(record_form::show::<R>).post(record_form::change::<R>))
        .route(&path("/{id}/move"), post(list_screen::change_place::<R>))
        .route(&path("/{id}/restore"), post(list_screen::restore::<R>))
        .route(&path("/{id}/delete"), get(delete_screen::ask::<R>).post(delete_screen::delete::<R>))
}
