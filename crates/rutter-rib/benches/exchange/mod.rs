//! The members of an exchange for the benchmarks: their updates, and clients that read.

use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rutter_irr::{IrrBuilder, IrrMember, IrrRules, ListEntry};
use rutter_net::{Asn, Ipv4Prefix, PerFamily};
use rutter_policy::{
    CheckAction, ExportPolicy, ExportSettings, ImportPolicy, ImportRule, ImportSettings,
    NextHopRule, OutsideData,
};
use rutter_rib::*;
use rutter_rpki::{Vrp, Vrps};
use rutter_wire::attr::{self, AttrContext, code};
use rutter_wire::{nlri, update};

/// A table without neighbors.
pub fn rib(shards: usize) -> Rib {
    Rib::new(RibConfig {
        shards,
        cluster_id: 1,
        log_limit: 32 << 20,
        export: Arc::new(ExportPolicy::new(ExportSettings::default())),
        seed: 7,
        always_compare_med: false,
    })
}

/// A member.
pub fn neighbor(peer: u32) -> Neighbor {
    let asn = Asn(1_000 + peer);
    Neighbor {
        name: "".into(),
        address: IpAddr::V4(Ipv4Addr::from_bits(0xc000_0200 + peer)),
        kind: PeerKind::RouteServerClient,
        local_asn: Asn(64_500),
        remote_asn: asn,
        local_ipv4: None,
        local_ipv6: None,
        next_hop_self: false,
        import: Arc::new(ImportPolicy::new(ImportSettings {
            rule: ImportRule::All,
            local_asn: Asn(64_500),
            peer_asn: asn,
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

/// A member whose routes are checked, also against IRR data and VRPs.
pub fn checked_neighbor(peer: u32) -> Neighbor {
    let neighbor = neighbor(peer);
    Neighbor {
        import: Arc::new(ImportPolicy::new(ImportSettings {
            local_asn: neighbor.local_asn,
            peer_asn: neighbor.remote_asn,
            next_hop: NextHopRule::Any,
            irr_member: Some(IrrMember(peer as u16)),
            irr_invalid: CheckAction::Reject,
            rpki_invalid: CheckAction::Reject,
            ..ImportSettings::default()
        })),
        ..neighbor
    }
}

/// IRR data in which all routes of the members are registered, and VRPs for half of the prefixes.
pub fn outside_data(bodies_of_peers: &[Vec<Vec<u8>>]) -> Arc<OutsideData> {
    let rules = IrrRules {
        origin: true,
        prefix: true,
        ..IrrRules::default()
    };
    let (mut builder, mut vrps) = (IrrBuilder::new(), Vec::new());
    for (bodies, peer) in bodies_of_peers.iter().zip(0_u16..) {
        let member = IrrMember(peer);
        let routes: Vec<(Ipv4Prefix, u32)> = bodies.iter().flat_map(|body| routes(body)).collect();
        builder.add_member(member, 1_000 + u32::from(peer), rules);
        builder.add_origins(
            member,
            "AS-MEMBER",
            routes.iter().map(|(_, origin)| *origin),
        );
        let rows = routes.iter().map(|(prefix, origin)| ListEntry {
            origin: Some(*origin),
            ..ListEntry::from(rutter_net::Prefix::V4(*prefix))
        });
        builder.add_list(member, "list", rows);
        let half = routes
            .iter()
            .filter(|(prefix, _)| prefix.bits() >> 8 & 1 == 0);
        vrps.extend(half.map(|(prefix, asn)| Vrp {
            prefix: (*prefix).into(),
            max_len: prefix.len(),
            asn: *asn,
        }));
    }
    Arc::new(OutsideData {
        vrps: Some(Arc::new(Vrps::from_vrps(vrps).expect("lengths are right"))),
        irr: Some(Arc::new(builder.build().expect("it fits"))),
        ..OutsideData::default()
    })
}

/// The prefixes of an UPDATE with the origin of its path.
fn routes(body: &[u8]) -> Vec<(Ipv4Prefix, u32)> {
    let sections = update::split(body).expect("an UPDATE");
    let context = AttrContext {
        as4: true,
        external: true,
        accept_as_set: false,
        has_ipv4_nlri: true,
    };
    let parsed = attr::parse(sections.attributes, &context, &mut Vec::new());
    let path = parsed.as_path();
    let origin = path.and_then(|path| path.origin()).expect("a path");
    let mut prefixes = Vec::new();
    nlri::parse_ipv4(sections.nlri, false, &mut prefixes).expect("prefixes");
    prefixes
        .iter()
        .map(|(_, prefix)| (*prefix, origin.0))
        .collect()
}

/// The parameters of a member's session.
pub fn session(peer: u32) -> SessionInfo {
    SessionInfo {
        remote_bgp_id: peer + 1,
        remote_asn: Asn(1_000 + peer),
        as4: true,
        max_message_len: 4096,
        families: PerFamily::both(Some(FamilyInfo::default())),
        enhanced_refresh: false,
    }
}

/// A stream of pseudo-random numbers from a seed.
pub struct Random(pub u64);

impl Random {
    /// The next number below a limit.
    pub fn next(&mut self, below: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(below)) >> 32) as u32
    }
}

/// UPDATE bodies of one peer for so many prefixes, beginning with `first`, in an order that differs by peer.
pub fn updates(peer: u32, prefixes: u32, first: u32) -> Vec<Vec<u8>> {
    let mut random = Random(0x9e37_79b9_97f4_a7c1 ^ u64::from(peer + 1) << 20);
    let mut order: Vec<u32> = (0..prefixes).collect();
    for index in (1..order.len()).rev() {
        order.swap(index, random.next(index as u32 + 1) as usize);
    }
    let body = |prefixes: &[u32]| {
        let mut attributes = Vec::new();
        attr::write_attr(&mut attributes, 0x40, code::ORIGIN, &[0]);
        let mut path = vec![2, 0];
        path.extend((1_000 + peer).to_be_bytes());
        for _ in 0..1 + random.next(4) {
            path.extend((10_000 + random.next(50_000)).to_be_bytes());
        }
        path[1] = (path.len() / 4) as u8;
        attr::write_attr(&mut attributes, 0x40, code::AS_PATH, &path);
        let next_hop = (0xc000_0200 + peer).to_be_bytes();
        attr::write_attr(&mut attributes, 0x40, code::NEXT_HOP, &next_hop);
        let count = random.next(8) as usize;
        let communities: Vec<u8> = (0..count)
            .flat_map(|_| (3_000 << 16 | random.next(5_000)).to_be_bytes())
            .collect();
        if count > 0 {
            attr::write_attr(&mut attributes, 0xc0, code::COMMUNITIES, &communities);
        }
        let mut out = vec![0, 0];
        out.extend((attributes.len() as u16).to_be_bytes());
        out.extend(attributes);
        for prefix in prefixes {
            let bits = 0x0100_0000 + ((first + prefix) << 8);
            nlri::write_ipv4(&mut out, None, Ipv4Prefix::new(bits, 24).unwrap());
        }
        out
    };
    order.chunks(5).map(body).collect()
}

/// Takes all bytes for a client. Returns their number. Always inlined: the counts of the ratchet must not depend on a choice of
/// the compiler about this loop.
#[inline(always)]
pub fn drain(stream: &mut ClientStream, rib: &Rib) -> usize {
    let mut total = 0;
    loop {
        stream.fill(rib, 1 << 20);
        let mut slices: Vec<IoSlice<'_>> = Vec::new();
        stream.slices(&mut slices);
        let len: usize = slices.iter().map(|slice| slice.len()).sum();
        drop(slices);
        if len == 0 {
            return total;
        }
        total += len;
        stream.consume(len, 0);
    }
}
