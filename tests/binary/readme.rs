//! The README's transcripts, run as they stand there against the demonstration.

use std::process::Command;

use super::server::Served;

const README: &str = include_str!("../../README.md");

/// The commands under a heading: its indented lines, save the first block where that starts the server.
fn transcript(heading: &str) -> String {
    let section = README
        .split("\n## ")
        .find(|section| section.starts_with(heading))
        .expect("the README has it");
    let lines = section.lines().filter_map(|line| line.strip_prefix("    "));
    lines.filter(|line| !line.starts_with("cargo ")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_the_readme_shows_works_as_it_stands_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::heard(&folder.path().join("data"), &["--demo"]);
    for heading in ["Try it", "The API"] {
        let script = transcript(heading).replace("http://127.0.0.1:8080", &served.base);
        let requests = script.matches("curl ").count();
        assert!(requests > 5, "{script}");
        let shell = ["-e", "-u", "-o", "pipefail", "-c"];
        let done =
            Command::new("bash").args(shell).arg(&script).current_dir(folder.path()).output();
        let done = done.expect("bash and curl are there");
        let (said, complained) =
            (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success(), "{heading}: {complained}\n{said}");
        assert!(!said.contains("\"errors\"") && !said.contains("\"code\""), "{heading}: {said}");
        let answers = said.matches("{\"").count();
        assert!(answers + 3 >= requests, "{answers} answers to {requests} requests: {said}");
    }
    drop(served.end("TERM"));
}
