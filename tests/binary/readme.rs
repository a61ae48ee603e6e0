//! The commands of the documentation, run as they stand there against the demonstration.
//!
//! The fenced `sh` blocks of a document are run, as one script in the order of the document. Blocks
//! of any other kind (`console`, `json`, `toml`) and indented lines are not run.

use std::process::Command;

use super::server::Served;

/// The documents whose commands are run, each against a fresh store.
const DOCUMENTS: [(&str, &str); 5] = [
    ("README.md", include_str!("../../README.md")),
    ("docs/api.md", include_str!("../../docs/api.md")),
    ("docs/idempotency.md", include_str!("../../docs/idempotency.md")),
    ("docs/messages.md", include_str!("../../docs/messages.md")),
    ("docs/accounts-and-rights.md", include_str!("../../docs/accounts-and-rights.md")),
];

/// Makes every request fail that is answered with a status of 400 or more, and with it the script.
const PRELUDE: &str = "curl() { command curl --fail-with-body \"$@\"; }\n";

/// Returns the lines of all fenced `sh` blocks.
fn commands(document: &str) -> String {
    let mut commands = String::new();
    let mut in_block = false;
    for line in document.lines() {
        if !in_block {
            in_block = line == "```sh";
        } else if line == "```" {
            in_block = false;
        } else {
            commands.push_str(line);
            commands.push('\n');
        }
    }
    assert!(!in_block, "the last block is not closed");
    commands
}

#[test]
fn commands_of_the_documentation_run_as_they_stand_there() {
    for (name, document) in DOCUMENTS {
        let folder = tempfile::tempdir().expect("a folder");
        let served = Served::heard(&folder.path().join("data"), &["--demo"]);
        let commands = commands(document).replace("http://127.0.0.1:8080", &served.base);
        assert!(commands.matches("curl ").count() > 1, "{name} has no requests: {commands}");
        let script = format!("{PRELUDE}{commands}");
        let shell = ["-e", "-u", "-o", "pipefail", "-c"];
        let output =
            Command::new("bash").args(shell).arg(&script).current_dir(folder.path()).output();
        let output = output.expect("bash and curl are installed");
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {stderr}\n{stdout}");
        assert!(!stdout.contains("\"errors\""), "{name}: {stdout}");
        drop(served.end("TERM"));
    }
}

#[test]
fn only_sh_blocks_are_commands() {
    let document =
        "text\n```sh\none\n  two\n```\n```console\nthree\n```\n    four\n```sh\nfive\n```\n";
    assert_eq!(commands(document), "one\n  two\nfive\n");
}
