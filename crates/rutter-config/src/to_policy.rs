//! Converts the configuration to settings of `rutter-policy`.

use std::net::{IpAddr, Ipv4Addr};

use rutter_net::{Asn, PerFamily};
use rutter_policy::{CheckAction, ExportSettings, ImportRule, ImportSettings};

use crate::{Config, Neighbor, NeighborKind};

impl Config {
    /// Returns the import settings of a neighbor: one of [`Self::neighbors`], or from a [`crate::DynamicNeighbor`].
    pub fn import_settings(&self, neighbor: &Neighbor) -> ImportSettings {
        let checks = &self.checks;
        let session = &neighbor.session;
        let external = neighbor.asn != neighbor.local_asn;
        let same_as = self.addresses_of(neighbor.asn);
        ImportSettings {
            rule: neighbor.import,
            local_asn: neighbor.local_asn,
            peer_asn: neighbor.asn,
            peer_address: external.then_some(neighbor.address),
            member_addresses: same_as.clone(),
            same_as_addresses: same_as,
            authorized_addresses: session.authorized_addresses.clone(),
            own_addresses: self.own_addresses(),
            next_hop: session.next_hop.unwrap_or(checks.next_hop),
            families: PerFamily::from_fn(|family| neighbor.family(family).enabled),
            enforce_first_as: checks.first_as && external,
            reject_as_loop: true,
            router_id: Some(self.router_id),
            cluster_id: Some(Ipv4Addr::from_bits(self.cluster_id)),
            max_as_path_len: checks.max_as_path_len,
            reject_invalid_asns: checks.invalid_asns,
            allowed_bogon_asns: checks.allowed_bogon_asns.clone(),
            transit_free_asns: match session.allow_transit_free {
                true => Vec::new(),
                false => checks.transit_free_asns.clone(),
            },
            never_via_route_servers: checks.never_via_route_servers.clone(),
            // A collector accepts AS_SETs: RFC 9774 applies to speakers that advertise routes.
            reject_as_set: checks.reject_as_set && neighbor.import != ImportRule::Collect,
            role: session.role,
            prefix_length: checks.prefix_length,
            reject_bogons: checks.bogons,
            require_global_unicast: checks.ipv6_global_unicast,
            lan: self
                .exchange
                .as_ref()
                .map(|e| e.lan.clone())
                .unwrap_or_default(),
            black_list: checks.black_list.clone(),
            client_black_list: session.black_list.clone(),
            allow_prefixes: session.allow_prefixes.clone(),
            allow_origins: session.allow_origins.clone(),
            blackhole: checks.blackhole,
            graceful_shutdown: checks.graceful_shutdown,
            rpki_invalid: CheckAction::Off,
            mark_origin_state: false,
            irr_member: None,
            irr_invalid: CheckAction::Off,
            mark_irr_state: false,
            tag_rejected: false,
        }
    }

    /// Returns our own addresses as far as they are configured, sorted.
    fn own_addresses(&self) -> Vec<IpAddr> {
        let local = self
            .neighbors
            .iter()
            .filter_map(|n| n.session.local_address);
        let listen = self.daemon.listen.iter().map(|socket| socket.ip());
        let mut own: Vec<IpAddr> = local.chain(listen).collect();
        own.retain(|address| !address.is_unspecified());
        own.sort_unstable();
        own.dedup();
        own
    }

    /// Returns the addresses of all members with this AS.
    fn addresses_of(&self, asn: Asn) -> Vec<IpAddr> {
        let members = self
            .neighbors
            .iter()
            .filter(|n| n.kind == NeighborKind::Member);
        members
            .filter(|n| n.asn == asn)
            .map(|n| n.address)
            .collect()
    }

    /// Returns the export settings of the exchange.
    pub fn export_settings(&self) -> ExportSettings {
        ExportSettings {
            local_asn: self.asn,
            actions: self.communities.actions(),
            well_known: self.communities.rfc1997,
            scrub: self.communities.scrub,
            blackhole_no_export: self.checks.blackhole.any(),
            class_tags: Vec::new(),
            send_origin_state: false,
            blackhole_next_hop: PerFamily::both(None),
            aliases: self.communities.aliases.clone(),
        }
    }
}
