//! Named lists of regular expressions over AS paths, in the notation of routers.

use std::fmt;

use regex_automata::meta::{self, Regex};
use regex_automata::util::syntax;
use regex_automata::{MatchKind, nfa::thompson::WhichCaptures};

/// A named list of regular expressions: a path matches the list if it matches one of them.
///
/// An expression is compared with the text of the path: `65001 65002 {65003,65004}`. `_` stands for the beginning, the
/// end, a space, a comma or a parenthesis. The expressions take time in proportion to the length of the path, whatever
/// they are.
#[derive(Debug)]
pub struct AsPathList {
    name: String,
    patterns: Vec<String>,
    expressions: Regex,
}

/// Why an expression is no expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AsPathPatternError(String);

impl fmt::Display for AsPathPatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AsPathPatternError {}

/// The most bytes that the compiled expressions of a list may take.
const SIZE_LIMIT: usize = 4 << 20;

impl AsPathList {
    /// Compiles a list.
    pub fn new(name: String, patterns: Vec<String>) -> Result<Self, AsPathPatternError> {
        Ok(AsPathList {
            expressions: compile(&patterns)?,
            name,
            patterns,
        })
    }

    /// Reports an expression that cannot be compiled.
    pub fn check(pattern: &str) -> Result<(), AsPathPatternError> {
        compile(&[pattern.to_owned()]).map(|_| ())
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether an expression matches the text of a path.
    pub(crate) fn matches(&self, path: &str) -> bool {
        self.expressions.is_match(path.as_bytes())
    }
}

impl PartialEq for AsPathList {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.patterns == other.patterns
    }
}

impl Eq for AsPathList {}

fn compile(patterns: &[String]) -> Result<Regex, AsPathPatternError> {
    let translated = patterns
        .iter()
        .map(|pattern| translate(pattern))
        .collect::<Result<Vec<String>, _>>()?;
    let settings = meta::Config::new()
        .match_kind(MatchKind::All)
        .utf8_empty(false)
        .which_captures(WhichCaptures::None)
        .nfa_size_limit(Some(SIZE_LIMIT));
    let bytes = syntax::Config::new().unicode(false).utf8(false);
    let set = meta::Builder::new()
        .configure(settings)
        .syntax(bytes)
        .build_many(&translated);
    set.map_err(|why| AsPathPatternError(reason(&why)))
}

fn reason(error: &meta::BuildError) -> String {
    match (error.size_limit(), error.syntax_error()) {
        (Some(limit), _) => format!("the expressions take more than {limit} bytes"),
        (None, Some(syntax)) => {
            let text = syntax.to_string();
            // The last line has the reason, those before it show the translated text.
            let last = text.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        }
        (None, None) => error.to_string(),
    }
}

/// Translates the notation of routers. Only digits, spaces and operators have a meaning in a path: any other character
/// would never match, so it is a mistake.
fn translate(pattern: &str) -> Result<String, AsPathPatternError> {
    let mut out = String::new();
    let mut in_class = false;
    if pattern.trim().is_empty() {
        return Err(AsPathPatternError("the expression is empty".into()));
    }
    for c in pattern.chars() {
        match c {
            '_' if in_class => {
                return Err(AsPathPatternError("`_` cannot be inside of `[ ]`".into()));
            }
            '_' => out.push_str(r"(?:^|$|[ ,{}()\[\]])"),
            '{' | '}' | ',' => {
                // Braces are those of AS_SETs; repetitions are written with `*`, `+` and `?`.
                out.push('\\');
                out.push(c);
            }
            '[' => {
                in_class = true;
                out.push(c);
            }
            ']' => {
                in_class = false;
                out.push(c);
            }
            '0'..='9' | ' ' | '^' | '$' | '.' | '*' | '+' | '?' | '(' | ')' | '|' | '-' | '\\' => {
                out.push(c);
            }
            other => {
                return Err(AsPathPatternError(format!(
                    "`{other}` never appears in an AS path"
                )));
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        let list = AsPathList::new("x".into(), vec![pattern.into()]);
        list.unwrap().matches(path)
    }

    #[test]
    fn expressions_of_routers_match_paths() {
        for (pattern, path, expected) in [
            ("_65001_", "65000 65001 65002", true),
            ("_65001_", "65001", true),
            ("_65001_", "165001 650010", false),
            ("_65001_", "65000 {65001,65002}", true),
            ("^65001 ", "65001 65002", true),
            ("^65001 ", "65001", false),
            ("^65001_", "65001", true),
            ("_65002$", "65001 65002", true),
            ("_65002$", "65002 65001", false),
            ("^$", "", true),
            ("^$", "65001", false),
            ("^65001( 65001)*$", "65001 65001 65001", true),
            ("^65001( 65001)*$", "65001 65001 65002", false),
            ("_6500[1-3]_", "65002", true),
            ("_6500[1-3]_", "65004", false),
            ("_(65001|65002)_", "1 65002", true),
            ("{65001,65002}", "1 {65001,65002}", true),
            (".*", "", true),
            ("^[0-9]+$", "65001", true),
            ("^[0-9]+$", "65001 65002", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn expressions_that_cannot_match_are_refused() {
        for (pattern, why) in [
            ("", "empty"),
            ("AS65001", "`A` never appears"),
            ("(65001", "unclosed group"),
            ("[65001", "unclosed character class"),
            ("*", "repetition operator missing expression"),
            ("[_1]", "cannot be inside"),
        ] {
            let error = AsPathList::check(pattern).unwrap_err().to_string();
            assert!(error.contains(why), "{pattern}: {error}");
        }
    }
}
