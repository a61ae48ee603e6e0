//! Style and script of the pages: part of the binary, with a hash in the URL, compressed once.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::HeaderValue;
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use crate::http::answer::fixed_content::FixedContent;
use crate::web::grid_style::grid_rules;

/// A year: the hash in the URL changes with the content.
pub(crate) const IMMUTABLE: HeaderValue =
    HeaderValue::from_static("public, max-age=31536000, immutable");

/// The media type of scripts.
const SCRIPT_TYPE: &str = "text/javascript; charset=utf-8";

/// The assets of the pages.
pub(crate) struct Assets {
    style: Asset,
    script: Asset,
    practice_style: Asset,
    practice_script: Asset,
    /// The script of sites that show a booking page. Its URL is known to them, and stays.
    pub(crate) embed: FixedContent,
}

/// The scripts of the practice's own screens, as one module. Each file is a block of its own, apart
/// from what the files after it use: `asking` and `agenda`.
const PRACTICE_SCRIPT: &str = concat!(
    include_str!("../../data/web/practice/asking.js"),
    include_str!("../../data/web/practice/frame.js"),
    include_str!("../../data/web/practice/agenda.js"),
    include_str!("../../data/web/practice/grid.js"),
    include_str!("../../data/web/practice/live.js"),
    include_str!("../../data/web/practice/first_run.js"),
    include_str!("../../data/web/practice/copy.js"),
);

/// One file.
pub(crate) struct Asset {
    /// Its name in URLs, with the hash of its content.
    name: String,
    pub(crate) content: FixedContent,
}

impl Assets {
    /// Returns the assets. They are compressed once in each process.
    pub(crate) fn shared() -> &'static Self {
        static ASSETS: LazyLock<Assets> = LazyLock::new(Assets::new);
        &ASSETS
    }

    fn new() -> Self {
        let practice_style = [include_str!("../../data/web/practice.css"), &grid_rules()].concat();
        let embed = include_str!("../../data/web/embed.js");
        Self {
            style: Asset::new("style", "css", include_str!("../../data/web/style.css")),
            script: Asset::new("script", "js", include_str!("../../data/web/script.js")),
            practice_style: Asset::new("practice", "css", practice_style),
            practice_script: Asset::new("practice", "js", PRACTICE_SCRIPT),
            embed: FixedContent::new(SCRIPT_TYPE, embed),
        }
    }

    /// Finds an asset by its name in URLs.
    pub(crate) fn find(&self, name: &str) -> Option<&Asset> {
        let all = [&self.style, &self.script, &self.practice_style, &self.practice_script];
        all.into_iter().find(|asset| asset.name == name)
    }

    /// The URL of the style.
    pub(crate) fn style_url(&self) -> String {
        format!("/assets/{}", self.style.name)
    }

    /// The URL of the script.
    pub(crate) fn script_url(&self) -> String {
        format!("/assets/{}", self.script.name)
    }

    /// The URL of the style of the practice's own screens.
    pub(crate) fn practice_style_url(&self) -> String {
        format!("/assets/{}", self.practice_style.name)
    }

    /// The URL of the script of the practice's own screens.
    pub(crate) fn practice_script_url(&self) -> String {
        format!("/assets/{}", self.practice_script.name)
    }
}

impl Asset {
    fn new(stem: &str, extension: &str, content: impl Into<Bytes>) -> Self {
        let content = content.into();
        let media_type = match extension {
            "css" => "text/css; charset=utf-8",
            _ => SCRIPT_TYPE,
        };
        Self {
            name: format!("{stem}-{}.{extension}", short_hash(&content)),
            content: FixedContent::new(media_type, content),
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
        assert!(Assets::shared().script.content.gzip.len() <= 6 * 1_024);
    }

    #[test]
    fn the_script_of_other_sites_weighs_at_most_2_kb() {
        assert!(Assets::shared().embed.gzip.len() <= 2 * 1_024);
    }

    #[test]
    fn the_screens_of_the_practice_have_10_kb_of_style_and_20_kb_of_script_at_most() {
        let assets = Assets::shared();
        assert!(assets.practice_style.content.gzip.len() <= 10 * 1_024);
        assert!(assets.practice_script.content.gzip.len() <= 20 * 1_024);
    }
}
