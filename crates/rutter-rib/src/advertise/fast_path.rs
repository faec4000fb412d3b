//! The fast path of a plain exchange: every client receives the best route, and its sender the best one of another.
//!
//! All neighbors must be route server clients without Add-Path, and all routes must go to everybody unchanged.
//! MULTI_EXIT_DISC must not make the order depend on the client. Then no set of clients is computed. It is a special
//! case of [`crate::advertise::export_view`]: the tests below compare the two.

use std::borrow::Borrow;

use rutter_net::Family;

use crate::PeerId;
use crate::adj_rib_in::edit::Edit;
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::shard::Stored;
use crate::adj_rib_in::table::{Id, accepted};
use crate::adj_rib_in::tally::Tally;
use crate::adj_rib_in::verdict::ClassId;
use crate::advertise::audience::Modification;
use crate::advertise::audiences::EVERYONE;
use crate::advertise::clients::Live;
use crate::advertise::log::Recipients;
use crate::advertise::recorder::{Record, Recorder, with_route_state};
use crate::decision::may_be_partial;

/// With more routes held than this, looking at all pairs of them is no longer cheap.
const MAX_HELD: usize = 4;

/// No peer has this id: there are at most 65,535, counted from 0.
const NOBODY: PeerId = PeerId(u16::MAX);

/// Returns whether a route goes to all but its sender as it is, in every group of clients.
pub(crate) fn is_plain(family: Family, route: &Route) -> bool {
    route.attrs.audience() == EVERYONE
        && (family != Family::Ipv4Unicast || route.attrs.mp_next_hop().len() < 16)
}

/// The parts of a route whose change clients must be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Advertised {
    set: usize,
    peer: PeerId,
    long_lived_stale: bool,
    class: ClassId,
}

impl Advertised {
    fn of(route: &Route) -> Self {
        Advertised {
            set: route.attrs.address(),
            peer: route.peer,
            long_lived_stale: route.state.has(State::LONG_LIVED_STALE),
            class: route.verdict.class(),
        }
    }
}

/// The first candidate, which everybody but its sender receives, and the first of another peer, which the sender
/// receives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BestTwo {
    first: Option<Advertised>,
    second: Option<Advertised>,
}

impl BestTwo {
    /// The two of candidates in order.
    pub fn of<R: Borrow<Route>>(routes: &[R]) -> Self {
        let Some(first) = routes.first().map(R::borrow) else {
            return BestTwo {
                first: None,
                second: None,
            };
        };
        let others = routes[1..].iter().map(R::borrow);
        let second = others.into_iter().find(|route| route.peer != first.peer);
        BestTwo {
            first: Some(Advertised::of(first)),
            second: second.map(Advertised::of),
        }
    }

    fn sender(&self) -> Option<PeerId> {
        self.first.map(|first| first.peer)
    }

    fn advertised_to(&self, peer: PeerId) -> Option<Advertised> {
        if self.sender() == Some(peer) {
            self.second
        } else {
            self.first
        }
    }
}

impl<K: Copy> Recorder<'_, K> {
    /// As [`Recorder::record`] on the fast path.
    #[inline]
    pub fn record_best<R: Borrow<Route>>(&mut self, before: BestTwo, after: &[R]) {
        if self.live.count == 0 {
            return;
        }
        let now = BestTwo::of(after);
        let changed = before.first != now.first;
        let (old, new) = (before.sender(), now.sender());
        let mut excluded = [NOBODY; 2];
        let (mut count, mut hidden) = (0, 0);
        for peer in [old, new.filter(|_| new != old)].into_iter().flatten() {
            let (held, receives) = (before.advertised_to(peer), now.advertised_to(peer));
            if changed && held != receives && receives == now.first {
                continue;
            }
            excluded[count] = peer;
            count += 1;
            if self.live.peers.contains(peer) {
                hidden += 1;
                if held != receives {
                    let route = after.iter().map(R::borrow).find(|r| r.peer != peer);
                    self.record_plain(route, held, Recipients::Only(peer));
                }
            }
        }
        if changed && self.live.count > hidden {
            let last = excluded[count.saturating_sub(1)];
            let to = Recipients::AllBut(excluded[0], last);
            self.record_plain(after.first().map(R::borrow), before.first, to);
        }
    }

    /// Announces `new`, or withdraws `old` where there is no new route.
    #[inline(always)]
    fn record_plain(&mut self, new: Option<&Route>, old: Option<Advertised>, to: Recipients) {
        match (new, old) {
            (Some(route), _) => {
                let modification = with_route_state(Modification::default(), route);
                self.push(Some(route), route.peer, 0, modification, to);
            }
            (None, Some(held)) => self.push(None, held.peer, 0, Modification::default(), to),
            (None, None) => {}
        }
    }
}

/// The clients that receive a route that its sender adds to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receivers {
    /// It is the best route: everybody but its sender.
    Others,
    /// It is the best route of another for the sender of the best one.
    Only(PeerId),
    Nobody,
}

impl Receivers {
    /// The clients that receive a new route at a place among the held ones, none of which its sender sent.
    #[inline(always)]
    fn of(held: &[Route], place: usize) -> Self {
        match held.first() {
            Some(first) if place > 0 => {
                let is_second = held[..place].iter().all(|held| held.peer == first.peer);
                if is_second {
                    Receivers::Only(first.peer)
                } else {
                    Receivers::Nobody
                }
            }
            _ => Receivers::Others,
        }
    }

    /// As recipients among the live clients of a group, if there is any.
    #[inline(always)]
    fn among(self, live: &Live, sender: PeerId) -> Option<Recipients> {
        match self {
            Receivers::Others if live.count > usize::from(live.peers.contains(sender)) => {
                Some(Recipients::AllBut(sender, sender))
            }
            Receivers::Only(peer) if live.peers.contains(peer) => Some(Recipients::Only(peer)),
            _ => None,
        }
    }
}

impl<K: Stored> Edit<'_, K> {
    /// Adds a route of a peer that had none here, where [`crate::advertise::clients::Clients::all_receive_best`].
    /// Its place among the accepted ones alone then decides who receives it; nobody receives a rejected one. Returns the
    /// route where there is more to the change.
    #[inline(always)]
    pub fn add_route(&mut self, id: Id, route: Route, tally: &mut Tally) -> Result<(), Route> {
        let held: &[Route] = &self.table.get(id).routes;
        if held.len() > MAX_HELD || held.iter().any(|held| held.peer == route.peer) {
            return Err(route);
        }
        if !route.is_accepted() {
            tally.count(Some(&route), 1);
            self.table.get_mut(id).routes.push(route);
            return Ok(());
        }
        let held = accepted(held);
        let simple = |route: &Route| is_plain(K::FAMILY, route);
        if !simple(&route) || !held.iter().all(simple) || may_be_partial(held, &route) {
            return Err(route);
        }
        let place = if held.is_empty() {
            0
        } else {
            self.with.topology.decision().place(held, &route)
        };
        let receivers = Receivers::of(held, place);
        let destination = self.table.get_mut(id);
        for live in &mut self.clients.live {
            record_addition(live, destination.prefix, &route, receivers);
        }
        tally.add_accepted(route.state);
        destination.routes.insert(place, route);
        self.mirror(id);
        Ok(())
    }
}

fn record_addition<K: Stored>(live: &mut Live, prefix: K, route: &Route, receivers: Receivers) {
    let Some(to) = receivers.among(live, route.peer) else {
        return;
    };
    if live.group.style.families[K::FAMILY] {
        K::records(&mut live.pending).push(Record {
            prefix,
            path_id: 0,
            set: Some(route.attrs.clone()),
            to,
            sender: route.peer,
            modification: with_route_state(Default::default(), route),
            opens_change: true,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rutter_net::Ipv4Prefix;

    use super::*;
    use crate::advertise::export_view::{ExportView, Rules};
    use crate::advertise::octet_count::OctetCount;
    use crate::advertise::recorder::LiveClients;
    use crate::advertise::test_support::{Exchange, live, plain_style};
    use crate::peer_set::PeerSet;

    /// Peers 0 to 3 announce; clients 0 to 2 and 5 receive.
    const SENDERS: u16 = 4;
    const CLIENTS: [u16; 4] = [0, 1, 2, 5];
    const MAX_ROUTES: usize = 3;

    /// The attribute set that each client is sent last, by client: `None` withdraws.
    type Sent = BTreeMap<PeerId, Option<usize>>;

    fn sent(records: &[Record<Ipv4Prefix>], clients: &PeerSet) -> Sent {
        let mut sent = Sent::new();
        for record in records {
            let set = record.set.as_ref().map(|set| set.address());
            for client in clients.iter().filter(|client| record.to.include(*client)) {
                let second = sent.insert(client, set);
                assert!(second.is_none(), "one change, two records for {client:?}");
            }
        }
        sent
    }

    /// Every list of up to three routes: each of a sender, with one of two attribute sets, stale or not.
    fn all_lists(exchange: &Exchange) -> Vec<Vec<Route>> {
        let one_route = |path_id: usize| -> Vec<Route> {
            let all =
                (0..SENDERS).flat_map(|peer| [(peer, 0, 0), (peer, 1, State::LONG_LIVED_STALE)]);
            let route = |(peer, set, state)| Route {
                state: State(state),
                ..exchange.route(peer, set, path_id as u32)
            };
            all.map(route).collect()
        };
        let mut lists = vec![vec![]];
        let mut longest: Vec<Vec<Route>> = lists.clone();
        for position in 0..MAX_ROUTES {
            let longer = longest.iter().flat_map(|list| {
                let with = |route| list.iter().cloned().chain([route]).collect();
                one_route(position).into_iter().map(with)
            });
            longest = longer.collect();
            lists.extend(longest.iter().cloned());
        }
        lists
    }

    fn recorded(live: &LiveClients<'_>, record: impl FnOnce(Recorder<'_, Ipv4Prefix>)) -> Sent {
        let mut records = Vec::new();
        let prefix = Ipv4Prefix::new(0, 0).unwrap();
        record(Recorder::new(
            prefix,
            live,
            &mut records,
            &mut OctetCount::default(),
        ));
        sent(&records, live.peers)
    }

    fn references(routes: &[Route]) -> Vec<&Route> {
        routes.iter().collect()
    }

    #[test]
    fn the_best_two_say_the_same_as_two_export_views() {
        let exchange = Exchange::plain(6);
        let style = plain_style();
        let clients: PeerSet = CLIENTS.into_iter().map(PeerId).collect();
        let live = live(&exchange, &style, &clients);
        let lists = all_lists(&exchange);
        for before in &lists {
            let references = references(before);
            let mut records = Vec::new();
            let prefix = Ipv4Prefix::new(0, 0).unwrap();
            let mut octets = OctetCount::default();
            let recorder = Recorder::new(prefix, &live, &mut records, &mut octets);
            let view: ExportView<'_> = recorder.view(Rules::Present, &references);
            for after in &lists {
                let after: Vec<&Route> = after.iter().collect();
                let fast = recorded(&live, |mut recorder| {
                    recorder.record_best(BestTwo::of(before), &after);
                });
                let general = recorded(&live, |mut recorder| {
                    recorder.record_difference(&view, &view, &after);
                });
                assert_eq!(fast, general, "from {before:?} to {after:?}");
            }
        }
    }

    #[test]
    fn the_place_of_a_new_route_says_the_same_as_two_export_views() {
        let exchange = Exchange::plain(6);
        let style = plain_style();
        let clients: PeerSet = CLIENTS.into_iter().map(PeerId).collect();
        let live = live(&exchange, &style, &clients);
        let group = exchange.live_group(&style, &clients);
        for held in all_lists(&exchange) {
            for sender in (0..6).filter(|peer| held.iter().all(|route| route.peer.0 != *peer)) {
                for place in 0..=held.len() {
                    let new = exchange.route(sender, 0, 9);
                    let mut after = held.clone();
                    after.insert(place, new.clone());
                    let general = recorded(&live, |mut recorder| {
                        let references = references(&held);
                        let view = recorder.view(Rules::Present, &references);
                        recorder.record_difference(&view, &view, &after.iter().collect::<Vec<_>>());
                    });
                    let receivers = Receivers::of(&held, place).among(&group, new.peer);
                    let fast: Sent = clients
                        .iter()
                        .filter(|client| receivers.as_ref().is_some_and(|to| to.include(*client)))
                        .map(|client| (client, Some(new.attrs.address())))
                        .collect();
                    assert_eq!(fast, general, "{new:?} at {place} of {held:?}");
                }
            }
        }
    }
}
