//! The state that all requests for pages share.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use parking_lot::Mutex;

use crate::engine::randomness::Randomness;
use crate::http::Server;
use crate::web::assets::Assets;

/// The state that all requests for pages share.
pub(crate) struct Pages {
    /// The server whose groups the pages show.
    pub(crate) server: Arc<Server>,
    /// Style and script, compressed.
    pub(crate) assets: &'static Assets,
    /// The source of the keys that make a form's booking happen once.
    randomness: Mutex<Randomness>,
}

impl Pages {
    /// Returns the pages of a server.
    pub(crate) fn new(server: Arc<Server>) -> Self {
        let randomness = Mutex::new(Randomness::from_os());
        Self { server, assets: Assets::shared(), randomness }
    }

    /// Returns a new idempotency key for a form, of 128 random bits.
    pub(crate) fn new_form_key(&self) -> String {
        HEXLOWER.encode(&self.new_salt())
    }

    /// Returns 128 random bits.
    pub(crate) fn new_salt(&self) -> [u8; 16] {
        let bytes = self.randomness.lock().bytes();
        *bytes.first_chunk().expect("there are 32 bytes")
    }
}
