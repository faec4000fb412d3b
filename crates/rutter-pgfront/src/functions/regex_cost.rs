//! ConnectionBounds on the memory and the time of regular expressions.

use std::collections::HashSet;

use datafusion::arrow::array::{ArrayRef, AsArray as _};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::exec_err;
use datafusion::error::Result;
use regex::RegexBuilder;

use super::bounds::{check_steps, joined, sizes, sum};

/// ConnectionBounds a match.
pub fn matched(args: &[ArrayRef]) -> Result<usize> {
    Ok(joined(args)?.saturating_mul(2))
}

/// ConnectionBounds a search for all matches. Its time is quadratic: a search may read far behind its match.
fn found(args: &[ArrayRef]) -> Result<usize> {
    let texts = args.first().map(sizes).transpose()?.unwrap_or_default();
    let steps = sum(texts.into_iter().map(|text| text.saturating_mul(text) / 4));
    check_steps(steps, "a search for all matches")?;
    matched(args)
}

/// ConnectionBounds the replacement of the first match, or of all.
pub fn replaced(args: &[ArrayRef]) -> Result<usize> {
    let [texts, _, by, flags @ ..] = args else {
        return Ok(0);
    };
    let flags = flags
        .first()
        .map(|flags| cast(flags, &DataType::Utf8))
        .transpose()?;
    let all = flags.is_some_and(|flags| {
        let mut flags = flags.as_string::<i32>().iter().flatten();
        flags.any(|flags| flags.contains('g'))
    });
    let looked_at = if all { found(args)? } else { matched(args)? };
    let by = cast(by, &DataType::Utf8)?;
    if by
        .as_string::<i32>()
        .iter()
        .flatten()
        .any(|by| by.contains('$') || by.contains("\\&"))
    {
        // DataFusion reads `$1` as a group, and `\&` as it is written.
        return exec_err!("regexp_replace takes \\1 to \\9 for groups, and neither $ nor \\&");
    }
    let rows = sizes(texts)?.into_iter().zip(by.as_string::<i32>().iter());
    let made = rows.map(|(text, by)| {
        let by = by.unwrap_or_default();
        let matches = if all { text + 1 } else { 1 };
        // Each of these inserts a part of the match.
        let parts = by.matches('\\').count();
        let made = matches.saturating_mul(by.len());
        text.saturating_mul(parts + 1).saturating_add(made)
    });
    Ok(looked_at.saturating_add(sum(made)))
}

/// The bytes of all compiled patterns. Refuses large patterns, and slow ones over much text.
pub fn compiled(args: &[ArrayRef]) -> Result<usize> {
    let [texts, patterns, ..] = args else {
        return Ok(0);
    };
    let texts = sum(sizes(texts)?);
    let most = if texts > COSTLY_BYTES { SMALL } else { LARGE };
    let patterns = cast(patterns, &DataType::Utf8)?;
    let patterns: HashSet<&str> = patterns.as_string::<i32>().iter().flatten().collect();
    if patterns.len() > PATTERNS {
        return exec_err!("more than {PATTERNS} different regular expressions at once");
    }
    // A search keeps a few states for each byte of the string.
    let cached = texts.saturating_mul(STATE).min(CACHE_BYTES);
    let mut octets = 0;
    for pattern in &patterns {
        octets += size(pattern, texts, most)? + cached;
    }
    Ok(octets)
}

/// The most bytes of a compiled pattern.
fn size(pattern: &str, texts: usize, most: usize) -> Result<usize> {
    for limit in [SMALL, most] {
        let built = RegexBuilder::new(pattern).size_limit(limit).build();
        if !matches!(built, Err(regex::Error::CompiledTooBig(_))) {
            return Ok(limit);
        }
    }
    exec_err!(
        "a regular expression of {} octets is too large when it is compiled for {texts} octets of text: write a shorter one",
        pattern.len()
    )
}

/// The most bytes of a compiled pattern, for much text and for little.
const SMALL: usize = 64 << 10;
const LARGE: usize = 512 << 10;
/// From this many bytes on, text is much.
const COSTLY_BYTES: usize = 1 << 20;
/// The most patterns of one call: all are compiled.
const PATTERNS: usize = 64;
/// The bytes of a state, and of all states of a pattern.
const STATE: usize = 1024;
const CACHE_BYTES: usize = 2 << 20;
