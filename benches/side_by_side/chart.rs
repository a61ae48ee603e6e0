//! A chart of the table: for each workload a bar for each contender, as SVG.

use std::fmt::Write as _;

use crate::report::{Row, rate_text};

const WIDTH: usize = 720;
/// Left end of the bars, after the names of contenders.
const BARS_LEFT: usize = 150;
/// Length of the longest bar of a workload. Its number stands behind it.
const BAR_MAX: f64 = 480.0;
const LINE: usize = 20;
/// Space between two workloads, with the title of the next.
const TITLE: usize = 34;

const STYLE: &str = "\
text { font: 13px system-ui, sans-serif; fill: #222 } .title { font-weight: 600 } \
.end { text-anchor: end } .own { fill: #14508c } .other { fill: #8a94a0 } \
@media (prefers-color-scheme: dark) { text { fill: #e6e6e6 } .own { fill: #6db3f2 } .other { fill: #6f7a86 } }";

/// Draws the rates of the workloads that several contenders ran. Bars compare within a workload.
pub(crate) fn draw(rows: &[Row], date: &str) -> String {
    let mut bars = String::new();
    let mut spoken = String::new();
    let mut top = 8;
    let shared: Vec<&[Row]> = rows
        .chunk_by(|one, next| one.workload == next.workload)
        .filter(|of| of.len() > 1)
        .collect();
    for workload in shared {
        let fastest = workload.iter().filter_map(|row| row.rate).fold(0.0, f64::max);
        if fastest <= 0.0 {
            continue;
        }
        top += TITLE;
        let name = escape(&workload[0].workload);
        writeln!(bars, "<text class=\"title\" x=\"8\" y=\"{}\">{name}</text>", top - 10)
            .expect("memory can be written");
        write!(spoken, "{name}:").expect("memory can be written");
        for row in workload {
            let Some(rate) = row.rate else { continue };
            let class = if row.contender == "slotbook" { "own" } else { "other" };
            let contender = escape(&row.contender);
            let length = (BAR_MAX * rate / fastest).max(1.0);
            let number = rate_text(row.rate);
            writeln!(
                bars,
                "<text class=\"end\" x=\"{}\" y=\"{}\">{contender}</text>\
                 <rect class=\"{class}\" x=\"{BARS_LEFT}\" y=\"{}\" width=\"{length:.0}\" height=\"14\"/>\
                 <text x=\"{:.0}\" y=\"{}\">{number}</text>",
                BARS_LEFT - 8,
                top + 12,
                top,
                6.0 + length + f64::from(u32::try_from(BARS_LEFT).expect("small")),
                top + 12,
            )
            .expect("memory can be written");
            write!(spoken, " {contender} {number};").expect("memory can be written");
            top += LINE;
        }
    }
    let height = top + 12;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-labelledby=\"title about\">\n<title id=\"title\">Requests per second, {date}</title>\n\
         <desc id=\"about\">{spoken}</desc>\n<style>{STYLE}</style>\n{bars}</svg>\n"
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
