//! The status of all services, for `rutter show`, metrics and SQL.

use std::sync::Arc;

use parking_lot::Mutex;
use rutter_api::{CollectorServices, RouterRow, SinkRow};

/// The functions that report the status of sinks and monitored routers. Clones share the same registry.
#[derive(Clone, Default)]
pub struct StatusRegistry(Arc<Mutex<Sources>>);

/// Returns the present rows. Called for every request.
type Report<Row> = Arc<dyn Fn() -> Vec<Row> + Send + Sync>;

#[derive(Default)]
struct Sources {
    sinks: Vec<Report<SinkRow>>,
    routers: Vec<Report<RouterRow>>,
}

impl StatusRegistry {
    /// Adds sinks. `report` returns their status and must not block.
    pub fn add_sinks(&self, report: impl Fn() -> Vec<SinkRow> + Send + Sync + 'static) {
        self.0.lock().sinks.push(Arc::new(report));
    }

    /// Adds monitored routers. `report` returns their status and must not block.
    pub fn add_routers(&self, report: impl Fn() -> Vec<RouterRow> + Send + Sync + 'static) {
        self.0.lock().routers.push(Arc::new(report));
    }
}

impl CollectorServices for StatusRegistry {
    fn sinks(&self) -> Vec<SinkRow> {
        let reports = self.0.lock().sinks.clone();
        reports.iter().flat_map(|report| report()).collect()
    }

    fn routers(&self) -> Vec<RouterRow> {
        let reports = self.0.lock().routers.clone();
        reports.iter().flat_map(|report| report()).collect()
    }
}
