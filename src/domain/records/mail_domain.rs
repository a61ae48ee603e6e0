//! Domains of mail addresses. One that has letters outside ASCII has two spellings: these letters,
//! and A-labels, which begin with `xn--`. Both name the same domain. Reference 10.

use std::borrow::Cow;

use idna::AsciiDenyList;
use idna::uts46::{Hyphens, Uts46};

/// Beginning of a label that stands for letters outside ASCII.
const A_LABEL: &[u8] = b"xn--";

/// Returns a mail address with its domain in ASCII, as mail servers take it. `None` if no domain
/// can have these letters.
///
/// ```
/// use slotbook::domain::records::mail_domain::with_ascii_domain;
/// assert_eq!(with_ascii_domain("zoé@Élan.fr").expect("a domain"), "zoé@xn--lan-9la.fr");
/// assert_eq!(with_ascii_domain("ann@Example.org").expect("a domain"), "ann@Example.org");
/// ```
#[must_use]
pub fn with_ascii_domain(address: &str) -> Option<Cow<'_, str>> {
    let Some((local, domain)) = address.rsplit_once('@') else { return Some(address.into()) };
    if domain.is_ascii() {
        return Some(address.into());
    }
    let domain = idna::domain_to_ascii_cow(domain.as_bytes(), AsciiDenyList::URL).ok()?;
    Some(format!("{local}@{domain}").into())
}

/// Returns a domain in its letters, in lower case. `None` if both spellings are one, or if no
/// domain can have these letters.
pub fn in_letters(domain: &str) -> Option<Cow<'_, str>> {
    let mut starts = domain.as_bytes().windows(A_LABEL.len());
    if domain.is_ascii() && !starts.any(|start| start.eq_ignore_ascii_case(A_LABEL)) {
        return None;
    }
    let (letters, outcome) =
        Uts46::new().to_unicode(domain.as_bytes(), AsciiDenyList::URL, Hyphens::Allow);
    if outcome.is_ok() { Some(letters) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::text::folded;

    #[test]
    fn both_spellings_of_a_domain_are_one_address() {
        let same = |one: &str, other: &str| folded(one) == folded(other);
        assert!(same("Ann@b\u{fc}cher.example", "ann@XN--BCHER-KVA.example"));
        assert!(same("ann@bu\u{308}cher.example", "ann@B\u{dc}CHER.example"));
        assert!(same("ann@\u{4f8b}\u{3002}example", "ann@xn--fsq.example"));
        assert!(same("zo\u{e9}@x.xn--p1ai", "ZO\u{c9}@X.\u{440}\u{444}"));
        assert!(!same("zo\u{e9}@example.org", "xn--zo-dja@example.org"));
        assert!(!same("ann@b\u{fc}cher.example", "ann@bucher.example"));
        assert_eq!(*folded("Ann@XN--a-b.example"), *"ann@xn--a-b.example", "no legal A-label");
        for address in ["ann@b\u{fc}cher.example", "ann@xn--bcher-kva.example", "a@xn--a-b.example"]
        {
            assert_eq!(folded(&folded(address)), folded(address));
        }
    }

    #[test]
    fn a_domain_that_would_gain_an_at_sign_is_none() {
        for address in ["ann@ex\u{ff20}ample.org", "ann@ex\u{ff1c}ample.org", "ann@\u{fc}\u{3000}x"]
        {
            assert_eq!(with_ascii_domain(address), None, "{address}");
            assert_eq!(*folded(address), *address);
        }
    }
}
