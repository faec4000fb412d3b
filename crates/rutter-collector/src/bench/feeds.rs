//! Tables with full feeds of both families, without sockets.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

use rutter_bench::workload::{self, Peer, Shape, Workload};
use rutter_net::{Asn, Family, PerFamily, Prefix};
use rutter_policy::{ExportPolicy, ExportSettings, ImportPolicy, ImportRule, ImportSettings};
use rutter_rib::{FamilyInfo, Neighbor, PeerId, PeerKind, Rib, RibConfig, SessionInfo};

/// The length of a BGP message header.
const HEADER: usize = 19;

/// Returns a table without neighbors.
pub(super) fn empty_table() -> Arc<Rib> {
    Arc::new(Rib::new(RibConfig {
        shards: 2,
        cluster_id: 1,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 1,
        always_compare_med: false,
    }))
}

/// Reads a file of prefixes. With `keep_unacceptable`, prefixes that the filter of an exchange rejects are kept.
pub(super) fn read_prefixes(path: &Path, keep_unacceptable: bool) -> Result<Vec<Prefix>, String> {
    let found = workload::read_prefix_file(path, keep_unacceptable);
    let found = found.map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(found.prefixes)
}

/// Establishes sessions with `feeds` neighbors for each family. Each announces at most `most` prefixes, 0 for all. Passes
/// each neighbor with its messages to `receive`.
pub(super) fn add_feeds(
    rib: &Rib,
    prefixes: &[Prefix],
    (most, feeds): (usize, usize),
    mut receive: impl FnMut(PeerId, &[u8]),
) -> Result<(), String> {
    let most = if most == 0 { usize::MAX } else { most };
    let mut number = 0;
    for family in Family::ALL {
        let of_family = prefixes.iter().filter(|prefix| prefix.family() == family);
        let prefixes: Vec<_> = of_family.copied().take(most).collect();
        let shape = Shape::full(feeds, prefixes.len());
        let drawn = workload::Settings {
            seed: 1 + family.index() as u64,
            ..workload::Settings::default()
        };
        let workload = Workload::generate(shape, Some(prefixes), drawn);
        for peer in &workload.peers[..workload.announcers()] {
            number += 1;
            receive(establish(rib, peer, number)?, &peer.stream);
        }
    }
    Ok(())
}

/// The bodies of the UPDATE messages in a stream.
pub(super) fn bodies(mut stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let head = stream.first_chunk::<HEADER>()?;
        let len = usize::from(u16::from_be_bytes([head[16], head[17]]));
        let (message, rest) = stream.split_at(len);
        stream = rest;
        Some(&message[HEADER..])
    })
}

fn establish(rib: &Rib, peer: &Peer, number: u8) -> Result<PeerId, String> {
    let id = rib
        .add_neighbor(neighbor(peer, number))
        .map_err(|why| why.to_string())?;
    rib.session_up(
        id,
        SessionInfo {
            remote_bgp_id: peer.router_id.into(),
            remote_asn: peer.asn,
            as4: true,
            max_message_len: 4096,
            families: PerFamily::both(Some(FamilyInfo::default())),
            enhanced_refresh: false,
        },
    );
    Ok(id)
}

fn neighbor(peer: &Peer, number: u8) -> Neighbor {
    let local_asn = Asn(64_500);
    Neighbor {
        name: format!("feed {number}").into(),
        address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, number)),
        kind: PeerKind::Collector,
        local_asn,
        remote_asn: peer.asn,
        local_ipv4: None,
        local_ipv6: None,
        next_hop_self: false,
        import: Arc::new(ImportPolicy::new(ImportSettings {
            rule: ImportRule::All,
            local_asn,
            peer_asn: peer.asn,
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
