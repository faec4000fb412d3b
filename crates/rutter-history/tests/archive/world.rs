//! A table with peers that come and go, and its history under a virtual clock.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rutter_net::{Asn, PerFamily};
use rutter_policy::{ExportPolicy, ExportSettings, ImportPolicy, ImportRule, ImportSettings};
use rutter_rib::*;
use rutter_wire::attr::{self, code};
use rutter_wire::nlri;

/// 2026-11-18 07:33:20 UTC.
pub const BEGIN_US: u64 = 1_795_000_000_000_000;

pub fn table() -> Arc<Rib> {
    Arc::new(Rib::new(RibConfig {
        shards: 2,
        cluster_id: 1,
        log_limit: 1 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 1,
        always_compare_med: false,
    }))
}

pub fn neighbor(number: u8) -> Neighbor {
    let (local_asn, remote_asn) = (Asn(64_500), Asn(64_600 + u32::from(number)));
    Neighbor {
        name: format!("peer {number}").into(),
        address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, number)),
        kind: PeerKind::Collector,
        local_asn,
        remote_asn,
        local_ipv4: None,
        local_ipv6: None,
        next_hop_self: false,
        import: Arc::new(ImportPolicy::new(ImportSettings {
            rule: ImportRule::All,
            local_asn,
            peer_asn: remote_asn,
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

pub fn session(number: u8) -> SessionInfo {
    SessionInfo {
        remote_bgp_id: number.into(),
        remote_asn: Asn(64_600 + u32::from(number)),
        as4: true,
        max_message_len: 4096,
        families: PerFamily::both(Some(FamilyInfo::default())),
        enhanced_refresh: false,
    }
}

/// An UPDATE body that announces prefixes with a path through an AS, or withdraws them.
pub fn body(number: u8, prefixes: &[u8], through: Option<u16>) -> Vec<u8> {
    let mut routes = Vec::new();
    for third in prefixes {
        nlri::write_ipv4(
            &mut routes,
            None,
            format!("10.1.{third}.0/24").parse().unwrap(),
        );
    }
    let mut body = Vec::new();
    let Some(through) = through else {
        body.extend((routes.len() as u16).to_be_bytes());
        body.extend(routes);
        body.extend([0, 0]);
        return body;
    };
    let mut block = Vec::new();
    let first = (64_600 + u32::from(number)).to_be_bytes();
    let path = [&[2, 2][..], &first, &[0, 0], &through.to_be_bytes()].concat();
    attr::write_attr(&mut block, 0x40, code::ORIGIN, &[0]);
    attr::write_attr(&mut block, 0x40, code::AS_PATH, &path);
    attr::write_attr(&mut block, 0x40, code::NEXT_HOP, &[192, 0, 2, number]);
    if through % 3 == 0 {
        attr::write_attr(
            &mut block,
            0xc0,
            code::COMMUNITIES,
            &[0xfb, 0xf4, 0, 1, 0xff, 0xff, 2, 0x9a],
        );
    }
    body.extend([0, 0]);
    body.extend((block.len() as u16).to_be_bytes());
    body.extend(block);
    body.extend(routes);
    body
}

/// The routes of a table: from peer and prefix to path.
pub type Routes = BTreeMap<(String, String), String>;

pub fn routes_of(rib: &Rib) -> Routes {
    let snapshot = rib.snapshot();
    let mut routes = Routes::new();
    rutter_events::state_rows(&snapshot, "", (0, 0), 0, |row| {
        let (Some(peer), Some(prefix), Some(attrs)) = (row.peer, row.prefix, row.attrs) else {
            panic!("{row:?}");
        };
        let path = format!(
            "{} {}",
            attrs.as_path.clone().unwrap(),
            attrs.communities_text()
        );
        routes.insert((peer.name.to_string(), prefix.to_string()), path);
    });
    routes
}
