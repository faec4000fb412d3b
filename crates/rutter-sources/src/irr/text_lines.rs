//! The lines of a text file with their numbers.

use rutter_irr::ParseFileError;

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
