//! The operator's requests. Reference 11.1.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::directory::apikeys::ApikeyHolder;

/// A request as it is sent over the operator's socket, in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OperatorRequest {
    /// Found a group with these fields, by their names in the API. The answer is its id.
    AddGroup { fields: Map<String, Value> },
    /// List the groups, one a line.
    ListGroups,
    /// Add an application key. The key itself stays with the command; `None` covers all groups.
    AddKey {
        sha256: [u8; 32],
        label: String,
        groups: Option<Vec<u64>>,
        holder: ApikeyHolder,
        origins: Vec<String>,
    },
    /// Change a key, named by its hash, its label or the start of its hash: its holder and its
    /// origins. What is `None` stays.
    SetKey {
        sha256: [u8; 32],
        said: String,
        holder: Option<ApikeyHolder>,
        origins: Option<Vec<String>>,
    },
    /// Revoke a key, named by its hash, its label or the start of its hash.
    RevokeKey { sha256: [u8; 32], said: String },
    /// List the keys, one a line.
    ListKeys,
    /// Add a professional, or further groups for an existing one.
    AddPro {
        email: String,
        password_hash: Option<String>,
        lastname: String,
        firstname: String,
        cellphone: String,
        groups: Vec<u64>,
        main: Option<u64>,
    },
    /// Remove a professional from some groups, or altogether if none is named.
    RemovePro { email: String, groups: Vec<u64> },
    /// Replace a professional's password.
    SetPassword { email: String, password_hash: String },
    /// List the professionals, one a line.
    ListPros,
    /// Return the e-mail address of a professional as it was given, or nothing if there is none.
    FindPro { email: String },
    /// Count or cancel the web bookings with the origin of an appointment, made since a local time.
    CancelAlike { group: u64, appointment: u64, since: String, count: Option<usize>, quietly: bool },
    /// Return the whole content as a document.
    Export,
    /// List the messages of some groups, or of all if none is named, one a line. Without a running
    /// server, links in their texts begin with `public_url`.
    ListMessages { groups: Vec<u64>, public_url: String },
    /// Write all that is durable into a new store. Without a running server, `reserve_mib` stay
    /// free on a disk that holds the data directory too.
    BackUp { to: PathBuf, reserve_mib: u64 },
}
