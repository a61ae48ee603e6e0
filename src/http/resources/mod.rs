//! One file per resource of the API.

pub(crate) mod accounts;
pub(crate) mod agenda;
pub(crate) mod alike;
pub(crate) mod appointments;
pub(crate) mod batch;
pub(crate) mod bulk_vevents;
pub(crate) mod calendars;
pub(crate) mod crud;
pub(crate) mod customfields;
pub(crate) mod docs;
pub(crate) mod dry_runs;
pub(crate) mod fiches;
pub(crate) mod groups;
pub(crate) mod health;
pub(crate) mod holds;
pub(crate) mod hours;
pub(crate) mod interventions;
pub(crate) mod messages;
pub(crate) mod modules;
pub(crate) mod operator;
pub(crate) mod pagination;
pub(crate) mod pros;
pub(crate) mod sessions;
pub(crate) mod sets;
pub(crate) mod slots;
pub(crate) mod vevents;
