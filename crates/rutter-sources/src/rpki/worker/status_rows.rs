//! The status of the source, its caches and its files.

use super::{Cache, SourceState, SourceStatus, Worker};
use crate::rpki::files::DataFile;
use crate::rpki::origin::Origin;
use crate::rpki::selection::InForce;

impl Worker {
    pub(super) fn status_rows(&self) -> Vec<SourceStatus> {
        let mut rows = vec![self.whole()];
        rows.extend(self.caches.iter().map(|cache| self.cache_row(cache)));
        rows.extend(self.files.list().iter().map(|file| self.file_row(file)));
        rows
    }

    fn whole(&self) -> SourceStatus {
        let in_force = self.selection.in_force();
        let places = self.settings.rtr.iter().cloned();
        let paths = self
            .settings
            .vrps
            .iter()
            .map(|path| path.display().to_string());
        let places: Vec<String> = places.chain(paths).collect();
        let refused = self.selection.refusals();
        let refused: Vec<String> = refused
            .iter()
            .map(|(origin, why)| format!("{origin}: {why}"))
            .collect();
        let error = self.error_of(in_force.map(|data| &data.from.origin));
        let mut row = SourceStatus::starting("rpki", places.join(", "));
        row.state = match in_force {
            _ if !refused.is_empty() => SourceState::Refused,
            Some(data) if data.from.is_copy && error.is_none() => SourceState::Starting,
            Some(_) if error.is_none() => SourceState::Live,
            Some(_) => SourceState::Failing,
            None if error.is_some() => SourceState::Failing,
            None => SourceState::Starting,
        };
        if let Some(data) = in_force {
            row.entries = data.data.sizes().total();
            row.updated_at = Some(data.from.time);
        }
        row.detail = detail(in_force);
        row.last_error = error.or_else(|| self.copy_error.clone());
        row.refused = (!refused.is_empty()).then(|| refused.join("; "));
        row
    }

    /// The last error of an origin, or of any if no data are in force.
    fn error_of(&self, origin: Option<&Origin>) -> Option<String> {
        let concerns = |one: Origin| origin.is_none_or(|origin| *origin == one);
        let caches = self.caches.iter();
        let mut caches = caches.filter(|cache| concerns(Origin::Cache(cache.name.clone())));
        let mut files = self.files.list().iter().filter(|_| concerns(Origin::Files));
        let of_cache = caches.find_map(|cache| {
            let fault = cache.report.fault.as_ref()?;
            Some(format!("RTR cache {}: {fault}", cache.name))
        });
        of_cache.or_else(|| files.find_map(|file| file.error.clone()))
    }

    fn is_in_force(&self, origin: &Origin) -> bool {
        self.selection
            .in_force()
            .is_some_and(|data| data.from.origin == *origin)
    }

    fn refused(&self, origin: &Origin) -> Option<String> {
        let mut refusals = self.selection.refusals().iter();
        refusals
            .find(|(refused, _)| refused == origin)
            .map(|(_, why)| why.clone())
    }

    fn cache_row(&self, cache: &Cache) -> SourceStatus {
        let origin = Origin::Cache(cache.name.clone());
        let mut row = SourceStatus::starting(cache.name.clone(), cache.name.clone());
        row.refused = self.refused(&origin);
        row.last_error = cache.report.fault.clone();
        let mut details = vec![
            if self.is_in_force(&origin) {
                "in force"
            } else {
                "in reserve"
            }
            .to_owned(),
        ];
        if let Some(data) = &cache.report.data {
            row.entries = (data.records.vrp_count() + data.records.aspa_count()) as u64;
            row.updated_at = Some(cache.time);
            details.push(format!(
                "version {}, session {}, serial {}",
                data.version, data.session, data.serial
            ));
            if self.settings.aspa && data.version < 2 {
                details.push("this version has no ASPAs".to_owned());
            }
        }
        row.detail = details.join(", ");
        let is_old = cache
            .candidate(false)
            .is_some_and(|data| data.is_expired(std::time::Instant::now()));
        row.state = match (&cache.report.data, &cache.report.fault) {
            _ if row.refused.is_some() => SourceState::Refused,
            (_, None) if is_old => SourceState::Stale,
            (Some(_), None) => SourceState::Live,
            (None, None) => SourceState::Starting,
            (Some(_), Some(_)) if is_old => SourceState::Stale,
            (_, Some(_)) => SourceState::Failing,
        };
        row
    }

    fn file_row(&self, file: &DataFile) -> SourceStatus {
        let path = file.path.display().to_string();
        let mut row = SourceStatus::starting(path.clone(), path);
        row.refused = self.refused(&Origin::Files);
        row.last_error = file.error.clone();
        row.entries = file.entries();
        row.updated_at = file.time();
        row.detail = if self.is_in_force(&Origin::Files) {
            "in force"
        } else {
            "in reserve"
        }
        .to_owned();
        row.state = match (&file.error, file.time()) {
            _ if row.refused.is_some() => SourceState::Refused,
            (None, Some(_)) => SourceState::Live,
            (None, None) => SourceState::Starting,
            (Some(_), _) => SourceState::Failing,
        };
        row
    }
}

fn detail(in_force: Option<&InForce>) -> String {
    match in_force {
        None => "no data: no route is invalid".to_owned(),
        Some(data) if data.from.is_copy => {
            format!(
                "{} from the last good copy of {}",
                data.data.sizes(),
                data.from.origin
            )
        }
        Some(data) => format!("{} of {}", data.data.sizes(), data.from.origin),
    }
}
