//! The table from outside: UPDATEs of neighbors go in, and each client receives what it should.

mod attributes;
#[path = "../lab/mod.rs"]
mod lab;
mod limits;
mod paths;
mod policy_changes;
mod removal;
mod streams;

use std::sync::Arc;

use rutter_net::{Asn, Ipv4Prefix};
use rutter_policy::{ImportPolicy, ImportRule, ImportSettings, NextHopRule};
use rutter_rib::*;
use rutter_wire::nlri;

use lab::*;

impl Lab {
    fn received_block(&mut self, peer: u16) -> Vec<u8> {
        self.block(peer).expect("an UPDATE")
    }
}

/// A client whose longer paths are rejected.
fn strict(index: u8, asn: u32, longest_path: u16) -> Neighbor {
    Neighbor {
        import: Arc::new(ImportPolicy::new(ImportSettings {
            rule: ImportRule::Checks,
            local_asn: Asn(LOCAL),
            peer_asn: Asn(asn),
            enforce_first_as: false,
            max_as_path_len: longest_path,
            next_hop: NextHopRule::Any,
            reject_bogons: false,
            reject_invalid_asns: false,
            ..ImportSettings::default()
        })),
        ..neighbor(index, PeerKind::RouteServerClient, asn)
    }
}

/// Announces more prefixes than a walk visits before its first notice.
fn announce_many(rib: &Rib, peer: PeerId, block: &[u8]) {
    let mut batch = Batch::new();
    for number in 0..60_000 {
        let mut body = vec![0, 0];
        body.extend((block.len() as u16).to_be_bytes());
        body.extend(block);
        let prefix = Ipv4Prefix::new(0x0b00_0000 + (number << 8), 24).unwrap();
        nlri::write_ipv4(&mut body, None, prefix);
        batch.push(rib, peer, &body, 0);
        if batch.len() >= 500 {
            rib.commit(&mut batch);
        }
    }
    rib.commit(&mut batch);
    rib.flush();
}
