//! Changes of all audiences, while sets and members come and go.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use rutter_net::{Asn, PerFamily};
use rutter_policy::{Action, ActionCommunity, ExportPolicy, ExportSettings, Rtt, RttThresholds};
use rutter_wire::attr::{self, code};

use crate::adj_rib_in::attr_set::{AUDIENCE_UNKNOWN, Summary};
use crate::adj_rib_in::charges::NOBODY;
use crate::adj_rib_in::route::{Route, State};
use crate::adj_rib_in::verdict::Verdict;
use crate::advertise::audiences::{EVERYONE, SeenSet};
use crate::advertise::members::Client;
use crate::advertise::test_support;
use crate::peer_set::PeerSet;
use crate::reevaluate::client_preparation::ClientPreparation;
use crate::reevaluate::export_preparation::ExportPreparation;
use crate::reevaluate::set_visit::{SetVisitor, visit_all, visit_arrived};
use crate::{AttrSet, FamilyInfo, Neighbor, PeerId, PeerKind, Rib, RibConfig, SessionInfo};

/// `scrub` takes these communities out of all routes.
fn policy(actions: &[(Action, &str)], scrub: bool) -> Arc<ExportPolicy> {
    let action = |(action, notation): &(Action, &str)| {
        let notation = notation.parse().expect("a notation");
        ActionCommunity::new(*action, notation).expect("an action")
    };
    Arc::new(ExportPolicy::new(ExportSettings {
        local_asn: Asn(64_500),
        actions: actions.iter().map(action).collect(),
        scrub,
        rtt_thresholds: RttThresholds::new(vec![10, 20]).expect("thresholds"),
        ..ExportSettings::default()
    }))
}

fn not_to(notation: &str) -> Arc<ExportPolicy> {
    policy(&[(Action::NotToPeer, notation)], false)
}

const MEMBERS: u16 = 10;

/// A table with the clients 0 to 9 of AS 0 to 9.
fn rib(export: Arc<ExportPolicy>) -> Rib {
    let rib = Rib::new(RibConfig {
        shards: 1,
        cluster_id: 0,
        log_limit: 1 << 20,
        export,
        seed: 7,
        always_compare_med: false,
    });
    for number in 0..MEMBERS {
        let audiences = &mut rib.topology.write().audiences;
        audiences.add_peer(PeerId(number), client(number));
    }
    rib
}

fn client(asn: u16) -> Client {
    Client {
        asn: Asn(u32::from(asn)),
        external: true,
        rtt: None,
        receives_blackhole: true,
    }
}

/// Interns a set with these communities for a route of `owner`.
fn announced(rib: &Rib, owner: PeerId, communities: &[[u16; 2]]) -> AttrSet {
    let octets = communities.concat().into_iter().flat_map(u16::to_be_bytes);
    let octets: Vec<u8> = octets.collect();
    let mut block = Vec::new();
    attr::write_attr(&mut block, 0xc0, code::COMMUNITIES, &octets);
    let set = rib.store.intern(owner, &block, &[], Summary::default);
    if set.audience() == AUDIENCE_UNKNOWN {
        rib.assign_audience(&set, &set.attributes());
    }
    set
}

/// A set with the communities `0:asn`, `1:asn + 1`, and one that makes it another set.
fn set(rib: &Rib, asn: u16, number: u16) -> AttrSet {
    announced(rib, NOBODY, &[[0, asn], [1, asn + 1], [2, number]])
}

/// The clients that may not receive a set.
fn left_out(rib: &Rib, set: &AttrSet) -> Vec<u16> {
    let topology = rib.topology.read();
    let audience = topology.audiences.of(set);
    (0..MEMBERS)
        .filter(|peer| !audience.allows(PeerId(*peer)))
        .collect()
}

#[test]
fn no_set_is_evaluated_while_all_wait() {
    let rib = rib(not_to("0:peer"));
    let held: Vec<AttrSet> = (0..2_000).map(|n| set(&rib, n % 8, n)).collect();
    assert_eq!(left_out(&rib, &held[3]), [3]);
    let mut preparation = ExportPreparation::new(&rib, not_to("1:peer"));
    // The former policy is in force, for new sets, too.
    let later: Vec<AttrSet> = (0..100).map(|n| set(&rib, n % 8, 5_000 + n)).collect();
    assert_eq!(left_out(&rib, &held[3]), [3]);
    assert_eq!(left_out(&rib, &later[3]), [3]);
    visit_arrived(&rib, &mut preparation);
    assert_eq!(preparation.exchange(&rib), 0);
    let last = set(&rib, 3, 9_000);
    for set in [&held[3], &later[3], &last] {
        assert_eq!(left_out(&rib, set), [4]);
    }
}

/// A set that came after the last look is evaluated at the exchange.
#[test]
fn sets_that_came_last_are_not_forgotten() {
    let rib = rib(not_to("0:peer"));
    let preparation = ExportPreparation::new(&rib, not_to("1:peer"));
    let first = set(&rib, 3, 1);
    // It is everybody's under the former policy.
    let second = announced(&rib, NOBODY, &[[1, 5]]);
    assert!(left_out(&rib, &second).is_empty());
    preparation.exchange(&rib);
    assert_eq!(left_out(&rib, &first), [4]);
    assert_eq!(left_out(&rib, &second), [5]);
}

/// A step between two slices of a preparation.
#[derive(Clone, Debug)]
enum Event {
    Announce {
        owner: u16,
        communities: Vec<[u16; 2]>,
    },
    /// A route goes.
    Withdraw(prop::sample::Index),
    /// A member leaves, and another gets its id.
    Replace {
        member: u16,
        asn: u16,
    },
    /// The search for unused audiences goes on.
    Search,
    FreeUnused,
}

fn event() -> impl Strategy<Value = Event> {
    let community = prop_oneof![
        2 => (0_u16..2, 1..MEMBERS).prop_map(|(high, low)| [high, low]),
        1 => (64_u16..66).prop_map(|high| [high, 10]),
        1 => (0_u16..20).prop_map(|low| [2, low]),
    ];
    let communities = prop::collection::vec(community, 0..4);
    prop_oneof![
        8 => (0..MEMBERS, communities)
            .prop_map(|(owner, communities)| Event::Announce { owner, communities }),
        6 => any::<prop::sample::Index>().prop_map(Event::Withdraw),
        1 => (0..MEMBERS, 1..MEMBERS).prop_map(|(member, asn)| Event::Replace { member, asn }),
        2 => Just(Event::Search),
        1 => Just(Event::FreeUnused),
    ]
}

/// The routes, and the AS of each member.
struct World {
    rib: Arc<Rib>,
    routes: Vec<(AttrSet, Vec<[u16; 2]>)>,
    asns: Vec<u16>,
}

impl World {
    fn new(export: Arc<ExportPolicy>) -> Self {
        World {
            rib: Arc::new(rib(export)),
            routes: Vec::new(),
            asns: (0..MEMBERS).collect(),
        }
    }

    fn play(&mut self, event: &Event) {
        let rib = &self.rib;
        match event {
            Event::Announce { owner, communities } => {
                let set = announced(rib, PeerId(*owner), communities);
                self.routes.push((set, communities.clone()));
            }
            Event::Withdraw(_) if self.routes.is_empty() => {}
            Event::Withdraw(index) => {
                let (set, _) = self.routes.swap_remove(index.index(self.routes.len()));
                rib.store.release(set);
            }
            Event::Replace { member, asn } => {
                let peer = PeerId(*member);
                let leaving: PeerSet = [peer].into_iter().collect();
                (0..).take_while(|n| rib.store.disown(*n, &leaving)).count();
                let audiences = &mut rib.topology.write().audiences;
                (0..).take_while(|n| audiences.disown(*n, &leaving)).count();
                audiences.remove_peers(&[peer]);
                audiences.add_peer(peer, client(*asn));
                self.asns[usize::from(*member)] = *asn;
            }
            Event::Search => {
                rib.topology.write().audiences.begin_search();
                rib.leftovers.note();
                rib.tidy();
            }
            Event::FreeUnused => {}
        }
    }

    /// Each route goes to the members that `is_left_out` leaves over.
    fn check(&self, is_left_out: impl Fn(&[[u16; 2]], u16) -> bool) {
        for (set, communities) in &self.routes {
            let expected = (0..MEMBERS)
                .filter(|member| is_left_out(communities, self.asns[usize::from(*member)]));
            let expected: Vec<u16> = expected.collect();
            assert_eq!(left_out(&self.rib, set), expected, "{communities:?}");
        }
    }

    fn tidy(&self) {
        while self.rib.has_leftovers() {
            self.rib.tidy();
        }
    }

    /// Nobody is charged for audiences without being charged for sets.
    fn check_charges(&self) {
        let owners: Vec<PeerId> = { self.routes.iter().map(|(set, _)| set.owner()) }.collect();
        let topology = self.rib.topology.read();
        for peer in (0..MEMBERS).map(PeerId) {
            let charged = topology.audiences.charged(peer);
            assert!(charged == 0 || owners.contains(&peer), "{peer:?}");
        }
    }

    /// No set is kept without a route, and no audience without a set.
    fn check_sizes(&self) {
        self.rib.store.shrink();
        // A search that goes on may have seen sets that are gone.
        for _ in 0..2 {
            self.rib.topology.write().audiences.begin_search();
            self.rib.leftovers.note();
            self.tidy();
        }
        let distinct = |of: fn(&AttrSet) -> usize| {
            let all: BTreeSet<usize> = self.routes.iter().map(|(set, _)| of(set)).collect();
            all
        };
        assert_eq!(
            self.rib.store.size().0 as usize,
            distinct(AttrSet::address).len()
        );
        let mut audiences = distinct(|set| set.audience() as usize);
        audiences.insert(EVERYONE as usize);
        let size = self.rib.topology.read().audiences.size();
        assert_eq!(size.0 as usize, audiences.len());
    }
}

/// A preparation between whose slices the events happen.
struct Interrupted<'a, V> {
    visitor: V,
    world: &'a mut World,
    events: std::slice::Iter<'a, Event>,
    free_unused: fn(&mut V, &Rib),
}

impl<V: SetVisitor> SetVisitor for Interrupted<'_, V> {
    fn visit(&mut self, rib: &Rib, seen: SeenSet) {
        self.visitor.visit(rib, seen);
    }

    fn tidy(&mut self, rib: &Rib) {
        match self.events.next() {
            Some(Event::FreeUnused) => (self.free_unused)(&mut self.visitor, rib),
            Some(event) => self.world.play(event),
            None => {}
        }
    }
}

impl World {
    /// Visits all sets, while some of the events happen. The others follow.
    fn visit_all<V: SetVisitor>(
        &mut self,
        visitor: V,
        events: &[Event],
        free_unused: fn(&mut V, &Rib),
    ) -> V {
        let rib = Arc::clone(&self.rib);
        let mut interrupted = Interrupted {
            visitor,
            world: self,
            events: events.iter(),
            free_unused,
        };
        visit_all(&rib, &mut interrupted);
        let Interrupted {
            visitor,
            world,
            events,
            ..
        } = interrupted;
        events.for_each(|event| world.play(event));
        visitor
    }

    /// The transition knows each set that differs, with its former audience.
    fn check_transition(
        &self,
        was_left_out: impl Fn(&[[u16; 2]], u16) -> bool,
        is_left_out: impl Fn(&[[u16; 2]], u16) -> bool,
    ) {
        let topology = self.rib.topology.read();
        for (set, communities) in &self.routes {
            let route = Route {
                attrs: set.clone(),
                path_id: 0,
                peer: PeerId(0),
                state: State::of_set(0, 0),
                verdict: Verdict::PLAIN,
            };
            let transition = topology.export_transition.as_ref();
            let former = transition.and_then(|transition| transition.former(&route));
            for member in 0..MEMBERS {
                let asn = self.asns[usize::from(member)];
                let then = was_left_out(communities, asn);
                match former {
                    Some(former) => assert_eq!(!former.allows(PeerId(member)), then),
                    None => assert_eq!(is_left_out(communities, asn), then, "{communities:?}"),
                }
            }
        }
    }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(event(), 0..120)
}

fn names(high: u16) -> impl Fn(&[[u16; 2]], u16) -> bool {
    move |communities, asn| communities.contains(&[high, asn])
}

proptest! {
    #[test]
    fn another_policy_has_the_audiences_that_a_fresh_table_would_have(
        before in events(),
        meanwhile in events(),
        after in events(),
    ) {
        let mut world = World::new(not_to("0:peer"));
        before.iter().for_each(|event| world.play(event));
        world.check(names(0));
        let preparation = ExportPreparation::begin(&world.rib, not_to("1:peer"));
        let free_unused = ExportPreparation::free_unused;
        let preparation = world.visit_all(preparation, &meanwhile, free_unused);
        world.check(names(0));
        preparation.exchange(&world.rib);
        world.check(names(1));
        world.check_transition(names(0), names(1));
        world.tidy();
        world.check_charges();
        after.iter().for_each(|event| world.play(event));
        world.check(names(1));
        world.rib.topology.write().export_transition = None;
        world.check_sizes();
    }

    /// Half of the members are nearer than was known. `64:10` keeps routes from those nearer than 10 ms.
    #[test]
    fn other_options_have_the_audiences_that_a_fresh_table_would_have(
        before in events(),
        meanwhile in events(),
        after in events(),
    ) {
        let actions = [(Action::NotToPeer, "0:peer"), (Action::NotToRttLower, "64:rtt")];
        let mut world = World::new(policy(&actions, false));
        let near = near_members(&world.rib);
        // The others keep their ids.
        let keeps_member = |event: &&Event| !matches!(event, Event::Replace { .. });
        let play = |world: &mut World, events: &[Event]| {
            events.iter().filter(keeps_member).for_each(|event| world.play(event));
        };
        play(&mut world, &before);
        world.check(names(0));
        let preparation = ClientPreparation::begin(&world.rib, &near);
        let kept: Vec<Event> = meanwhile.iter().filter(keeps_member).cloned().collect();
        let preparation = world.visit_all(preparation, &kept, |_, _| {});
        world.check(names(0));
        let concerns_sets = preparation.exchange(&world.rib, &near).expect("it was prepared");
        let is_left_out = |communities: &[[u16; 2]], asn: u16| {
            communities.contains(&[0, asn]) || asn.is_multiple_of(2) && communities.contains(&[64, 10])
        };
        world.check(is_left_out);
        world.check_transition(names(0), is_left_out);
        prop_assert_eq!(concerns_sets, world.rib.topology.read().export_transition.is_some());
        play(&mut world, &after);
        world.check(is_left_out);
        world.rib.topology.write().export_transition = None;
        world.check_sizes();
    }
}

/// Adds the members to the table, and returns those with even numbers as they are nearer.
fn near_members(rib: &Rib) -> Vec<(PeerId, Neighbor)> {
    let mut near = Vec::new();
    for number in 0..MEMBERS {
        let member = neighbor(number);
        rib.topology
            .write()
            .audiences
            .remove_peers(&[PeerId(number)]);
        let peer = rib.add_neighbor(member.clone()).expect("room");
        rib.session_up_without_stream(peer, session(number));
        if number % 2 == 0 {
            let mut member = member;
            member.client.rtt = Rtt::from_micros(5_000);
            near.push((peer, member));
        }
    }
    near
}

fn neighbor(number: u16) -> Neighbor {
    Neighbor {
        remote_asn: Asn(u32::from(number)),
        ..test_support::neighbor(number, PeerKind::RouteServerClient, None)
    }
}

fn session(number: u16) -> SessionInfo {
    SessionInfo {
        remote_bgp_id: u32::from(number) + 1,
        remote_asn: Asn(u32::from(number)),
        as4: true,
        max_message_len: 4_096,
        families: PerFamily::both(Some(FamilyInfo::default())),
        enhanced_refresh: false,
    }
}
