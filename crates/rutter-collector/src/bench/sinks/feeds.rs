//! A table with full feeds of both families, without sockets.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rutter_bench::workload::{self, Peer, Shape, Workload};
use rutter_net::{Asn, Family, PerFamily};
use rutter_policy::{ExportPolicy, ExportSettings, ImportPolicy, ImportRule, ImportSettings};
use rutter_rib::{Batch, FamilyInfo, Neighbor, PeerKind, Rib, RibConfig, SessionInfo};

use super::Settings;

/// Builds a table with full feeds. Each family has `settings.feeds` peers, and each peer announces all its prefixes.
pub(super) fn table(settings: &Settings) -> Result<Arc<Rib>, String> {
    let found = workload::read_prefix_file(&settings.prefixes, true)
        .map_err(|why| format!("{}: {why}", settings.prefixes.display()))?;
    let rib = Arc::new(Rib::new(RibConfig {
        shards: 2,
        cluster_id: 1,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 1,
        always_compare_med: false,
    }));
    let mut number = 0;
    for family in Family::ALL {
        let of_family = found
            .prefixes
            .iter()
            .filter(|prefix| prefix.family() == family);
        let most = if settings.most == 0 {
            usize::MAX
        } else {
            settings.most
        };
        let prefixes: Vec<_> = of_family.copied().take(most).collect();
        let shape = Shape::full(settings.feeds, prefixes.len());
        let drawn = workload::Settings {
            seed: 1 + family.index() as u64,
            ..workload::Settings::default()
        };
        let workload = Workload::generate(shape, Some(prefixes), drawn);
        for peer in &workload.peers[..workload.announcers()] {
            number += 1;
            apply_feed(&rib, peer, number)?;
        }
    }
    Ok(rib)
}

fn apply_feed(rib: &Rib, peer: &Peer, number: u8) -> Result<(), String> {
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
    let mut batch = Batch::new();
    let mut rest = &peer.stream[..];
    while let Some((head, _)) = rest.split_first_chunk::<19>() {
        let len = usize::from(u16::from_be_bytes([head[16], head[17]]));
        let (message, behind) = rest.split_at(len);
        batch.push(rib, id, &message[19..], 0);
        if batch.len() > 5_000 || behind.is_empty() {
            rib.commit(&mut batch);
        }
        rest = behind;
    }
    Ok(())
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
