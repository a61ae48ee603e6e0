//! Paths that name a group. Reference 14, 15.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::domain::records::group::Group;

/// Characters that stand encoded in a segment: all but the unreserved ones of RFC 3986.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Returns a path below the pages of a group for clients. `step` is empty or begins with `/`.
pub(crate) fn booking_path(group: &Group, step: &str) -> String {
    path("/b/", group, step)
}

/// Returns a path below the screens of a group. `step` is empty or begins with `/`.
pub(crate) fn practice_path(group: &Group, step: &str) -> String {
    path("/p/", group, step)
}

fn path(area: &str, group: &Group, step: &str) -> String {
    format!("{area}{}{step}", utf8_percent_encode(group.urlname.as_str(), SEGMENT))
}
