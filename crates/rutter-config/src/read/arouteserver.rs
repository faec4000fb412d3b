//! Converts the files that `[arouteserver]` names, and continues the text of the configuration with the result.

use std::path::{Path, PathBuf};

use rutter_arouteserver::{Documents, Finding, Options, SourceText, convert};

use super::{Root, is_error, unreadable, with_tree};
use crate::sections::arouteserver::ARouteServer;
use crate::source_file::Findings;
use crate::{ConfigError, Severity, safe_file};

/// The sections that ARouteServer's files become.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Converted {
    /// The sections in TOML.
    pub toml: String,
    /// Keys without effect, and assumptions.
    pub warnings: Vec<ConfigError>,
}

/// Converts the files that a section `[arouteserver]` names. `text` has this section, and files are relative to `file`.
///
/// # Errors
/// All errors of the section and of the files. There are none if the section is missing.
pub fn convert_arouteserver(text: &str, file: &Path) -> Result<Converted, Vec<ConfigError>> {
    let findings = Findings::default();
    match Continued::read(text, file, &findings, &mut Vec::new()) {
        Some(continued) => Ok(Converted {
            toml: continued.text[continued.own_bytes..].to_owned(),
            warnings: findings.errors.take(),
        }),
        None => Err(findings.errors.take()),
    }
}

/// The text of a configuration with the converted sections at its end.
pub(crate) struct Continued {
    /// The whole text.
    pub(crate) text: String,
    /// The number of lines before the converted sections.
    own_lines: usize,
    own_bytes: usize,
    file: PathBuf,
}

impl Continued {
    /// Converts the files of a section `[arouteserver]`; `None` without one, or after errors, which are reported.
    pub(crate) fn read(
        text: &str,
        file: &Path,
        findings: &Findings,
        files: &mut Vec<PathBuf>,
    ) -> Option<Self> {
        if !text.contains("arouteserver") {
            return None;
        }
        let read = |root: Root<'_>| -> Option<ARouteServer> {
            let section = root.optional("arouteserver", |_, _| {})?;
            root.refuse(REPLACED, "[arouteserver] replaces this section", INSTEAD);
            Some(section)
        };
        let section = with_tree(text, file, findings, read)?;
        if findings.errors.borrow().iter().any(is_error) {
            return None;
        }
        let documents = documents(&section, findings, files)?;
        let options = Options {
            lan: section.lan,
            rtr: section.rtr,
            irr_servers: section.irr_servers,
            irr_sources: section.irr_sources,
            rtt_file: section.rtt_file.map(|path| path.display().to_string()),
            peering_db: section.peeringdb.map(|path| path.display().to_string()),
        };
        let converted = convert(&documents, &options);
        let report = |all: Vec<Finding>, severity| {
            let all = all.into_iter().map(|finding| as_error(finding, severity));
            findings.errors.borrow_mut().extend(all);
        };
        match converted {
            Err(errors) => {
                report(errors, Severity::Error);
                None
            }
            Ok(conversion) => {
                report(conversion.notes, Severity::Warning);
                let own = format!("{}\n", text.trim_end_matches('\n'));
                Some(Continued {
                    own_lines: own.lines().count(),
                    own_bytes: own.len(),
                    text: own + &conversion.toml,
                    file: file.to_owned(),
                })
            }
        }
    }

    /// Names the place of errors in the converted sections.
    pub(crate) fn relocate(&self, errors: &mut [ConfigError]) {
        let own = self.own_lines;
        for error in errors {
            if error.file == self.file && error.line > own {
                let name = format!("{} (converted by [arouteserver])", self.file.display());
                error.file = name.into();
                error.line -= own;
            }
        }
    }
}

/// The sections that ARouteServer's files become.
const REPLACED: &[&str] = &[
    "exchange",
    "defaults",
    "checks",
    "communities",
    "rpki",
    "irr",
    "member",
];

const INSTEAD: &str =
    "remove it, or print all sections with `rutter import arouteserver` and change them there";

fn documents(
    section: &ARouteServer,
    findings: &Findings,
    files: &mut Vec<PathBuf>,
) -> Option<Documents> {
    let mut read = |path: &PathBuf, limit| {
        files.push(path.clone());
        match safe_file::read_text(path, limit) {
            Ok(text) => Some(SourceText::new(path.display().to_string(), text)),
            Err(why) => {
                findings.errors.borrow_mut().push(unreadable(path, &why));
                None
            }
        }
    };
    let general = read(&section.general, safe_file::CONFIGURATION);
    let clients = read(&section.clients, safe_file::CONFIGURATION);
    let bogons = match &section.bogons {
        Some(path) => Some(read(path, safe_file::CONFIGURATION)?),
        None => None,
    };
    let peering_db = match &section.peeringdb {
        Some(path) => Some(read(path, safe_file::LIST)?),
        None => None,
    };
    Some(Documents {
        general: general?,
        clients: clients?,
        bogons,
        peering_db,
    })
}

fn as_error(finding: Finding, severity: Severity) -> ConfigError {
    ConfigError {
        severity,
        file: finding.file.into(),
        line: finding.line,
        column: finding.column,
        key: finding.key,
        message: finding.message,
        hint: String::new(),
    }
}
