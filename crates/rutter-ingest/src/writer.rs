//! Writes the routes of monitored sessions into the table.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rutter_net::{Asn, Family, PerFamily};
use rutter_policy::ImportPolicy;
use rutter_rib::{
    Batch, FamilyInfo, Monitored, Neighbor, PeerId, Pushed, Retain, Rib, SessionInfo, Sweeper,
    TooManyNeighbors,
};

use rutter_service::ShutdownSignal;

/// Writes UPDATEs of many peers into the table. Consecutive UPDATEs of one peer are applied together.
pub(crate) struct Writer {
    rib: Arc<Rib>,
    shutdown: ShutdownSignal,
    import: Arc<ImportPolicy>,
    batch: Batch,
    current: Option<PeerId>,
    /// The peers whose sessions went down, with reason and time; not yet published.
    leaving: Vec<(PeerId, Arc<str>, u64)>,
}

/// The number of routes that are applied at once. Larger batches would only cause more cache misses.
const BATCH: usize = 4_096;
/// After a removal step of this length, the writer pauses.
const LONG_STEP: Duration = Duration::from_millis(2);

impl Writer {
    /// After `shutdown` is triggered, the routes of closed sessions are not removed to the last one.
    pub fn new(rib: Arc<Rib>, shutdown: ShutdownSignal) -> Self {
        Writer {
            rib,
            shutdown,
            import: Arc::new(ImportPolicy::collecting()),
            batch: Batch::new(),
            current: None,
            leaving: Vec::new(),
        }
    }

    /// The table.
    pub fn rib(&self) -> &Rib {
        &self.rib
    }

    /// Adds a peer without a session.
    pub fn add_peer(
        &self,
        name: &str,
        address: IpAddr,
        asn: Asn,
        monitored: Monitored,
    ) -> Result<PeerId, TooManyNeighbors> {
        let import = Arc::clone(&self.import);
        let peer = Neighbor::monitored(name, address, asn, monitored, import);
        self.rib.add_neighbor(peer)
    }

    /// Marks a peer's session as established.
    pub fn up(&mut self, peer: PeerId, session: SessionInfo, unix_us: u64) {
        self.commit();
        self.rib.session_up(peer, session);
        self.rib.publish_peer_up(peer, unix_us);
    }

    /// Marks peers as gone. [`Writer::settle`] removes them.
    pub fn end(&mut self, peers: &[PeerId], reason: &str, unix_us: u64) {
        let reason: Arc<str> = reason.into();
        let leaving = |peer: &PeerId| (*peer, Arc::clone(&reason), unix_us);
        self.leaving.extend(peers.iter().map(leaving));
    }

    /// Applies pending routes. Removes the peers that are gone in one walk over the table.
    pub fn settle(&mut self) {
        self.commit();
        let leaving = std::mem::take(&mut self.leaving);
        let mut sweeper = Sweeper::default();
        for (peer, reason, unix_us) in &leaving {
            let retain = PerFamily::both(Retain::Nothing);
            self.rib.publish_peer_down(*peer, retain, reason, *unix_us);
            self.rib.end_session(*peer, retain, &mut sweeper);
        }
        while !sweeper.is_idle() {
            let begun = Instant::now();
            sweeper.step(&self.rib);
            let took = begun.elapsed();
            // If many sessions report the same prefixes, a step locks a part of the table for long. Other writers then
            // get as much time.
            let stopping = match took >= LONG_STEP {
                true => self.shutdown.wait(took),
                false => self.shutdown.is_triggered(),
            };
            if stopping {
                return;
            }
        }
        for (peer, ..) in leaving {
            self.rib.remove_neighbor(peer);
        }
    }

    /// Adds the body of an UPDATE. Its routes are in the table after [`Writer::settle`] at the latest.
    pub fn update(&mut self, peer: PeerId, body: &[u8], unix_us: u64) -> Pushed {
        if self.current != Some(peer) || self.batch.len() >= BATCH {
            self.commit();
            self.current = Some(peer);
        }
        self.batch.push(&self.rib, peer, body, unix_us)
    }

    fn commit(&mut self) {
        if self.current.take().is_some() {
            self.rib.commit(&mut self.batch);
        }
    }
}

/// A session of which only the form of its updates is known.
pub(crate) fn session(asn: Asn, bgp_id: u32, as4: bool, add_path: PerFamily<bool>) -> SessionInfo {
    let family = |family: Family| FamilyInfo {
        add_path_receive: add_path[family],
        add_path_send: false,
        extended_next_hop: true,
    };
    SessionInfo {
        remote_bgp_id: bgp_id,
        remote_asn: asn,
        as4,
        max_message_len: rutter_wire::frame::MAX_EXTENDED_LEN,
        families: PerFamily::from_fn(|f| Some(family(f))),
        enhanced_refresh: false,
    }
}

#[cfg(test)]
mod tests {
    use rutter_policy::{ExportPolicy, ExportSettings};
    use rutter_rib::{RibConfig, Source, View};

    use rutter_wire::bmp::PeerType;

    use super::*;

    /// 192.0.2.0/24 with ORIGIN, AS_PATH and NEXT_HOP.
    const UPDATE: &[u8] = &[
        0, 0, 0, 20, 0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xfb, 0xf5, 0x40, 3, 4, 192, 0, 2, 1,
        24, 192, 0, 2,
    ];

    #[test]
    fn the_end_does_not_wait_until_lost_sessions_are_forgotten() {
        let rib = Arc::new(Rib::new(RibConfig {
            shards: 2,
            cluster_id: 1,
            log_limit: 1 << 20,
            export: Arc::new(ExportPolicy::new(ExportSettings::default())),
            seed: 7,
            always_compare_med: false,
        }));
        let shutdown = ShutdownSignal::new();
        let mut writer = Writer::new(Arc::clone(&rib), shutdown.clone());
        let monitored = Monitored {
            router: "edge1".into(),
            source: Source::Bmp,
            view: View::AdjRibInPre,
            peer_type: PeerType::Global,
            distinguisher: 0,
        };
        let address = "192.0.2.1".parse().unwrap();
        let asn = Asn(64501);
        let lose = |writer: &mut Writer| {
            let added = writer.add_peer("peer", address, asn, monitored.clone());
            let peer = added.unwrap();
            writer.up(peer, session(asn, 9, true, PerFamily::both(false)), 0);
            writer.update(peer, UPDATE, 0);
            writer.settle();
            writer.end(&[peer], "gone", 0);
            writer.settle();
        };
        lose(&mut writer);
        assert!(rib.peers().is_empty());
        shutdown.trigger();
        lose(&mut writer);
        assert_eq!(rib.peers().len(), 1);
    }
}
