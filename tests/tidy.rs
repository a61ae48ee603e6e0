//! Rules of the tree that the compiler does not check: layers, import circles, names, wording and
//! citations. CONTRIBUTING.md states them for people.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Layers, and the layers each may import besides itself.
const LAYERS: [(&str, &[&str]); 8] = [
    ("domain", &[]),
    ("store", &["domain"]),
    ("wire", &["domain"]),
    ("notify", &["domain", "clock"]),
    ("engine", &["domain", "store", "notify", "clock"]),
    ("http", &["wire", "domain", "engine", "notify", "clock", "password"]),
    ("web", &["http", "wire", "domain", "engine", "notify", "password"]),
    ("transfer", &["wire", "domain", "engine", "password"]),
];

/// Folders of `domain`, lowest first. Each imports only those before it.
const DOMAIN_FLOORS: [&str; 8] = [
    "time",
    "recurrence",
    "records",
    "directory",
    "availability",
    "state",
    "messaging",
    "decisions",
];

/// The switch of the planted faults, which lie in every layer. It imports nothing, and in a build
/// without its feature it is constant.
const EVERYWHERE: &str = "planted_faults";

/// Names that only one place may use, and that place.
const OWNED: [(&str, &[&str]); 10] = [
    ("SystemTime", &["clock.rs"]),
    ("Utc::now", &["clock.rs"]),
    ("Local::now", &["clock.rs"]),
    ("chrono_tz", &["domain/time/zone.rs"]),
    ("bincode::", &["store/codec.rs"]),
    ("sled::", &["store/"]),
    ("guesses.admit", &["http/limits/guarded_write.rs"]),
    ("booking_limit.reserve", &["http/limits/guarded_write.rs"]),
    // The other one is a test, whose clients are no strangers.
    (
        "Command::BookAppointment(Box",
        &["http/limits/guarded_write.rs", "cli/cluster_simulation.rs"],
    ),
    ("Command::HoldTime(Box", &["http/limits/guarded_write.rs"]),
];

/// Words that the project's plain English does without.
const BANNED_WORDS: [&str; 9] = [
    "whoever",
    "whomever",
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "told",
    "of ours",
    "so many",
];

/// Words that no doc summary starts with: a summary names the thing or starts with a verb.
const BANNED_OPENINGS: [&str; 8] =
    ["What", "Who", "Whom", "Whose", "Whoever", "Where", "When", "How"];

/// Import circles that may stay, each because its types are one idea.
const ALLOWED_CIRCLES: [&[&str]; 0] = [];

/// Longest file, in lines of code and comments without its inline tests.
const FILE_LINES_MAX: usize = 600;
/// Widest comment, in characters; rustfmt holds code to the same width.
const COMMENT_WIDTH_MAX: usize = 100;
/// Longest README: one screen and a little.
const README_LINES_MAX: usize = 150;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// Returns every file with one of these extensions below a path of the repository, sorted.
fn files_below(path: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let mut open = vec![repository().join(path)];
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            for entry in std::fs::read_dir(&path).expect("the tree is readable") {
                open.push(entry.expect("the tree is readable").path());
            }
        } else if path.extension().is_some_and(|e| extensions.iter().any(|wanted| e == *wanted)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file is text")
}

/// Returns a path as it is written in messages: relative to the repository.
fn shown(path: &Path) -> String {
    path.strip_prefix(repository()).expect("the file is in the repository").display().to_string()
}

/// Source files by their path below `src`, without unit tests.
fn sources() -> BTreeMap<String, String> {
    let mut sources = BTreeMap::new();
    for path in files_below("src", &["rs"]) {
        let name = shown(&path).trim_start_matches("src/").to_owned();
        if name.ends_with("/tests.rs") || name.contains("/tests/") {
            continue;
        }
        let text = read(&path);
        let code = text.split("#[cfg(test)]\nmod tests {").next().expect("a first part").to_owned();
        sources.insert(name, code);
    }
    sources
}

/// Lines of code with their numbers, without comments.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Returns the text of a comment line, without its slashes.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = ["///", "//!", "//"].iter().find_map(|slashes| line.strip_prefix(slashes));
    text.map(str::trim)
}

fn assert_none(violations: &[String]) {
    assert!(violations.is_empty(), "{} violations:\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn each_layer_imports_only_the_layers_below_it() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        let layer = LAYERS.iter().find(|(layer, _)| name.starts_with(&format!("{layer}/")));
        let Some((layer, allowed)) = layer else { continue };
        for (number, line) in code_lines(&text) {
            for (at, _) in line.match_indices("crate::") {
                let rest = &line[at + "crate::".len()..];
                let imported: String = identifier_at_start(rest).to_owned();
                let is_allowed = imported == EVERYWHERE || allowed.contains(&imported.as_str());
                if imported != *layer && !is_allowed {
                    wrong.push(format!("{name}:{number}: {layer} imports {imported}"));
                }
            }
        }
    }
    assert_none(&wrong);
}

/// Returns the place of a file's folder among the floors of `domain`.
fn floor_of(name: &str) -> Option<usize> {
    let folder = name.strip_prefix("domain/")?.split('/').next()?;
    DOMAIN_FLOORS.iter().position(|floor| *floor == folder)
}

/// Whether a text literal of a line holds two blanks between words. Blanks after a line break indent what follows.
fn has_row_of_blanks(line: &str) -> bool {
    let texts = line.split('"').skip(1).step_by(2);
    texts.into_iter().any(|text| {
        let parts = text.split("\\n").map(str::trim);
        parts.into_iter().any(|part| part.contains("  "))
    })
}

#[test]
fn texts_hold_single_blanks() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        for (number, line) in code_lines(&text) {
            if has_row_of_blanks(line) {
                wrong.push(format!("{name}:{number}: a text holds a row of blanks"));
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn rows_of_blanks_are_found() {
    assert!(has_row_of_blanks(r#"    "minutes apart:      choose another","#));
    assert!(!has_row_of_blanks(r#"    let a = "b c";  // "d""#));
    assert!(!has_row_of_blanks(r#"    format!("\n  group {} is set aside")"#));
}

#[test]
fn each_floor_of_the_domain_imports_only_the_floors_below_it() {
    let sources = sources();
    let mut wrong = Vec::new();
    for (name, files) in imports(&sources) {
        let Some(floor) = floor_of(name) else {
            if name.starts_with("domain/") && name != "domain/mod.rs" {
                wrong.push(format!("{name}: its folder is no floor"));
            }
            continue;
        };
        for imported in files {
            if floor_of(imported).is_some_and(|above| above > floor) {
                wrong.push(format!("{name} imports {imported}, which is above it"));
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn floors_are_found() {
    assert_eq!(floor_of("domain/state/group_state/apply.rs"), Some(5));
    assert_eq!(floor_of("domain/mod.rs"), None);
    assert_eq!(floor_of("engine/group.rs"), None);
}

#[test]
fn owned_names_are_used_only_by_their_owner() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        for (number, line) in code_lines(&text) {
            for (word, owners) in OWNED {
                if line.contains(word) && !owners.iter().any(|owner| name.starts_with(owner)) {
                    wrong.push(format!("{name}:{number}: {word} belongs to {owners:?}"));
                }
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn the_core_is_pure() {
    const IMPURE: [&str; 9] = [
        "async ",
        ".await",
        "std::fs",
        "std::net",
        "std::io",
        "std::env",
        "std::thread",
        "tokio",
        "rand::",
    ];
    let mut wrong = Vec::new();
    for (name, text) in sources().into_iter().filter(|(name, _)| name.starts_with("domain/")) {
        for (number, line) in code_lines(&text) {
            for word in IMPURE {
                if line.contains(word) {
                    wrong.push(format!("{name}:{number}: {word}"));
                }
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn files_and_comments_keep_their_size() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        if text.lines().count() > FILE_LINES_MAX {
            wrong.push(format!("{name}: more than {FILE_LINES_MAX} lines"));
        }
        for (number, line) in (1..).zip(text.lines()) {
            if comment(line).is_some() && line.chars().count() > COMMENT_WIDTH_MAX {
                wrong.push(format!("{name}:{number}: comment wider than {COMMENT_WIDTH_MAX}"));
            }
        }
    }
    let readme = read(&repository().join("README.md")).lines().count();
    if readme > README_LINES_MAX {
        wrong.push(format!("README.md: {readme} lines, at most {README_LINES_MAX}"));
    }
    assert_none(&wrong);
}

#[test]
fn the_root_of_http_has_at_most_16_files() {
    let sources = sources();
    let names = sources.keys().filter_map(|name| name.strip_prefix("http/"));
    let root: Vec<&str> = names.filter(|name| !name.contains('/')).collect();
    let folders = "resources, limits, auth, connection, answer (forms of answers) or openapi";
    assert!(root.len() <= 16, "{} files: move one to {folders}: {root:?}", root.len());
}

/// Finds banned words in a text, as whole words and in any case. `of ours` is two of them.
fn banned_words(line: &str) -> Vec<&'static str> {
    let words: Vec<String> = line
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let text = format!(" {} ", words.join(" "));
    BANNED_WORDS.into_iter().filter(|word| text.contains(&format!(" {word} "))).collect()
}

/// Whether a line begins a documentation comment with a word that no summary starts with.
fn has_banned_opening(previous: Option<&str>, line: &str) -> bool {
    let is_doc = |line: &str| {
        let line = line.trim_start();
        line.starts_with("///") || line.starts_with("//!")
    };
    if !is_doc(line) || previous.is_some_and(is_doc) {
        return false;
    }
    let first = identifier_at_start(comment(line).expect("it is a comment"));
    BANNED_OPENINGS.contains(&first)
}

#[test]
fn texts_are_plain_english() {
    let mut wrong = Vec::new();
    let mut paths = files_below("src", &["rs"]);
    paths.extend(files_below("docs", &["md"]));
    paths.extend(
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"]
            .map(|f| repository().join(f)),
    );
    for path in paths {
        let text = read(&path);
        let mut previous = None;
        for (number, line) in (1..).zip(text.lines()) {
            let place = format!("{}:{number}", shown(&path));
            for word in banned_words(line) {
                // CONTRIBUTING.md names the banned words in one line of code.
                if !(line.contains('`') && place.starts_with("CONTRIBUTING.md")) {
                    wrong.push(format!("{place}: the word {word:?}"));
                }
            }
            if place.starts_with("src/") && has_banned_opening(previous, line) {
                wrong.push(format!("{place}: a summary names a thing or starts with a verb"));
            }
            previous = Some(line);
        }
    }
    assert_none(&wrong);
}

#[test]
fn wording_violations_are_found() {
    assert_eq!(banned_words("// Nobody was told, so many times."), ["nobody", "told", "so many"]);
    assert!(banned_words("untold somebodys").is_empty());
    assert!(has_banned_opening(None, "    /// Where it stands."));
    assert!(has_banned_opening(Some("let x = 1;"), "//! Who may do it."));
    assert!(!has_banned_opening(Some("/// The place"), "/// Where it stands."));
    assert!(!has_banned_opening(None, "/// Whole rows."));
}

/// Section numbers of the headings below `docs/reference`, and the invariants of ARCHITECTURE.md.
fn cited_targets() -> (BTreeSet<String>, BTreeSet<String>) {
    let mut sections = BTreeSet::new();
    for path in files_below("docs/reference", &["md"]) {
        for line in read(&path).lines().filter(|line| line.starts_with('#')) {
            let heading = line.trim_start_matches('#').trim_start();
            let number = heading.split_whitespace().next().unwrap_or_default();
            sections.insert(number.trim_end_matches('.').to_owned());
        }
    }
    let architecture = read(&repository().join("ARCHITECTURE.md"));
    let invariants = architecture
        .split_once("## Invariants")
        .map_or("", |(_, rest)| rest.split("\n## ").next().expect("a first part"));
    let numbers = invariants
        .lines()
        .filter_map(|line| line.split_once('.').map(|(number, _)| number.trim().to_owned()))
        .filter(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
        .collect();
    (sections, numbers)
}

/// Numbers that follow a word such as `Reference`: "4.6", or "4.6, 6.1 and 7" as three.
fn citations<'t>(text: &'t str, word: &str) -> Vec<&'t str> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(word) {
        let mut rest = &text[at + word.len()..];
        loop {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let number = rest[..end].trim_end_matches('.');
            if number.is_empty() {
                break;
            }
            found.push(number);
            rest = &rest[end..];
            let separators = [", ", " and ", " to "];
            match separators.iter().find_map(|separator| rest.strip_prefix(separator)) {
                Some(next) => rest = next,
                None => break,
            }
        }
    }
    found
}

#[test]
fn every_citation_leads_somewhere() {
    let (sections, invariants) = cited_targets();
    assert!(sections.contains("4.6") && invariants.contains("10"), "the targets are found");
    let mut wrong = Vec::new();
    for folder in ["src", "tests", "benches"] {
        for path in files_below(folder, &["rs"]) {
            let name = shown(&path);
            if name == "tests/tidy.rs" {
                continue;
            }
            // A citation may be broken over two lines of a comment.
            let joined = read(&path).replace("\n", " ").replace("/// ", "").replace("//! ", "");
            let text = joined.split_whitespace().collect::<Vec<_>>().join(" ");
            for number in citations(&text, "Reference ") {
                if !sections.contains(number) {
                    wrong.push(format!("{name}: Reference {number} is no section"));
                }
            }
            let cited = citations(&text, "Invariant ");
            for number in cited.into_iter().chain(citations(&text, "Invariants ")) {
                if !invariants.contains(number) {
                    wrong.push(format!("{name}: Invariant {number} does not exist"));
                }
            }
            for outside in ["Spec ", "Contract "] {
                for number in citations(&text, outside) {
                    wrong.push(format!("{name}: {outside}{number} is not in the repository"));
                }
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn citations_are_found() {
    assert_eq!(citations("See Reference 4.6, 6.1 and 7. More.", "Reference "), ["4.6", "6.1", "7"]);
    assert!(citations("Reference books", "Reference ").is_empty());
}

/// Returns the identifier that a text starts with; empty where it starts with none.
fn identifier_at_start(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// Returns the paths that code names from the crate's root: those written `crate::…`, those below
/// its own module, written `self::…`, and those of `use child::…` in a module's own file.
fn named_paths(module: &str, code: &str) -> Vec<String> {
    let mut starts: Vec<(String, &str)> = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        starts.push((String::new(), &code[at + "crate::".len()..]));
    }
    for (at, _) in code.match_indices("self::") {
        starts.push((format!("{module}::"), &code[at + "self::".len()..]));
    }
    for line in code.lines() {
        let line = line.trim_start();
        let line = line.strip_prefix("pub ").unwrap_or(line);
        if let Some(rest) = line.strip_prefix("use ") {
            starts.push((format!("{module}::"), rest));
        }
    }
    let mut paths = Vec::new();
    for (base, rest) in starts {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
        let (path, rest) = rest.split_at(end.unwrap_or(rest.len()));
        let path = format!("{base}{path}");
        // `use crate::a::{b, C};` names each of the group.
        let Some(group) = rest.strip_prefix('{') else {
            paths.push(path);
            continue;
        };
        let group = group.split('}').next().expect("a first part");
        for name in group.split(',').map(|name| identifier_at_start(name.trim())) {
            paths.push(format!("{path}{name}"));
        }
    }
    paths
}

/// Returns the files that each file imports.
fn imports(sources: &BTreeMap<String, String>) -> BTreeMap<&str, BTreeSet<&str>> {
    let module_of =
        |name: &str| name.trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::");
    let modules: BTreeMap<String, &str> =
        sources.keys().map(|name| (module_of(name), name.as_str())).collect();
    let mut imports = BTreeMap::new();
    for (name, text) in sources {
        let code: Vec<&str> = code_lines(text).map(|(_, line)| line).collect();
        let mut files = BTreeSet::new();
        for path in named_paths(&module_of(name), &code.join("\n")) {
            // The path names a module, or something in one: the longest prefix is the module.
            let mut prefix = path.as_str();
            let file = loop {
                if let Some(file) = modules.get(prefix) {
                    break Some(*file);
                }
                match prefix.rsplit_once("::") {
                    Some((shorter, _)) => prefix = shorter,
                    None => break None,
                }
            };
            files.extend(file.filter(|file| file != name));
        }
        imports.insert(name.as_str(), files);
    }
    imports
}

/// Returns the groups of files that reach one another: each pair in a group imports the other,
/// directly or through others of the group.
fn circles<'n>(imports: &BTreeMap<&'n str, BTreeSet<&'n str>>) -> Vec<Vec<&'n str>> {
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for start in imports.keys() {
        let mut seen = BTreeSet::new();
        let mut open = vec![*start];
        while let Some(file) = open.pop() {
            for next in imports.get(file).into_iter().flatten() {
                if seen.insert(*next) {
                    open.push(next);
                }
            }
        }
        reached.insert(start, seen);
    }
    let mut circles: Vec<Vec<&str>> = Vec::new();
    for start in imports.keys() {
        if circles.iter().any(|circle| circle.contains(start)) {
            continue;
        }
        let others = reached[start].iter().filter(|other| reached[*other].contains(start));
        let circle: Vec<&str> = others.copied().collect();
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles
}

#[test]
fn no_files_import_one_another_in_a_circle() {
    let sources = sources();
    let mut wrong = Vec::new();
    for circle in circles(&imports(&sources)) {
        if !ALLOWED_CIRCLES.contains(&circle.as_slice()) {
            wrong.push(format!("{} files: {circle:?}", circle.len()));
        }
    }
    for (name, text) in &sources {
        for (number, line) in code_lines(text) {
            if line.contains("super::") {
                wrong.push(format!("{name}:{number}: imports use full paths, crate::…"));
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn circles_are_found() {
    let source = |text: &str| text.to_owned();
    let sources = BTreeMap::from([
        ("a.rs".to_owned(), source("use crate::b::{self, Name};\n// crate::d\n")),
        ("b.rs".to_owned(), source("use crate::{c, other};")),
        ("c.rs".to_owned(), source("fn f() { crate::a::g() }")),
        ("d.rs".to_owned(), source("use crate::a::Name;")),
    ]);
    assert_eq!(circles(&imports(&sources)), [["a.rs", "b.rs", "c.rs"]]);
}

#[test]
fn public_types_have_names_of_their_own() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        for (number, line) in code_lines(&text) {
            let line = line.trim_start();
            let place = format!("{name}:{number}");
            if line.contains("fn of(") || line.contains("fn of<") {
                wrong.push(format!("{place}: `of` is no name for a function"));
            }
            let Some(rest) = line.strip_prefix("pub") else { continue };
            let rest = match rest.strip_prefix('(') {
                Some(scope) => scope.split_once(')').map_or("", |(_, rest)| rest),
                None => rest,
            };
            for keyword in ["struct ", "enum ", "trait ", "type "] {
                let rest = rest.trim_start().strip_prefix(keyword);
                // A macro takes the name from each of its uses.
                if let Some(rest) = rest.filter(|rest| !rest.starts_with('$')) {
                    places
                        .entry(identifier_at_start(rest).to_owned())
                        .or_default()
                        .push(place.clone());
                }
            }
        }
    }
    wrong.extend(
        places
            .into_iter()
            .filter(|(_, places)| places.len() > 1)
            .map(|(name, places)| format!("{name}: {places:?}")),
    );
    assert_none(&wrong);
}

/// Enums of other crates, over which a match may end with `_`.
const FOREIGN_ENUMS: [&str; 12] = [
    "Bound",
    "Cow",
    "EntryKind",
    "ErrorKind",
    "Event",
    "IpAddr",
    "Level",
    "Ordering",
    "Poll",
    "SocketAddr",
    "StatusCode",
    "Value",
];

/// Returns the enum of a pattern such as `Refusal::NoResult` or `&Self::Empty { .. }`.
fn enum_of_pattern(line: &str) -> Option<&str> {
    let pattern = line.trim_start().trim_start_matches(['|', '&', ' ']);
    let name = identifier_at_start(pattern);
    let variant = identifier_at_start(pattern.strip_prefix(name)?.strip_prefix("::")?);
    let is_type = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.contains(|c: char| c.is_ascii_lowercase())
    };
    if is_type(name) && is_type(variant) { Some(name) } else { None }
}

/// Returns the lines with an arm `_ =>` of a match whose other arms are variants of an enum of this
/// crate. A new variant would be taken for one of the rest there.
fn wildcards_over_own_enums(code: &str) -> Vec<usize> {
    let lines: Vec<&str> = code.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut found = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        if !line.trim_start().starts_with("_ =>") {
            continue;
        }
        let before = lines[..place].iter().rev();
        let mut arms = before
            .take_while(|other| other.trim().is_empty() || indent(other) >= indent(line))
            .filter(|other| indent(other) == indent(line));
        let is_own = |name: &str| !FOREIGN_ENUMS.contains(&name);
        if arms.any(|arm| enum_of_pattern(arm).is_some_and(is_own)) {
            found.push(place + 1);
        }
    }
    found
}

#[test]
fn a_match_over_an_enum_of_this_crate_names_every_variant() {
    let mut wrong = Vec::new();
    for (name, text) in sources() {
        for number in wildcards_over_own_enums(&text) {
            wrong.push(format!("{name}:{number}: name the other variants in place of `_`"));
        }
    }
    assert_none(&wrong);
}

#[test]
fn wildcards_are_found() {
    let own = "match refusal {\n    Refusal::NoResult => 1,\n    _ => {\n        2\n    }\n}";
    assert_eq!(wildcards_over_own_enums(own), [3]);
    let others = "match found {\n    Some(Refusal::NoResult) => 1,\n    _ => 2,\n}";
    assert!(wildcards_over_own_enums(others).is_empty());
    let foreign = "match value {\n    Value::Null => 1,\n    _ => 2,\n}";
    assert!(wildcards_over_own_enums(foreign).is_empty());
}

#[test]
fn every_planted_fault_has_a_test_that_sees_it() {
    let faults = read(&repository().join("src/planted_faults.rs"));
    let faults = faults.split("enum PlantedFault {").nth(1).expect("the enum");
    let faults = faults.split('}').next().expect("its end");
    let faults: BTreeSet<&str> =
        code_lines(faults).filter_map(|(_, line)| line.trim().strip_suffix(',')).collect();
    let mut tests = String::new();
    for folder in ["src", "tests"] {
        for path in files_below(folder, &["rs"]) {
            tests.push_str(&read(&path));
        }
    }
    let mut wrong = Vec::new();
    let mut listed = BTreeSet::new();
    let table = read(&repository().join("docs/planted-faults.md"));
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let [_, fault, _, _, test, _] = cells[..] else { panic!("{row}") };
        if !faults.contains(fault) || !listed.insert(fault.to_owned()) {
            wrong.push(format!("{fault} is no fault, or stands twice"));
        }
        let name = test.rsplit("::").next().expect("a last part");
        if !tests.contains(&format!("fn {name}(")) {
            wrong.push(format!("{fault}: there is no test {test}"));
        }
    }
    for fault in faults {
        if !listed.contains(fault) {
            wrong.push(format!("{fault} is missing in docs/planted-faults.md"));
        }
    }
    assert_none(&wrong);
}
