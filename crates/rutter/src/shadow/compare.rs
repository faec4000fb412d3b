//! Compares the two tables, prefix by prefix and member by member.

use std::collections::BTreeMap;

use rutter_api::{AttributesRow, RouteSource};
use rutter_bench::progress_line::ProgressLine;
use rutter_config::Neighbor;
use rutter_daemon::OfflineTable;
use rutter_net::Prefix;
use rutter_rib::{AttrSet, ExportedDestination, PeerId, Rib, SentRoute};

use super::advertised::Advertised;
use super::attributes::differing;
use super::difference::{Difference, Kind, Reason, Side};
use super::reason::{self, Reasons};

/// The tables to compare.
pub(super) struct Comparison<'a> {
    pub(super) table: &'a OfflineTable,
    pub(super) advertised: &'a Advertised<'a>,
    /// Whether each member of [`Advertised::members`] is compared.
    pub(super) selected: Vec<bool>,
}

/// The counts of one member.
#[derive(Clone, Default, Debug)]
pub(super) struct Counts {
    /// The routes that Rutter would advertise.
    pub(super) rutter: u64,
    /// The routes that the other route server advertises.
    pub(super) advertised: u64,
    /// The routes that both advertise alike.
    pub(super) same: u64,
    /// The differences, by kind and reason.
    pub(super) differences: BTreeMap<(Kind, String), u64>,
}

impl Counts {
    /// The differences of a kind.
    pub(super) fn of_kind(&self, kind: Kind) -> u64 {
        let of_kind = self.differences.iter().filter(|((one, _), _)| *one == kind);
        of_kind.map(|(_, count)| count).sum()
    }
}

/// The routes of a prefix that one member is sent by either side, without those that are alike.
struct Unequal {
    ours: Vec<Ours>,
    theirs: Vec<AttrSet>,
}

/// A route that Rutter would send.
struct Ours {
    from: PeerId,
    path_id: u32,
    sent: SentRoute,
}

impl Comparison<'_> {
    /// Compares all prefixes in order. Calls `each` with the place of the member and each difference. Returns the counts
    /// of all members.
    pub(super) fn run<E>(
        &self,
        mut each: impl FnMut(usize, &dyn Fn() -> Difference) -> Result<(), E>,
    ) -> Result<Vec<Counts>, E> {
        let mut counts = vec![Counts::default(); self.advertised.members.len()];
        let mut prefixes = prefixes(&self.table.rib);
        prefixes.extend(self::prefixes(&self.advertised.rib));
        prefixes.sort_unstable();
        prefixes.dedup();
        let total = prefixes.len();
        let line = ProgressLine::new("compared");
        for (done, prefix) in prefixes.into_iter().enumerate() {
            if done.is_multiple_of(4_096) {
                let text = format_args!("{done}/{total} prefixes");
                line.show(done as u64, total as u64, text);
            }
            self.prefix(prefix, &mut counts, &mut each)?;
        }
        Ok(counts)
    }

    fn prefix<E>(
        &self,
        prefix: Prefix,
        counts: &mut [Counts],
        each: &mut impl FnMut(usize, &dyn Fn() -> Difference) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut theirs = self.theirs(prefix);
        let receivers = theirs.iter().filter(|routes| !routes.is_empty()).count();
        let mut ours = self.ours(prefix);
        let mut explanation = None;
        for (member, counts) in counts.iter_mut().enumerate() {
            if !self.selected[member] {
                continue;
            }
            let (ours, theirs) = (
                std::mem::take(&mut ours[member]),
                std::mem::take(&mut theirs[member]),
            );
            let receives = !theirs.is_empty();
            counts.rutter += ours.len() as u64;
            counts.advertised += theirs.len() as u64;
            let unequal = self.without_equal(member, ours, theirs, &mut counts.same);
            if unequal.ours.is_empty() && unequal.theirs.is_empty() {
                continue;
            }
            let explanation = explanation.get_or_insert_with(|| self.table.rib.explain(prefix));
            let at = At {
                comparison: self,
                member,
                prefix,
                reasons: Reasons {
                    explanation: explanation.as_ref(),
                },
                other_receivers: receivers - usize::from(receives),
            };
            at.differences(&unequal, counts, each)?;
        }
        Ok(())
    }

    /// The routes that the other route server sends each member.
    fn theirs(&self, prefix: Prefix) -> Vec<Vec<AttrSet>> {
        let mut routes = vec![Vec::new(); self.advertised.members.len()];
        self.advertised.rib.destination(prefix, |view| {
            for route in &view.routes {
                routes[self.advertised.member_of(route.peer)].push(route.attrs.clone());
            }
        });
        routes
    }

    /// The routes that Rutter would send each selected member.
    fn ours(&self, prefix: Prefix) -> Vec<Vec<Ours>> {
        let none = || self.advertised.members.iter().map(|_| Vec::new()).collect();
        let routes = self.table.rib.exports_of(prefix, |destination| {
            let members = self.advertised.members.iter().zip(&self.selected);
            let to = |(member, is_selected): (&super::advertised::Member, &bool)| match is_selected
            {
                true => sent(destination, self.table.neighbors[member.neighbor].peer),
                false => Vec::new(),
            };
            members.map(to).collect()
        });
        routes.unwrap_or_else(none)
    }

    /// Leaves out pairs of equal routes, and counts them.
    fn without_equal(
        &self,
        member: usize,
        ours: Vec<Ours>,
        mut theirs: Vec<AttrSet>,
        same: &mut u64,
    ) -> Unequal {
        let external = self.is_external(member);
        let mut left = Vec::new();
        for route in ours {
            let equal = |other: &AttrSet| differing(&route.sent, other, external).is_empty();
            match theirs.iter().position(equal) {
                Some(at) => {
                    theirs.remove(at);
                    *same += 1;
                }
                None => left.push(route),
            }
        }
        Unequal { ours: left, theirs }
    }

    fn config(&self, member: usize) -> &Neighbor {
        &self.table.neighbors[self.advertised.members[member].neighbor].config
    }

    fn client(&self, member: usize) -> PeerId {
        self.table.neighbors[self.advertised.members[member].neighbor].peer
    }

    fn is_external(&self, member: usize) -> bool {
        let config = self.config(member);
        config.asn != config.local_asn
    }

    /// A neighbor as rows name it.
    pub(super) fn member_row(&self, member: usize) -> RouteSource {
        source_row(self.config(member))
    }

    fn sender_row(&self, peer: PeerId) -> Option<RouteSource> {
        let mut all = self.table.neighbors.iter();
        all.find(|neighbor| neighbor.peer == peer)
            .map(|neighbor| source_row(&neighbor.config))
    }
}

/// One member and prefix with differences.
struct At<'a> {
    comparison: &'a Comparison<'a>,
    member: usize,
    prefix: Prefix,
    reasons: Reasons<'a>,
    /// The number of other compared members that the other route server sends the prefix.
    other_receivers: usize,
}

impl At<'_> {
    /// Pairs the routes that are left, and reports each pair or single route.
    fn differences<E>(
        &self,
        unequal: &Unequal,
        counts: &mut Counts,
        each: &mut impl FnMut(usize, &dyn Fn() -> Difference) -> Result<(), E>,
    ) -> Result<(), E> {
        for (ours, theirs) in self.pairs(unequal) {
            let (kind, reason, attributes) = self.judge(ours, theirs);
            *counts
                .differences
                .entry((kind, reason.name.clone()))
                .or_default() += 1;
            each(self.member, &|| Difference {
                row: "shadow-difference",
                member: self.comparison.member_row(self.member),
                prefix: self.prefix,
                kind,
                reason: reason.name.clone(),
                explanation: reason.text.clone(),
                attributes: attributes.clone(),
                advertised: theirs.map(|theirs| self.their_side(theirs)),
                rutter: ours.map(|ours| self.our_side(ours)),
            })?;
        }
        Ok(())
    }

    /// Pairs forms of one received route, and then the rest in their order.
    fn pairs<'u>(&self, unequal: &'u Unequal) -> Vec<(Option<&'u Ours>, Option<&'u AttrSet>)> {
        let theirs = unequal.theirs.iter();
        let received = |theirs| self.reasons.received(theirs).map(|(at, _)| at);
        let mut theirs: Vec<_> = theirs.map(|theirs| (received(theirs), theirs)).collect();
        let (mut pairs, mut single) = (Vec::new(), Vec::new());
        for ours in &unequal.ours {
            let sent = self.place_of(ours);
            let is_same = |(received, _): &(Option<usize>, _)| sent.is_some() && *received == sent;
            match theirs.iter().position(is_same) {
                Some(at) => pairs.push((Some(ours), Some(theirs.remove(at).1))),
                None => single.push(ours),
            }
        }
        let rest = single.len().max(theirs.len());
        let theirs = |at: usize| theirs.get(at).map(|(_, theirs)| *theirs);
        pairs.extend((0..rest).map(|at| (single.get(at).copied(), theirs(at))));
        pairs
    }

    fn judge(&self, ours: Option<&Ours>, theirs: Option<&AttrSet>) -> (Kind, Reason, Vec<String>) {
        let client = self.comparison.client(self.member);
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => {
                let (reason, attributes) = self.other_form(client, ours, theirs);
                (Kind::Differs, reason, attributes)
            }
            (None, Some(theirs)) => (
                Kind::Missing,
                self.reasons.missing(client, theirs),
                Vec::new(),
            ),
            _ => (Kind::Extra, reason::extra(self.other_receivers), Vec::new()),
        }
    }

    fn other_form(&self, client: PeerId, ours: &Ours, theirs: &AttrSet) -> (Reason, Vec<String>) {
        let sent = self.place_of(ours);
        let received = self.reasons.received(theirs).map(|(at, _)| at);
        if let (Some(sent), true) = (sent, received != sent) {
            return (self.reasons.other_route(client, sent, theirs), Vec::new());
        }
        let external = self.comparison.is_external(self.member);
        let names = differing(&ours.sent, theirs, external);
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        (reason::attributes(&names), names)
    }

    /// The place of a route that Rutter sends among the candidates.
    fn place_of(&self, ours: &Ours) -> Option<usize> {
        let candidates = &self.reasons.explanation?.candidates;
        let is_it = |candidate: &rutter_rib::Candidate| {
            candidate.peer == ours.from && candidate.path_id == ours.path_id
        };
        candidates.iter().position(is_it)
    }

    fn our_side(&self, ours: &Ours) -> Side {
        Side {
            from: self.comparison.sender_row(ours.from),
            attributes: AttributesRow {
                next_hop: Some(ours.sent.next_hop),
                link_local_next_hop: ours.sent.link_local_next_hop,
                ..AttributesRow::of(&ours.sent.attributes())
            },
        }
    }

    fn their_side(&self, theirs: &AttrSet) -> Side {
        let received = self.reasons.received(theirs);
        Side {
            from: received.and_then(|(_, candidate)| self.comparison.sender_row(candidate.peer)),
            attributes: AttributesRow {
                next_hop: theirs.next_hop(),
                link_local_next_hop: theirs.link_local_next_hop(),
                ..AttributesRow::of(&theirs.attributes())
            },
        }
    }
}

fn sent(destination: &ExportedDestination<'_>, client: PeerId) -> Vec<Ours> {
    let routes = destination.to(client);
    routes
        .filter_map(|route| {
            Some(Ours {
                from: route.route.peer,
                path_id: route.route.path_id,
                sent: route.sent()?,
            })
        })
        .collect()
}

fn prefixes(rib: &Rib) -> Vec<Prefix> {
    let snapshot = rib.snapshot();
    let mut prefixes = Vec::new();
    for page in 0..snapshot.pages() {
        snapshot.visit_page(page, |prefix, place, _| {
            if place == 0 {
                prefixes.push(prefix);
            }
        });
    }
    prefixes
}

fn source_row(config: &Neighbor) -> RouteSource {
    RouteSource {
        name: config.name.clone(),
        address: config.address,
        asn: config.asn.0,
    }
}
