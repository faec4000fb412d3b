//! Where services tell what they do, for whoever asks: `rutter show`, metrics, SQL.

use std::sync::Arc;

use parking_lot::Mutex;
use rutter_api::{CollectorServices, RouterRow, SinkRow};

/// The services' figures. Clones are the same board.
#[derive(Clone, Default)]
pub struct Board(Arc<Mutex<Entries>>);

/// Asked anew each time.
type Figures<Row> = Arc<dyn Fn() -> Vec<Row> + Send + Sync>;

#[derive(Default)]
struct Entries {
    sinks: Vec<Figures<SinkRow>>,
    routers: Vec<Figures<RouterRow>>,
}

impl Board {
    /// Adds sinks by what tells their figures, without waiting for anybody.
    pub fn add_sinks(&self, figures: impl Fn() -> Vec<SinkRow> + Send + Sync + 'static) {
        self.0.lock().sinks.push(Arc::new(figures));
    }

    /// Adds monitored routers by what tells their figures.
    pub fn add_routers(&self, figures: impl Fn() -> Vec<RouterRow> + Send + Sync + 'static) {
        self.0.lock().routers.push(Arc::new(figures));
    }
}

impl CollectorServices for Board {
    fn sinks(&self) -> Vec<SinkRow> {
        let figures = self.0.lock().sinks.clone();
        figures.iter().flat_map(|figures| figures()).collect()
    }

    fn routers(&self) -> Vec<RouterRow> {
        let figures = self.0.lock().routers.clone();
        figures.iter().flat_map(|figures| figures()).collect()
    }
}
