//! Starts a daemon that goes on with the sockets, sessions and table of another process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::Poll;
use rutter_api::CollectorServices;
use rutter_config::{Config, ConfigSource};
use rutter_rib::{ImportedSets, Rib};
use rutter_server::once_free;

use super::{Daemon, Handle, Prepared, Start, StartError, failed, named};
use crate::handover::{Predecessor, Program, TakeServices, TakenService};
use crate::listener::Listeners;
use crate::outside_sources::OutsideSources;
use crate::restart::Restart;
use crate::shared::Clock;
use crate::{logging, privileges};

/// The time in which the process before frees its paths and addresses. On a busy machine its threads with low priority take
/// long to end.
const AFTER_HANDOVER: Duration = Duration::from_secs(60);

impl Daemon {
    /// Takes over from the daemon that started this process with `--take-over`: its sockets, its sessions and its table.
    /// Returns when that process has ended. After an error it goes on, and this one must end. `program` takes over next.
    pub fn take_over(
        config: Config,
        source: ConfigSource,
        program: Program,
    ) -> Result<Handle, StartError> {
        let refuse = |services: Vec<TakenService>| match services.first() {
            None => Ok(()),
            Some(TakenService { name, .. }) => Err(format!("a route server has no service {name}")),
        };
        let prepare = |prepared: &Prepared| prepared.allow_upgrades(program);
        Self::take_over_as(config, source, prepare, |_, services| refuse(services))
    }

    /// As [`Daemon::take_over`], for a collector. `take` takes its services over; they may subscribe to the table, but
    /// touch no socket before this function returns. An error of `take` is for the operator.
    pub fn take_over_collector(
        config: Config,
        source: ConfigSource,
        program: Program,
        collected: Arc<dyn CollectorServices>,
        take: impl FnMut(&Arc<Rib>, Vec<TakenService>) -> Result<(), String>,
    ) -> Result<Handle, StartError> {
        let prepare = |prepared: &Prepared| {
            prepared.allow_upgrades(program);
            prepared.attach(collected);
        };
        Self::take_over_as(config, source, prepare, take)
    }

    fn take_over_as(
        config: Config,
        source: ConfigSource,
        prepare: impl FnOnce(&Prepared),
        mut take: impl FnMut(&Arc<Rib>, Vec<TakenService>) -> Result<(), String>,
    ) -> Result<Handle, StartError> {
        let log = logging::init(config.daemon.log_format, logging::level(&config.daemon.log));
        if let Err(error) = privileges::raise_open_files() {
            tracing::warn!(%error, "cannot raise the limit of open files");
        }
        let refused = |why: String| failed("take over")(io::Error::other(why));
        let mut predecessor = Predecessor::greet().map_err(refused)?;
        let sockets = std::mem::take(&mut predecessor.listeners);
        let listeners = Listeners::inherit(&config.daemon.listen, sockets);
        let listeners = listeners.map_err(|error| refused(predecessor.fail(error.to_string())))?;
        let start = Start {
            log,
            listeners,
            restart: Restart::after_handover(&config),
            clock: Clock::start_at(predecessor.now_ms),
        };
        let members = std::mem::take(&mut predecessor.dynamic_members);
        let config = config.with_dynamic_members(members);
        let prepared = Self::assemble(config, Some(source), start);
        let prepared = prepared.map_err(|error| refused(predecessor.fail(error.to_string())))?;
        prepare(&prepared);
        let rib = prepared.rib();
        prepared.take_over(predecessor, &mut |services| take(&rib, services))
    }
}

impl Prepared {
    fn take_over(
        mut self,
        mut predecessor: Predecessor,
        take_services: TakeServices<'_>,
    ) -> Result<Handle, StartError> {
        let taken = self
            .handle
            .take(&self.polls, &mut predecessor, take_services);
        let sets = match taken {
            Ok(sets) => sets,
            Err(error) => {
                // The end of this process must change nothing that the other one uses.
                self.handle.shared.stopping.store(true, Ordering::Release);
                predecessor.fail(error.to_string());
                // To free the table would take long, and keep the copies of the sockets for as long.
                std::mem::forget(Arc::clone(&self.handle.shared));
                return Err(error);
            }
        };
        self.handle.go_on(self.polls, sets)?;
        predecessor.wait_for_end();
        self.handle.open_services_after_handover();
        Ok(self.handle)
    }
}

impl Handle {
    /// Takes everything from the process before. The archive opens first, so that it misses no update.
    fn take(
        &mut self,
        polls: &[Poll],
        predecessor: &mut Predecessor,
        take_services: TakeServices<'_>,
    ) -> Result<ImportedSets, StartError> {
        let config = Arc::clone(&self.shared.config.read());
        OutsideSources::start(&self.shared, &config).map_err(failed("sources of outside data"))?;
        self.place_reactors(polls)?;
        self.open_archive(&config)?;
        let taken = predecessor.take(&self.shared, take_services);
        taken.map_err(|why| failed("take over")(io::Error::other(why)))
    }

    /// Goes on with what [`Handle::take`] took. The routes are evaluated again: this version, or its data, may judge
    /// otherwise. `sets` are those of the table.
    fn go_on(&mut self, polls: Vec<Poll>, sets: ImportedSets) -> Result<(), StartError> {
        let config = Arc::clone(&self.shared.config.read());
        // Until now the listening sockets were those of the other process.
        self.shared.listeners.set_keys(None, &config);
        self.run_reactors(polls)?;
        self.add_neighbors(&config);
        self.spawn_threads()?;
        tracing::info!(neighbors = self.shared.peers.len(), "took over");
        let shared = Arc::clone(&self.shared);
        let reevaluate = move || {
            shared.rib.reevaluate_all(|| shared.flush());
            shared.flush();
            shared.rib.release_imported(sets);
        };
        named("reevaluate", reevaluate).map_err(failed("re-evaluation"))?;
        Ok(())
    }

    /// Opens the services whose paths and addresses the process before had. Routing goes on without those that fail.
    fn open_services_after_handover(&mut self) {
        let config = Arc::clone(&self.shared.config.read());
        if let Err(error) = once_free(AFTER_HANDOVER, || self.open_control(&config)) {
            tracing::error!(%error, "no control socket after the upgrade");
        }
        if let Err(error) = once_free(AFTER_HANDOVER, || self.open_web(&config)) {
            tracing::error!(%error, "no web server after the upgrade");
        }
        if let Err(error) = self.open_stations(&config) {
            tracing::error!(%error, "no report to BMP stations after the upgrade");
        }
        self.begin_archive();
    }
}
