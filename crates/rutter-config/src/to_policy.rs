//! Converts the configuration to settings of `rutter-policy`.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rutter_net::{Family, PerFamily};
use rutter_policy::{
    CheckAction, ClassTag, ExportSettings, FilterChain, ImportRule, ImportSettings, Notation, Role,
    TagState,
};
use rutter_rpki::{PathState, Relation, Rov};

use crate::{
    Blackhole, BlackholeRule, Checks, Config, InvalidRoutes, IrrAction, IrrCheck, Neighbor,
    NeighborKind, RejectPolicy, RpkiCommunities,
};

impl Config {
    /// Returns the import settings of a neighbor: one of [`Self::neighbors`], or from a [`crate::DynamicNeighbor`].
    pub fn import_settings(&self, neighbor: &Neighbor) -> ImportSettings {
        let checks = &neighbor.checks;
        let session = &neighbor.session;
        let external = neighbor.asn != neighbor.local_asn;
        let same_as = self.addresses.of_members(neighbor.asn).to_vec();
        ImportSettings {
            rule: neighbor.import,
            local_asn: neighbor.local_asn,
            peer_asn: neighbor.asn,
            peer_address: external.then_some(neighbor.address),
            member_addresses: same_as.clone(),
            same_as_addresses: same_as,
            authorized_addresses: session.authorized_addresses.clone(),
            own_addresses: self.addresses.own().to_vec(),
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
            blackhole: PerFamily::from_fn(|family| checks.blackhole.accepts(family)),
            blackhole_communities: self.communities.blackhole.clone(),
            graceful_shutdown: checks.graceful_shutdown,
            rpki_invalid: action(checks.rpki_invalid),
            marked_origins: self.marked_origins(),
            obey_origin_state: !external && checks.rpki_communities == RpkiCommunities::Obey,
            relation: relation(neighbor).filter(|_| external),
            aspa_invalid: action(checks.aspa_invalid),
            marked_paths: self.marked_paths(),
            irr_member: self.irr_member(neighbor),
            irr_required: neighbor.is_unnamed,
            irr_invalid: match (checks.irr, checks.irr_action) {
                (IrrCheck::Off, _) => CheckAction::Off,
                (_, IrrAction::Reject) => CheckAction::Reject,
                (_, IrrAction::Tag) => CheckAction::Tag,
            },
            mark_irr_state: self.marks_irr_state(),
            custom_marks: self
                .communities
                .custom
                .marks_of(&session.attach_communities),
            marked_prefixes: Arc::clone(&self.communities.custom.prefixes),
            tag_rejected: checks.reject_policy == RejectPolicy::Tag,
            // A collector keeps all routes.
            filters: match neighbor.import {
                ImportRule::Collect => FilterChain::default(),
                _ => self.filters.chain(&session.import_filter),
            },
        }
    }

    /// Returns whether routes with BLACKHOLE are accepted from some neighbor whose blackhole checks satisfy `also`.
    pub(crate) fn accepts_blackhole(&self, also: fn(&Blackhole) -> bool) -> bool {
        let accepts = |checks: &Checks| {
            let accepts = |family| checks.blackhole.accepts(family);
            also(&checks.blackhole) && Family::ALL.into_iter().any(accepts)
        };
        let dynamic = self.dynamic_neighbors.iter().map(|d| &d.template);
        let mut own = self.neighbors.iter().chain(dynamic);
        accepts(&self.checks) || own.any(|neighbor| accepts(&neighbor.checks))
    }

    /// Returns the export settings of the exchange.
    pub fn export_settings(&self) -> ExportSettings {
        ExportSettings {
            local_asn: self.asn,
            actions: self.communities.actions(),
            well_known: self.communities.rfc1997,
            scrub: self.communities.scrub,
            blackhole_no_export: self.accepts_blackhole(|blackhole| blackhole.add_no_export),
            accepts_blackhole: self.accepts_blackhole(|_| true),
            graceful_shutdown: self.communities.perform_graceful_shutdown,
            class_tags: self.class_tags(),
            send_origin_state: self.checks.rpki_communities == RpkiCommunities::Send,
            blackhole_next_hop: self.blackhole_next_hop(),
            aliases: self.communities.aliases.clone(),
            rtt_thresholds: self.communities.rtt_thresholds.clone(),
        }
    }
}

/// Marks of classes.
impl Config {
    /// Returns the validation states of origins for which routes are advertised differently.
    fn marked_origins(&self) -> Vec<Rov> {
        let tags = &self.communities.tags;
        let is_sent = self.checks.rpki_communities == RpkiCommunities::Send;
        let marks = [
            (Rov::Valid, &tags.rpki_valid),
            (Rov::Invalid, &tags.rpki_invalid),
            (Rov::NotFound, &tags.rpki_not_found),
        ];
        let marks = marks
            .into_iter()
            .filter(|(_, tags)| is_sent || !tags.is_empty());
        marks.map(|(state, _)| state).collect()
    }

    /// Returns the states of paths for which routes are advertised differently.
    fn marked_paths(&self) -> Vec<PathState> {
        let tags = &self.communities.tags;
        let marks = [
            (PathState::Valid, &tags.aspa_valid),
            (PathState::Invalid, &tags.aspa_invalid),
            (PathState::Unknown, &tags.aspa_unknown),
        ];
        let marks = marks.into_iter().filter(|(_, tags)| !tags.is_empty());
        marks.map(|(state, _)| state).collect()
    }

    /// Returns whether routes are advertised differently for their registration in the IRR.
    pub(crate) fn marks_irr_state(&self) -> bool {
        let tags = &self.communities.tags;
        let marks = [
            &tags.origin_present_in_as_set,
            &tags.origin_not_present_in_as_set,
            &tags.prefix_present_in_as_set,
            &tags.prefix_not_present_in_as_set,
            &tags.prefix_validated_via_rpki_roas,
            &tags.prefix_validated_via_arin_whois,
            &tags.prefix_validated_via_registro_br,
            &tags.route_validated_via_white_list,
        ];
        marks.iter().any(|notations| !notations.is_empty())
    }

    fn class_tags(&self) -> Vec<ClassTag> {
        let tags = &self.communities.tags;
        let rows: [(TagState, &Vec<Notation>); 16] = [
            (TagState::OriginValid, &tags.rpki_valid),
            (TagState::OriginInvalid, &tags.rpki_invalid),
            (TagState::OriginNotFound, &tags.rpki_not_found),
            (TagState::PathValid, &tags.aspa_valid),
            (TagState::PathInvalid, &tags.aspa_invalid),
            (TagState::PathUnknown, &tags.aspa_unknown),
            (TagState::IrrOriginPresent, &tags.origin_present_in_as_set),
            (
                TagState::IrrOriginAbsent,
                &tags.origin_not_present_in_as_set,
            ),
            (TagState::IrrPrefixPresent, &tags.prefix_present_in_as_set),
            (
                TagState::IrrPrefixAbsent,
                &tags.prefix_not_present_in_as_set,
            ),
            (
                TagState::IrrPrefixByRoa,
                &tags.prefix_validated_via_rpki_roas,
            ),
            (
                TagState::IrrPrefixByArin,
                &tags.prefix_validated_via_arin_whois,
            ),
            (
                TagState::IrrPrefixByRegistroBr,
                &tags.prefix_validated_via_registro_br,
            ),
            (TagState::WhiteListed, &tags.route_validated_via_white_list),
            (TagState::RejectCause, &tags.reject_cause),
            (TagState::RejectedRouteOf, &tags.rejected_route_announced_by),
        ];
        let of_reasons = tags.reject_cause_map.iter();
        let of_reasons = of_reasons.map(|(code, list)| (TagState::RejectedFor(*code), list));
        let custom = self.communities.custom.list.iter();
        let custom = custom.map(|one| (TagState::Custom(one.number), &one.notations));
        rows.into_iter()
            .chain(of_reasons)
            .chain(custom)
            .flat_map(|(state, notations)| {
                notations
                    .iter()
                    .filter_map(move |n| ClassTag::new(state, *n).ok())
            })
            .collect()
    }

    /// The next hops of rewritten routes with BLACKHOLE.
    fn blackhole_next_hop(&self) -> PerFamily<Option<IpAddr>> {
        let blackhole = &self.checks.blackhole;
        PerFamily::from_fn(|family| {
            let next_hop = match family {
                Family::Ipv4Unicast => blackhole.next_hop.v4.map(IpAddr::V4),
                Family::Ipv6Unicast => blackhole.next_hop.v6.map(IpAddr::V6),
            };
            next_hop.filter(|_| blackhole.rule(family) == BlackholeRule::Rewrite)
        })
    }
}

/// The relation of a neighbor: a member is a client of this route server, any other neighbor needs a role.
fn relation(neighbor: &Neighbor) -> Option<Relation> {
    match (neighbor.kind, neighbor.session.role) {
        (NeighborKind::Member, _) => Some(Relation::RouteServerClient),
        (_, role) => Some(match role? {
            Role::Provider => Relation::Customer,
            Role::RouteServer => Relation::RouteServerClient,
            Role::RouteServerClient => Relation::RouteServer,
            Role::Customer => Relation::Provider,
            Role::Peer => Relation::Peer,
        }),
    }
}

fn action(invalid: InvalidRoutes) -> CheckAction {
    match invalid {
        InvalidRoutes::Accept => CheckAction::Off,
        InvalidRoutes::Tag => CheckAction::Tag,
        InvalidRoutes::Reject => CheckAction::Reject,
    }
}
