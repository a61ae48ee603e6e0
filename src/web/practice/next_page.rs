//! The page that was asked for before a login. Reference 15.1.

/// Maximum length of its address in bytes.
const BYTES_MAX: usize = 2_000;

/// Returns the address of a page of this host; `None` for one that could lead elsewhere.
///
/// Browsers take `\` for `/`, and drop tabs and line breaks within an address.
pub(crate) fn own_page(given: &str) -> Option<&str> {
    let rest = given.strip_prefix('/')?;
    let leads_elsewhere = rest.starts_with('/') || given.contains('\\');
    let is_plain = given.bytes().all(|byte| byte.is_ascii_graphic());
    if leads_elsewhere || !is_plain || given.len() > BYTES_MAX { None } else { Some(given) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_this_host_is_a_path_and_nothing_else() {
        for own in ["/", "/p/cut-co/agenda?d=2025-06-02#x", "/p//a", "/%5C%5Cevil.example"] {
            assert_eq!(own_page(own), Some(own), "{own}");
        }
        for other in [
            "",
            "p",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\/evil.example",
            "/p\\..\\..\\evil",
            "https://evil.example/",
            "javascript:alert(1)",
            " /p",
            "/\t/evil.example",
            "/\n/evil.example",
            "/p\r\nSet-Cookie: a=b",
            "/p\u{0}",
            "/caf\u{e9}",
            &format!("/{}", "a".repeat(2_000)),
        ] {
            assert_eq!(own_page(other), None, "{other:?}");
        }
    }
}
