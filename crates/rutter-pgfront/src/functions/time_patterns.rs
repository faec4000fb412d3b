//! Translates the patterns of `to_char`, `to_date` and `to_timestamp` (`YYYY-MM-DD HH24:MI:SS`) to DataFusion's.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray as _, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::ColumnarValue;

/// Returns whether a function takes such a pattern as its second argument.
pub fn are_taken(function: &str) -> bool {
    ["to_char", "to_date", "to_timestamp"].contains(&function)
}

/// Translates the arguments of a function.
///
/// # Errors
/// If a pattern has no equivalent.
pub fn translate(function: &str, arguments: &mut [ColumnarValue]) -> Result<()> {
    let reads = function != "to_char";
    for argument in arguments.iter_mut().skip(1) {
        *argument = match argument {
            ColumnarValue::Scalar(value) => match value.try_as_str() {
                Some(Some(pattern)) => {
                    let pattern = translated(pattern, reads)?;
                    ColumnarValue::Scalar(ScalarValue::Utf8(Some(pattern)))
                }
                _ => continue,
            },
            ColumnarValue::Array(patterns) => {
                let patterns = cast(patterns, &DataType::Utf8)?;
                let each = patterns.as_string::<i32>().iter();
                let each = each.map(|one| one.map(|one| translated(one, reads)).transpose());
                ColumnarValue::Array(Arc::new(each.collect::<Result<StringArray>>()?))
            }
        };
    }
    Ok(())
}

/// The template patterns, longer ones before their prefixes. An empty translation: not offered.
const WORDS: [(&str, &str); 35] = [
    ("YYYY", "%Y"),
    ("YYY", ""),
    ("YY", "%y"),
    ("IYYY", "%G"),
    ("IW", "%V"),
    ("ID", "%u"),
    ("FMMonth", "%B"),
    ("Month", ""),
    ("Mon", "%b"),
    ("FMDay", "%A"),
    ("Day", ""),
    ("Dy", "%a"),
    ("FMMM", "%-m"),
    ("FMDD", "%-d"),
    ("FMHH24", "%-H"),
    ("FMHH12", "%-I"),
    ("FMMI", "%-M"),
    ("FMSS", "%-S"),
    ("MM", "%m"),
    ("MI", "%M"),
    ("MS", "%3f"),
    ("DDD", "%j"),
    ("DD", "%d"),
    ("HH24", "%H"),
    ("HH12", "%I"),
    ("HH", "%I"),
    ("SSSS", ""),
    ("SS", "%S"),
    ("US", "%6f"),
    ("AM", "%p"),
    ("PM", "%p"),
    ("am", "%P"),
    ("pm", "%P"),
    ("TZH", ""),
    ("TZ", "UTC"),
];

/// Translates a pattern to `strftime`'s; `reads`: it parses a string.
fn translated(pattern: &str, reads: bool) -> Result<String> {
    let mut rest = pattern;
    let mut out = String::with_capacity(pattern.len() * 2);
    while let Some(first) = rest.chars().next() {
        let known = WORDS.iter().find(|(word, _)| begins_with(rest, word));
        match known {
            Some((word, said)) if !said.is_empty() => {
                let is_fraction = reads && matches!(*said, "%3f" | "%6f");
                // Any number of digits behind the point is read.
                let behind_point = out.strip_suffix('.').filter(|_| is_fraction);
                match behind_point.map(str::len) {
                    Some(point) => out.replace_range(point.., "%.f"),
                    None => out.push_str(said),
                }
                rest = &rest[word.len()..];
            }
            None if first == '"' => {
                let end = rest[1..].find('"').map_or(rest.len(), |end| end + 1);
                literal(&mut out, &rest[1..end]);
                rest = rest.get(end + 1..).unwrap_or_default();
            }
            // As in `2026-11-20T12:00`.
            None if first == 'T' && !rest.starts_with("TH") => {
                out.push('T');
                rest = &rest[1..];
            }
            None if !first.is_ascii_alphabetic() => {
                literal(&mut out, &rest[..first.len_utf8()]);
                rest = &rest[first.len_utf8()..];
            }
            _ => {
                return exec_err!(
                    "the pattern '{pattern}' is not understood from '{rest}' on: YYYY, YY, MM, FMMonth, Mon, DD, DDD, FMDay, \
                     Dy, HH24, HH12, MI, SS, MS, US, AM, IYYY, IW, ID and TZ are; other letters stand in double quotes"
                );
            }
        }
    }
    Ok(out)
}

/// Returns whether a pattern begins with a word. Case matters only if it changes the output.
fn begins_with(text: &str, word: &str) -> bool {
    let Some(found) = text.get(..word.len()) else {
        return false;
    };
    let any_case =
        !word.contains(|c: char| c.is_ascii_lowercase()) && !["AM", "PM"].contains(&word);
    found == word || any_case && found.eq_ignore_ascii_case(word)
}

fn literal(out: &mut String, text: &str) {
    for sign in text.chars() {
        match sign {
            '%' => out.push_str("%%"),
            sign => out.push(sign),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_postgresqls() {
        for (pattern, expected) in [
            ("YYYY-MM-DD HH24:MI:SS.US", "%Y-%m-%d %H:%M:%S.%6f"),
            ("yyyy-mm-dd\"T\"hh24:mi", "%Y-%m-%dT%H:%M"),
            ("DD Mon YY, FMDay", "%d %b %y, %A"),
            ("HH12:MI am, IYYY-IW", "%I:%M %P, %G-%V"),
            ("100% \"of YYYY\"", "100%% of YYYY"),
            ("", ""),
        ] {
            assert_eq!(translated(pattern, false).unwrap(), expected, "{pattern}");
        }
        assert_eq!(translated("SS.MS", true).unwrap(), "%S%.f");
        assert_eq!(translated("SSUS", true).unwrap(), "%S%6f");
        for unknown in ["Month", "MONTH", "DDTH", "Q", "J", "%Y", "é Q"] {
            assert!(translated(unknown, false).is_err(), "{unknown}");
        }
    }
}
