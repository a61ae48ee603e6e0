//! Style and script of the pages: part of the binary, with a hash in the URL, compressed once.

use std::io::Write as _;

use axum::body::Bytes;
use axum::http::HeaderValue;
use data_encoding::HEXLOWER;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

/// A year: the hash in the URL changes with the content.
pub(crate) const IMMUTABLE: HeaderValue =
    HeaderValue::from_static("public, max-age=31536000, immutable");

/// The assets of the pages.
pub(crate) struct Assets {
    style: Asset,
    script: Asset,
}

/// One file, plain and compressed.
pub(crate) struct Asset {
    /// Its name in URLs, with the hash of its content.
    name: String,
    pub(crate) media_type: &'static str,
    pub(crate) plain: Bytes,
    pub(crate) gzip: Bytes,
}

impl Assets {
    /// Compresses the assets.
    pub(crate) fn new() -> Self {
        Self {
            style: Asset::new("style", "css", include_bytes!("../../data/web/style.css")),
            script: Asset::new("script", "js", include_bytes!("../../data/web/script.js")),
        }
    }

    /// Finds an asset by its name in URLs.
    pub(crate) fn find(&self, name: &str) -> Option<&Asset> {
        [&self.style, &self.script].into_iter().find(|asset| asset.name == name)
    }

    /// The URL of the style.
    pub(crate) fn style_url(&self) -> String {
        format!("/assets/{}", self.style.name)
    }

    /// The URL of the script.
    pub(crate) fn script_url(&self) -> String {
        format!("/assets/{}", self.script.name)
    }
}

impl Asset {
    fn new(stem: &str, extension: &str, content: &'static [u8]) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).expect("writing to a Vec does not fail");
        let gzip = encoder.finish().expect("writing to a Vec does not fail");
        Self {
            name: format!("{stem}-{}.{extension}", short_hash(content)),
            media_type: match extension {
                "css" => "text/css; charset=utf-8",
                _ => "text/javascript; charset=utf-8",
            },
            plain: Bytes::from_static(content),
            gzip: gzip.into(),
        }
    }
}

/// Returns the first 64 bits of the SHA-256 of a content, in hexadecimal digits.
pub(crate) fn short_hash(content: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(content)[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_weighs_at_most_6_kb() {
        assert!(Assets::new().script.gzip.len() <= 6 * 1_024);
    }
}
