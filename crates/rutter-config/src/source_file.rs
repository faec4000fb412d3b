//! A file that is being read, and the findings in it.

use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::{ConfigError, NamedPath, PathRole, Severity};

/// The shared findings of all files.
pub(crate) type Findings = Rc<Found>;

/// The findings of all files.
#[derive(Default, Debug)]
pub(crate) struct Found {
    pub(crate) errors: RefCell<Vec<ConfigError>>,
    pub(crate) paths: RefCell<Vec<NamedPath>>,
    pub(crate) only_collected: RefCell<Option<ConfigError>>,
    /// The files with lists.
    pub(crate) list_files: RefCell<Vec<PathBuf>>,
    /// The patterns of member files that match no file.
    pub(crate) unmatched: RefCell<Vec<UnmatchedPattern>>,
}

/// A pattern of `exchange.members` that matches no file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UnmatchedPattern {
    pub(crate) pattern: PathBuf,
    /// The error if it matched a file before.
    pub(crate) error: ConfigError,
}

/// A file that is being read.
#[derive(Debug)]
pub(crate) struct Source {
    file: PathBuf,
    text: String,
    /// The offsets of the lines.
    lines: Vec<usize>,
    findings: Findings,
}

impl Source {
    pub(crate) fn new(file: &Path, text: &str, findings: &Findings) -> Self {
        Source {
            file: file.to_owned(),
            text: text.to_owned(),
            lines: std::iter::once(0)
                .chain(text.match_indices('\n').map(|(at, _)| at + 1))
                .collect(),
            findings: Rc::clone(findings),
        }
    }

    /// Creates the source of a list that this file names.
    pub(crate) fn another(&self, file: &Path, text: &str) -> Self {
        self.findings.list_files.borrow_mut().push(file.to_owned());
        Source::new(file, text, &self.findings)
    }

    /// Resolves a path relative to the folder of this file.
    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("")).join(path)
    }

    /// Returns `file:line` of an offset.
    pub(crate) fn place(&self, offset: usize) -> String {
        format!("{}:{}", self.file.display(), self.position(offset).0)
    }

    fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line = self.lines.partition_point(|start| *start <= before.len());
        let line_start = self.lines[line - 1];
        (line, before[line_start..].chars().count() + 1)
    }

    pub(crate) fn report(
        &self,
        severity: Severity,
        span: Range<usize>,
        key: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let finding = self.finding(severity, span, key, message, hint);
        self.findings.errors.borrow_mut().push(finding);
    }

    /// Creates a finding at this position, without reporting it.
    pub(crate) fn finding(
        &self,
        severity: Severity,
        span: Range<usize>,
        key: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> ConfigError {
        let (line, column) = self.position(span.start);
        ConfigError {
            severity,
            file: self.file.clone(),
            line,
            column,
            key: key.to_owned(),
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// Records a pattern of member files that matches no file.
    pub(crate) fn unmatched(&self, pattern: UnmatchedPattern) {
        self.findings.unmatched.borrow_mut().push(pattern);
    }

    /// Records a path that the file names.
    pub(crate) fn name(&self, role: PathRole, span: Range<usize>, key: &str, path: &Path) {
        let (line, column) = self.position(span.start);
        self.findings.paths.borrow_mut().push(NamedPath {
            role,
            path: path.to_owned(),
            file: self.file.clone(),
            line,
            column,
            key: key.to_owned(),
        });
    }
}
