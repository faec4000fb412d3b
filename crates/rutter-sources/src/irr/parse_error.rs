//! Errors in files, with their line.

use std::fmt;

/// A file that cannot be used: the line, and the reason with what to write instead. The caller adds the file's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseFileError {
    /// The line, from 1; 0 if the reason concerns the whole file.
    pub line: usize,
    /// The reason.
    pub why: String,
}

impl ParseFileError {
    pub(crate) fn new(line: usize, why: impl Into<String>) -> Self {
        let why = why.into();
        ParseFileError { line, why }
    }
}

impl From<serde_json::Error> for ParseFileError {
    fn from(error: serde_json::Error) -> Self {
        let line = error.line();
        let mut why = error.to_string();
        // The message repeats line and column.
        if let Some(at) = why.rfind(" at line ") {
            why.replace_range(at..at + " at line ".len(), " (line ");
            why.push(')');
        }
        ParseFileError { line, why }
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

/// The lines of a file with their numbers, without empty lines and without comments, which begin with `#`.
///
/// # Errors
/// As [`records`].
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = Result<(usize, &str), ParseFileError>> {
    records(text).filter_map(|line| match line {
        Ok((number, line)) => {
            let content = line.split('#').next().unwrap_or_default().trim_end();
            (!content.is_empty()).then_some(Ok((number, content)))
        }
        Err(error) => Some(Err(error)),
    })
}

/// The lines of a file with their numbers, without empty lines.
///
/// # Errors
/// If a line is longer than 4,096 bytes or not UTF-8.
pub(crate) fn records(text: &[u8]) -> impl Iterator<Item = Result<(usize, &str), ParseFileError>> {
    let numbered = (1..).zip(text.split(|byte| *byte == b'\n'));
    numbered.filter_map(|(number, line)| {
        if line.len() > MAX_LINE {
            let why = format!("the line has more than {MAX_LINE} bytes");
            return Some(Err(ParseFileError::new(number, why)));
        }
        let Ok(line) = std::str::from_utf8(line) else {
            return Some(Err(ParseFileError::new(number, "the line is not UTF-8")));
        };
        let content = line.trim();
        (!content.is_empty()).then_some(Ok((number, content)))
    })
}

const MAX_LINE: usize = 4096;
