//! The examples of docs/clients.md, each run by its interpreter against the demonstration.

use std::path::Path;
use std::process::Command;

use super::server::Served;

const DOCUMENT: &str = include_str!("../../docs/clients.md");

/// The language of a block, its interpreter, and the name of the file that holds it.
const LANGUAGES: [(&str, &str, &str); 4] = [
    ("sh", "bash", "client.sh"),
    ("python", "python3", "client.py"),
    // The example has no type annotations, so that every release of node runs it.
    ("typescript", "node", "client.mjs"),
    ("php", "php", "client.php"),
];

/// Returns the only block of a language.
fn example(language: &str) -> String {
    let begin = format!("\n```{language}\n");
    let (_, rest) = DOCUMENT.split_once(&begin).expect("each language has an example");
    let (example, rest) = rest.split_once("\n```\n").expect("the block ends");
    assert!(!rest.contains(&begin), "{language} has one example");
    example.to_owned()
}

fn is_installed(interpreter: &str) -> bool {
    Command::new(interpreter).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Runs an example in a folder, and returns what it prints.
fn run(interpreter: &str, file: &Path, folder: &Path) -> String {
    let output = Command::new(interpreter).arg(file).current_dir(folder).output();
    let output = output.expect("the interpreter runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", file.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn an_example_in_each_language_searches_books_and_cancels() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::heard(&folder.path().join("data"), &["--demo"]);
    for (language, interpreter, name) in LANGUAGES {
        if !is_installed(interpreter) {
            println!("{interpreter} is not installed: the example in {language} is not run");
            continue;
        }
        let example = example(language).replace("http://127.0.0.1:8080", &served.base);
        assert!(example.lines().count() <= 12, "{language} is short");
        let file = folder.path().join(name);
        std::fs::write(&file, example).expect("the file is written");
        // A newcomer tries them again and again, all from one address and for one client.
        for _ in 0..3 {
            let printed = run(interpreter, &file, folder.path());
            assert!(printed.contains("\"deleted\":true"), "{language}: {printed}");
        }
    }
    drop(served.end("TERM"));
}
