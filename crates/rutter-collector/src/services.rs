//! The services that run beside the daemon, as configured. This is the only list of a collector's services.

use std::net::TcpListener;
use std::sync::Arc;
use std::{io, slice, thread};

use rutter_config::{Config, History, Sink, Sql, Stream};
use rutter_history::{ContinuedHistory, HistoryService};
use rutter_ingest::bmp::{Station, Target};
use rutter_ingest::stream::StreamServer;
use rutter_service::{Context, Service};
use rutter_sinks::ContinuedFeed;

use crate::failure::Failure;
use crate::handover::{self, Movable, Taken};
use crate::sql::SqlService;

/// The running services.
#[derive(Default)]
pub(crate) struct Services {
    all: Vec<Box<dyn Service>>,
    movable: Movable,
}

impl Services {
    /// Starts all configured services. If one fails, stops the others.
    pub(crate) fn start(context: &Context, config: &Config) -> Result<Self, Failure> {
        let mut services = Services::default();
        let started = services.start_all(context, config, Taken::default(), &mut Err);
        match started {
            Ok(()) => Ok(services),
            Err(failure) => {
                services.stop(context);
                Err(failure)
            }
        }
    }

    /// Starts all configured services where those of another process stand, which has ended. The others go on without
    /// one that fails.
    pub(crate) fn go_on(context: &Context, config: &Config, taken: Taken) -> Self {
        let mut services = Services::default();
        let report = &mut |failure: Failure| {
            tracing::error!(
                "a service does not run after the upgrade: {}",
                failure.words()
            );
            Ok(())
        };
        if let Err(failure) = services.start_all(context, config, taken, report) {
            tracing::error!("no services after the upgrade: {}", failure.words());
        }
        services
    }

    /// Starts the services. Each has its own section in the configuration. `failed` decides if the others start, too.
    fn start_all(
        &mut self,
        context: &Context,
        config: &Config,
        mut taken: Taken,
        failed: &mut dyn FnMut(Failure) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if let Some(sql) = &config.sql {
            let started = self.start_sql(context, sql, taken.sql.take());
            started.or_else(&mut *failed)?;
        }
        if let Some(history) = &config.history {
            let started = self.start_history(context, history, taken.history.take());
            started.or_else(&mut *failed)?;
        }
        if let Some(stream) = &config.stream {
            let started = self.start_stream(context, stream, taken.stream.take());
            started.or_else(&mut *failed)?;
        }
        for target in &config.bmp_targets {
            let started = Target::start(context, target).map(|target| self.add(target));
            started.map_err(Failure::from).or_else(&mut *failed)?;
        }
        for sink in &config.sinks {
            let started = self.start_sink(context, sink, taken.sinks.remove(&sink.name));
            started.or_else(&mut *failed)?;
        }
        // The BMP station starts last. Routers can connect only now, so the other services receive every event from the
        // beginning.
        if let Some(bmp) = &config.bmp {
            let station = match taken.station {
                Some(taken) => taken.start(),
                None => Station::start(context, bmp),
            };
            let started = station.map(|station| {
                self.movable.station = Some(station.handle());
                self.add(station);
            });
            started.map_err(text).or_else(&mut *failed)?;
        }
        Ok(())
    }

    fn start_sql(
        &mut self,
        context: &Context,
        settings: &Sql,
        taken: Option<Vec<TcpListener>>,
    ) -> Result<(), Failure> {
        let started = || {
            let sockets = taken.map_or_else(|| SqlService::listen(settings), Ok)?;
            SqlService::start(sockets, context, settings)
        };
        let started = started();
        let sockets = started.as_ref().map_or(&[][..], SqlService::sockets);
        self.keep_sockets(handover::SQL, sockets)?;
        started.map(|sql| self.add(sql))
    }

    fn start_stream(
        &mut self,
        context: &Context,
        settings: &Stream,
        taken: Option<Vec<TcpListener>>,
    ) -> Result<(), Failure> {
        let started = match taken.and_then(|mut sockets| sockets.pop()) {
            Some(socket) => StreamServer::start_on(socket, context, settings),
            None => StreamServer::start(context, settings),
        };
        let sockets = started
            .as_ref()
            .map(|server| slice::from_ref(server.socket()));
        self.keep_sockets(handover::STREAM, sockets.unwrap_or_default())?;
        started.map(|server| self.add(server)).map_err(text)
    }

    /// Keeps copies of the sockets of a service for another process.
    fn keep_sockets(&mut self, name: &'static str, sockets: &[TcpListener]) -> Result<(), Failure> {
        let copies: io::Result<Vec<_>> = sockets.iter().map(TcpListener::try_clone).collect();
        self.movable.listeners.push((name, Arc::new(copies?)));
        Ok(())
    }

    fn start_history(
        &mut self,
        context: &Context,
        settings: &History,
        taken: Option<ContinuedHistory>,
    ) -> Result<(), Failure> {
        let started = match taken {
            Some(taken) => taken.start(context, settings),
            None => HistoryService::start(context, settings),
        };
        let history = started.map_err(text)?;
        let follower = (handover::of_history(), history.pause());
        self.movable.followers.push(follower);
        self.add(history);
        Ok(())
    }

    fn start_sink(
        &mut self,
        context: &Context,
        settings: &Sink,
        taken: Option<ContinuedFeed>,
    ) -> Result<(), Failure> {
        let (rib, collector) = (&context.rib, &context.collector);
        let started = match taken {
            Some(taken) => taken.start(rib, collector, settings),
            None => rutter_sinks::start(rib, collector, settings),
        };
        let sink = started.map_err(text)?;
        let follower = (handover::of_sink(&settings.name), sink.pause());
        self.movable.followers.push(follower);
        let status = sink.shared_status();
        context.status.add_sinks(move || vec![status.view().row()]);
        self.add(sink);
        Ok(())
    }

    fn add(&mut self, service: impl Service + 'static) {
        self.all.push(Box::new(service));
    }

    /// The services that another process can continue.
    pub(crate) fn movable(&self) -> Movable {
        self.movable.clone()
    }

    /// Another process has taken over, and this one ends next.
    pub(crate) fn leave(self) {
        self.all.into_iter().for_each(|service| service.leave());
    }

    /// Stops all services: first the route sources, then all others at the same time. The waits for databases that do
    /// not answer thus overlap.
    pub(crate) fn stop(self, context: &Context) {
        context.shutdown.trigger();
        let (feeding, telling): (Vec<_>, Vec<_>) = self
            .all
            .into_iter()
            .partition(|service| service.is_route_source());
        feeding.into_iter().for_each(end);
        thread::scope(|scope| {
            for service in telling {
                scope.spawn(|| end(service));
            }
        });
    }
}

fn text(error: impl std::error::Error) -> Failure {
    Failure::text(error.to_string())
}

fn end(service: Box<dyn Service>) {
    let name = service.name();
    service.stop();
    tracing::info!(service = %name, "stopped");
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, Mutex};

    use rutter_policy::{ExportPolicy, ExportSettings};
    use rutter_rib::{Rib, RibConfig};
    use rutter_service::{ShutdownSignal, StatusRegistry};

    use super::*;

    /// A service for the test. The two others end only together, and only the station can end alone.
    struct Slow(&'static str, Arc<Barrier>, Arc<Mutex<Vec<&'static str>>>);

    impl Service for Slow {
        fn name(&self) -> String {
            self.0.into()
        }

        fn is_route_source(&self) -> bool {
            self.0 == "station"
        }

        fn stop(self: Box<Self>) {
            if !self.is_route_source() {
                self.1.wait();
            }
            self.2.lock().unwrap().push(self.0);
        }
    }

    #[test]
    fn inputs_end_first_and_all_others_together() {
        let (barrier, ended) = (Arc::new(Barrier::new(2)), Arc::default());
        let mut services = Services::default();
        for name in ["one", "station", "two"] {
            services.add(Slow(name, Arc::clone(&barrier), Arc::clone(&ended)));
        }
        let rib = Rib::new(RibConfig {
            shards: 1,
            cluster_id: 1,
            log_limit: 1 << 20,
            export: Arc::new(ExportPolicy::new(ExportSettings::default())),
            seed: 7,
            always_compare_med: false,
        });
        services.stop(&Context {
            rib: Arc::new(rib),
            collector: "here".into(),
            shutdown: ShutdownSignal::new(),
            status: StatusRegistry::default(),
        });
        let ended = ended.lock().unwrap();
        assert_eq!((ended.len(), ended.first()), (3, Some(&"station")));
    }
}
