//! Warnings at the start of a server: of what strangers could use, and what a store holds.
//! Reference 11.1.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::config::options::ServeOptions;
use crate::domain::directory::Directory;
use crate::domain::directory::apikeys::ApikeyHolder;
use crate::domain::records::author::KeyId;
use crate::transfer::demo;

/// Maximum number of keys that a warning lists.
const KEYS_SHOWN_MAX: usize = 20;

/// Warns if others can read the data directory.
pub(crate) fn warn_of_access(data: &Path) {
    if let Ok(found) = std::fs::metadata(data)
        && found.permissions().mode() & 0o077 != 0
    {
        tracing::warn!(data = %data.display(), "other users can read the data directory: chmod 700");
    }
}

/// Warns if strangers can reach a server with the key of the demonstration, which is public.
pub(crate) fn warn_of_demo(options: &ServeOptions, directory: &Directory) {
    let is_public = !options.listen.ip().to_canonical().is_loopback()
        || !options.messages.links.public_url.is_loopback();
    let key_hash: [u8; 32] = Sha256::digest(demo::KEY.as_bytes()).into();
    if is_public && (options.demo || directory.apikeys.contains_key(&key_hash)) {
        tracing::warn!(
            "the demonstration is served on a public address, and its key and passwords are \
             public: revoke the key (`slotbook key revoke {}`) and change the passwords, or serve \
             another store",
            demo::KEY
        );
    }
}

/// Warns of keys that count as keys of servers only because the store comes from an earlier
/// release.
pub(crate) fn warn_of_unknown_holders(directory: &Directory) {
    let mut unknown = Vec::new();
    for (hash, apikey) in directory.apikeys.iter() {
        if apikey.holder == ApikeyHolder::Unknown {
            unknown.push(KeyId::of_hash(hash).to_string());
        }
    }
    if !unknown.is_empty() {
        tracing::warn!(
            keys = unknown.join(", "),
            "these keys of an earlier release count as keys of servers, so their bookings are not \
             limited by source address: `slotbook key set KEY --no-server` for a key that the \
             public can read, `slotbook key set KEY --server` for one of a server"
        );
    }
}

/// Warns of keys that pages of all sites may book with, because they come from an earlier release.
pub(crate) fn warn_of_open_keys(directory: &Directory) {
    let mut names = Vec::new();
    let mut count = 0;
    for (hash, apikey) in directory.apikeys.iter().filter(|(_, key)| key.is_open_to_pages()) {
        count += 1;
        if count <= KEYS_SHOWN_MAX {
            let id = KeyId::of_hash(hash);
            names.push(format!("{id} {}", apikey.label.as_str()).trim_end().to_owned());
        }
    }
    if count > 0 {
        tracing::warn!(
            count,
            keys = names.join(", "),
            "pages of any site may book through their visitors with these keys of an earlier \
             release: `slotbook key set KEY --origin https://shop.example` for a key of that \
             site's pages, `slotbook key set KEY --origin none` for a key that no page has; \
             `slotbook key list` shows all"
        );
    }
}
