//! The sources of outside data, and their data in the table.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rutter_api::{SourceAction, SourceRow};
use rutter_config::Config;
use rutter_irr::PrefixLimits;
use rutter_policy::OutsideData;
use rutter_sources::irr::IrrSource;
use rutter_sources::rpki::RpkiSource;
use rutter_sources::{SourceStatus, unix_seconds};

use crate::peeringdb_limits;
use crate::shared::Shared;
use crate::source_slot::{ConfiguredSource, Slot, SourceSlot};

/// The sources of outside data.
#[derive(Default)]
pub(crate) struct OutsideSources {
    /// Locked while the data of the table are replaced: each replacement begins with the data of the one before.
    publishing: Mutex<()>,
    rpki: SourceSlot<RpkiSource>,
    irr: SourceSlot<IrrSource>,
}

impl OutsideSources {
    /// All sources, in the order of their rows.
    fn all(&self) -> [&dyn Slot; 2] {
        [&self.rpki, &self.irr]
    }

    /// Starts the configured sources. Last good copies and files are in force before the first session.
    pub(crate) fn start(shared: &Arc<Shared>, config: &Config) -> io::Result<()> {
        for slot in shared.sources.all() {
            slot.start(shared, config)?;
        }
        peeringdb_limits::follow(shared);
        Ok(())
    }

    /// The prefix limits of PeeringDB that are in force; `None` if they are not known yet, or not configured.
    pub(crate) fn prefix_limits(&self) -> Option<Arc<PrefixLimits>> {
        self.irr.prefix_limits()
    }

    /// The prefix limits of PeeringDB in the data that wait to be accepted; `None` if none wait.
    pub(crate) fn refused_prefix_limits(&self) -> Option<Arc<PrefixLimits>> {
        self.irr.refused_prefix_limits()
    }

    /// Applies a new configuration. Data that are known stay in force while the others are fetched.
    pub(crate) fn change(shared: &Arc<Shared>, old: &Config, new: &Config) {
        for slot in shared.sources.all() {
            if let Err(error) = slot.change(shared, old, new) {
                tracing::error!(source = slot.name(), %error, "the source does not start");
            }
        }
    }

    /// Applies a configuration with other dynamic members.
    pub(crate) fn change_members(shared: &Arc<Shared>, old: &Config, new: &Config) {
        if let Err(error) = shared.sources.irr.change(shared, old, new) {
            tracing::error!(%error, "the IRR source does not start");
        }
    }

    /// Writes the last good copies that are older than the data in force. Returns the name of a source that fails.
    pub(crate) fn save(&self) -> Result<(), &'static str> {
        let slots = self.all();
        let failing = slots.iter().find(|slot| !slot.save());
        failing.map_or(Ok(()), |slot| Err(slot.name()))
    }

    /// Waits until no data are being replaced, at most for this time. While the guard lives, none are.
    pub(crate) fn hold(&self, timeout: Duration) -> Option<MutexGuard<'_, ()>> {
        self.publishing.try_lock_for(timeout)
    }

    /// Stops all sources.
    pub(crate) fn stop(&self) {
        for slot in self.all() {
            if !slot.stop() {
                tracing::debug!(
                    source = slot.name(),
                    "a source waits for a server and ends later"
                );
            }
        }
    }

    /// Returns a row for each source and its parts.
    pub(crate) fn rows(&self) -> Vec<SourceRow> {
        let now = unix_seconds();
        let all = self.all().into_iter().flat_map(Slot::status);
        all.map(|status| row(status, now)).collect()
    }

    /// Acts on a source. The error is for the user.
    pub(crate) fn act(&self, name: &str, action: SourceAction) -> Result<String, String> {
        let slots = self.all();
        let slot = slots.iter().find(|slot| slot.name() == name);
        let is_idle = |slot: &&&dyn Slot| {
            slot.is_running() && slot.status().iter().all(|row| row.refused.is_none())
        };
        if action == SourceAction::Accept && slot.filter(is_idle).is_some() {
            return Err(format!(
                "{name}: nothing waits to be accepted; see `rutter show sources`"
            ));
        }
        match (slot.is_some_and(|slot| slot.act(action)), action) {
            (true, SourceAction::Refresh) => Ok(format!("{name}: asks for new data")),
            (true, SourceAction::Accept) => Ok(format!("{name}: accepts the data that it refused")),
            (false, _) => Err(self.unknown(name)),
        }
    }

    /// The data of the table with what sources refused; `None` if nothing waits.
    pub(crate) fn refused(&self, data: &OutsideData) -> Option<OutsideData> {
        let mut accepted = data.clone();
        let waiting = self.all().map(|slot| slot.put_refused(&mut accepted));
        waiting.contains(&true).then_some(accepted)
    }

    /// The data that the table would have under another configuration, as far as they are known now: sources that have
    /// files alone are read, and sources that the configuration lacks have no data. The others keep those in force, under the
    /// members' rules and white lists of the configuration.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(crate) fn preview(config: &Config, data: &OutsideData) -> Result<OutsideData, String> {
        let mut data = data.clone();
        preview_of::<RpkiSource>(config, &mut data)?;
        preview_of::<IrrSource>(config, &mut data)?;
        Ok(data)
    }

    fn unknown(&self, name: &str) -> String {
        let running = self.all().into_iter().filter(|slot| slot.is_running());
        let known: Vec<&str> = running.map(|slot| slot.name()).collect();
        match known.is_empty() {
            true => format!(
                "there is no source `{name}`: the configuration has neither [rpki] nor [irr]"
            ),
            false => format!("there is no source `{name}`; write {}", known.join(" or ")),
        }
    }
}

fn preview_of<S: ConfiguredSource>(config: &Config, data: &mut OutsideData) -> Result<(), String> {
    let new = match S::settings(config) {
        None => None,
        Some(settings) => S::preview(&settings, S::of(data))?,
    };
    S::put(data, new);
    Ok(())
}

impl Shared {
    /// Changes the outside data of the table. Routes that the change concerns are evaluated again, and clients receive
    /// the differences.
    pub(crate) fn publish(&self, change: impl FnOnce(&mut OutsideData)) {
        let _one_at_a_time = self.sources.publishing.lock();
        let mut data = OutsideData::clone(&self.rib.outside_data());
        change(&mut data);
        self.rib
            .replace_outside_data(Arc::new(data), || self.flush());
        self.flush();
    }
}

pub(crate) fn row(status: SourceStatus, now: u64) -> SourceRow {
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
