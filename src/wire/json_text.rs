//! Measures of JSON that is not parsed yet. Reference 1.1.

/// Returns the length of JSON in bytes, in which each escaped character counts as its UTF-8 form.
pub(crate) fn unescaped_length(bytes: &[u8]) -> usize {
    let mut length = 0;
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            length += 1;
            continue;
        }
        let (counted, escape) = match tail {
            [b'u', digits @ ..] => (utf8_length(digits.first_chunk()), 5),
            [..] => (1, 1),
        };
        length += counted;
        rest = tail.get(escape..).unwrap_or_default();
    }
    length
}

/// Returns the length in UTF-8 of a unit of UTF-16 given by its hexadecimal digits. Each half of a
/// pair counts 2.
fn utf8_length(digits: Option<&[u8; 4]>) -> usize {
    let unit = digits.and_then(|digits| str::from_utf8(digits).ok());
    match unit.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
        Some(0..0x80) => 1,
        Some(0x80..0x800 | 0xd800..0xe000) => 2,
        _ => 3,
    }
}

/// Returns the maximum nesting depth of brackets outside strings.
pub(crate) fn nesting_depth(bytes: &[u8]) -> usize {
    let mut open = 0_usize;
    let mut open_max = 0;
    let mut in_string = false;
    let mut escaped = false;
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                open += 1;
                open_max = open_max.max(open);
            }
            b'}' | b']' if !in_string => open = open.saturating_sub(1),
            _ => {}
        }
    }
    open_max
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_inside_strings_do_not_count() {
        assert_eq!(nesting_depth(br#"{"a":"[[[[","b":[1]}"#), 2);
        assert_eq!(nesting_depth(br#"{"a":"\"[[","b":"\\"}"#), 1);
        assert_eq!(nesting_depth(b"]]]["), 1);
    }

    #[test]
    fn an_escape_counts_as_what_it_stands_for() {
        for (json, length) in [
            (r#"{"a":"b"}"#, 9),
            (r#""\n\"\\""#, 5),
            (r#""\u0041\u00e9\u20ac""#, 8),
            (r#""\ud83d\ude00""#, 6),
            (r#""\u12"#, 4),
            ("\\", 1),
        ] {
            assert_eq!(unescaped_length(json.as_bytes()), length, "{json}");
        }
    }
}
