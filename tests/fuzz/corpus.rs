//! The committed inputs of each target, and the dictionary of all.

use std::path::{Path, PathBuf};

/// A committed input.
#[derive(Clone, Debug)]
pub(crate) struct Seed {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz")
}

/// Returns the names of the folders of the corpus.
pub(crate) fn folders() -> Vec<String> {
    let entries = std::fs::read_dir(folder().join("corpus")).expect("the corpus is committed");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("it is readable").file_name().into_string().expect("a plain name")
    };
    entries.map(name).collect()
}

/// Returns the inputs of a target, by name.
pub(crate) fn seeds(target: &str) -> Vec<Seed> {
    let folder = folder().join("corpus").join(target);
    let mut seeds = Vec::new();
    for entry in std::fs::read_dir(folder).expect("each target has a corpus") {
        let path = entry.expect("it is readable").path();
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        seeds.push(Seed { name, bytes: std::fs::read(&path).expect("it is readable") });
    }
    seeds.sort_by(|a, b| a.name.cmp(&b.name));
    seeds
}

/// Returns the words of the dictionary, in which libFuzzer escapes bytes as `\xHH`.
pub(crate) fn words() -> Vec<Vec<u8>> {
    let text = std::fs::read_to_string(folder().join("dictionary.txt")).expect("it is committed");
    let quoted = text.lines().filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'));
    quoted.map(unescape).collect()
}

fn unescape(word: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = word.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let (byte, used) = match (first, tail) {
            (b'\\', [b'x', high, low, ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).expect("two digits");
                (u8::from_str_radix(digits, 16).expect("two digits"), 4)
            }
            (b'\\', [escaped, ..]) => (*escaped, 2),
            (plain, _) => (*plain, 1),
        };
        bytes.push(byte);
        rest = &rest[used..];
    }
    bytes
}
