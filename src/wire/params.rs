//! The parameters of a query, as they were decoded. Reference 1.

use serde_json::{Map, Value};

/// Names and values in the order they came.
#[derive(Clone, Debug, Default)]
pub struct Params(Vec<(String, String)>);

/// An object of a list, as [`Params::objects`] finds it.
#[derive(Clone, Debug)]
pub struct Object<'p> {
    /// Its index in the list, as it was written.
    pub index: &'p str,
    /// Names and values of its parts, in the order they came.
    parts: Vec<(&'p str, &'p str)>,
}

impl<'p> Object<'p> {
    /// The value of a part, white space and all: of several the last, and none where it is empty.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&'p str> {
        let value =
            self.parts.iter().rev().find(|(given, _)| *given == name).map(|(_, value)| *value)?;
        (!value.is_empty()).then_some(value)
    }
}

impl Params {
    /// The parameters of a raw query string, brackets and spaces encoded or not.
    ///
    /// ```
    /// use slotbook::wire::params::Params;
    /// let params = Params::of_query("ids%5B%5D=1&ids[]=2&sort=&dir=desc");
    /// assert_eq!(params.list("ids"), ["1", "2"]);
    /// assert_eq!((params.one("sort"), params.one("dir")), (None, Some("desc")));
    /// ```
    #[must_use]
    pub fn of_query(query: &str) -> Self {
        Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    /// The value of a name: of several the last, and none where it is empty.
    #[must_use]
    pub fn one(&self, name: &str) -> Option<&str> {
        let value =
            self.0.iter().rev().find(|(given, _)| given == name).map(|(_, value)| value.trim())?;
        (!value.is_empty()).then_some(value)
    }

    /// The values of a list, in order: `name[]=1&name[]=2`, `name[0]=1`, `name=1,2`. Empty values are absent.
    #[must_use]
    pub fn list(&self, name: &str) -> Vec<&str> {
        let belongs = |given: &str| match given.strip_prefix(name) {
            Some("" | "[]") => true,
            Some(rest) => rest
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'))
                .is_some_and(|index| index.bytes().all(|byte| byte.is_ascii_digit())),
            None => false,
        };
        let values =
            self.0.iter().filter(|(given, _)| belongs(given)).map(|(_, value)| value.as_str());
        values
            .flat_map(|value| value.split(','))
            .map(str::trim)
            .filter(|value| !value.is_empty())
            .collect()
    }

    /// The objects of a list, `name[0][part]=value`, by their index, which may be any text; in the order in which they are
    /// first named.
    #[must_use]
    pub fn objects(&self, name: &str) -> Vec<Object<'_>> {
        let mut objects: Vec<Object<'_>> = Vec::new();
        for (given, value) in self.iter() {
            let parts = given.strip_prefix(name).and_then(|rest| rest.strip_prefix('['));
            let parts = parts
                .and_then(|rest| rest.strip_suffix(']'))
                .and_then(|rest| rest.split_once("]["));
            let Some((index, part)) = parts else { continue };
            match objects.iter_mut().find(|object| object.index == index) {
                Some(object) => object.parts.push((part, value)),
                None => objects.push(Object { index, parts: vec![(part, value)] }),
            }
        }
        objects
    }

    /// The same with one more at the end.
    pub fn push(&mut self, name: &str, value: impl Into<String>) {
        self.0.push((name.to_owned(), value.into()));
    }

    /// These, and others after them.
    #[must_use]
    pub fn followed_by(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// The parameters that a JSON object stands for: `{"pro":{"email":"a"}}` and `{"pro[email]":"a"}` are `pro[email]=a`.
    /// What is neither a text nor a number is left out.
    #[must_use]
    pub fn of_object(object: &Map<String, Value>) -> Self {
        fn text(value: &Value) -> Option<String> {
            match value {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
            }
        }
        let mut params = Vec::new();
        for (name, value) in object {
            match value {
                Value::Object(parts) => {
                    params.extend(parts.iter().filter_map(|(part, value)| {
                        Some((format!("{name}[{part}]"), text(value)?))
                    }))
                }
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_) => {
                    params.extend(text(value).map(|text| (name.clone(), text)));
                }
            }
        }
        Self(params)
    }

    /// All names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_written_in_four_ways() {
        for query in ["a[]=1&a[]=2", "a%5B%5D=1&a%5B%5D=2", "a=1,2", "a[0]=1&a[1]=2", "a=1%2C2&a="]
        {
            assert_eq!(Params::of_query(query).list("a"), ["1", "2"], "{query}");
        }
        assert!(Params::of_query("ab[]=1&a[x]=2&a[]=").list("a").is_empty());
    }

    #[test]
    fn objects_of_a_list_are_told_apart_by_their_index() {
        let params = Params::of_query(
            "c[7][op]=%3D&c%5B-1%5D%5Bop%5D=>=&c[7][value]=+a&c[x]=1&cc[1][op]=<&c[7][op]=<",
        );
        let objects = params.objects("c");
        let shown: Vec<_> =
            objects.iter().map(|o| (o.index, o.part("op"), o.part("value"))).collect();
        assert_eq!(shown, [("7", Some("<"), Some(" a")), ("-1", Some(">="), None)]);
    }

    #[test]
    fn spaces_come_as_plus_or_percent() {
        for query in ["start=2025-01-01+09:00:00", "start=2025-01-01%2009%3A00%3A00"] {
            assert_eq!(Params::of_query(query).one("start"), Some("2025-01-01 09:00:00"));
        }
    }
}
