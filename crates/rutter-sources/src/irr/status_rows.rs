//! The status of the IRR source: one row for all, and one for each file and each AS-SET that needs attention.

use rutter_irr::OriginSet;

use super::decision::Refusals;
use super::files::files;
use super::record::View;
use super::settings::IrrSettings;
use super::store::{FileKey, IrrStore};
use super::wanted::Wanted;
use crate::{SourceState, SourceStatus};

/// The outcome of the attempts since the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// A server went through all queries since the start, or all answers are known.
    pub is_complete: bool,
    /// The last refresh failed as a whole.
    pub is_failing: bool,
    /// The number of refreshes since the start, failed ones included.
    pub attempts: u64,
    /// The entries in force.
    pub entries: u64,
    /// Time of the last complete refresh, Unix seconds.
    pub updated_at: Option<u64>,
    /// The server that answered last.
    pub server: Option<String>,
    /// The errors of the last refresh.
    pub errors: Vec<String>,
    /// The error of the copy on disk.
    pub copy_error: Option<String>,
}

/// Everything that the rows show.
pub(crate) struct Overview<'a> {
    pub settings: &'a IrrSettings,
    pub store: &'a IrrStore,
    pub wanted: &'a Wanted,
    pub refusals: &'a Refusals,
    pub report: &'a Report,
    /// The time, Unix seconds.
    pub now: u64,
}

impl Overview<'_> {
    /// The rows. The first one is that of the whole source.
    pub fn rows(&self) -> Vec<SourceStatus> {
        let mut rows = vec![self.whole()];
        rows.extend(files(self.settings).map(|(key, path)| {
            let location = path.display().to_string();
            self.file(&key, location)
        }));
        rows.extend(self.sets().take(MAX_SETS));
        rows
    }

    fn whole(&self) -> SourceStatus {
        let report = self.report;
        SourceStatus {
            state: self.state(),
            entries: report.entries,
            updated_at: report.updated_at,
            detail: self.detail(),
            last_error: self.errors(),
            refused: self.refused(),
            ..SourceStatus::starting(NAME, location(self.settings))
        }
    }

    fn state(&self) -> SourceState {
        let report = self.report;
        let age = self.now.saturating_sub(report.updated_at.unwrap_or(0));
        if !self.refusals.is_empty() {
            SourceState::Refused
        } else if report.attempts == 0 {
            SourceState::Starting
        } else if !report.is_failing {
            SourceState::Live
        } else if report.updated_at.is_some() && age > self.settings.keep_last_good.as_secs() {
            SourceState::Stale
        } else {
            SourceState::Failing
        }
    }

    fn detail(&self) -> String {
        let named = self.wanted.named().count();
        let mut detail = format!("{named} AS-SETs, {} AS numbers", self.store.origins.len());
        let missing = self.missing_sets();
        if missing > 0 {
            detail += &format!(", {missing} AS-SETs do not exist");
        }
        if let Some(server) = &self.report.server {
            detail += &format!(", from {server}");
        }
        match self.report.updated_at {
            None => detail += ", no complete data yet: routes are not checked without them",
            Some(_) if self.report.attempts == 0 => detail += ", last good copy",
            Some(_) => {}
        }
        detail
    }

    fn missing_sets(&self) -> usize {
        let sets = self.store.sets.values();
        let answers = sets.filter_map(|record| record.get(View::Next));
        answers.filter(|answer| !answer.exists).count()
    }

    fn errors(&self) -> Option<String> {
        let report = self.report;
        let errors = report.errors.iter().rev();
        let errors = errors
            .chain(&report.copy_error)
            .chain(&self.wanted.wrong_names);
        let errors: Vec<&str> = errors.take(3).map(String::as_str).collect();
        (!errors.is_empty()).then(|| errors.join("; "))
    }

    /// The changes that wait for an operator.
    pub fn refused(&self) -> Option<String> {
        let refusals = self.refusals;
        let overall = refusals
            .overall
            .map(|shrink| format!("all members: {shrink}"));
        let sets = refusals.sets.iter();
        let sets = sets.map(|(set, shrink)| format!("{set}: {shrink}"));
        let files = refusals.files.iter();
        let files = files.map(|(key, shrink)| format!("{}: {shrink}", file_title(key)));
        let mut all: Vec<String> = overall.into_iter().chain(sets).chain(files).collect();
        let others = all.len().saturating_sub(MAX_REFUSED);
        all.truncate(MAX_REFUSED);
        if others > 0 {
            all.push(format!("and {others} others"));
        }
        (!all.is_empty()).then(|| all.join("; "))
    }

    fn file(&self, key: &FileKey, location: String) -> SourceStatus {
        let name = format!("{NAME} {}", file_title(key));
        let mut row = SourceStatus::starting(name, location);
        let Some(record) = self.store.files.get(key) else {
            return row;
        };
        row.last_error.clone_from(&record.error);
        if let Some(file) = &record.good {
            row.updated_at = record.answered_at.or(self.report.updated_at);
            row.entries = (file.rows.len() + file.facts()) as u64;
            row.detail = match &file.prefix_limits {
                None => format!("{} AS numbers", file.asns.len().max(file.as_sets.len())),
                Some(limits) => {
                    let (sets, limits) = (file.as_sets.len(), limits.len());
                    format!("AS-SETs of {sets} networks, prefix limits of {limits}")
                }
            };
        }
        let refused = self.refusals.files.get(key);
        row.refused = refused.map(ToString::to_string);
        row.state = match (&row.refused, &row.last_error) {
            (Some(_), _) => SourceState::Refused,
            (None, Some(_)) => SourceState::Failing,
            (None, None) => SourceState::Live,
        };
        row
    }

    /// The sets that failed, were refused or do not exist.
    fn sets(&self) -> impl Iterator<Item = SourceStatus> + '_ {
        self.wanted.sets.iter().filter_map(|set| {
            let refused = self.refusals.sets.get(set).map(ToString::to_string);
            let record = match set {
                OriginSet::Named(name) => self.store.sets.get(name),
                OriginSet::Asn(_) => None,
            };
            let error = record.and_then(|record| record.error.clone());
            let answer = record.and_then(|record| record.get(View::Next));
            let is_missing = answer.is_some_and(|answer| !answer.exists);
            if refused.is_none() && error.is_none() && !is_missing {
                return None;
            }
            let name = format!("{NAME} {set}");
            let state = match (&refused, &error) {
                (Some(_), _) => SourceState::Refused,
                (None, Some(_)) => SourceState::Failing,
                (None, None) => SourceState::Live,
            };
            let good = record.filter(|record| record.good.is_some());
            let updated_at = good.and_then(|record| record.answered_at.or(self.report.updated_at));
            Some(SourceStatus {
                state,
                updated_at,
                entries: self.store.entries(set, View::Good) as u64,
                detail: match is_missing {
                    true => "the servers do not have this AS-SET".to_owned(),
                    false => String::new(),
                },
                last_error: error,
                refused,
                ..SourceStatus::starting(name, self.settings.servers.join(", "))
            })
        })
    }
}

/// The servers and the number of files.
pub(crate) fn location(settings: &IrrSettings) -> String {
    let mut parts = settings.servers.clone();
    match files(settings).count() {
        0 => {}
        1 => parts.push("1 file".to_owned()),
        count => parts.push(format!("{count} files")),
    }
    parts.join(", ")
}

fn file_title(key: &FileKey) -> &str {
    match key {
        FileKey::List(name) => name,
        FileKey::Arin => "ARIN",
        FileKey::RegistroBr => "registro.br",
        FileKey::PeeringDb => "PeeringDB",
    }
}

/// The name of the source.
pub(crate) const NAME: &str = "irr";
/// The most rows of AS-SETs.
const MAX_SETS: usize = 100;
/// The most refusals in one row.
const MAX_REFUSED: usize = 5;
