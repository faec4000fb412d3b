//! The HTTP servers of the daemon: the looking glass, and the metrics.

use std::io;
use std::sync::Arc;

use rutter_config::{Metrics, Web};
use rutter_web::{Site, WebServer, WebSettings};

use crate::management::Management;
use crate::privileges;
use crate::shared::Shared;

/// Prometheus asks once in some seconds. The site of the metrics has no limit on requests.
const UNLIMITED: u32 = u32::MAX;

/// Starts the looking glass and the REST interface.
pub(crate) fn looking_glass(shared: &Arc<Shared>, web: &Web) -> io::Result<WebServer> {
    let backend = Arc::new(Management(Arc::clone(shared)));
    let settings = settings(Site::LookingGlass, web.requests_per_second);
    WebServer::start(web.listen, backend, settings)
}

/// Starts `GET /metrics`.
pub(crate) fn metrics(shared: &Arc<Shared>, metrics: &Metrics) -> io::Result<WebServer> {
    let backend = Arc::new(Management(Arc::clone(shared)));
    WebServer::start(metrics.listen, backend, settings(Site::Metrics, UNLIMITED))
}

fn settings(site: Site, requests_per_second: u32) -> WebSettings {
    WebSettings {
        site,
        requests_per_second,
        on_thread_start: privileges::yield_to_routing,
    }
}
