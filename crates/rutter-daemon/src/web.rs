//! The HTTP servers of the daemon: the looking glass, and the metrics.

use std::io;
use std::sync::Arc;

use rutter_config::access::AccessRules;
use rutter_config::{Metrics, ReasonNumbers, Web};
use rutter_web::{BirdwatcherSettings, CertificateFiles, Site, WebServer, WebSettings};

use crate::management::Management;
use crate::privileges;
use crate::shared::Shared;

/// Prometheus asks once in some seconds. The site of the metrics has no limit on requests.
const UNLIMITED: u32 = u32::MAX;

/// Starts the looking glass and the REST interface.
pub(crate) fn looking_glass(shared: &Arc<Shared>, web: &Web) -> io::Result<WebServer> {
    let backend = Arc::new(Management::new(shared, "the web"));
    let settings = WebSettings {
        access: access(web),
        tls: web.tls.as_ref().map(|tls| CertificateFiles {
            certificate: tls.certificate.clone(),
            key: tls.key.clone(),
        }),
        birdwatcher: birdwatcher(web),
        ..settings(Site::LookingGlass, web.requests_per_second)
    };
    WebServer::start(web.listen, backend, settings)
}

/// The tokens and their roles.
pub(crate) fn access(web: &Web) -> AccessRules {
    AccessRules {
        anonymous: web.anonymous,
        tokens: web.tokens.clone(),
    }
}

/// How the interface of birdwatcher is served.
pub(crate) fn birdwatcher(web: &Web) -> Option<BirdwatcherSettings> {
    let path = web.birdwatcher.clone()?;
    let reasons = match web.birdwatcher_reasons {
        ReasonNumbers::ARouteServer => rutter_web::ReasonNumbers::ARouteServer,
        ReasonNumbers::IxpManager => rutter_web::ReasonNumbers::IxpManager,
    };
    Some(BirdwatcherSettings { path, reasons })
}

/// Starts `GET /metrics`.
pub(crate) fn metrics(shared: &Arc<Shared>, metrics: &Metrics) -> io::Result<WebServer> {
    let backend = Arc::new(Management::new(shared, "the web"));
    WebServer::start(metrics.listen, backend, settings(Site::Metrics, UNLIMITED))
}

fn settings(site: Site, requests_per_second: u32) -> WebSettings {
    WebSettings {
        site,
        requests_per_second,
        access: AccessRules::open(),
        tls: None,
        birdwatcher: None,
        on_thread_start: privileges::yield_to_routing,
    }
}
