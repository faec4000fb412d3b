//! A daemon without sockets, with three clients and four routes.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use rutter_api::{
    Backend, ClearHow, CollectorServices, DynamicMembers, HistoryRow, LogReader, LogRow,
    OtherFamilyRow, PrefixLimitRow, ReloadError, RouterRow, SessionRow, SessionState, SinkRow,
    SourceAction, SourceRow, StatusRow,
};
use rutter_config::{ConfigSource, Diff};
use rutter_net::{Asn, Ipv4Prefix, PerFamily, Prefix};
use rutter_policy::{ExportPolicy, ExportSettings, ImportPolicy, ImportSettings};
use rutter_rib::{
    Batch, Explanation, FamilyInfo, MemoryRow, Neighbor, PeerId, PeerKind, Rib, RibConfig,
    SessionInfo, Snapshot,
};
use rutter_wire::attr::write_attr;
use rutter_wire::nlri::write_ipv4;

/// A daemon without sockets.
pub struct World {
    /// The time of a page.
    pub page_time: Duration,
    rib: Rib,
    peers: Vec<(PeerId, &'static str, u8)>,
}

impl World {
    /// Clients alpha and beta announce 193.0.0.0/21. Client beta also announces 193.0.8.0/22 and a bogon.
    pub fn new() -> Self {
        let rib = Rib::new(RibConfig {
            shards: 2,
            cluster_id: 1,
            log_limit: 1 << 20,
            export: Arc::new(ExportPolicy::new(ExportSettings {
                local_asn: Asn(199_000),
                ..ExportSettings::default()
            })),
            seed: 1,
            always_compare_med: false,
        });
        let peers = [("alpha", 1), ("beta", 2), ("gamma", 3)]
            .map(|(name, n)| (connect(&rib, name, n, Asn(20_000 + u32::from(n))), name, n))
            .to_vec();
        let world = World {
            page_time: Duration::from_secs(3_600),
            rib,
            peers,
        };
        world.announce(
            0,
            &[20001, 3333],
            Some([0x4e, 0x21, 0, 7]),
            &["193.0.0.0/21"],
        );
        let beta = ["193.0.0.0/21", "193.0.8.0/22", "10.0.0.0/8"];
        world.announce(1, &[20002, 20003, 1101], None, &beta);
        world
    }

    /// Adds clients that announce nothing, all of one AS.
    pub fn add_clients(&self, asn: u32, count: u8) {
        for n in 100..100 + count {
            connect(&self.rib, &format!("client {n}"), n, Asn(asn));
        }
    }

    /// A client announces prefixes.
    pub fn announce(
        &self,
        index: usize,
        path: &[u32],
        community: Option<[u8; 4]>,
        prefixes: &[&str],
    ) {
        let (peer, _, n) = self.peers[index];
        let mut as_path = vec![2, path.len() as u8];
        as_path.extend(path.iter().flat_map(|asn| asn.to_be_bytes()));
        let mut attrs = Vec::new();
        write_attr(&mut attrs, 0x40, 1, &[0]);
        write_attr(&mut attrs, 0x40, 2, &as_path);
        write_attr(&mut attrs, 0x40, 3, &[127, 0, 0, n]);
        if let Some(community) = community {
            write_attr(&mut attrs, 0xc0, 8, &community);
        }
        let mut body = vec![0, 0];
        body.extend((attrs.len() as u16).to_be_bytes());
        body.extend(attrs);
        for prefix in prefixes {
            let prefix: Ipv4Prefix = prefix.parse().unwrap();
            write_ipv4(&mut body, None, prefix);
        }
        let mut batch = Batch::new();
        let pushed = batch.push(&self.rib, peer, &body, 0);
        assert!(
            pushed.faults.is_empty() && pushed.reset.is_none(),
            "{pushed:?}"
        );
        self.rib.commit(&mut batch);
        self.rib.flush();
    }
}

fn connect(rib: &Rib, name: &str, n: u8, asn: Asn) -> PeerId {
    let address = IpAddr::V4(Ipv4Addr::new(127, 0, 0, n));
    let import = ImportPolicy::new(ImportSettings {
        local_asn: Asn(199_000),
        peer_asn: asn,
        peer_address: Some(address),
        ..ImportSettings::default()
    });
    let neighbor = Neighbor {
        name: name.into(),
        address,
        kind: PeerKind::RouteServerClient,
        local_asn: Asn(199_000),
        remote_asn: asn,
        local_ipv4: None,
        local_ipv6: None,
        next_hop_self: false,
        import: Arc::new(import),
        monitored: None,
        export_allowed: true,
        default_local_pref: 100,
        limits: Default::default(),
        add_path_limit: 0,
        client: Default::default(),
        role: None,
    };
    let peer = rib.add_neighbor(neighbor).unwrap();
    let session = SessionInfo {
        remote_bgp_id: u32::from(n),
        remote_asn: asn,
        as4: true,
        max_message_len: 4096,
        families: PerFamily::new(Some(FamilyInfo::default()), None),
        enhanced_refresh: false,
    };
    rib.session_up(peer, session);
    peer
}

impl Backend for World {
    fn dynamic_members(&self) -> Option<DynamicMembers> {
        Some(DynamicMembers {
            count: 3,
            limit: 1_000,
        })
    }

    fn sources(&self) -> Vec<SourceRow> {
        vec![SourceRow {
            name: "rpki".into(),
            location: "RTR 127.0.0.1:3323".into(),
            state: "live".into(),
            entries: 3,
            updated_at: Some(1_700_000_000),
            age_s: Some(60),
            detail: "session 7, serial 9".into(),
            last_error: None,
            refused: None,
        }]
    }

    fn act_on_source(&self, name: &str, _: SourceAction) -> Result<String, String> {
        match name {
            "rpki" => Ok("done".into()),
            _ => Err(format!("there is no source `{name}`")),
        }
    }

    fn status(&self) -> StatusRow {
        StatusRow {
            version: "1.2.3".into(),
            pid: 1,
            uptime_s: 60,
            started_at: 1_700_000_000,
            asn: 199_000,
            router_id: Ipv4Addr::new(192, 0, 2, 1),
            threads: 2,
            config_file: "x.toml".into(),
            config_loaded_at: 0,
            last_reload_error: None,
            peers: 3,
            established: 3,
            cpu_s: 0.5,
            rss_bytes: 1 << 20,
            table_bytes: 1 << 19,
            table_limit_bytes: 1 << 30,
            table_limit_exceeded: 0,
            selection_deferral: None,
        }
    }

    fn snapshot(&self) -> Snapshot {
        self.rib.snapshot()
    }

    fn page_time(&self) -> Duration {
        self.page_time
    }

    fn rib(&self) -> &Rib {
        &self.rib
    }

    fn explain(&self, prefix: Prefix) -> Option<Explanation> {
        self.rib.explain(prefix)
    }

    fn memory(&self) -> Vec<MemoryRow> {
        self.rib.memory()
    }

    fn sessions(&self) -> Vec<SessionRow> {
        let row = |&(peer, name, n): &(PeerId, &str, u8)| SessionRow {
            peer: Some(peer),
            name: name.into(),
            address: Ipv4Addr::new(127, 0, 0, n).into(),
            asn: 20_000 + u32::from(n),
            local_asn: 199_000,
            role: "member".into(),
            dynamic: false,
            state: SessionState::Established,
            state_for_s: 5,
            state_changed_at: 1_700_000_055,
            shutdown: None,
            established_count: 1,
            last_error: None,
            last_error_ago_s: None,
            received: Default::default(),
            sent: Default::default(),
            malformed_updates: 0,
            paths_not_kept: 0,
            blocked_routes: 0,
            prefix_limits: vec![PrefixLimitRow {
                family: "ipv4-unicast".into(),
                limit: 1_150,
                action: "block".into(),
                peeringdb: Some(900),
            }],
            out_limit_exceeded: 0,
            memory_bytes: 0,
            memory_limit_exceeded: 0,
            unsent_bytes: 0,
            catching_up: false,
            negotiated: None,
            timers: Vec::new(),
        };
        self.peers.iter().map(row).collect()
    }

    fn collector_services(&self) -> Option<&dyn CollectorServices> {
        Some(self)
    }

    fn clear(&self, _: &[IpAddr], _: ClearHow) -> Result<(), String> {
        Err("no".into())
    }

    fn history(&self) -> Vec<HistoryRow> {
        let row = |number, action: &str| HistoryRow {
            number,
            unix_s: 1_795_600_000 + number,
            by: "operator".into(),
            action: action.into(),
            running: number == 2,
            goes_back_in_s: (number == 2).then_some(600),
        };
        vec![row(1, "start"), row(2, "apply")]
    }

    fn reload(&self) -> Result<Diff, ReloadError> {
        Ok(Diff::default())
    }

    fn diff(&self, _: Option<&ConfigSource>) -> Result<Diff, ReloadError> {
        Ok(Diff::default())
    }

    fn shutdown(&self, _: Option<&str>) {}

    fn log(&self) -> Box<dyn LogReader> {
        Box::new(NoLog)
    }
}

impl CollectorServices for World {
    fn sinks(&self) -> Vec<SinkRow> {
        vec![SinkRow {
            name: "archive".into(),
            state: "away".into(),
            run: 1_700_000_000_000_000,
            spooled: 1_200,
            committed: 1_000,
            earlier: 300,
            behind_s: 3,
            spool_bytes: 4_096,
            events: 1_000,
            gaps: 1,
            lost: 5,
            last_gap: Some("rows 5 to 9 are missing: the spool was full".into()),
            failures: 1,
            last_error: Some("cannot connect".into()),
            ..SinkRow::default()
        }]
    }

    fn routers(&self) -> Vec<RouterRow> {
        vec![RouterRow {
            name: "edge1".into(),
            address: "192.0.2.9:40000".parse().unwrap(),
            description: "FRR".into(),
            connected_for_s: 60,
            peers: 2,
            messages: 1_000,
            faults: 0,
            unknown: 0,
            malformed: 1,
            without_next_hop: 2,
            without_peer_up: 3,
            other_families: vec![OtherFamilyRow {
                family: "ipv4-multicast".into(),
                updates: 4,
            }],
            mirrored: 0,
        }]
    }
}

struct NoLog;

impl LogReader for NoLog {
    fn next_line(&mut self, _: Duration) -> Option<LogRow> {
        None
    }
}
