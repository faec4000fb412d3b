//! A small exchange for unit tests: neighbors, attribute sets and routes.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rutter_net::{Asn, Family, Ipv4Prefix, PerFamily, Prefix};
use rutter_policy::{
    Action, ActionCommunity, ExportPolicy, ExportSettings, ImportPolicy, ImportSettings, Role,
};
use rutter_wire::attr::{self, Attributes, code};

use crate::adj_rib_in::attr_set::{AttrStore, Summary};
use crate::adj_rib_in::charges::NOBODY;
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::verdict::Verdict;
use crate::advertise::audiences::Audiences;
use crate::advertise::clients::{Clients, Live};
use crate::advertise::encode::Style;
use crate::advertise::export_view::Scope;
use crate::advertise::group::Group;
use crate::advertise::recorder::LiveClients;
use crate::peer_set::PeerSet;
use crate::topology::Topology;
use crate::{AttrSet, Neighbor, PeerId, PeerKind};

const LOCAL: Asn = Asn(64_500);

/// Neighbors with the AS numbers 1,000 and up, and the attribute sets that they announce.
pub struct Exchange {
    pub topology: Topology,
    pub sets: Vec<AttrSet>,
}

impl Exchange {
    /// Route server clients only.
    pub fn plain(peers: u16) -> Self {
        let kind = PeerKind::RouteServerClient;
        Exchange::new(&vec![(kind, None); usize::from(peers)])
    }

    pub fn new(neighbors: &[(PeerKind, Option<Role>)]) -> Self {
        let notation = "0:peer".parse().unwrap();
        let not_to_peer = ActionCommunity::new(Action::NotToPeer, notation).unwrap();
        let export = ExportPolicy::new(ExportSettings {
            local_asn: LOCAL,
            actions: vec![not_to_peer],
            ..ExportSettings::default()
        });
        let audiences = Audiences::new(Arc::new(export), &Arc::default());
        let mut topology = Topology::new(audiences, Arc::default(), false);
        for (index, (kind, role)) in neighbors.iter().enumerate() {
            topology.add(neighbor(index as u16, *kind, *role)).unwrap();
        }
        let sets = sets();
        sets.iter().for_each(|set| topology.audiences.assign(set));
        Exchange { topology, sets }
    }

    pub fn route(&self, peer: u16, set: usize, path_id: u32) -> Route {
        let attrs = self.sets[set].clone();
        let summary = attrs.summary();
        Route {
            state: State::of_set(summary.neighbour_as, summary.multi_exit_disc),
            attrs,
            path_id,
            peer: PeerId(peer),
            verdict: Verdict::PLAIN,
        }
    }

    /// A group of clients that follow its log.
    pub fn live_group(&self, style: &Style, clients: &PeerSet) -> Live {
        let group = Arc::new(Group::new(style.clone(), 1, 7, None));
        let mut all = Clients::default();
        clients.iter().for_each(|client| all.join(client, &group));
        all.live.remove(0)
    }
}

/// The clients of a style that follow the log.
pub fn live<'a>(exchange: &'a Exchange, style: &'a Style, clients: &'a PeerSet) -> LiveClients<'a> {
    LiveClients {
        scope: Scope {
            comparisons: None,
            topology: &exchange.topology,
            style,
            family: Family::Ipv4Unicast,
            prefix: test_prefix(),
        },
        peers: clients,
        count: clients.len(),
    }
}

/// A destination.
pub fn test_prefix() -> Prefix {
    Prefix::V4(Ipv4Prefix::new(0, 0).unwrap())
}

/// The style of route server clients without Add-Path.
pub fn plain_style() -> Style {
    Style {
        kind: PeerKind::RouteServerClient,
        local_asn: LOCAL,
        next_hop_self: None,
        as4: true,
        max_message_len: 4096,
        families: PerFamily::both(true),
        add_path: PerFamily::both(false),
        add_path_limit: 0,
        prepend_own_as: false,
        extended_next_hop: false,
        add_otc: false,
        cluster_id: 0,
        advertises: true,
        filter: None,
    }
}

/// A neighbor with the AS number 1,000 and up.
pub fn neighbor(index: u16, kind: PeerKind, role: Option<Role>) -> Neighbor {
    Neighbor {
        name: "".into(),
        address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, index as u8)),
        kind,
        local_asn: LOCAL,
        remote_asn: Asn(1_000 + u32::from(index)),
        local_ipv4: None,
        local_ipv6: None,
        next_hop_self: false,
        import: Arc::new(ImportPolicy::new(ImportSettings::default())),
        monitored: None,
        export_allowed: true,
        default_local_pref: 100,
        limits: Default::default(),
        add_path_limit: 0,
        client: Default::default(),
        role,
    }
}

const PREFERRED: (u8, u8, &[u8]) = (0x40, code::LOCAL_PREF, &[0, 0, 0, 200]);

/// Two plain sets; two of one AS that differ in MULTI_EXIT_DISC; one that is not for AS 1,001; one with
/// ONLY_TO_CUSTOMER; one with an IPv6 next hop. Two more have a higher LOCAL_PREF, one has a MULTI_EXIT_DISC in another AS.
fn sets() -> Vec<AttrSet> {
    let store = AttrStore::new(1);
    let set = |asn: u32, more: &[(u8, u8, &[u8])], next_hop: &[u8]| {
        let mut block = Vec::new();
        attr::write_attr(&mut block, 0x40, code::ORIGIN, &[0]);
        let [a, b, c, d] = asn.to_be_bytes();
        attr::write_attr(&mut block, 0x40, code::AS_PATH, &[2, 1, a, b, c, d]);
        for (flags, code, value) in more {
            attr::write_attr(&mut block, *flags, *code, value);
        }
        store.intern(NOBODY, &block, next_hop, || {
            Summary::of(&Attributes::from_canonical(&block))
        })
    };
    vec![
        set(100, &[], &[]),
        set(200, &[], &[]),
        set(100, &[(0x80, code::MULTI_EXIT_DISC, &[0, 0, 0, 10])], &[]),
        set(100, &[(0x80, code::MULTI_EXIT_DISC, &[0, 0, 0, 20])], &[]),
        set(200, &[(0xc0, code::COMMUNITIES, &[0, 0, 0x03, 0xe9])], &[]),
        set(200, &[(0xc0, code::ONLY_TO_CUSTOMER, &[0, 0, 0, 1])], &[]),
        set(300, &[], &[0x20; 16]),
        set(
            100,
            &[(0x80, code::MULTI_EXIT_DISC, &[0, 0, 0, 10]), PREFERRED],
            &[],
        ),
        set(
            100,
            &[(0x80, code::MULTI_EXIT_DISC, &[0, 0, 0, 20]), PREFERRED],
            &[],
        ),
        set(200, &[(0x80, code::MULTI_EXIT_DISC, &[0, 0, 0, 30])], &[]),
    ]
}
