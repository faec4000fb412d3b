//! What runs beside the daemon, as configured: the one list of a collector's services.

use rutter_collector::bmp::{Station, Target};
use rutter_collector::stream::StreamServer;
use rutter_collector::{Context, Service};
use rutter_config::Config;
use rutter_history::HistoryService;

use crate::failure::Failure;
use crate::sql::SqlService;

/// The running services.
#[derive(Default)]
pub(crate) struct Services(Vec<Box<dyn Service>>);

impl Services {
    /// Starts everything that the configuration asks for, or nothing.
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

    /// One line a service, each of its own section.
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
            context.board.add_sinks(move || vec![status.view().row()]);
            self.add(sink);
        }
        // The last: routers wait at the door, and the others hear everything from the beginning.
        if let Some(bmp) = &config.bmp {
            let station = Station::start(context, bmp);
            self.add(station.map_err(|e| Failure::text(e.to_string()))?);
        }
        Ok(())
    }

    fn add(&mut self, service: impl Service + 'static) {
        self.0.push(Box::new(service));
    }

    /// Ends all services, the last one first: what it said the others have written when this returns.
    pub(crate) fn stop(self, context: &Context) {
        context.stop.set();
        for service in self.0.into_iter().rev() {
            let name = service.name();
            service.stop();
            tracing::info!(service = %name, "stopped");
        }
    }
}
