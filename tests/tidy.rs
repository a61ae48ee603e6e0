//! The rules of the tree that a compiler does not know.

use std::path::{Path, PathBuf};

/// Each layer, and the layers of ours that it may name besides itself.
const LAYERS: [(&str, &[&str]); 7] = [
    ("domain", &[]),
    ("store", &["domain"]),
    ("wire", &["domain"]),
    ("notify", &["domain", "clock"]),
    ("engine", &["domain", "store", "notify", "clock"]),
    ("http", &["wire", "domain", "engine", "notify", "clock", "password"]),
    ("transfer", &["wire", "domain", "engine", "password"]),
];

/// Names that belong to one place, and that place.
const OWNED: [(&str, &[&str]); 6] = [
    ("SystemTime", &["clock.rs"]),
    ("Utc::now", &["clock.rs"]),
    ("Local::now", &["clock.rs"]),
    ("chrono_tz", &["domain/zone.rs"]),
    ("bincode::", &["store/codec.rs"]),
    ("sled::", &["store/"]),
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every source file, by its path below `src`, without the tests in it.
fn files() -> Vec<(String, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the tree is readable") {
            let path = entry.expect("the tree is readable").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs")
                && path.file_name().is_some_and(|n| n != "tests.rs")
            {
                found.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    walk(&source(), &mut paths);
    paths.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("it is text");
        let code = text.split("#[cfg(test)]\nmod tests {").next().expect("a first part").to_owned();
        let name = path.strip_prefix(source()).expect("below src").to_string_lossy().into_owned();
        (name, code)
    };
    paths.iter().map(read).collect()
}

/// Lines of code, without comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

#[test]
fn each_layer_names_only_the_layers_below_it() {
    let mut wrong = Vec::new();
    for (name, text) in files() {
        let Some((layer, allowed)) =
            LAYERS.iter().find(|(layer, _)| name.starts_with(&format!("{layer}/")))
        else {
            continue;
        };
        for (number, line) in code(&text) {
            for (at, _) in line.match_indices("crate::") {
                let rest = &line[at + "crate::".len()..];
                let named: String =
                    rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if named != *layer && !allowed.contains(&named.as_str()) {
                    wrong.push(format!("{name}:{number}: {layer} names {named}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_belongs_to_one_place_is_named_nowhere_else() {
    let mut wrong = Vec::new();
    for (name, text) in files() {
        for (number, line) in code(&text) {
            for (word, owners) in OWNED {
                if line.contains(word) && !owners.iter().any(|owner| name.starts_with(owner)) {
                    wrong.push(format!("{name}:{number}: {word} belongs to {owners:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_core_is_pure() {
    let mut wrong = Vec::new();
    for (name, text) in files().into_iter().filter(|(name, _)| name.starts_with("domain/")) {
        for (number, line) in code(&text) {
            for word in [
                "async ",
                ".await",
                "std::fs",
                "std::net",
                "std::io",
                "std::env",
                "std::thread",
                "tokio",
                "rand::",
            ] {
                if line.contains(word) {
                    wrong.push(format!("{name}:{number}: {word}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn files_stay_short_enough_to_be_read() {
    let long: Vec<_> = files()
        .into_iter()
        .map(|(name, text)| (name, text.lines().count()))
        .filter(|(_, lines)| *lines > 600)
        .collect();
    assert!(long.is_empty(), "{long:?}");
}
