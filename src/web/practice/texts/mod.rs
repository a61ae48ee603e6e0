//! The texts of the practice's own screens, one table for each area.

pub(crate) mod absence;
pub(crate) mod accounts;
pub(crate) mod agenda;
pub(crate) mod client;
pub(crate) mod erasure;
pub(crate) mod event;
pub(crate) mod field_labels;
pub(crate) mod first_run;
pub(crate) mod forgotten;
pub(crate) mod form;
pub(crate) mod frame;
pub(crate) mod history;
pub(crate) mod holidays;
pub(crate) mod hours;
pub(crate) mod keys;
pub(crate) mod login;
pub(crate) mod logins;
pub(crate) mod merge;
pub(crate) mod messages;
pub(crate) mod new_event;
pub(crate) mod obstacles;
pub(crate) mod own_password;
pub(crate) mod rules;
pub(crate) mod second_factor;
pub(crate) mod settings;
pub(crate) mod team;
