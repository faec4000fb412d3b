//! The language of the tree: documents and comments in short, plain sentences, without private words.
//!
//! `cargo test -p rutter-interop --test language` prints the sentences to rewrite first when a limit is exceeded.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

/// Private words, and turns of phrase that make a reader look for the noun.
const PRIVATE_WORDS: &str = r"(?i)\b(anew|hears?|heard|told|tells?|said|says so|aloud|whom|whose word|texts|octets? stand|stands? (?:below|behind|beside|there)|who (?:waits|reads|writes|asks|commits|hears|presses)|what (?:goes|comes|follows|holds|hears|lies|changes|waits|is there)|those that|one too many|nowhere else|surely|perhaps|signs|the engine|hangs on|in earnest|by themselves|as long as|meanwhile|word for word|gone on with|makes of|came in|let in)\b";

/// Sentences that begin with a clause in the place of a noun. A question may begin so.
const CLAUSE_OPENERS: &str = r"^(?i:What|Who|Whoever|Those|That which|Whether|Of)\b";

/// Former names of modules that a newcomer did not understand.
const PRIVATE_FILES: [&str; 30] = [
    "among", "anew", "board", "contest", "doors", "extent", "floor", "gate", "heard", "keeper",
    "lane", "letters", "limbo", "moments", "news", "paced", "pause", "pieces", "refused",
    "rejudge", "retell", "say", "seldom", "signs", "singles", "taken", "together", "told",
    "unread", "utils",
];

/// Definitions with a private word as their name. Functions may not begin with it either.
const PRIVATE_NAMES: &str = r"\b(?:fn|struct|enum|trait|mod|type|const|static) +(said|told|tell|say|heard|hear|anew|untold|Said|Told|Gate|Paced|Hole|Doors|Asker|Taker|Strangers|Trouble|(?:tell|told|say|said|hear|heard)_\w+)\b";

/// The limits of one kind of prose.
struct Limits {
    /// Private words in a thousand words.
    private_words: f64,
    /// Per cent of the sentences that begin with a clause in the place of a noun.
    clause_openers: f64,
    /// Per cent of the sentences that have more than 30 words.
    long_sentences: f64,
    /// Words that nine of ten sentences do not exceed.
    ninth_decile: usize,
}

const DOCUMENTS: Limits = Limits {
    private_words: 0.5,
    clause_openers: 2.0,
    long_sentences: 6.0,
    ninth_decile: 27,
};
const COMMENTS: Limits = Limits {
    private_words: 0.5,
    clause_openers: 2.0,
    long_sentences: 2.0,
    ninth_decile: 22,
};

/// A sentence with the file and line where its paragraph begins.
struct Sentence {
    place: String,
    text: String,
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../..").canonicalize().expect("the workspace")
}

/// The files that git tracks, relative to the root.
fn tracked_files() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files"])
        .current_dir(root())
        .output()
        .expect("git runs");
    assert!(
        output.status.success(),
        "git ls-files: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let names = String::from_utf8(output.stdout).expect("names in UTF-8");
    names.lines().map(str::to_owned).collect()
}

/// The prose of a Markdown line: no headings, tables or code.
fn markdown_prose(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    let is_code = line.starts_with("    ") || line.starts_with('\t');
    (!is_code && !trimmed.starts_with(['|', '#']) && !trimmed.starts_with("<!--")).then_some(line)
}

/// The prose of a line of Rust: comments, without their code, tables and headings.
fn comment_prose(line: &str) -> Option<&str> {
    let body = line.trim_start().strip_prefix("//")?;
    let body = body.strip_prefix(['/', '!']).unwrap_or(body);
    let body = body.strip_prefix(' ').unwrap_or(body);
    (!body.starts_with("    ") && !body.trim_start().starts_with(['|', '#'])).then_some(body)
}

/// Splits paragraphs and items of lists into sentences.
fn sentences(name: &str, text: &str) -> Vec<Sentence> {
    let is_rust = name.ends_with(".rs");
    let (mut found, mut paragraph, mut start, mut is_fenced) =
        (Vec::new(), String::new(), 0, false);
    let mut finish = |paragraph: &mut String, start: usize| {
        for text in split_sentences(paragraph) {
            if text.split_whitespace().count() > 2 {
                found.push(Sentence {
                    place: format!("{name}:{start}"),
                    text,
                });
            }
        }
        paragraph.clear();
    };
    for (number, line) in text.lines().enumerate() {
        let prose = if is_rust {
            comment_prose(line)
        } else {
            markdown_prose(line)
        };
        let is_fence = prose.is_some_and(|prose| prose.trim_start().starts_with("```"));
        is_fenced = if is_rust && prose.is_none() {
            false
        } else {
            is_fenced ^ is_fence
        };
        let prose = prose
            .filter(|_| !is_fenced && !is_fence)
            .unwrap_or_default()
            .trim();
        let item = list_item(prose);
        if prose.is_empty() || item.is_some() {
            finish(&mut paragraph, start);
        }
        if paragraph.is_empty() {
            start = number + 1;
        } else {
            paragraph.push(' ');
        }
        paragraph.push_str(item.unwrap_or(prose));
    }
    finish(&mut paragraph, start);
    found
}

/// The words of a list's item without its mark.
fn list_item(prose: &str) -> Option<&str> {
    let unnumbered = prose
        .strip_prefix("* ")
        .or(prose.strip_prefix("- "))
        .or(prose.strip_prefix("+ "));
    let numbered = || {
        let (number, rest) = prose.split_once(". ")?;
        (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest)
    };
    unnumbered.or_else(numbered)
}

/// A sentence ends at a full stop, question mark, exclamation mark or semicolon before a capital, quote or bracket.
fn split_sentences(paragraph: &str) -> Vec<String> {
    let (mut parts, mut current) = (Vec::new(), Vec::new());
    let mut words = paragraph.split_whitespace().peekable();
    while let Some(word) = words.next() {
        current.push(word);
        let ends = word.ends_with(['.', '!', '?', ';']);
        let begins =
            |next: &&str| next.starts_with(|c: char| c.is_ascii_uppercase() || "`\"(".contains(c));
        if words.peek().is_none() || ends && words.peek().is_some_and(begins) {
            parts.push(current.join(" "));
            current.clear();
        }
    }
    parts
}

/// The sentences of all files of one kind that exceed the limits, as a report; empty where they hold.
fn report(extension: &str, limits: &Limits) -> String {
    let private = Regex::new(PRIVATE_WORDS).expect("a regular expression");
    let opener = Regex::new(CLAUSE_OPENERS).expect("a regular expression");
    let mut all: Vec<(usize, usize, bool, Sentence)> = Vec::new();
    for name in tracked_files()
        .iter()
        .filter(|name| name.ends_with(extension))
    {
        // This file lists the words.
        if name.ends_with("tests/language.rs") {
            continue;
        }
        let Ok(text) = fs::read_to_string(root().join(name)) else {
            continue;
        };
        for sentence in sentences(name, &text) {
            let words = sentence.text.split_whitespace().count();
            let hits = private
                .find_iter(&sentence.text)
                .filter(|hit| !is_said_to(&sentence.text, hit))
                .count();
            let opens = opener.is_match(&sentence.text) && !sentence.text.contains('?');
            all.push((words, hits, opens, sentence));
        }
    }
    let words: usize = all.iter().map(|(words, ..)| words).sum();
    let count = all.len().max(1) as f64;
    let private_words =
        1000.0 * all.iter().map(|(_, hits, ..)| hits).sum::<usize>() as f64 / words.max(1) as f64;
    let clause_openers =
        100.0 * all.iter().filter(|(_, _, opens, _)| *opens).count() as f64 / count;
    let long_sentences =
        100.0 * all.iter().filter(|(words, ..)| *words > 30).count() as f64 / count;
    let mut lengths: Vec<usize> = all.iter().map(|(words, ..)| *words).collect();
    lengths.sort_unstable();
    let ninth_decile = lengths.get(lengths.len() * 9 / 10).copied().unwrap_or(0);
    let holds = private_words <= limits.private_words
        && clause_openers <= limits.clause_openers
        && long_sentences <= limits.long_sentences
        && ninth_decile <= limits.ninth_decile;
    if holds {
        return String::new();
    }
    let mut report = format!(
        "{private_words:.2} private words in 1,000 (limit {}), {clause_openers:.1} % clause openers (limit {}), \
         {long_sentences:.1} % sentences over 30 words (limit {}), nine of ten sentences have up to {ninth_decile} words \
         (limit {}). Rewrite these first:\n",
        limits.private_words, limits.clause_openers, limits.long_sentences, limits.ninth_decile
    );
    let weight = |(words, hits, opens, _): &(usize, usize, bool, Sentence)| {
        words.saturating_sub(25) + 10 * hits + 10 * usize::from(*opens)
    };
    all.sort_by_key(|row| std::cmp::Reverse(weight(row)));
    for (words, _, _, sentence) in all.iter().take(30) {
        let _ = writeln!(
            report,
            "{} ({words} words)\n    {}",
            sentence.place, sentence.text
        );
    }
    report
}

/// "is said to", as in "is said to be in state Established", is plain English.
fn is_said_to(sentence: &str, hit: &regex::Match<'_>) -> bool {
    hit.as_str().eq_ignore_ascii_case("said") && sentence[hit.end()..].starts_with(" to")
}

#[test]
fn documents_are_plain() {
    let report = report(".md", &DOCUMENTS);
    assert!(report.is_empty(), "{report}");
}

#[test]
fn comments_are_plain() {
    let report = report(".rs", &COMMENTS);
    assert!(report.is_empty(), "{report}");
}

#[test]
fn files_have_names_that_a_newcomer_can_guess_from() {
    for name in tracked_files().iter().filter(|name| name.ends_with(".rs")) {
        let stem = Path::new(name)
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        assert!(
            !PRIVATE_FILES.contains(&stem),
            "{name}: name the file after the type or the decision that it holds"
        );
    }
}

#[test]
fn definitions_have_names_that_a_newcomer_knows() {
    let private = Regex::new(PRIVATE_NAMES).expect("a pattern");
    assert!(private.is_match("    pub fn tell_table(&mut self) {"));
    assert!(!private.is_match("pub fn teller()"));
    for name in tracked_files().iter().filter(|name| name.ends_with(".rs")) {
        let text = fs::read_to_string(root().join(name)).unwrap_or_default();
        let found = private.captures(&text).map(|found| found[1].to_owned());
        let is_here = name.ends_with("tests/language.rs");
        assert!(
            is_here || found.is_none(),
            "{name}: `{}` is a private word: use a term of the RFCs, of Rust or of PostgreSQL",
            found.unwrap_or_default()
        );
    }
}

#[test]
fn prose_is_split_into_sentences() {
    let text = "# Title\n\nOne thought here. Another thought there; And a third\nover two lines.\n\n* An item here.\n\n```\nno prose at all\n```\n";
    let found: Vec<String> = sentences("page.md", text)
        .into_iter()
        .map(|sentence| sentence.text)
        .collect();
    assert_eq!(
        found,
        [
            "One thought here.",
            "Another thought there;",
            "And a third over two lines.",
            "An item here."
        ]
    );
    let rust = "/// Returns the first route.\n///\n/// | a | b |\nfn first() {} // not prose of its own line\n";
    let found: Vec<String> = sentences("file.rs", rust)
        .into_iter()
        .map(|sentence| sentence.text)
        .collect();
    assert_eq!(found, ["Returns the first route."]);
}
