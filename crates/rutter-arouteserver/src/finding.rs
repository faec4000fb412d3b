//! A message about a place in a file.

use std::fmt;

/// A message about a key of one of the files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1; 0 if the message concerns the whole file.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The key with its sections, such as `cfg.filtering.irrdb.tag_as_set`.
    pub key: String,
    /// The message, with the remedy.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if self.line > 0 {
            write!(f, "{}:{}:", self.line, self.column)?;
        }
        if !self.key.is_empty() {
            write!(f, " {}:", self.key)?;
        }
        write!(f, " {}", self.message)
    }
}
