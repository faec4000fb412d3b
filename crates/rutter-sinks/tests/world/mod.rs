//! A table whose peers announce and withdraw at random, and a naive map of their routes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rutter_bench::rng::Rng;
use rutter_net::{Asn, Family, PerFamily, Prefix};
use rutter_policy::{ExportPolicy, ExportSettings, ImportPolicy, ImportRule, ImportSettings};
use rutter_rib::*;
use rutter_wire::attr::{self, code};
use rutter_wire::{nlri, update};

/// Peer address, prefix, path identifier.
pub type Key = (IpAddr, Prefix, u32);

/// A table with peers, and the routes that it must contain.
pub struct World {
    pub rib: Arc<Rib>,
    batch: Batch,
    peers: Vec<TestPeer>,
    /// The AS path of each route.
    pub routes: BTreeMap<Key, String>,
    /// The routes that were not announced since their session ended.
    stale: BTreeSet<Key>,
    /// All actions of the peers, in order: kind and prefix.
    pub log: Vec<String>,
    pub now_us: u64,
}

#[derive(Clone, Copy)]
struct TestPeer {
    id: PeerId,
    up: bool,
}

pub fn address(peer: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1 + peer as u8))
}

fn neighbor(peer: usize) -> Neighbor {
    Neighbor {
        name: format!("peer {peer}").into(),
        address: address(peer),
        kind: PeerKind::Collector,
        local_asn: Asn(64_500),
        remote_asn: Asn(64_501 + peer as u32),
        local_ipv4: None,
        local_ipv6: None,
        next_hop_self: false,
        import: Arc::new(ImportPolicy::new(ImportSettings {
            rule: ImportRule::All,
            local_asn: Asn(64_500),
            peer_asn: Asn(64_501 + peer as u32),
            reject_as_set: false,
            ..ImportSettings::default()
        })),
        export_allowed: false,
        default_local_pref: 100,
        limits: Default::default(),
        add_path_limit: 0,
        client: Default::default(),
        role: None,
        monitored: None,
    }
}

fn session(peer: usize) -> SessionInfo {
    // Every third peer sends path identifiers.
    let family = FamilyInfo {
        add_path_receive: peer % 3 == 2,
        ..FamilyInfo::default()
    };
    SessionInfo {
        remote_bgp_id: 7 + peer as u32,
        remote_asn: Asn(64_501 + peer as u32),
        as4: true,
        max_message_len: 4096,
        families: PerFamily::both(Some(family)),
        enhanced_refresh: false,
    }
}

impl World {
    /// A table with peers that are all down.
    pub fn new(peers: usize, now_us: u64) -> Self {
        let rib = Arc::new(Rib::new(RibConfig {
            shards: 1,
            cluster_id: 1,
            log_limit: 1 << 20,
            export: Arc::new(ExportPolicy::new(ExportSettings::default())),
            seed: 1,
            always_compare_med: false,
        }));
        let peers = (0..peers)
            .map(|peer| TestPeer {
                id: rib.add_neighbor(neighbor(peer)).unwrap(),
                up: false,
            })
            .collect();
        Self {
            rib,
            batch: Batch::new(),
            peers,
            routes: BTreeMap::new(),
            stale: BTreeSet::new(),
            log: Vec::new(),
            now_us,
        }
    }

    /// Performs a random action that a peer could do now.
    pub fn act(&mut self, rng: &mut Rng) {
        let peer = rng.below(self.peers.len() as u64) as usize;
        if !self.peers[peer].up {
            return self.up(peer);
        }
        match rng.below(100) {
            0..=3 => self.down(peer, rng),
            4..=7 => self.end_of_rib(peer),
            _ => self.update(peer, rng),
        }
    }

    pub fn up(&mut self, peer: usize) {
        self.rib.session_up(self.peers[peer].id, session(peer));
        self.rib.publish_peer_up(self.peers[peer].id, self.now_us);
        self.peers[peer].up = true;
        self.log.push(format!("peer-up {}", address(peer)));
    }

    fn down(&mut self, peer: usize, rng: &mut Rng) {
        let retain = PerFamily::from_fn(|_| match rng.chance(25) {
            true => Retain::Stale,
            false => Retain::Nothing,
        });
        let id = self.peers[peer].id;
        self.rib.publish_peer_down(id, retain, "drawn", self.now_us);
        self.rib.session_down(id, retain);
        self.peers[peer].up = false;
        self.log.push(format!("peer-down {}", address(peer)));
        let kept = |prefix: &Prefix| retain[prefix.family()] == Retain::Stale;
        // Routes that were stale already are swept, and become withdrawals where the other routes become stale. Where
        // nothing is retained, the end of the session says it all.
        self.swept(peer, kept);
        let goes = |(of, prefix, _): &Key| *of == address(peer) && !kept(prefix);
        self.routes.retain(|key, _| !goes(key));
        self.stale.retain(|key| !goes(key));
        let own = self.routes.keys().filter(|key| key.0 == address(peer));
        self.stale.extend(own.copied());
        // The restart timer expires at once.
        if rng.chance(50) {
            self.sweep(peer);
        }
    }

    fn sweep(&mut self, peer: usize) {
        for family in Family::ALL {
            self.rib.sweep_stale(self.peers[peer].id, family);
        }
        self.swept(peer, |_| true);
    }

    fn swept(&mut self, peer: usize, concerned: impl Fn(&Prefix) -> bool) {
        let goes = |key: &&Key| key.0 == address(peer) && concerned(&key.1);
        let (gone, kept) = self.stale.iter().partition(goes);
        self.stale = kept;
        let gone: BTreeSet<Key> = gone;
        for key in gone {
            self.routes.remove(&key);
            self.log.push(format!("withdraw {} ?", address(peer)));
        }
    }

    fn end_of_rib(&mut self, peer: usize) {
        let mut message = Vec::new();
        update::write_end_of_rib(&mut message, Family::Ipv4Unicast.afi_safi());
        let body = message.split_off(rutter_wire::frame::HEADER_LEN);
        self.push(peer, &body);
        self.log.push(format!("end-of-rib {}", address(peer)));
        self.sweep(peer);
    }

    fn update(&mut self, peer: usize, rng: &mut Rng) {
        let path_id = (peer % 3 == 2).then(|| 1 + rng.below(2) as u32);
        let asn = 1 + rng.below(9) as u32;
        let announce = rng.chance(70);
        if rng.chance(30) {
            return self.update_ipv6(peer, rng, path_id, announce.then_some(asn));
        }
        let mut prefixes: Vec<u64> = (0..1 + rng.below(4)).map(|_| rng.below(40)).collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        let prefixes: Vec<Prefix> = prefixes
            .iter()
            .map(|n| format!("10.{n}.0.0/16").parse().unwrap())
            .collect();
        self.send_update(peer, &prefixes, path_id, announce.then_some(asn));
    }

    fn update_ipv6(&mut self, peer: usize, rng: &mut Rng, path_id: Option<u32>, asn: Option<u32>) {
        let prefix = format!("2001:db8:{:x}::/48", rng.below(20))
            .parse()
            .unwrap();
        self.send_update(peer, &[prefix], path_id, asn);
    }

    /// Announces prefixes of one family with a path of two AS numbers, or withdraws them.
    pub fn send_update(
        &mut self,
        peer: usize,
        prefixes: &[Prefix],
        path_id: Option<u32>,
        asn: Option<u32>,
    ) {
        let body = body(peer, prefixes, path_id, asn);
        self.push(peer, &body);
        for prefix in prefixes {
            let key = (address(peer), *prefix, path_id.unwrap_or(0));
            let kind = if asn.is_some() {
                "announce"
            } else {
                "withdraw"
            };
            self.log.push(format!("{kind} {} {prefix}", address(peer)));
            self.stale.remove(&key);
            match asn {
                Some(asn) => self.routes.insert(key, format!("{} {asn}", 64_501 + peer)),
                None => self.routes.remove(&key),
            };
        }
    }

    fn push(&mut self, peer: usize, body: &[u8]) {
        let pushed = self
            .batch
            .push(&self.rib, self.peers[peer].id, body, self.now_us);
        assert!(
            pushed.reset.is_none() && pushed.faults.is_empty(),
            "{pushed:?}"
        );
        self.rib.commit(&mut self.batch);
    }
}

/// The body of an UPDATE.
fn body(peer: usize, prefixes: &[Prefix], path_id: Option<u32>, asn: Option<u32>) -> Vec<u8> {
    let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
    for prefix in prefixes {
        match prefix {
            Prefix::V4(prefix) => nlri::write_ipv4(&mut ipv4, path_id, *prefix),
            Prefix::V6(prefix) => nlri::write_ipv6(&mut ipv6, path_id, *prefix),
        }
    }
    let mut block = Vec::new();
    let mut mp = vec![0, 2, 1];
    if let Some(asn) = asn {
        attr::write_attr(&mut block, 0x40, code::ORIGIN, &[0]);
        let mut path = vec![2, 2];
        path.extend((64_501 + peer as u32).to_be_bytes());
        path.extend(asn.to_be_bytes());
        attr::write_attr(&mut block, 0x40, code::AS_PATH, &path);
        attr::write_attr(&mut block, 0x40, code::NEXT_HOP, &[192, 0, 2, 1]);
        attr::write_attr(
            &mut block,
            0xc0,
            code::COMMUNITIES,
            &[0xfb, 0xf4, 0, asn as u8],
        );
        if !ipv6.is_empty() {
            mp.push(16);
            mp.extend(
                "2001:db8::1"
                    .parse::<std::net::Ipv6Addr>()
                    .unwrap()
                    .octets(),
            );
            mp.push(0);
            mp.extend(&ipv6);
            attr::write_attr(&mut block, 0x80, code::MP_REACH_NLRI, &mp);
        }
    } else if !ipv6.is_empty() {
        mp.extend(&ipv6);
        attr::write_attr(&mut block, 0x80, code::MP_UNREACH_NLRI, &mp);
    }
    let withdrawn = if asn.is_none() { ipv4.as_slice() } else { &[] };
    let announced = if asn.is_some() { ipv4.as_slice() } else { &[] };
    let mut body = Vec::new();
    for section in [withdrawn, &block] {
        body.extend((section.len() as u16).to_be_bytes());
        body.extend(section);
    }
    body.extend(announced);
    body
}
