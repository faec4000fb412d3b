//! The warnings about a router: one for each session and kind.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rutter_policy::{ExportPolicy, ExportSettings};
use rutter_rib::{Rib, RibConfig};
use rutter_service::ShutdownSignal;
use rutter_wire::bmp::next_packet;
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, span};

use super::router::Router;
use crate::writer::Writer;

/// Keeps the messages of all warnings.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>, Arc<AtomicUsize>);

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.0 += &format!("{value:?}"),
            "peer" => self.0 += &format!(": {value:?}"),
            _ => {}
        }
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.lock().expect("the log").push(message.0);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(self.1.fetch_add(1, Ordering::Relaxed) as u64 + 1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// A Route Monitoring message of a neighbor's Adj-RIB-In, with End-of-RIB.
fn end_of_rib(last_octet: u8) -> Vec<u8> {
    let mut message = vec![3, 0, 0, 0, 71, 0, 0, 0];
    message.extend([0; 8]);
    message.extend([0; 12]);
    message.extend([192, 0, 2, last_octet]);
    message.extend([0, 0, 0xfb, 0xf5, 9, 9, 9, 9]);
    message.extend([0; 8]);
    message.extend([0xff; 16]);
    message.extend([0, 23, 2, 0, 0, 0, 0]);
    message
}

#[test]
fn routes_without_a_peer_up_are_logged_once_for_each_session() {
    let rib = Arc::new(Rib::new(RibConfig {
        shards: 1,
        cluster_id: 1,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 7,
        always_compare_med: false,
    }));
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || {
        let writer = Writer::new(rib, ShutdownSignal::new());
        let address = "192.0.2.9:50000".parse().expect("an address");
        let mut router = Router::new(writer, address, 100, 0);
        for last_octet in [11, 12, 11, 12, 11] {
            let bytes = end_of_rib(last_octet);
            let packet = next_packet(&bytes, 1 << 20).expect("framing");
            let packet = packet.expect("a whole message");
            router.handle(&packet.decode().expect("a message"), 0);
        }
        assert_eq!(router.status().unknown, 5);
    });
    let why = "the router reports routes, but there is no Peer Up in force for their session: they are not shown";
    let expected = ["192.0.2.11", "192.0.2.12"].map(|peer| format!("{why}: {peer}"));
    assert_eq!(*log.0.lock().expect("the log"), expected);
}
