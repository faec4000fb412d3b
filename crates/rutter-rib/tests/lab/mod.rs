//! A table with a few clients, and the messages that they receive.
#![allow(dead_code, unused_imports)]

mod checked;

use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rutter_net::{Asn, PerFamily, Prefix};
use rutter_policy::{
    Action, ActionCommunity, ExportPolicy, ExportSettings, ImportPolicy, ImportRule, ImportSettings,
};
use rutter_rib::*;
use rutter_wire::attr::{self, AttrContext, Attributes, code};
use rutter_wire::{nlri, update};

pub use checked::{checked_client, checked_exchange};

pub const LOCAL: u32 = 64_500;

pub fn neighbor(index: u8, kind: PeerKind, asn: u32) -> Neighbor {
    Neighbor {
        name: format!("peer {index}").into(),
        address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, index)),
        kind,
        local_asn: Asn(LOCAL),
        remote_asn: Asn(asn),
        local_ipv4: Some(Ipv4Addr::new(192, 0, 2, 254)),
        local_ipv6: None,
        next_hop_self: false,
        import: Arc::new(ImportPolicy::new(ImportSettings {
            rule: ImportRule::All,
            local_asn: Asn(LOCAL),
            peer_asn: Asn(asn),
            enforce_first_as: false,
            ..ImportSettings::default()
        })),
        monitored: None,
        export_allowed: true,
        default_local_pref: 100,
        limits: Default::default(),
        add_path_limit: 0,
        client: Default::default(),
        role: None,
    }
}

pub fn session(index: u8, asn: u32) -> SessionInfo {
    SessionInfo {
        remote_bgp_id: 0x0a00_0000 + u32::from(index),
        remote_asn: Asn(asn),
        as4: true,
        max_message_len: 4096,
        families: PerFamily::both(Some(FamilyInfo::default())),
        enhanced_refresh: true,
    }
}

pub struct Lab {
    pub rib: Rib,
    pub batch: Batch,
    pub streams: Vec<Option<ClientStream>>,
    /// Bytes that came from files.
    pub from_files: usize,
}

/// The body of an UPDATE that withdraws an IPv4 prefix.
pub fn withdrawal(prefix: &str) -> Vec<u8> {
    let mut withdrawn = Vec::new();
    let Prefix::V4(prefix) = prefix.parse().unwrap() else {
        panic!("an IPv4 prefix")
    };
    nlri::write_ipv4(&mut withdrawn, None, prefix);
    let mut body = (withdrawn.len() as u16).to_be_bytes().to_vec();
    body.extend(withdrawn);
    body.extend([0, 0]);
    body
}

/// The body of an UPDATE that announces an IPv4 prefix.
pub fn announcement(block: &[u8], prefix: &str) -> Vec<u8> {
    let mut body = vec![0, 0];
    body.extend((block.len() as u16).to_be_bytes());
    body.extend(block);
    let Prefix::V4(prefix) = prefix.parse().unwrap() else {
        panic!("an IPv4 prefix")
    };
    nlri::write_ipv4(&mut body, None, prefix);
    body
}

impl Lab {
    pub fn new(neighbors: &[(PeerKind, u32)]) -> Self {
        let mut lab = Lab::empty();
        for (index, (kind, asn)) in neighbors.iter().enumerate() {
            lab.add(neighbor(index as u8 + 1, *kind, *asn), |_| {});
        }
        lab
    }

    pub fn empty() -> Self {
        let action = |action, notation: &str| {
            ActionCommunity::new(action, notation.parse().unwrap()).unwrap()
        };
        let export = ExportSettings {
            local_asn: Asn(LOCAL),
            actions: vec![
                action(Action::NotToPeer, "0:peer"),
                action(Action::PrependPeer, "self:101..103:peer"),
                action(Action::NoExportAny, "self:65281:0"),
            ],
            scrub: true,
            ..ExportSettings::default()
        };
        Lab {
            rib: Rib::new(RibConfig {
                shards: 2,
                cluster_id: 0x0a09_0909,
                log_limit: 1 << 20,
                export: Arc::new(ExportPolicy::new(export)),
                seed: 1,
                always_compare_med: false,
            }),
            batch: Batch::new(),
            streams: Vec::new(),
            from_files: 0,
        }
    }

    pub fn add(&mut self, neighbor: Neighbor, adjust: impl FnOnce(&mut SessionInfo)) -> PeerId {
        let asn = neighbor.remote_asn.0;
        let peer = self.rib.add_neighbor(neighbor).unwrap();
        let mut session = session(peer.0 as u8 + 1, asn);
        adjust(&mut session);
        self.streams.push(self.rib.session_up(peer, session));
        self.received(peer);
        peer
    }

    pub fn announce(&mut self, peer: u16, block: &[u8], prefix: &str) -> Pushed {
        let pushed = self.push(peer, block, prefix);
        self.rib.commit(&mut self.batch);
        self.rib.flush();
        pushed
    }

    pub fn withdraw(&mut self, peer: u16, prefix: &str) {
        let body = withdrawal(prefix);
        self.batch.push(&self.rib, PeerId(peer), &body, 0);
        self.rib.commit(&mut self.batch);
        self.rib.flush();
    }

    pub fn push(&mut self, peer: u16, block: &[u8], prefix: &str) -> Pushed {
        let body = announcement(block, prefix);
        self.batch.push(&self.rib, PeerId(peer), &body, 0)
    }

    /// The messages that a client receives now, without headers.
    pub fn received(&mut self, peer: PeerId) -> Vec<(u8, Vec<u8>)> {
        let Some(stream) = &mut self.streams[peer.index()] else {
            return Vec::new();
        };
        let mut bytes = Vec::new();
        while stream.has_more() || !stream.is_drained() {
            stream.fill(&self.rib, 10_000);
            let mut slices = Vec::new();
            stream.slices(&mut slices);
            let mut part: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
            drop(slices);
            if let Some(FileRange { file, offset, len }) = stream.file_range() {
                let mut in_file = vec![0; len];
                file.read_exact_at(&mut in_file, offset).unwrap();
                assert_eq!(in_file, part, "the file has what the slices have");
                // Sockets accept less than they are offered.
                part.truncate(len / 2 + 1);
                self.from_files += part.len();
            }
            stream.consume(part.len(), 0);
            bytes.extend(part);
        }
        let mut messages = Vec::new();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let len = usize::from(u16::from_be_bytes([rest[16], rest[17]]));
            messages.push((rest[18], rest[19..len].to_vec()));
            rest = &rest[len..];
        }
        messages
    }

    /// The attribute block of the one UPDATE that a client receives now.
    pub fn block(&mut self, peer: u16) -> Option<Vec<u8>> {
        let messages = self.received(PeerId(peer));
        assert!(messages.len() <= 1, "{messages:?}");
        let (_, body) = messages.first()?;
        Some(update::split(body).unwrap().attributes.to_vec())
    }
}

pub fn parse(block: &[u8], as4: bool) -> Attributes<'_> {
    let context = AttrContext {
        as4,
        external: false,
        accept_as_set: true,
        has_ipv4_nlri: true,
    };
    let mut faults = Vec::new();
    let attributes = attr::parse(block, &context, &mut faults);
    assert!(faults.is_empty(), "{faults:?}");
    attributes
}

pub struct Block(pub Vec<u8>);

impl Block {
    pub fn new(path: &[u32]) -> Self {
        let mut out = Vec::new();
        attr::write_attr(&mut out, 0x40, code::ORIGIN, &[0]);
        let mut value = vec![2, path.len() as u8];
        value.extend(path.iter().flat_map(|asn| asn.to_be_bytes()));
        let value = if path.is_empty() { vec![] } else { value };
        attr::write_attr(&mut out, 0x40, code::AS_PATH, &value);
        attr::write_attr(&mut out, 0x40, code::NEXT_HOP, &[198, 51, 100, 1]);
        Block(out)
    }

    pub fn with(mut self, flags: u8, code: u8, value: &[u8]) -> Self {
        attr::write_attr(&mut self.0, flags, code, value);
        self
    }
}

pub fn path(block: &[u8]) -> Vec<u32> {
    let asns = parse(block, true).as_path().unwrap().asns();
    asns.map(|asn| asn.0).collect()
}
