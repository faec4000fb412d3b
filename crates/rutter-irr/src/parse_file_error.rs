//! Errors in files, with their line.

use std::fmt;

/// A file that cannot be used: the line, and the reason with what to write instead. The caller adds the file's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseFileError {
    /// The line, from 1; 0 if the reason concerns the whole file.
    pub line: usize,
    /// The column, from 1; 0 if it is not known.
    pub column: usize,
    /// The reason.
    pub why: String,
}

impl ParseFileError {
    /// An error in a line.
    pub fn new(line: usize, why: impl Into<String>) -> Self {
        ParseFileError {
            line,
            column: 0,
            why: why.into(),
        }
    }

    /// Refuses a file with more rows than the limit. `line` is that of the last row.
    ///
    /// # Errors
    /// If there are more than `limit` rows.
    pub fn check_limit(
        rows: usize,
        limit: usize,
        line: usize,
        what: &str,
    ) -> Result<(), ParseFileError> {
        if rows <= limit {
            return Ok(());
        }
        let why = format!("the file has more than {limit} {what}, which is the limit");
        Err(ParseFileError::new(line, why))
    }
}

impl From<serde_json::Error> for ParseFileError {
    fn from(error: serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let mut why = error.to_string();
        // The message repeats line and column.
        if let Some(at) = why.rfind(" at line ") {
            why.replace_range(at..at + " at line ".len(), " (line ");
            why.push(')');
        }
        ParseFileError { line, column, why }
    }
}

impl fmt::Display for ParseFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        f.write_str(&self.why)
    }
}

impl std::error::Error for ParseFileError {}
