//! The rules of style that place events in the grid of the agenda: one for each row, length and
//! lane, since no style stands inline. Reference 15.3.

use std::fmt::Write as _;

/// Rows of a whole day.
pub(crate) const DAY_ROWS: u32 = 288;
/// Maximum number of events side by side.
pub(crate) const LANES_MAX: usize = 6;

/// Returns the rules: `r5` begins at the sixth row, `n3` takes three rows, and `l0-2` is the first
/// of two lanes.
pub(crate) fn grid_rules() -> String {
    let mut rules = String::new();
    for row in 0..DAY_ROWS {
        add(&mut rules, format_args!(".r{row}{{grid-row-start:{}}}\n", row + 1));
    }
    for rows in 1..=DAY_ROWS {
        add(&mut rules, format_args!(".n{rows}{{grid-row-end:span {rows}}}\n"));
    }
    for count in 2..=LANES_MAX {
        for index in 0..count {
            let width = 100.0 / count as f64;
            let start = width * index as f64;
            add(
                &mut rules,
                format_args!(
                    ".l{index}-{count}{{width:{width:.2}%;margin-inline-start:{start:.2}%}}\n"
                ),
            );
        }
    }
    rules
}

fn add(rules: &mut String, rule: std::fmt::Arguments<'_>) {
    rules.write_fmt(rule).expect("writing to a String does not fail");
}
