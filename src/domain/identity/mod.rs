//! Callers: applications, professionals, client accounts and the links that confirm accounts.

pub mod access;
pub mod account;
pub mod account_link;
pub mod apikeys;
pub mod confirmation_code;
pub mod directory;
pub mod enrolment;
pub mod id_blocks;
pub mod link_secret;
pub mod password_link;
pub mod professionals;
pub(crate) mod secret_text;
pub mod site_origin;
