//! Forms with files, as browsers send them: `multipart/form-data`.

use std::collections::BTreeMap;
use std::convert::Infallible;

use futures_util::stream;
use multer::Multipart;

/// Maximum number of parts of a form.
const PARTS_MAX: usize = 8;

/// Returns the bytes of each part of a form of a declared media type, by its name: at most 8. A
/// form that cannot be read has none.
pub(crate) async fn read_file_form(
    declared: Option<&str>,
    bytes: Vec<u8>,
) -> BTreeMap<String, Vec<u8>> {
    let mut read = BTreeMap::new();
    let boundary = declared.and_then(|declared| multer::parse_boundary(declared).ok());
    let Some(boundary) = boundary else { return read };
    let whole = stream::iter([Ok::<_, Infallible>(bytes)]);
    let mut form = Multipart::new(whole, boundary);
    while read.len() < PARTS_MAX
        && let Ok(Some(field)) = form.next_field().await
    {
        let Some(name) = field.name().map(str::to_owned) else { continue };
        let Ok(content) = field.bytes().await else { break };
        read.insert(name, content.to_vec());
    }
    read
}
