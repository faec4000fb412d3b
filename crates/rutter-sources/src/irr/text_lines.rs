//! The lines of a text file with their numbers.

use rutter_irr::ParseFileError;

/// The content of a line, without a comment, which begins with `#`. It may be empty.
///
/// # Errors
/// If the line is longer than 4,096 bytes.
pub(crate) fn line_content(number: usize, line: &str) -> Result<&str, ParseFileError> {
    let content = record(number, line)?;
    let content = content.split('#').next().unwrap_or_default();
    Ok(content.trim_end())
}

/// The lines of a file with their numbers, without empty lines.
///
/// # Errors
/// If a line is longer than 4,096 bytes or not UTF-8.
pub(crate) fn records(text: &[u8]) -> impl Iterator<Item = Result<(usize, &str), ParseFileError>> {
    let (valid, error) = valid_lines(text);
    let numbered = (1..).zip(valid.split('\n'));
    let records = numbered.filter_map(|(number, line)| match record(number, line) {
        Ok("") => None,
        record => Some(record.map(|content| (number, content))),
    });
    records.chain(error.map(Err))
}

fn record(number: usize, line: &str) -> Result<&str, ParseFileError> {
    match line.len() {
        0..=MAX_LINE => Ok(line.trim()),
        _ => {
            let why = format!("the line has more than {MAX_LINE} bytes");
            Err(ParseFileError::new(number, why))
        }
    }
}

/// The lines before the first that is not UTF-8, and the error of that line. One check of the whole text takes less time
/// than one for each line.
pub(crate) fn valid_lines(text: &[u8]) -> (&str, Option<ParseFileError>) {
    let error = match std::str::from_utf8(text) {
        Ok(text) => return (text, None),
        Err(error) => error,
    };
    let valid = &text[..error.valid_up_to()];
    let end = valid.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let number = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
    let lines = std::str::from_utf8(&valid[..end]).unwrap_or_default();
    let error = ParseFileError::new(number, "the line is not UTF-8");
    (lines, Some(error))
}

const MAX_LINE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_before_one_that_is_not_utf_8_are_read() {
        let read = |text: &'static [u8]| -> Vec<_> {
            let line = |line: Result<(usize, &'static str), ParseFileError>| match line {
                Ok((number, content)) => (number, content.to_owned()),
                Err(error) => (error.line, error.why),
            };
            records(text).map(line).collect()
        };
        let error = "the line is not UTF-8".to_owned();
        assert_eq!(read(b"\xff\nb"), [(1, error.clone())]);
        assert_eq!(
            read(b"a\n\n b \nc\xff\nd"),
            [(1, "a".to_owned()), (3, "b".to_owned()), (4, error)]
        );
        assert_eq!(
            read(b"a\r\n\nb"),
            [(1, "a".to_owned()), (3, "b".to_owned())]
        );
        assert!(read(b"").is_empty());
    }
}
