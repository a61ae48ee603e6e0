//! Links to a map: a search at openstreetmap.org. No page loads anything of it. Reference 14.1.

/// Returns the URL of a map with an address, given line by line; empty without an address.
pub(crate) fn map_url(address: &[String]) -> String {
    let place = address.join(", ");
    if place.trim().is_empty() {
        return String::new();
    }
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("query", &place);
    format!("https://www.openstreetmap.org/search?{}", query.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_searched_in_one_line_and_without_one_there_is_no_map() {
        let address = ["1 rue de l’Été & Fils".to_owned(), "33000 Bordeaux".to_owned()];
        let expected = "https://www.openstreetmap.org/search?query=1+rue+de+l%E2%80%99%C3%89t%C3%A9+%26+Fils%2C+33000+Bordeaux";
        assert_eq!(map_url(&address), expected);
        assert_eq!(map_url(&[]), "");
        assert_eq!(map_url(&[String::new()]), "");
    }
}
