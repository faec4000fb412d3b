//! How much regular expressions make of texts, and how long they may look at them.

use std::collections::HashSet;

use datafusion::arrow::array::{ArrayRef, AsArray as _};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::exec_err;
use datafusion::error::Result;
use regex::RegexBuilder;

use super::bounds::{check_steps, joined, sizes, sum};

/// Whether texts match.
pub fn matched(args: &[ArrayRef]) -> Result<usize> {
    Ok(joined(args)?.saturating_mul(2))
}

/// All matches in texts. Where one ends late, the search for the next begins early: the time grows with the square.
pub fn found(args: &[ArrayRef]) -> Result<usize> {
    let texts = args.first().map(sizes).transpose()?.unwrap_or_default();
    let steps = sum(texts.into_iter().map(|text| text.saturating_mul(text) / 4));
    check_steps(steps, "a search for all matches")?;
    matched(args)
}

/// Texts with the first match, or all, replaced.
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
    let rows = sizes(texts)?.into_iter().zip(by.as_string::<i32>().iter());
    let made = rows.map(|(text, by)| {
        let by = by.unwrap_or_default();
        let matches = if all { text + 1 } else { 1 };
        // Each of these puts a part of the match in.
        let parts = by.matches(['$', '\\']).count();
        let made = matches.saturating_mul(by.len());
        text.saturating_mul(parts + 1).saturating_add(made)
    });
    Ok(looked_at.saturating_add(sum(made)))
}

/// Octets of all patterns when they are compiled. Refuses those that are large, or that look for long at much.
pub fn compiled(args: &[ArrayRef]) -> Result<usize> {
    let [texts, patterns, ..] = args else {
        return Ok(0);
    };
    let texts = sum(sizes(texts)?);
    let most = if texts > MUCH { SMALL } else { LARGE };
    let patterns = cast(patterns, &DataType::Utf8)?;
    let patterns: HashSet<&str> = patterns.as_string::<i32>().iter().flatten().collect();
    if patterns.len() > PATTERNS {
        return exec_err!("more than {PATTERNS} different regular expressions at once");
    }
    // While it looks at a text it remembers where it was, a few states for each octet.
    let remembered = texts.saturating_mul(STATE).min(REMEMBERED);
    let mut octets = 0;
    for pattern in &patterns {
        octets += size(pattern, texts, most)? + remembered;
    }
    Ok(octets)
}

/// Octets of a pattern when it is compiled, at most.
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

/// Octets of a compiled pattern, for much text and for little.
const SMALL: usize = 64 << 10;
const LARGE: usize = 512 << 10;
/// Octets of text from which on it is much.
const MUCH: usize = 1 << 20;
/// Patterns of one call: they are all compiled.
const PATTERNS: usize = 64;
/// Octets of a state, and of all that a pattern remembers.
const STATE: usize = 1024;
const REMEMBERED: usize = 2 << 20;
