//! The attributes of a route as clients receive them, and as they are after the import policy.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rutter_net::{Asn, Community, ExtendedCommunity, Family, LargeCommunity, PerFamily};
use rutter_policy::{Class, ExportPolicy, MedChange, RouteChanges, Tags};
use rutter_wire::attr::{
    self, Attributes, EXTENDED_LENGTH, OPTIONAL, RawAttribute, TRANSITIVE, code,
};
use smallvec::SmallVec;

use super::style::Style;
use crate::adj_rib_in::class_table::ClassTable;
use crate::adj_rib_in::verdict::ClassId;
use crate::advertise::audience::Modification;
use crate::{AttrSet, PeerKind};

/// The facts about a route's sender that attributes for internal peers need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sender {
    pub internal: bool,
    pub bgp_id: u32,
    pub asn: Asn,
    /// The LOCAL_PREF of its routes without one.
    pub default_local_pref: u32,
}

/// The rules by which a route's attributes are rewritten for clients.
#[derive(Clone, Copy)]
pub(crate) struct RewriteRules<'a> {
    pub policy: &'a ExportPolicy,
    pub classes: &'a ClassTable,
    /// The class of the route.
    pub class: ClassId,
}

impl Style {
    /// Appends the attributes for clients of this style, without MP_REACH_NLRI.
    pub fn write_attributes(
        &self,
        out: &mut Vec<u8>,
        set: &AttrSet,
        family: Family,
        modification: Modification,
        sender: Sender,
        rules: RewriteRules<'_>,
    ) {
        let RewriteRules { policy, .. } = rules;
        if self.sends_block_as_is(set, modification, policy) {
            out.extend_from_slice(set.block());
            return;
        }
        let class = rules.classes.class(rules.class);
        let attributes = set.attributes();
        let mut wide = Vec::new();
        let mut rewriter = Rewriter {
            style: self,
            modification,
            sender,
            policy,
            class,
            tags: policy.tags_of(class, sender.asn),
            on_import: rules.classes.changes(rules.class),
            on_export: modification.changes.changes(),
            blackhole: self.blackhole_next_hop(family, rules),
            attributes: &attributes,
            out: if self.as4 { out } else { &mut wide },
        };
        rewriter.rewrite(family);
        if !self.as4 {
            Attributes::from_canonical(&wide).write_two_octet(out);
        }
    }
}

/// Rewrites a set's attributes where they may not pass unchanged.
struct Rewriter<'a, 'o> {
    style: &'a Style,
    modification: Modification,
    sender: Sender,
    policy: &'a ExportPolicy,
    class: Class,
    tags: Tags,
    /// The changes of the operator's import filters.
    on_import: Option<&'a RouteChanges>,
    /// Those of the client's export filters, which come last.
    on_export: Option<Arc<RouteChanges>>,
    /// The next hop that replaces the received one, see [`Style::blackhole_next_hop`].
    blackhole: Option<IpAddr>,
    attributes: &'a Attributes<'a>,
    out: &'o mut Vec<u8>,
}

impl Rewriter<'_, '_> {
    /// One more than the values of this many octets that a message has room for. With so many, the route fits no message,
    /// and the others change nothing: a neighbor may send thousands to clients that take short messages.
    fn too_many(&self, octets: usize) -> usize {
        self.style.max_message_len / octets + 1
    }

    fn rewrite(&mut self, family: Family) {
        let attributes = self.attributes;
        let mut added = self.attributes_to_add(family);
        for raw in attributes.iter() {
            while let Some(code) = added.next_if(|code| *code < raw.code) {
                self.add(code);
            }
            self.pass(&raw);
        }
        added.for_each(|code| self.add(code));
    }

    /// The codes of the attributes that the result must contain and the set does not, ascending. [`Rewriter::pass`]
    /// changes the attributes that the set has. A neighbor may have sent them in any order (RFC 4271 §5).
    fn attributes_to_add(&self, family: Family) -> std::iter::Peekable<std::vec::IntoIter<u8>> {
        let mut codes = Vec::new();
        if self.new_ipv4_next_hop().is_some() && family == Family::Ipv4Unicast {
            codes.push(code::NEXT_HOP);
        }
        if self.is_internal() {
            codes.push(code::LOCAL_PREF);
        }
        let adds_by_filter = self.changes().any(|changes| !changes.added.is_empty());
        if adds_by_filter || !self.well_known().is_empty() || !self.tags.standard.is_empty() {
            codes.push(code::COMMUNITIES);
        }
        if self.changed_med().is_some() {
            codes.push(code::MULTI_EXIT_DISC);
        }
        if self.reflects() {
            codes.extend([code::ORIGINATOR_ID, code::CLUSTER_LIST]);
        }
        if adds_by_filter || !self.tags.extended.is_empty() {
            codes.push(code::EXTENDED_COMMUNITIES);
        }
        if adds_by_filter || !self.tags.large.is_empty() {
            codes.push(code::LARGE_COMMUNITIES);
        }
        if self.style.add_otc || self.class.add_otc {
            codes.push(code::ONLY_TO_CUSTOMER);
        }
        if !codes.is_empty() {
            codes.retain(|code| self.attributes.iter().all(|raw| raw.code != *code));
        }
        codes.sort_unstable();
        codes.into_iter().peekable()
    }

    fn add(&mut self, code: u8) {
        match code {
            code::NEXT_HOP => self.write_next_hop(),
            code::LOCAL_PREF => {
                let changed = self.changed_local_pref();
                let local_pref = changed.unwrap_or(self.sender.default_local_pref);
                attr::write_attr(self.out, TRANSITIVE, code, &local_pref.to_be_bytes());
            }
            code::MULTI_EXIT_DISC => self.write_changed_med(),
            code::COMMUNITIES => self.write_communities(),
            code::ORIGINATOR_ID => {
                let id = self.sender.bgp_id.to_be_bytes();
                attr::write_attr(self.out, OPTIONAL, code, &id);
            }
            code::CLUSTER_LIST => self.write_cluster_list(&[]),
            code::ONLY_TO_CUSTOMER => {
                // The AS that should have added it comes first: the sender, then we (RFC 9234 §5).
                let asn = match self.class.add_otc {
                    true => self.sender.asn,
                    false => self.style.local_asn,
                };
                attr::write_attr(self.out, OPTIONAL | TRANSITIVE, code, &asn.0.to_be_bytes());
            }
            code::EXTENDED_COMMUNITIES => self.write_extended(OPTIONAL | TRANSITIVE),
            code::LARGE_COMMUNITIES => self.write_large(OPTIONAL | TRANSITIVE),
            _ => {}
        }
    }

    fn pass(&mut self, raw: &RawAttribute<'_>) {
        match raw.code {
            code::AS_PATH => self.write_as_path(),
            code::NEXT_HOP if self.new_ipv4_next_hop().is_some() => self.write_next_hop(),
            code::COMMUNITIES => self.write_communities(),
            code::EXTENDED_COMMUNITIES => self.write_extended(raw.flags & !EXTENDED_LENGTH),
            code::LARGE_COMMUNITIES => self.write_large(raw.flags & !EXTENDED_LENGTH),
            code::LOCAL_PREF if !self.is_internal() => {}
            code::LOCAL_PREF if self.changed_local_pref().is_some() => self.add(raw.code),
            code::MULTI_EXIT_DISC if self.changed_med().is_some() => self.write_changed_med(),
            code::MULTI_EXIT_DISC if self.style.kind == PeerKind::External => {}
            code::ORIGINATOR_ID if !self.is_internal() => {}
            code::CLUSTER_LIST if !self.is_internal() => {}
            code::CLUSTER_LIST if self.reflects() => self.write_cluster_list(raw.value),
            _ => self.out.extend_from_slice(raw.wire),
        }
    }

    /// The changes of filters, in the order in which they apply.
    fn changes(&self) -> impl Iterator<Item = &RouteChanges> {
        self.on_import.into_iter().chain(self.on_export.as_deref())
    }

    fn has_changes(&self) -> bool {
        self.on_import.is_some() || self.on_export.is_some()
    }

    fn changed_local_pref(&self) -> Option<u32> {
        self.changes()
            .filter_map(|changes| changes.local_pref)
            .last()
    }

    /// The change of MULTI_EXIT_DISC. That of an import filter does not leave for another AS, as a received one does not
    /// (RFC 4271 §5.1.4).
    fn changed_med(&self) -> Option<MedChange> {
        let on_export = self.on_export.as_ref().and_then(|changes| changes.med);
        let on_import = self.on_import.and_then(|changes| changes.med);
        on_export.or(on_import.filter(|_| self.style.kind != PeerKind::External))
    }

    fn write_changed_med(&mut self) {
        if let Some(MedChange::Set(value)) = self.changed_med() {
            let code = code::MULTI_EXIT_DISC;
            attr::write_attr(self.out, OPTIONAL, code, &value.to_be_bytes());
        }
    }

    fn is_internal(&self) -> bool {
        matches!(
            self.style.kind,
            PeerKind::Internal | PeerKind::ReflectorClient
        )
    }

    /// RFC 4456 §8: from an internal peer to an internal peer.
    fn reflects(&self) -> bool {
        self.is_internal() && self.sender.internal
    }

    fn new_ipv4_next_hop(&self) -> Option<Ipv4Addr> {
        match self.blackhole {
            Some(IpAddr::V4(address)) => Some(address),
            _ => self.style.next_hop_self.and_then(|(ipv4, _)| ipv4),
        }
    }

    fn write_next_hop(&mut self) {
        if let Some(address) = self.new_ipv4_next_hop() {
            attr::write_attr(self.out, TRANSITIVE, code::NEXT_HOP, &address.octets());
        }
    }

    fn write_as_path(&mut self) {
        let (path, own) = (self.attributes.as_path(), self.style.local_asn);
        // An exchange's prepends repeat the member's AS, not the exchange's (as ARouteServer does).
        let first = path.and_then(|path| path.first()).unwrap_or(own);
        let on_import = self.on_import.map_or(0, |changes| changes.prepend);
        let on_export = self.on_export.as_ref().map_or(0, |changes| changes.prepend);
        let times = usize::from(self.modification.prepend) + usize::from(on_import);
        let on_export = usize::from(on_export);
        match self.style.prepend_own_as {
            // Where our own AS leads the path, export filters repeat it.
            true => attr::write_as_path_led_by(self.out, (own, 1 + on_export), path, first, times),
            false => attr::write_as_path_prepended(self.out, path, first, times + on_export),
        }
    }

    fn write_cluster_list(&mut self, held: &[u8]) {
        let mut value = self.style.cluster_id.to_be_bytes().to_vec();
        value.extend_from_slice(held);
        attr::write_attr(self.out, OPTIONAL, code::CLUSTER_LIST, &value);
    }

    /// The well-known communities to add, each once. The class decides on those of blackholing, not a received community:
    /// that of a neighbor whose routes are not accepted for BLACKHOLE means nothing.
    fn well_known(&self) -> SmallVec<[Community; 6]> {
        let mut all: SmallVec<[Community; 6]> = self.modification.added.iter().collect();
        if self.class.blackhole {
            all.push(Community::BLACKHOLE);
            let is_added = all.contains(&Community::NO_EXPORT);
            if self.policy.settings().blackhole_no_export && !is_added {
                all.push(Community::NO_EXPORT);
            }
        }
        all
    }

    fn write_communities(&mut self) {
        let received: Vec<Community> = self.attributes.communities().collect();
        let policy = self.policy;
        let kept = received.iter().copied().filter(|c| !policy.removes(*c));
        let well_known = self.well_known().into_iter();
        let well_known = well_known.filter(|c| !received.contains(c));
        let all = kept
            .chain(well_known)
            .chain(self.tags.standard.iter().copied());
        let value: Vec<u8> = match self.has_changes() {
            false => all
                .take(self.too_many(4))
                .flat_map(|c| c.0.to_be_bytes())
                .collect(),
            true => self.changed_communities(),
        };
        if !value.is_empty() {
            let flags = OPTIONAL | TRANSITIVE;
            attr::write_attr(self.out, flags, code::COMMUNITIES, &value);
        }
    }

    /// The communities where filters change them: import filters before the communities that the exchange adds, export
    /// filters after them.
    #[cold]
    fn changed_communities(&self) -> Vec<u8> {
        let kept = self.attributes.communities();
        let mut all: Vec<Community> = kept.filter(|c| !self.policy.removes(*c)).collect();
        if let Some(changes) = self.on_import {
            changes.change_standard(&mut all);
        }
        let added = self.well_known().into_iter();
        for community in added.chain(self.tags.standard.iter().copied()) {
            if !all.contains(&community) {
                all.push(community);
            }
        }
        if let Some(changes) = &self.on_export {
            changes.change_standard(&mut all);
        }
        all.into_iter().flat_map(|c| c.0.to_be_bytes()).collect()
    }

    fn write_extended(&mut self, flags: u8) {
        let leaves = self.style.kind == PeerKind::External;
        let policy = self.policy;
        let passes =
            |c: &ExtendedCommunity| (c.is_transitive() || !leaves) && !policy.removes_extended(*c);
        let kept = self.attributes.extended_communities().filter(passes);
        let value: Vec<u8> = match self.has_changes() {
            false => kept
                .chain(self.tags.extended.iter().copied())
                .take(self.too_many(8))
                .flat_map(|c| c.0)
                .collect(),
            true => {
                let mut kept: Vec<ExtendedCommunity> = kept.collect();
                if let Some(changes) = self.on_import {
                    changes.change_extended(&mut kept);
                }
                kept.extend_from_slice(&self.tags.extended);
                if let Some(changes) = &self.on_export {
                    changes.change_extended(&mut kept);
                }
                kept.into_iter().flat_map(|c| c.0).collect()
            }
        };
        if !value.is_empty() {
            attr::write_attr(self.out, flags, code::EXTENDED_COMMUNITIES, &value);
        }
    }

    fn write_large(&mut self, flags: u8) {
        let policy = self.policy;
        let kept = self
            .attributes
            .large_communities()
            .filter(|c| !policy.removes_large(*c));
        let octets = |c: LargeCommunity| [c.global, c.local1, c.local2].map(u32::to_be_bytes);
        let value: Vec<u8> = match self.has_changes() {
            false => kept
                .chain(self.tags.large.iter().copied())
                .take(self.too_many(12))
                .flat_map(octets)
                .flatten()
                .collect(),
            true => {
                let mut kept: Vec<LargeCommunity> = kept.collect();
                if let Some(changes) = self.on_import {
                    changes.change_large(&mut kept);
                }
                kept.extend_from_slice(&self.tags.large);
                if let Some(changes) = &self.on_export {
                    changes.change_large(&mut kept);
                }
                kept.into_iter().flat_map(octets).flatten().collect()
            }
        };
        if !value.is_empty() {
            attr::write_attr(self.out, flags, code::LARGE_COMMUNITIES, &value);
        }
    }
}

/// Returns the attributes of an accepted route after the import policy, without MP_REACH_NLRI: the received ones with the changes
/// of import filters and the communities of the route's class. Action communities stay, because they are removed only
/// when the route is advertised. `unscrubbed` is an export policy that removes nothing.
#[cold]
pub(crate) fn write_post_policy<'a>(
    set: &'a AttrSet,
    family: Family,
    sender: Sender,
    rules: RewriteRules<'_>,
    unscrubbed: &ExportPolicy,
) -> Cow<'a, [u8]> {
    let class = rules.classes.class(rules.class);
    let tags = rules.policy.tags_of(class, sender.asn);
    let on_import = rules.classes.changes(rules.class);
    if on_import.is_none() && tags == Tags::default() && !class.add_otc {
        return set.block().into();
    }
    let attributes = set.attributes();
    let is_internal_only = |code| matches!(code, code::LOCAL_PREF | code::ORIGINATOR_ID);
    let keeps_internal = attributes.iter().any(|raw| is_internal_only(raw.code))
        || on_import.is_some_and(|changes| changes.local_pref.is_some());
    let style = Style {
        // Only internal kinds keep LOCAL_PREF.
        kind: match keeps_internal {
            true => PeerKind::Internal,
            false => PeerKind::RouteServerClient,
        },
        local_asn: Asn(0),
        next_hop_self: None,
        as4: true,
        // No message holds them.
        max_message_len: usize::MAX,
        families: PerFamily::both(true),
        add_path: PerFamily::both(false),
        add_path_limit: 0,
        extended_next_hop: true,
        add_otc: false,
        prepend_own_as: false,
        cluster_id: 0,
        advertises: true,
        filter: None,
    };
    let mut out = Vec::new();
    let mut rewriter = Rewriter {
        style: &style,
        modification: Modification::default(),
        // Nothing is reflected.
        sender: Sender {
            internal: false,
            ..sender
        },
        policy: unscrubbed,
        class: Class {
            blackhole: false,
            ..class
        },
        tags,
        on_import,
        on_export: None,
        blackhole: None,
        attributes: &attributes,
        out: &mut out,
    };
    rewriter.rewrite(family);
    out.into()
}

#[cfg(test)]
mod tests {
    use rutter_wire::frame::MAX_LEN;

    use super::*;
    use crate::PeerId;
    use crate::adj_rib_in::attr_set::{AttrStore, Summary};
    use crate::adj_rib_in::charges::NOBODY;
    use crate::advertise::group::Advertisement;
    use crate::advertise::test_support::{Exchange, plain_style};

    /// Clients that take short messages receive nothing of them, so they need not be written.
    #[test]
    fn communities_beyond_the_longest_message_are_not_written() {
        let values = |octets: usize| (0..60_000 / octets).flat_map(move |n| vec![n as u8; octets]);
        let exchange = Exchange::plain(1);
        for (code, octets) in [
            (code::COMMUNITIES, 4),
            (code::EXTENDED_COMMUNITIES, 8),
            (code::LARGE_COMMUNITIES, 12),
        ] {
            let mut block = Vec::new();
            let value: Vec<u8> = values(octets).collect();
            attr::write_attr(&mut block, OPTIONAL | TRANSITIVE, code, &value);
            let set = AttrStore::new(1).intern(NOBODY, &block, &[], || {
                Summary::of(&Attributes::from_canonical(&block))
            });
            let written = |max_message_len| {
                let style = Style {
                    max_message_len,
                    prepend_own_as: true,
                    ..plain_style()
                };
                let mut out = Vec::new();
                let route = Advertisement {
                    set: &set,
                    sender: PeerId(0),
                    modification: Modification::default(),
                };
                let family = Family::Ipv4Unicast;
                route.write(&style, &exchange.topology, family, &mut out, &mut [0; 16]);
                out.len()
            };
            assert!((MAX_LEN..MAX_LEN + 100).contains(&written(MAX_LEN)));
            assert!(written(65_535) >= 60_000);
        }
    }
}
