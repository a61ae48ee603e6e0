//! Forms of answers: compressed, condensed, in pieces, with entity tags and links to pages.

pub(crate) mod answer_parts;
pub(crate) mod compression;
pub(crate) mod condensed_answer;
pub(crate) mod entity_tag;
pub(crate) mod fixed_content;
pub(crate) mod leased;
pub(crate) mod page_links;
pub(crate) mod piecewise_body;
pub(crate) mod streamed;
