//! Tables of texts in French and English. A text without one of them does not compile.

/// Declares a table: a struct with a member for each text, and its values in each language. Each
/// table stands in a file of its own.
macro_rules! text_table {
    (
        $(#[$about:meta])*
        $table:ident;
        $($name:ident: $french:literal, $english:literal;)*
    ) => {
        $(#[$about])*
        pub(crate) struct $table {
            $(pub(crate) $name: &'static str,)*
        }

        impl $table {
            /// Returns the texts in a language.
            pub(crate) const fn in_language(
                language: crate::notify::language::Language,
            ) -> &'static Self {
                static FRENCH: $table = $table { $($name: $french,)* };
                static ENGLISH: $table = $table { $($name: $english,)* };
                match language {
                    crate::notify::language::Language::French => &FRENCH,
                    crate::notify::language::Language::English => &ENGLISH,
                }
            }
        }

        #[cfg(test)]
        mod languages {
            #[test]
            fn both_have_the_same_places_and_neither_is_empty() {
                crate::web::text_table::assert_same_places(&[$(($french, $english),)*]);
            }
        }
    };
}

pub(crate) use text_table;

/// Asserts that each text has the same places in both languages.
#[cfg(test)]
pub(crate) fn assert_same_places(pairs: &[(&str, &str)]) {
    /// The names of the places of a text, sorted.
    fn places(text: &str) -> Vec<&str> {
        let mut names: Vec<&str> =
            text.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
        names.sort_unstable();
        names
    }
    for (french, english) in pairs {
        assert_eq!(places(french), places(english), "{french}");
        assert!(!french.is_empty() && !english.is_empty());
    }
}
