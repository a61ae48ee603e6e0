//! Needs of the tests of clusters on the machine, besides PostgreSQL.

use std::path::PathBuf;

/// Returns the library that shows a program another time, which Debian has in a folder of the machine's architecture.
pub(crate) fn find_faketime() -> Option<PathBuf> {
    let mut folders = std::fs::read_dir("/usr/lib").ok()?.flatten();
    folders.find_map(|folder| {
        let library = folder.path().join("faketime/libfaketimeMT.so.1");
        library.exists().then_some(library)
    })
}

/// Returns the reason why a test is skipped; a failure where `SLOTBOOK_REQUIRE_POSTGRES` is set.
pub(crate) fn skip_or_fail(reason: &'static str) -> &'static str {
    assert!(std::env::var_os("SLOTBOOK_REQUIRE_POSTGRES").is_none(), "{reason}");
    reason
}
