//! The services that run beside the daemon, as configured. This is the only list of a collector's services.

use std::thread;

use rutter_config::Config;
use rutter_history::HistoryService;
use rutter_ingest::bmp::{Station, Target};
use rutter_ingest::stream::StreamServer;
use rutter_service::{Context, Service};

use crate::failure::Failure;
use crate::sql::SqlService;

/// The running services.
#[derive(Default)]
pub(crate) struct Services(Vec<Box<dyn Service>>);

impl Services {
    /// Starts all configured services. If one fails, stops the others.
    pub(crate) fn start(context: &Context, config: &Config) -> Result<Self, Failure> {
        let mut services = Services::default();
        let started = services.start_all(context, config);
        match started {
            Ok(()) => Ok(services),
            Err(failure) => {
                services.stop(context);
                Err(failure)
            }
        }
    }

    /// Starts the services. Each has its own section in the configuration.
    fn start_all(&mut self, context: &Context, config: &Config) -> Result<(), Failure> {
        if let Some(sql) = &config.sql {
            self.add(SqlService::start(context, sql)?);
        }
        if let Some(history) = &config.history {
            let started = HistoryService::start(context, history);
            self.add(started.map_err(|e| Failure::text(e.to_string()))?);
        }
        if let Some(stream) = &config.stream {
            let server = StreamServer::start(context, stream);
            self.add(server.map_err(|e| Failure::text(e.to_string()))?);
        }
        for target in &config.bmp_targets {
            self.add(Target::start(context, target)?);
        }
        for sink in &config.sinks {
            let started = rutter_sinks::start(&context.rib, &context.collector, sink);
            let sink = started.map_err(|e| Failure::text(e.to_string()))?;
            let status = sink.shared_status();
            context.status.add_sinks(move || vec![status.view().row()]);
            self.add(sink);
        }
        // The BMP station starts last. Routers can connect only now, so the other services receive every event from the
        // beginning.
        if let Some(bmp) = &config.bmp {
            let station = Station::start(context, bmp);
            self.add(station.map_err(|e| Failure::text(e.to_string()))?);
        }
        Ok(())
    }

    fn add(&mut self, service: impl Service + 'static) {
        self.0.push(Box::new(service));
    }

    /// Stops all services: first the route sources, then all others at the same time. The waits for databases that do
    /// not answer thus overlap.
    pub(crate) fn stop(self, context: &Context) {
        context.shutdown.trigger();
        let (feeding, telling): (Vec<_>, Vec<_>) = self
            .0
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

fn end(service: Box<dyn Service>) {
    let name = service.name();
    service.stop();
    tracing::info!(service = %name, "stopped");
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier, Mutex};

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
