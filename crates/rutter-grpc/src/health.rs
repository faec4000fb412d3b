//! The health of this server: that of the daemon behind it.

use std::time::Duration;

use rutter_api::Request;
use tokio::time::sleep;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::daemon::Daemon;

/// The time between two questions to the daemon.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// A daemon that answers later is not healthy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// The services are healthy while the daemon answers.
pub(crate) async fn report(reporter: HealthReporter, daemon: Daemon) {
    loop {
        let status = match daemon.ask(Request::Status).await {
            Ok(_) => ServingStatus::Serving,
            Err(_) => ServingStatus::NotServing,
        };
        for service in ["", "rutter.v1.Reader", "rutter.v1.Control"] {
            reporter.set_service_status(service, status).await;
        }
        sleep(ASK_EVERY).await;
    }
}
