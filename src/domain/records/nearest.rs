//! The known name that an unknown one most likely means.

use strsim::osa_distance;

/// Longest name in bytes that is compared with others; no known name is half as long.
const COMPARED_MAX: usize = 64;

/// Returns the candidate that `name` most likely means; `None` if none resembles it. Letter case
/// does not count. Of candidates that are equally near, it is the first.
///
/// ```
/// use slotbook::domain::records::nearest::nearest;
/// let known = ["calendar_id", "fiche_id", "start_from"];
/// assert_eq!(nearest("calender_id", known), Some("calendar_id"));
/// assert_eq!(nearest("Fiche", known), Some("fiche_id"));
/// assert_eq!(nearest("colour", known), None);
/// ```
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // The cost grows with the length of a name that may be anything.
    if name.len() > COMPARED_MAX {
        return None;
    }
    let name = name.to_lowercase();
    let length = name.chars().count();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let distance = osa_distance(&name, &candidate.to_lowercase());
        // A name of which more than half differs is another word.
        let resembles = 2 * distance <= length.max(candidate.chars().count());
        if resembles && best.is_none_or(|(smallest, _)| distance < smallest) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_any_length_is_compared_at_a_bounded_cost() {
        let long = "a".repeat(COMPARED_MAX);
        assert_eq!(nearest(&long, [long.as_str()]), Some(long.as_str()));
        let longer = "a".repeat(COMPARED_MAX + 1);
        assert_eq!(nearest(&longer, [longer.as_str()]), None);
    }

    #[test]
    fn the_first_of_equally_near_names_is_found() {
        assert_eq!(nearest("b", ["ab", "cb"]), Some("ab"));
        assert_eq!(nearest("dri", ["dir", "dris"]), Some("dir"), "two letters are swapped");
        assert_eq!(nearest("", ["a", ""]), Some(""));
        assert_eq!(nearest("a", []), None);
    }
}
