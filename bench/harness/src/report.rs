//! Rows as a table for people and as JSON for programs.

use std::fmt::Write;

use crate::Figure;

/// The rows measured so far.
#[derive(Default)]
pub struct Report {
    json: Vec<String>,
}

impl Report {
    /// Prints a heading.
    pub fn section(&mut self, title: &str) {
        println!("\n{title}\n");
    }

    /// Prints a row and keeps it for [`Report::json`]. The first figure is Rutter's; the others have their ratio to it.
    /// Allocations of a turn are in brackets.
    pub fn add(&mut self, name: &str, figures: &[Figure]) {
        let ours = figures.first().map_or(f64::NAN, |figure| figure.median_ns);
        let mut line = format!("{name:<44}");
        let mut cells = Vec::new();
        for (index, figure) in figures.iter().enumerate() {
            let between = if index == 0 { "" } else { " | " };
            let _ = write!(line, "{between}{} {}", figure.name, time(figure.median_ns));
            if index > 0 {
                let _ = write!(line, " ×{:.1}", figure.median_ns / ours);
            }
            let count = figure
                .allocations
                .map_or("null".to_string(), |n| n.to_string());
            if figure.allocations.is_some() {
                let _ = write!(line, " [{count}]");
            }
            cells.push(format!(
                "{{\"name\":\"{}\",\"median_ns\":{:.3},\"least_ns\":{:.3},\"allocations\":{count}}}",
                figure.name, figure.median_ns, figure.least_ns
            ));
        }
        println!("{line}");
        self.json.push(format!(
            "{{\"row\":\"{name}\",\"figures\":[{}]}}",
            cells.join(",")
        ));
    }

    /// Prints a row of bytes instead of times.
    pub fn add_octets(&mut self, name: &str, figures: &[(&str, u64, u64)]) {
        let ours = figures.first().map_or(f64::NAN, |figure| figure.1 as f64);
        let mut line = format!("{name:<44}");
        let mut cells = Vec::new();
        for (index, (who, octets, prefixes)) in figures.iter().enumerate() {
            let (mib, each) = (
                *octets as f64 / 1_048_576.0,
                *octets as f64 / *prefixes as f64,
            );
            let between = if index == 0 { "" } else { " | " };
            let _ = write!(line, "{between}{who} {mib:.1} MiB, {each:.1} B a prefix");
            if index > 0 {
                let _ = write!(line, " ×{:.1}", *octets as f64 / ours);
            }
            cells.push(format!(
                "{{\"name\":\"{who}\",\"octets\":{octets},\"prefixes\":{prefixes}}}"
            ));
        }
        println!("{line}");
        self.json.push(format!(
            "{{\"row\":\"{name}\",\"figures\":[{}]}}",
            cells.join(",")
        ));
    }

    /// All rows.
    pub fn json(&self) -> String {
        format!("[\n{}\n]\n", self.json.join(",\n"))
    }
}

/// A time with three digits.
fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns => (ns / 1e6, "ms"),
    };
    let digits = match value {
        value if value < 10.0 => 2,
        value if value < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}
