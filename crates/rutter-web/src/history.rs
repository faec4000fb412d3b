//! The history of routes and updates: samples of the last day.
//!
//! A sample reads as much as the list of sessions does. It is taken on a thread of low priority, and routing waits for none.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rutter_api::{Backend, HistorySample, Line, PeerRow, Request};
use tokio::time::sleep;

use crate::endpoint::{Parameter, Place};
use crate::event_stream::unix_us;
use crate::json_page::rows;
use crate::problem::Problem;
use crate::query::Query;
use crate::responder::Responder;
use crate::sample_rings::{NEIGHBORS, Observation, SampleRings};

/// The path of the history.
pub(crate) const PATH: &str = "/api/v1/history";

/// The kinds of its rows.
pub(crate) const ROWS: [&str; 2] = ["sample", "neighbor-sample"];

/// Its parameters.
pub(crate) const PARAMETERS: &[Parameter] = &[Parameter {
    name: "neighbor",
    place: Place::Query,
    kind: "string",
    about: "The samples of this neighbor, one in five minutes: a name, an address, or an AS number such as AS64500.",
}];

/// The time between two samples.
const SAMPLE_EVERY: Duration = Duration::from_secs(60);

/// The samples that the server took.
pub(crate) struct History {
    begin: Instant,
    rings: Mutex<SampleRings>,
}

impl History {
    pub(crate) fn new() -> Self {
        History {
            begin: Instant::now(),
            rings: Mutex::default(),
        }
    }

    /// Takes a sample. Blocks while it reads. A daemon that does not answer leaves a gap.
    fn take_sample(&self, backend: &dyn Backend) {
        let Ok(peers) = peers(&Request::Peers, backend) else {
            return;
        };
        let seen = Observation {
            at: self.begin.elapsed(),
            unix_s: unix_us() / 1_000_000,
            prefixes: backend.rib().prefixes(),
            peers: &peers,
        };
        if let Some(left_out) = self.rings().record(&seen) {
            tracing::warn!("web: {NEIGHBORS} neighbors have a history, and {left_out} have none");
        }
    }

    /// Answers with the samples of all neighbors, or of those that the query selects. Blocks while it computes.
    pub(crate) fn page(&self, query: &Query, backend: &dyn Backend) -> Result<Vec<u8>, Problem> {
        let samples: Vec<HistorySample> = match query.text("neighbor") {
            None => {
                let rings = self.rings();
                let samples = rings.samples().cloned();
                samples.map(HistorySample::Sample).collect()
            }
            Some(peer) => {
                let peers = peers(&Request::Peer { peer }, backend)?;
                let rings = self.rings();
                let addresses = peers.iter().map(|peer| peer.session.address);
                let samples = addresses.flat_map(|address| rings.neighbor(address));
                samples.map(HistorySample::NeighborSample).collect()
            }
        };
        let page = serde_json::json!({"rows": samples, "truncated": false});
        Ok(page.to_string().into_bytes())
    }

    fn rings(&self) -> MutexGuard<'_, SampleRings> {
        // A sample that panicked has left those before it.
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a sample at once, and one each minute.
pub(crate) async fn take_samples(responder: Arc<Responder>) {
    loop {
        let shared = Arc::clone(&responder);
        let sample = move || shared.history.take_sample(&*shared.backend);
        // A panic is in the log, and leaves a gap.
        let _ = tokio::task::spawn_blocking(sample).await;
        sleep(SAMPLE_EVERY).await;
    }
}

fn peers(request: &Request, backend: &dyn Backend) -> Result<Vec<PeerRow>, Problem> {
    let peer = |line| match line {
        Line::Peer(row) => Some(*row),
        _ => None,
    };
    Ok(rows(request, backend)?
        .into_iter()
        .filter_map(peer)
        .collect())
}
