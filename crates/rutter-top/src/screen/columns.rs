//! Fits a table into the width of the terminal: drops columns, then cuts text, and marks each cut with `…`. A number is
//! shown whole or not at all.

use ratatui::layout::Constraint;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Row;

/// A column.
#[derive(Clone, Copy)]
pub(super) struct Column {
    /// The heading.
    pub(super) name: &'static str,
    /// The width that it takes where there is room.
    pub(super) wish: usize,
    /// Its cells may be cut to this width. `None`: never.
    pub(super) least: Option<usize>,
    /// A narrow terminal drops the highest rank first, and never rank 0.
    pub(super) rank: u8,
}

/// A column whose cells are never cut.
pub(super) const fn whole(name: &'static str, wish: usize, rank: u8) -> Column {
    Column {
        name,
        wish,
        least: None,
        rank,
    }
}

/// A column of text, which can be cut to the width `least`.
pub(super) const fn text(name: &'static str, least: usize, rank: u8) -> Column {
    Column {
        name,
        wish: 0,
        least: Some(least),
        rank,
    }
}

/// The cells of a row, one for each column, and its style.
pub(super) type Cells = (Vec<String>, Style);

/// A table that fits: heading, widths and rows.
pub(super) struct Fitted {
    pub(super) heading: Row<'static>,
    pub(super) widths: Vec<Constraint>,
    pub(super) rows: Vec<Row<'static>>,
}

/// Fits columns and rows into a width.
pub(super) fn fit(columns: &[Column], rows: Vec<Cells>, width: usize) -> Fitted {
    let widths = widths(columns, &rows, width);
    let row = |(cells, style): Cells| {
        let kept = widths.iter().filter_map(|&(index, width)| {
            let cell = cells.get(index)?;
            Some(cut(cell, width))
        });
        Row::new(kept.collect::<Vec<_>>()).style(style)
    };
    Fitted {
        heading: Row::new(
            widths
                .iter()
                .map(|&(index, width)| cut(columns[index].name, width)),
        ),
        widths: widths
            .iter()
            .map(|&(_, width)| Constraint::Length(u16::try_from(width).unwrap_or(u16::MAX)))
            .collect(),
        rows: rows.into_iter().map(row).collect(),
    }
}

/// Returns the kept columns with their widths.
fn widths(columns: &[Column], rows: &[Cells], width: usize) -> Vec<(usize, usize)> {
    let content = |index: usize| {
        let cells = rows.iter().filter_map(|(cells, _)| cells.get(index));
        let widest = cells.map(|cell| width_of(cell)).max().unwrap_or(0);
        widest.max(width_of(columns[index].name))
    };
    let contents: Vec<usize> = (0..columns.len()).map(content).collect();
    let least = |index: usize| match columns[index].least {
        Some(least) => contents[index].min(least.max(width_of(columns[index].name))),
        None => contents[index],
    };
    let mut kept: Vec<(usize, usize)> = (0..columns.len()).map(|i| (i, least(i))).collect();
    let total = |kept: &[(usize, usize)]| {
        kept.iter().map(|(_, width)| width).sum::<usize>() + kept.len().saturating_sub(1)
    };
    while total(&kept) > width {
        let dropped = kept.iter().max_by_key(|(index, _)| columns[*index].rank);
        match dropped {
            Some(&(index, _)) if columns[index].rank > 0 => kept.retain(|(i, _)| *i != index),
            _ => break,
        }
    }
    let mut spare = width.saturating_sub(total(&kept));
    for (index, width) in &mut kept {
        let more = contents[*index].max(columns[*index].wish) - *width;
        *width += more.min(spare);
        spare -= more.min(spare);
    }
    // The first column of text takes the rest.
    let mut texts = kept.iter_mut();
    if let Some((_, width)) = texts.find(|(index, _)| columns[*index].least.is_some()) {
        *width += spare;
    }
    kept
}

/// Returns the columns of the terminal that a text takes.
pub(super) fn width_of(text: &str) -> usize {
    Span::raw(text).width()
}

/// Cuts a text to a width, and marks the cut.
pub(super) fn cut(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if width_of(&short) >= width {
            short.pop();
            break;
        }
    }
    if width > 0 {
        short.push('…');
    }
    short
}

/// Cuts a line of several parts to a width, and marks the cut.
pub(super) fn cut_line(line: Line<'_>, width: usize) -> Line<'_> {
    if line.width() <= width {
        return line;
    }
    let mut rest = width;
    let mut short = Vec::new();
    for span in line.spans {
        let text = cut(&span.content, rest);
        let is_cut = text != span.content;
        rest = rest.saturating_sub(width_of(&text));
        short.push(Span::styled(text, span.style));
        if is_cut || rest == 0 {
            break;
        }
    }
    Line::from(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] = [text("name", 6, 0), whole("AS", 10, 0), whole("sent", 8, 1)];

    fn rows() -> Vec<Cells> {
        let cells = ["a long name of a member", "4200000000", "12,714"];
        vec![(cells.map(str::to_owned).to_vec(), Style::new())]
    }

    #[test]
    fn a_narrow_table_drops_columns_then_cuts_text_and_never_a_number() {
        // Everything: 23 + 10 + 8, and two gaps.
        assert_eq!(widths(&COLUMNS, &rows(), 43), [(0, 23), (1, 10), (2, 8)]);
        assert_eq!(widths(&COLUMNS, &rows(), 30), [(0, 12), (1, 10), (2, 6)]);
        assert_eq!(widths(&COLUMNS, &rows(), 20), [(0, 9), (1, 10)]);
        // Rank 0 stays, whatever the width.
        assert_eq!(widths(&COLUMNS, &rows(), 3), [(0, 6), (1, 10)]);
    }

    #[test]
    fn each_cut_is_marked() {
        assert_eq!(cut("Established", 11), "Established");
        assert_eq!(cut("Established", 10), "Establish…");
        assert_eq!(cut("Established", 1), "…");
        assert_eq!(cut("Established", 0), "");
        let line = Line::from(vec![Span::raw("abc"), Span::raw("defg")]);
        let text = |line: Line<'_>| {
            line.spans
                .iter()
                .map(|s| s.content.as_ref())
                .collect::<String>()
        };
        assert_eq!(text(cut_line(line.clone(), 5)), "abcd…");
        assert_eq!(text(cut_line(line, 7)), "abcdefg");
    }
}
