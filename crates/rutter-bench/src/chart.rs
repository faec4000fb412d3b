//! Draws bar charts as SVG: groups of bars, each group with its own scale.

use std::fmt::Write;

/// Bars that are compared with each other.
pub(crate) struct Group {
    /// The quantity.
    pub title: String,
    /// Names and values; the first bar is highlighted.
    pub bars: Vec<(String, f64)>,
}

const WIDTH: u32 = 720;
const LEFT: u32 = 110;
const LONGEST: f64 = 480.0;
const BAR: u32 = 16;
const STEP: u32 = 20;
const HEAD: u32 = 24;
const GAP: u32 = 14;

/// Draws a page with the groups below each other.
pub(crate) fn draw(title: &str, groups: &[Group]) -> String {
    let bars: usize = groups.iter().map(|group| group.bars.len()).sum();
    let height = 40 + bars as u32 * STEP + groups.len() as u32 * (HEAD + GAP);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"12\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{}</text>\n",
        escape(title)
    );
    let mut y = 40;
    for group in groups {
        y = draw_group(&mut out, group, y);
    }
    out.push_str("</svg>\n");
    out
}

fn draw_group(out: &mut String, group: &Group, top: u32) -> u32 {
    let most = group
        .bars
        .iter()
        .map(|(_, figure)| *figure)
        .fold(0.0, f64::max);
    let _ = writeln!(
        out,
        "<text x=\"12\" y=\"{}\" fill=\"#444444\">{}</text>",
        top + 16,
        escape(&group.title)
    );
    let mut y = top + HEAD;
    for (number, (name, figure)) in group.bars.iter().enumerate() {
        let length = if most > 0.0 {
            figure / most * LONGEST
        } else {
            0.0
        };
        let color = if number == 0 { "#1a7f5a" } else { "#b9c2cc" };
        let middle = y + BAR - 3;
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"{BAR}\" fill=\"{color}\"/>\
             <text x=\"{:.1}\" y=\"{middle}\">{figure:.3}</text>",
            LEFT - 8,
            escape(name),
            length.max(1.0),
            f64::from(LEFT) + length + 6.0,
        );
        y += STEP;
    }
    y + GAP
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_is_the_greatest_figure() {
        let bars = vec![("a<b".to_owned(), 1.0), ("c".to_owned(), 4.0)];
        let title = "x".to_owned();
        let svg = draw("t", &[Group { title, bars }]);
        assert!(svg.contains("width=\"120.0\"") && svg.contains("width=\"480.0\""));
        assert!(svg.contains("a&lt;b") && svg.ends_with("</svg>\n"));
    }
}
