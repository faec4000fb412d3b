//! The sources of outside data, and their data in the table.

use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rutter_api::{SourceAction, SourceRow};
use rutter_config::{Config, Rpki};
use rutter_irr::IrrData;
use rutter_policy::FilterData;
use rutter_sources::irr::{IrrSettings, IrrSource};
use rutter_sources::rpki::{LiveRpkiData, RpkiSettings, RpkiSource};
use rutter_sources::{SourceStatus, unix_seconds};

use crate::irr_settings::irr_settings;
use crate::shared::Shared;

/// The sources of outside data.
#[derive(Default)]
pub(crate) struct FilterSources {
    /// Locked while the data of the table are replaced: each replacement begins with the data of the one before.
    publishing: Mutex<()>,
    rpki: Mutex<Option<RpkiSource>>,
    irr: Mutex<Option<IrrSource>>,
}

impl FilterSources {
    /// Starts the configured sources. Last good copies and files are in force before the first session.
    pub(crate) fn start(shared: &Arc<Shared>, config: &Config) -> io::Result<()> {
        let state = &config.sources.state;
        if let Some(rpki) = &config.rpki {
            let source = start_rpki(shared, rpki_settings(rpki), state)?;
            *shared.sources.rpki.lock() = Some(source);
        }
        if let Some(settings) = irr_settings(config) {
            let source = start_irr(shared, settings, state)?;
            *shared.sources.irr.lock() = Some(source);
        }
        Ok(())
    }

    /// Applies a new configuration. Data that are known stay in force while the others are fetched.
    pub(crate) fn change(shared: &Arc<Shared>, old: &Config, new: &Config) {
        // A folder that differs counts from the next start.
        let state = &old.sources.state;
        if let Err(error) = change_rpki(shared, old, new, state) {
            tracing::error!(%error, "the RPKI source does not start");
        }
        if let Err(error) = change_irr(shared, old, new, state) {
            tracing::error!(%error, "the IRR source does not start");
        }
    }

    /// Stops all sources.
    pub(crate) fn stop(&self) {
        let rpki = self.rpki.lock().take();
        let irr = self.irr.lock().take();
        let stopped = rpki.is_none_or(RpkiSource::stop) & irr.is_none_or(IrrSource::stop);
        if !stopped {
            tracing::debug!("a source waits for a server and ends later");
        }
    }

    /// Returns a row for each source and its parts.
    pub(crate) fn rows(&self) -> Vec<SourceRow> {
        let rpki = self.rpki.lock();
        let irr = self.irr.lock();
        let all = rpki.iter().flat_map(RpkiSource::status);
        let now = unix_seconds();
        all.chain(irr.iter().flat_map(IrrSource::status))
            .map(|status| row(status, now))
            .collect()
    }

    /// Acts on a source. The error is for the user.
    pub(crate) fn act(&self, name: &str, action: SourceAction) -> Result<String, String> {
        let done = match name {
            "rpki" => self.rpki.lock().as_ref().map(|source| match action {
                SourceAction::Refresh => source.refresh(),
                SourceAction::Accept => source.accept(),
            }),
            "irr" => self.irr.lock().as_ref().map(|source| match action {
                SourceAction::Refresh => source.refresh(),
                SourceAction::Accept => source.accept(),
            }),
            _ => None,
        };
        match (done, action) {
            (Some(()), SourceAction::Refresh) => Ok(format!("{name}: asks for new data")),
            (Some(()), SourceAction::Accept) => Ok(format!("{name}: accepts what it refused")),
            (None, _) => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let has = [
            ("rpki", self.rpki.lock().is_some()),
            ("irr", self.irr.lock().is_some()),
        ];
        let known: Vec<&str> = has.iter().filter(|(_, is)| *is).map(|(n, _)| *n).collect();
        match known.is_empty() {
            true => format!(
                "there is no source `{name}`: the configuration has neither [rpki] nor [irr]"
            ),
            false => format!("there is no source `{name}`; write {}", known.join(" or ")),
        }
    }
}

impl Shared {
    /// Changes the outside data of the table. Routes that the change concerns are evaluated again, and clients receive
    /// the differences.
    pub(crate) fn publish(&self, change: impl FnOnce(&mut FilterData)) {
        let _one_at_a_time = self.sources.publishing.lock();
        let mut data = FilterData::clone(&self.rib.filter_data());
        change(&mut data);
        self.rib
            .replace_filter_data(Arc::new(data), || self.flush());
        self.flush();
    }
}

/// What to do with a source after the configuration changed.
enum Step<S> {
    Keep,
    Start(S),
    Change(S),
    Stop,
}

impl<S: PartialEq> Step<S> {
    fn between(old: Option<S>, new: Option<S>) -> Self {
        match (old, new) {
            (None, Some(new)) => Step::Start(new),
            (Some(old), Some(new)) if old != new => Step::Change(new),
            (Some(_), None) => Step::Stop,
            _ => Step::Keep,
        }
    }
}

fn change_rpki(shared: &Arc<Shared>, old: &Config, new: &Config, state: &Path) -> io::Result<()> {
    let settings = |config: &Config| config.rpki.as_ref().map(rpki_settings);
    let mut source = shared.sources.rpki.lock();
    match Step::between(settings(old), settings(new)) {
        Step::Start(settings) => *source = Some(start_rpki(shared, settings, state)?),
        Step::Change(settings) => source.iter().for_each(|source| {
            source.change_settings(settings.clone());
            source.refresh();
        }),
        // Files may have changed.
        Step::Keep => source.iter().for_each(RpkiSource::refresh),
        Step::Stop => {
            source.take().map(RpkiSource::stop);
            shared.publish(|data| set_rpki(data, LiveRpkiData::default()));
        }
    }
    Ok(())
}

fn change_irr(shared: &Arc<Shared>, old: &Config, new: &Config, state: &Path) -> io::Result<()> {
    let mut source = shared.sources.irr.lock();
    match Step::between(irr_settings(old), irr_settings(new)) {
        Step::Keep => {}
        Step::Start(settings) => *source = Some(start_irr(shared, settings, state)?),
        Step::Change(settings) => source
            .iter()
            .for_each(|source| source.change_settings(settings.clone())),
        Step::Stop => {
            source.take().map(IrrSource::stop);
            shared.publish(|data| data.irr = None);
        }
    }
    Ok(())
}

fn start_rpki(
    shared: &Arc<Shared>,
    settings: RpkiSettings,
    state: &Path,
) -> io::Result<RpkiSource> {
    let shared = Arc::downgrade(shared);
    RpkiSource::start(settings, state, move |live| {
        publish_to(&shared, "rpki", |data| set_rpki(data, live));
    })
}

fn start_irr(shared: &Arc<Shared>, settings: IrrSettings, state: &Path) -> io::Result<IrrSource> {
    let shared = Arc::downgrade(shared);
    IrrSource::start(settings, state, move |irr: Arc<IrrData>| {
        publish_to(&shared, "irr", |data| data.irr = Some(irr));
    })
}

fn publish_to(shared: &Weak<Shared>, source: &str, change: impl FnOnce(&mut FilterData)) {
    // A daemon that is gone needs no data.
    if let Some(shared) = shared.upgrade() {
        shared.publish(change);
        tracing::info!(source, "outside data changed");
    }
}

fn set_rpki(data: &mut FilterData, live: LiveRpkiData) {
    data.vrps = live.vrps;
    data.aspas = live.aspas;
}

fn rpki_settings(rpki: &Rpki) -> RpkiSettings {
    RpkiSettings {
        vrps: rpki.vrps.clone(),
        rtr: rpki.rtr.clone(),
        refresh_s: rpki.refresh_s,
        retry_s: rpki.retry_s,
        expire_s: rpki.expire_s,
        aspa: rpki.aspa,
        refuse_shrink: rpki.refuse_shrink,
        ..RpkiSettings::default()
    }
}

fn row(status: SourceStatus, now: u64) -> SourceRow {
    SourceRow {
        age_s: status.age_s(now),
        name: status.name,
        location: status.location,
        state: status.state.as_str().to_owned(),
        entries: status.entries,
        updated_at: status.updated_at,
        detail: status.detail,
        last_error: status.last_error,
        refused: status.refused,
    }
}
