//! Writes TOML.

use std::fmt::Write as _;

/// A TOML document in the making.
#[derive(Default)]
pub(crate) struct TomlWriter {
    text: String,
}

impl TomlWriter {
    /// Begins a section, with its brackets.
    pub(crate) fn section(&mut self, header: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let _ = writeln!(self.text, "{header}");
    }

    /// Writes a key with a value that is TOML.
    pub(crate) fn key(&mut self, key: &str, value: &str) {
        let _ = writeln!(self.text, "{key} = {value}");
    }

    /// Writes keys.
    pub(crate) fn keys(&mut self, keys: &Keys) {
        keys.0.iter().for_each(|(key, value)| self.key(key, value));
    }

    /// Returns the document.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Keys with values that are TOML, in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Keys(Vec<(String, String)>);

impl Keys {
    /// Adds a key with a boolean or a number.
    pub(crate) fn plain(&mut self, key: &str, value: impl ToString) {
        self.0.push((key.to_owned(), value.to_string()));
    }

    /// Adds a key with a string.
    pub(crate) fn string(&mut self, key: &str, value: &str) {
        self.plain(key, quoted(value));
    }

    /// Adds a key with a list of strings, unless the list is empty.
    pub(crate) fn strings<S: AsRef<str>>(&mut self, key: &str, values: &[S]) {
        if !values.is_empty() {
            let values: Vec<String> = values.iter().map(|value| quoted(value.as_ref())).collect();
            self.plain(key, format!("[{}]", values.join(", ")));
        }
    }

    /// Adds a key with a list of numbers, unless the list is empty.
    pub(crate) fn numbers(&mut self, key: &str, values: &[u32]) {
        if !values.is_empty() {
            self.plain(key, format!("{values:?}"));
        }
    }

    /// Adds a key with a table, unless the table is empty.
    pub(crate) fn table(&mut self, key: &str, table: &Keys) {
        if !table.is_empty() {
            self.plain(key, table.inline());
        }
    }

    /// Returns the value of a key, as TOML.
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|(name, _)| name == key)?;
        Some(&found.1)
    }

    /// Returns whether there are no keys.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the keys of another list.
    pub(crate) fn extend(&mut self, other: Keys) {
        self.0.extend(other.0);
    }

    /// Returns the keys as an inline table.
    pub(crate) fn inline(&self) -> String {
        let keys: Vec<String> = self
            .0
            .iter()
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        format!("{{ {} }}", keys.join(", "))
    }
}

/// A basic string with its quotation marks.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        assert_eq!(quoted("a \"b\" \\ \n"), r#""a \"b\" \\ \u000A""#);
    }
}
