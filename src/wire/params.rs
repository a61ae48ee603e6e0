//! Decoded query parameters: single values, lists and lists of objects. Reference 1.1.

use memchr::{memchr_iter, memchr2};
use serde_json::{Map, Value};

/// Maximum number of parameters of a query or a form. Each costs memory and several looks.
pub(crate) const PARAMETERS_MAX: usize = 2_000;

/// Names and values, in the order of the request.
#[derive(Clone, Debug, Default)]
pub struct Params {
    /// All of them in a row, so that a request needs no allocation for each.
    text: String,
    places: Vec<ParamPlace>,
}

/// Place of one parameter in the text.
#[derive(Clone, Copy, Debug)]
struct ParamPlace {
    name: usize,
    value: usize,
    end: usize,
}

/// One object of a list, found by [`Params::objects`].
#[derive(Clone, Debug)]
pub struct ParamObject<'p> {
    /// Its index in the list, as given.
    pub index: &'p str,
    /// Names and values of its parts, in the order of the request.
    parts: Vec<(&'p str, &'p str)>,
}

impl<'p> ParamObject<'p> {
    /// Returns the last value of a part, untrimmed; `None` if it is absent or empty.
    pub fn part(&self, name: &str) -> Option<&'p str> {
        let (_, value) = self.parts.iter().rev().find(|(given, _)| *given == name)?;
        if value.is_empty() { None } else { Some(value) }
    }

    /// Returns the values of a part that is a list, `name[0][part][]=value`, untrimmed and in
    /// order; `None` without one.
    pub fn list_part(&self, name: &str) -> Option<Vec<&'p str>> {
        let mut values = Vec::new();
        for (given, value) in &self.parts {
            // The brackets at both ends are removed already.
            let entry = given.strip_prefix(name).and_then(|rest| rest.strip_prefix("]["));
            if entry.is_some_and(|index| index.bytes().all(|byte| byte.is_ascii_digit())) {
                values.push(*value);
            }
        }
        if values.is_empty() { None } else { Some(values) }
    }
}

impl Params {
    /// Decodes a raw query string.
    ///
    /// ```
    /// use slotbook::wire::params::Params;
    /// let params = Params::from_query("ids%5B%5D=1&ids[]=2&sort=&dir=desc");
    /// assert_eq!(params.list("ids"), ["1", "2"]);
    /// assert_eq!((params.value("sort"), params.value("dir")), (None, Some("desc")));
    /// ```
    pub fn from_query(query: &str) -> Self {
        Self::from_queries(std::iter::once(query))
    }

    fn from_queries<'q>(queries: impl Iterator<Item = &'q str>) -> Self {
        let mut params = Self::default();
        for query in queries {
            if query.is_empty() {
                continue;
            }
            params.text.reserve(query.len());
            params.places.reserve(8);
            for pair in query.split('&').filter(|pair| !pair.is_empty()) {
                // Most pairs are written as they are.
                if memchr2(b'%', b'+', pair.as_bytes()).is_none() {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    params.push(name, value);
                    continue;
                }
                for (name, value) in form_urlencoded::parse(pair.as_bytes()) {
                    params.push(&name, &value);
                }
            }
        }
        params
    }

    /// Checks the number of parameters of a form, without decoding it.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn check_number(form: &[u8]) -> Result<(), String> {
        check_count(count_parameters(form))
    }

    /// Decodes the query of a request. Some clients append `?format=json&apikey=…` to addresses
    /// that have a query already; that counts as a query of its own.
    pub fn from_request(query: &str) -> Self {
        Self::from_queries(split_queries(query))
    }

    /// Checks the number of parameters of a request's query, without decoding it.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn check_request(query: &str) -> Result<(), String> {
        check_count(split_queries(query).map(|query| count_parameters(query.as_bytes())).sum())
    }

    /// Flattens a JSON object: `{"pro":{"email":"a"}}` and `{"pro[email]":"a"}` both give
    /// `pro[email]=a`.
    ///
    /// Null is skipped, as are the values that are neither texts nor numbers, of which
    /// `on_wrong_type` gets the flattened names.
    pub fn from_json_object(
        object: &Map<String, Value>,
        mut on_wrong_type: impl FnMut(String),
    ) -> Self {
        let mut params = Self::default();
        let mut add = |name: String, value: &Value| match value {
            Value::String(text) => params.push(&name, text),
            Value::Number(number) => params.push(&name, &number.to_string()),
            Value::Null => {}
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => on_wrong_type(name),
        };
        for (name, value) in object {
            if let Value::Object(parts) = value {
                for (part, value) in parts {
                    add(format!("{name}[{part}]"), value);
                }
            } else {
                add(name.clone(), value);
            }
        }
        params
    }

    /// Returns the last value of a name, trimmed; `None` if it is absent or empty.
    pub fn value(&self, name: &str) -> Option<&str> {
        let named = self.places.iter().rev().find(|place| self.name(**place) == name.as_bytes());
        let value = self.value_at(*named?).trim();
        if value.is_empty() { None } else { Some(value) }
    }

    /// Returns the values of a list, trimmed and in order; empty ones are dropped.
    ///
    /// The accepted forms are `name[]=1&name[]=2`, `name[0]=1&name[1]=2` and `name=1,2`.
    pub fn list(&self, name: &str) -> Vec<&str> {
        let mut values = Vec::new();
        for place in &self.places {
            if self.name(*place).strip_prefix(name.as_bytes()).is_some_and(is_list_suffix) {
                let entries = self.value_at(*place).split(',').map(str::trim);
                values.extend(entries.filter(|entry| !entry.is_empty()));
            }
        }
        values
    }

    /// Returns the objects of a list, `name[0][part]=value`, in the order of first mention: one
    /// more than `objects_max` if there are more.
    ///
    /// The index that groups their parts may be any text.
    pub fn objects(&self, name: &str, objects_max: usize) -> Vec<ParamObject<'_>> {
        let mut objects: Vec<ParamObject<'_>> = Vec::new();
        for (given, value) in self.iter() {
            let Some((index, part)) = split_object_name(given, name) else { continue };
            let is_full = objects.len() > objects_max;
            match objects.iter_mut().find(|object| object.index == index) {
                Some(object) => object.parts.push((part, value)),
                None if is_full => break,
                None => objects.push(ParamObject { index, parts: vec![(part, value)] }),
            }
        }
        objects
    }

    /// The name of a parameter, as bytes: to cut a text out, its ends would be examined.
    fn name(&self, place: ParamPlace) -> &[u8] {
        &self.text.as_bytes()[place.name..place.value]
    }

    fn value_at(&self, place: ParamPlace) -> &str {
        &self.text[place.value..place.end]
    }

    /// Adds a parameter at the end.
    pub fn push(&mut self, name: &str, value: &str) {
        let start = self.text.len();
        let middle = start + name.len();
        self.text.push_str(name);
        self.text.push_str(value);
        self.places.push(ParamPlace { name: start, value: middle, end: self.text.len() });
    }

    /// Adds a parameter, unless one of the name has a value.
    pub fn push_default(&mut self, name: &str, value: &str) {
        if self.value(name).is_none() {
            self.push(name, value);
        }
    }

    /// Returns these parameters, followed by others.
    #[must_use]
    pub fn append(mut self, others: &Self) -> Self {
        for (name, value) in others.iter() {
            self.push(name, value);
        }
        self
    }

    /// Iterates over names and values, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &str)> {
        let places = self.places.iter();
        places
            .map(|place| (&self.text[place.name..place.value], &self.text[place.value..place.end]))
    }
}

/// Returns whether a parameter named `name` and this suffix is part of the list `name`.
fn is_list_suffix(suffix: &[u8]) -> bool {
    match suffix {
        [] => true,
        [b'[', index @ .., b']'] => index.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Splits `name[index][part]`, or `name[index][part][]`, into index and part.
fn split_object_name<'p>(given: &'p str, name: &str) -> Option<(&'p str, &'p str)> {
    let rest = given.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')?;
    rest.split_once("][")
}

/// Splits a request's query where a client began its own parameters behind a query, although `?`
/// is a character of values.
fn split_queries(query: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(query);
    std::iter::from_fn(move || {
        let from = rest?;
        let next = memchr_iter(b'?', from.as_bytes()).find(|at| {
            let behind = &from[at + 1..];
            behind.starts_with("format=") || behind.starts_with("apikey=")
        });
        rest = next.map(|at| &from[at + 1..]);
        Some(&from[..next.unwrap_or(from.len())])
    })
}

fn count_parameters(query: &[u8]) -> usize {
    memchr_iter(b'&', query).count() + 1
}

fn check_count(parameters: usize) -> Result<(), String> {
    if parameters > PARAMETERS_MAX {
        return Err(format!("must have at most {PARAMETERS_MAX} parameters"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_query_is_read_as_a_form(query in "([ab=&]|%2[06]|%C3|[+é]){0,12}") {
            let expected: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
            let params = Params::from_query(&query);
            let read: Vec<_> =
                params.iter().map(|(name, value)| (name.into(), value.into())).collect();
            prop_assert_eq!(read, expected);
        }
    }

    #[test]
    fn a_list_has_four_spellings() {
        for query in ["a[]=1&a[]=2", "a%5B%5D=1&a%5B%5D=2", "a=1,2", "a[0]=1&a[1]=2", "a=1%2C2&a="]
        {
            assert_eq!(Params::from_query(query).list("a"), ["1", "2"], "{query}");
        }
        assert!(Params::from_query("ab[]=1&a[x]=2&a[]=").list("a").is_empty());
    }

    #[test]
    fn objects_of_a_list_are_grouped_by_their_index() {
        let params = Params::from_query(
            "c[7][op]=%3D&c%5B-1%5D%5Bop%5D=>=&c[7][value]=+a&c[x]=1&cc[1][op]=<&c[7][op]=<",
        );
        let objects = params.objects("c", 2);
        let shown: Vec<_> =
            objects.iter().map(|o| (o.index, o.part("op"), o.part("value"))).collect();
        assert_eq!(shown, [("7", Some("<"), Some(" a")), ("-1", Some(">="), None)]);
    }

    #[test]
    fn of_too_many_objects_one_more_than_allowed_is_found() {
        let params = Params::from_query("c[0][a]=1&c[1][a]=1&c[2][a]=1&c[3][a]=1&c[0][b]=2");
        assert_eq!((params.objects("c", 4).len(), params.objects("c", 2).len()), (4, 3));
        assert_eq!(params.objects("c", 4)[0].part("b"), Some("2"));
    }

    #[test]
    fn a_query_has_a_limited_number_of_parameters() {
        assert_eq!(Params::check_number("&a".repeat(1_999).as_bytes()), Ok(()));
        assert!(Params::check_number("a&".repeat(2_000).as_bytes()).is_err());
    }

    #[test]
    fn a_part_of_an_object_may_be_a_list() {
        let params =
            Params::from_query("c[0][value][]=1&c[0][value][]=+2&c%5B0%5D%5Bvalue%5D%5B2%5D=3");
        let objects = params.objects("c", 2);
        assert_eq!(objects[0].list_part("value"), Some(vec!["1", " 2", "3"]));
        assert_eq!((objects[0].part("value"), objects[0].list_part("op")), (None, None));
        assert_eq!(Params::from_query("c[0][value]=1").objects("c", 2)[0].list_part("value"), None);
    }

    #[test]
    fn a_format_glued_to_the_last_value_is_a_parameter() {
        let params = Params::from_request("apikey=k&results=all?format=json");
        assert_eq!((params.value("results"), params.value("format")), (Some("all"), Some("json")));
    }

    #[test]
    fn a_query_behind_another_is_split_off_where_a_client_begins_its_own_parameters() {
        for (query, read) in [
            ("a=x?format=json&apikey=K", vec![("a", "x"), ("format", "json"), ("apikey", "K")]),
            ("a=x?apikey=K&b=y", vec![("a", "x"), ("apikey", "K"), ("b", "y")]),
            ("?format=json", vec![("format", "json")]),
            ("a=x%3Fformat=json", vec![("a", "x?format=json")]),
            ("a=why?&b=y", vec![("a", "why?"), ("b", "y")]),
            ("a=x?formatted=1", vec![("a", "x?formatted=1")]),
            ("a=é??format=json", vec![("a", "é?"), ("format", "json")]),
        ] {
            assert_eq!(Params::from_request(query).iter().collect::<Vec<_>>(), read, "{query}");
        }
    }

    #[test]
    fn parameters_behind_a_further_question_mark_are_counted_too() {
        let most = format!("a{}", "?apikey=".repeat(PARAMETERS_MAX - 1));
        assert_eq!(Params::check_request(&most), Ok(()));
        assert!(Params::check_request(&format!("{most}?format=json")).is_err());
        assert!(Params::check_request(&format!("{most}&b")).is_err());
        assert_eq!(Params::check_request(&"?".repeat(PARAMETERS_MAX + 1)), Ok(()));
    }

    #[test]
    fn spaces_come_as_plus_or_percent() {
        for query in ["start=2025-01-01+09:00:00", "start=2025-01-01%2009%3A00%3A00"] {
            assert_eq!(Params::from_query(query).value("start"), Some("2025-01-01 09:00:00"));
        }
    }
}
