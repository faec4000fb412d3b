//! The place of one source in the daemon: its section of the configuration, and its data in the table.

use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rutter_api::SourceAction;
use rutter_config::{Config, Rpki};
use rutter_irr::{IrrData, PrefixLimits};
use rutter_policy::OutsideData;
use rutter_sources::irr::{IrrSettings, IrrSource};
use rutter_sources::rpki::{LiveRpkiData, RpkiSettings, RpkiSource};
use rutter_sources::{LineLimit, Source, SourceStatus};

use crate::irr_settings::irr_settings;
use crate::shared::Shared;

/// A source that the configuration file has a section for. A new source implements this, and is a field of
/// [`OutsideSources`](crate::outside_sources::OutsideSources).
pub(crate) trait ConfiguredSource: Source + Send + 'static {
    /// The settings in the configuration; `None` without its section.
    fn settings(config: &Config) -> Option<Self::Settings>;

    /// The source's part of the outside data.
    fn of(data: &OutsideData) -> Option<Self::Data>;

    /// Replaces the source's part of the outside data. `None` removes it.
    fn put(data: &mut OutsideData, new: Option<Self::Data>);

    /// The data that wait for an operator.
    fn refused(&self) -> Option<Self::Data>;

    /// Called by a reload after new settings, and also if the settings are equal.
    fn reload(&self) {}
}

impl ConfiguredSource for RpkiSource {
    fn settings(config: &Config) -> Option<RpkiSettings> {
        config.rpki.as_ref().map(rpki_settings)
    }

    fn of(data: &OutsideData) -> Option<LiveRpkiData> {
        Some(LiveRpkiData {
            vrps: data.vrps.clone(),
            aspas: data.aspas.clone(),
        })
    }

    fn put(data: &mut OutsideData, new: Option<LiveRpkiData>) {
        let live = new.unwrap_or_default();
        data.vrps = live.vrps;
        data.aspas = live.aspas;
    }

    fn refused(&self) -> Option<LiveRpkiData> {
        RpkiSource::refused(self)
    }

    /// Files may have changed.
    fn reload(&self) {
        self.refresh();
    }
}

impl ConfiguredSource for IrrSource {
    fn settings(config: &Config) -> Option<IrrSettings> {
        irr_settings(config)
    }

    fn of(data: &OutsideData) -> Option<Arc<IrrData>> {
        data.irr.clone()
    }

    fn put(data: &mut OutsideData, new: Option<Arc<IrrData>>) {
        data.irr = new;
    }

    fn refused(&self) -> Option<Arc<IrrData>> {
        IrrSource::refused(self)
    }
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

/// A source, if the configuration has one.
pub(crate) struct SourceSlot<S>(Mutex<Option<S>>);

impl<S> Default for SourceSlot<S> {
    fn default() -> Self {
        SourceSlot(Mutex::new(None))
    }
}

impl SourceSlot<IrrSource> {
    /// The prefix limits of PeeringDB that are in force.
    pub(crate) fn prefix_limits(&self) -> Option<Arc<PrefixLimits>> {
        self.0.lock().as_ref()?.prefix_limits()
    }

    /// The prefix limits that would be in force if an operator accepted the refused data.
    pub(crate) fn refused_prefix_limits(&self) -> Option<Arc<PrefixLimits>> {
        self.0.lock().as_ref()?.refused_prefix_limits()
    }
}

/// A [`SourceSlot`] of any source.
pub(crate) trait Slot {
    /// The name of the source.
    fn name(&self) -> &'static str;

    /// Starts the source, if it is configured.
    fn start(&self, shared: &Arc<Shared>, config: &Config) -> io::Result<()>;

    /// Starts, changes or stops the source after a reload.
    fn change(&self, shared: &Arc<Shared>, old: &Config, new: &Config) -> io::Result<()>;

    /// Stops the source. Returns whether its threads ended.
    fn stop(&self) -> bool;

    /// Writes the last good copy if it is older than the data in force. Returns whether it is up to date.
    fn save(&self) -> bool;

    /// Returns whether the source was started.
    fn is_running(&self) -> bool;

    /// The status of the source and its parts.
    fn status(&self) -> Vec<SourceStatus>;

    /// Acts on the source. Returns whether there is one.
    fn act(&self, action: SourceAction) -> bool;

    /// Puts the data into `data` that wait for an operator. Returns whether there are any.
    fn put_refused(&self, data: &mut OutsideData) -> bool;
}

impl<S: ConfiguredSource> Slot for SourceSlot<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn start(&self, shared: &Arc<Shared>, config: &Config) -> io::Result<()> {
        if let Some(settings) = S::settings(config) {
            *self.0.lock() = Some(start::<S>(shared, settings, &config.sources.state)?);
        }
        Ok(())
    }

    fn change(&self, shared: &Arc<Shared>, old: &Config, new: &Config) -> io::Result<()> {
        // A folder that differs counts from the next start.
        let state = &old.sources.state;
        let mut slot = self.0.lock();
        match (S::settings(old), S::settings(new)) {
            (None, Some(new)) => *slot = Some(start::<S>(shared, new, state)?),
            (Some(old), Some(new)) => slot.iter().for_each(|source| {
                if old != new {
                    source.change_settings(new.clone());
                }
                source.reload();
            }),
            (Some(_), None) => {
                slot.take().map(|source| source.stop(STOP_TIMEOUT));
                shared.publish(|data| S::put(data, None));
            }
            (None, None) => {}
        }
        Ok(())
    }

    fn stop(&self) -> bool {
        let source = self.0.lock().take();
        source.is_none_or(|source| source.stop(STOP_TIMEOUT))
    }

    fn save(&self) -> bool {
        let slot = self.0.lock();
        slot.as_ref().is_none_or(|source| source.save(SAVE_TIMEOUT))
    }

    fn is_running(&self) -> bool {
        self.0.lock().is_some()
    }

    fn status(&self) -> Vec<SourceStatus> {
        let slot = self.0.lock();
        slot.as_ref().map_or_else(Vec::new, S::status)
    }

    fn act(&self, action: SourceAction) -> bool {
        let slot = self.0.lock();
        let Some(source) = slot.as_ref() else {
            return false;
        };
        match action {
            SourceAction::Refresh => source.refresh(),
            SourceAction::Accept => source.accept(),
        }
        true
    }

    fn put_refused(&self, data: &mut OutsideData) -> bool {
        let slot = self.0.lock();
        let refused = slot.as_ref().and_then(ConfiguredSource::refused);
        let waits = refused.is_some();
        if waits {
            S::put(data, refused);
        }
        waits
    }
}

/// Reads the files and the last good copy of a source into the data; nothing without its section.
pub(crate) fn read<S: ConfiguredSource>(
    config: &Config,
    data: &mut OutsideData,
) -> Vec<SourceStatus> {
    let Some(settings) = S::settings(config) else {
        return Vec::new();
    };
    let (new, status) = S::read(settings, &config.sources.state);
    S::put(data, new);
    status
}

fn start<S: ConfiguredSource>(
    shared: &Arc<Shared>,
    settings: S::Settings,
    state: &Path,
) -> io::Result<S> {
    let shared: Weak<Shared> = Arc::downgrade(shared);
    // A server decides how often its data change.
    let lines = Mutex::new(LineLimit::default());
    S::start(settings, state, move |new| {
        // A daemon that is gone needs no data.
        if let Some(shared) = shared.upgrade() {
            shared.publish(|data| S::put(data, Some(new)));
            if let Some(not_logged) = lines.lock().allow() {
                tracing::info!(source = S::NAME, not_logged, "outside data changed");
            }
        }
    })
}

/// How long a hand-over waits for the copy of a source.
const SAVE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a reload or the end of the daemon waits for a source that waits for a server.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);
