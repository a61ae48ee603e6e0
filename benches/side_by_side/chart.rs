//! The chart of the main figures, as SVG: for each workload a bar for each contender.

use std::path::Path;

use crate::contenders::BARE;
use crate::report::{Row, Run, rate_text};

/// Workloads of the chart, in its order. A run that lacks one has a shorter chart.
const SHOWN: [&str; 6] = [
    "bookings, 1,000 groups of 5 calendars, 1 connection",
    "bookings, 1,000 groups of 5 calendars, 64 connections",
    "bookings, 1 group of 1,000 calendars, 64 connections",
    "search, 1 × 7 days, 16 connections",
    "search, 10 × 30 days, 16 connections",
    "mixed, peak in a closed loop, 64 connections: searches",
];

const WIDTH: u32 = 720;
const MARGIN: u32 = 16;
/// Left end of the bars, after the names of contenders.
const BARS_LEFT: u32 = 164;
/// Length of the longest bar of a workload. Its number stands behind it.
const BAR_MAX: f64 = 470.0;
/// Distance of two bars, and of two lines of text.
const LINE: u32 = 20;

/// Colours have a contrast of at least 3 for bars and 4.5 for text. The background is drawn,
/// because a page may be light where the reader's system is dark.
const STYLE: &str = "\
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .back { fill: #fff } \
.head { font-size: 17px; font-weight: 600 } .name { font-weight: 600 } \
.soft { font-size: 12px; fill: #57606a } .end { text-anchor: end } \
.own { fill: #0b5cad } .other { fill: #7d8590 } \
.ceiling { fill: none; stroke: #7d8590; stroke-width: 1.5 } \
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .back { fill: #0d1117 } \
.soft { fill: #9da7b1 } .own { fill: #4c9cf0 } .other { fill: #838c96 } \
.ceiling { stroke: #838c96 } }";

/// Text and bars so far, and the words of the description.
struct Drawing {
    marks: String,
    description: String,
    /// Baseline of the last line.
    y: u32,
}

/// Returns the chart of the shown workloads; `None` if no run measured any.
pub(crate) fn draw(runs: &[Run]) -> Option<String> {
    let mut drawing = Drawing { marks: String::new(), description: String::new(), y: 30 };
    drawing.text("head", MARGIN, "Requests a second");
    drawing.y += LINE;
    drawing.text("soft", MARGIN, "Longer is better. Bars compare within a workload only.");
    drawing.y += LINE - 4;
    drawing.text("soft", MARGIN, "Bare axum returns ready bodies and does nothing else.");
    for run in runs {
        let shown: Vec<Vec<&Row>> = SHOWN
            .iter()
            .map(|name| run.rows().iter().filter(|row| row.workload == *name).collect())
            .filter(|rows: &Vec<&Row>| rows.len() > 1)
            .collect();
        if shown.is_empty() {
            continue;
        }
        drawing.y += LINE + 12;
        drawing.text("soft", MARGIN, &format!("Measured on {}, build {}", run.date, run.build));
        for rows in shown {
            drawing.workload(&rows);
        }
    }
    if drawing.description.is_empty() {
        return None;
    }
    let Drawing { marks, description, y } = drawing;
    let height = y + MARGIN;
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-labelledby=\"title about\">\n\
         <title id=\"title\">Requests a second of slotbook and others</title>\n\
         <desc id=\"about\">{description}</desc>\n<style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\" rx=\"6\"/>\n{marks}</svg>\n"
    ))
}

/// Returns the chart of a file of runs.
///
/// # Panics
/// If the file holds no run of a shown workload.
pub(crate) fn draw_file(file: &Path) -> String {
    let text = std::fs::read(file).expect("the file can be read");
    let runs: Vec<Run> = serde_json::from_slice(&text).expect("the file is a list of runs");
    draw(&runs).expect("the file has workloads of the chart")
}

impl Drawing {
    fn text(&mut self, class: &str, x: u32, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        self.marks +=
            &format!("<text class=\"{class}\" x=\"{x}\" y=\"{}\">{text}</text>\n", self.y);
    }

    /// Draws the bars of one workload under its name.
    fn workload(&mut self, rows: &[&Row]) {
        let name = &rows[0].workload;
        let fastest = rows.iter().filter_map(|row| row.rate).fold(0.0, f64::max);
        self.y += LINE + 8;
        self.text("name", MARGIN, name);
        self.description += &format!("{name}: ");
        for row in rows {
            let Some(rate) = row.rate else { continue };
            let class = match row.contender.as_str() {
                "slotbook" => "own",
                BARE => "ceiling",
                _ => "other",
            };
            let length = (BAR_MAX * rate / fastest).max(1.0).round();
            let number = rate_text(row.rate);
            self.y += LINE;
            self.text("end", BARS_LEFT - 8, &row.contender);
            self.marks += &format!(
                "<rect class=\"{class}\" x=\"{BARS_LEFT}\" y=\"{}\" width=\"{length}\" height=\"13\"/>\n\
                 <text x=\"{}\" y=\"{}\">{number}</text>\n",
                self.y - 11,
                f64::from(BARS_LEFT) + length + 6.0,
                self.y,
            );
            self.description += &format!("{} {number}; ", row.contender);
        }
    }
}
