//! Whether a benchmark is measured or only tried.

/// Whether it is only tried that this runs: `cargo bench` asks for more, unless with `--test`.
pub(crate) fn is_a_trial() -> bool {
    let asked = |name: &str| std::env::args().any(|argument| argument == name);
    !asked("--bench") || asked("--test")
}
