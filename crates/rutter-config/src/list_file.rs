//! Lists in files: an entry on each line, `#` begins a comment.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::DeValue;

use crate::key_rows::{Key, Reload};
use crate::safe_file;
use crate::toml_values::Item;

/// Reads a list whose entries are in the configuration, in files, or both: `["192.0.2.0/24", { file = "more.txt" }]`.
pub(crate) fn entries<T>(item: &Item<'_>, mut read: impl FnMut(&Item<'_>) -> Option<T>) -> Vec<T> {
    let mut found = Vec::new();
    for entry in item.list() {
        match entry.table() {
            None => found.extend(read(&entry)),
            Some(_) => {
                entry.section(FILE, "{ file = \"list.txt\" }", |section| {
                    if let Some(file) = section.require("file", "\"list.txt\"") {
                        read_file(&file, &mut found, &mut read);
                    }
                });
            }
        }
    }
    found
}

const FILE: &[Key] = &[Key::new(
    "file",
    "path",
    "required",
    "The file, relative to this one.",
    Reload::Reevaluates,
)];

fn read_file<T>(
    item: &Item<'_>,
    found: &mut Vec<T>,
    read: &mut impl FnMut(&Item<'_>) -> Option<T>,
) {
    let Some(path) = item.str("list.txt").map(|path| item.source.beside(path)) else {
        return;
    };
    let text = match safe_file::read_text(&path, safe_file::LIST) {
        Ok(text) => text,
        Err(why) => {
            return item.error(
                format!("cannot read {}: {why}", path.display()),
                "write the path of a text file with one entry on each line",
            );
        }
    };
    let source = item.source.another(&path, &text);
    let mut errors = 0;
    for (start, line) in lines(&text) {
        let value = Spanned::new(
            start..start + line.len(),
            DeValue::String(Cow::Borrowed(line)),
        );
        let entry = Item {
            source: &source,
            key: item.key.clone(),
            value: &value,
        };
        match read(&entry) {
            Some(value) => found.push(value),
            None => errors += 1,
        }
        if errors == MAX_ERRORS {
            return item.error(
                format!("{} has more errors than are shown", path.display()),
                "write one entry on each line; `#` begins a comment",
            );
        }
    }
}

/// The maximum number of errors that are reported for one file.
pub(crate) const MAX_ERRORS: usize = 20;

/// Returns the lines that have an entry, without comments, with the offset of each.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    text.split('\n').filter_map(move |line| {
        let start = next;
        next += line.len() + 1;
        let entry = line.split('#').next().unwrap_or_default();
        let skipped = entry.len() - entry.trim_start().len();
        let entry = entry.trim();
        (!entry.is_empty()).then_some((start + skipped, entry))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_entries_comments_or_nothing() {
        let text = "# head\n192.0.2.0/24 # own\r\n\n   64500\n#";
        let found: Vec<_> = lines(text).collect();
        assert_eq!(found, [(7, "192.0.2.0/24"), (31, "64500")]);
    }
}
