//! Authentication: the application by its key, a professional or a client's account by HTTP Basic
//! or a session. Reference 3.

pub(crate) mod access_log;
pub(crate) mod account_use;
pub(crate) mod apikey;
pub(crate) mod auth_request;
pub(crate) mod authenticator;
pub(crate) mod basic;
mod code_attempts;
pub(crate) mod credential_cache;
pub(crate) mod first_run;
mod first_run_access;
mod gathering;
mod invite;
pub(crate) mod key_uses;
pub(crate) mod login_cookie;
pub(crate) mod login_mailer;
pub(crate) mod login_proof;
pub(crate) mod login_steps;
pub(crate) mod login_uses;
pub(crate) mod own_factor;
pub(crate) mod own_sessions;
pub(crate) mod person;
pub(crate) mod read_log;
pub(crate) mod request_origin;
pub(crate) mod screen_login;
pub(crate) mod session;
pub(crate) mod source_hasher;

pub(crate) use crate::http::auth::auth_request::{AuthRequest, find_key};
pub(crate) use crate::http::auth::authenticator::{Authenticator, LoginAttempt, login_failed};
pub(crate) use crate::http::auth::basic::Credential;
pub(crate) use crate::http::auth::invite::Invited;
pub(crate) use crate::http::auth::person::{Identity, Person};
