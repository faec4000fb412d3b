//! Outside data that change at random.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rutter_irr::{IrrBuilder, IrrKind, IrrMember, IrrRules};
use rutter_net::{Asn, Prefix};
use rutter_policy::OutsideData;
use rutter_rpki::{AspasBuilder, Vrp, Vrps};

use crate::Random;
use crate::client::asn;

/// Outside data about the prefixes and AS numbers of an exchange.
#[derive(Debug)]
pub(crate) struct RandomData {
    prefixes: Vec<Prefix>,
    clients: u16,
    /// Whether there are VRPs, ASPAs and IRR data at all.
    present: [bool; 3],
    vrps: BTreeSet<Vrp>,
    /// The providers of each customer.
    aspas: BTreeMap<u32, BTreeSet<u32>>,
    route_objects: BTreeSet<(Prefix, u32)>,
    /// The rules and the origins of each member.
    members: Vec<(IrrRules, BTreeSet<u32>)>,
}

impl RandomData {
    /// No data yet about these prefixes and this number of clients.
    pub fn new(prefixes: Vec<Prefix>, clients: u16) -> Self {
        let member = |index| {
            let rules = IrrRules {
                origin: true,
                prefix: true,
                ..IrrRules::default()
            };
            (rules, BTreeSet::from([asn(index), 3_001]))
        };
        RandomData {
            prefixes,
            clients,
            present: [false; 3],
            vrps: BTreeSet::new(),
            aspas: BTreeMap::new(),
            route_objects: BTreeSet::new(),
            members: (0..clients).map(member).collect(),
        }
    }

    /// Adds or removes a few entries, or one kind of data as a whole, or nothing.
    pub fn change(&mut self, random: &mut Random) {
        match random.below(12) {
            0 => {}
            1..=2 => self.come_or_go(random.below(3) as usize),
            _ => {
                for _ in 0..1 + random.below(4) {
                    self.change_entry(random);
                }
            }
        }
    }

    /// Adds or removes all VRPs, all ASPAs (1) or all IRR data (2).
    pub fn come_or_go(&mut self, kind: usize) {
        self.present[kind] = !self.present[kind];
    }

    /// Adds entries of all kinds, present or not.
    pub fn fill(&mut self, entries: usize, random: &mut Random) {
        for _ in 0..entries {
            self.change_entry(random);
        }
    }

    fn change_entry(&mut self, random: &mut Random) {
        match random.below(8) {
            0..=2 => {
                let vrp = self.vrp(random);
                toggle(&mut self.vrps, vrp);
            }
            3..=4 => {
                let customer = self.asn(random);
                let provider = self.asn(random);
                toggle(self.aspas.entry(customer).or_default(), provider);
            }
            5..=6 => {
                let object = (self.prefix(random), self.asn(random));
                toggle(&mut self.route_objects, object);
            }
            _ => self.change_member(random),
        }
    }

    fn change_member(&mut self, random: &mut Random) {
        let origin = self.asn(random);
        let (rules, origins) = &mut self.members[random.below(self.clients.into()) as usize];
        match random.below(8) {
            0 => rules.bound = !rules.bound,
            1 => rules.longer = !rules.longer,
            2 => rules.roas = !rules.roas,
            3 => rules.origin = !rules.origin,
            _ => toggle(origins, origin),
        }
    }

    fn vrp(&self, random: &mut Random) -> Vrp {
        let prefix = self.prefix(random);
        Vrp {
            prefix,
            max_len: prefix.len() + [0, 4, 8][random.below(3) as usize],
            asn: match random.below(10) {
                0 => 0,
                _ => self.asn(random),
            },
        }
    }

    /// A prefix of the exchange or one that covers it.
    fn prefix(&self, random: &mut Random) -> Prefix {
        let prefix = self.prefixes[random.below(self.prefixes.len() as u64) as usize];
        let shorter = [0, 0, 2, 4, 8][random.below(5) as usize];
        Prefix::from_addr(prefix.addr(), prefix.len() - shorter).expect("a shorter length")
    }

    /// An AS number of some path.
    fn asn(&self, random: &mut Random) -> u32 {
        match random.below(3) {
            0 => 3_001,
            1 => 3_002,
            _ => asn(random.below(self.clients.into()) as u16),
        }
    }

    /// The data as import policies read them. Equal data are in new allocations each time.
    pub fn build(&self) -> OutsideData {
        let [vrps, aspas, irr] = self.present;
        OutsideData {
            vrps: vrps.then(|| {
                let vrps = Vrps::from_vrps(self.vrps.iter().copied());
                Arc::new(vrps.expect("lengths in order"))
            }),
            aspas: aspas.then(|| {
                let mut builder = AspasBuilder::new();
                for (customer, providers) in self.aspas.iter().filter(|row| !row.1.is_empty()) {
                    let providers = providers.iter().map(|asn| Asn(*asn));
                    builder.add(Asn(*customer), providers).expect("an ASPA");
                }
                Arc::new(builder.build())
            }),
            irr: irr.then(|| {
                let mut builder = IrrBuilder::new();
                for ((rules, origins), member) in self.members.iter().zip(0..) {
                    builder.add_member(IrrMember(member), asn(member), *rules);
                    builder.add_origins(IrrMember(member), "AS-SET", origins.iter().copied());
                }
                let source = builder.add_source("IRR");
                for (prefix, origin) in &self.route_objects {
                    builder.add_route_object(*prefix, *origin, IrrKind::RouteObject, source);
                }
                Arc::new(builder.build().expect("few sets"))
            }),
        }
    }
}

/// Removes an element if it is present, adds it otherwise.
fn toggle<T: Ord>(set: &mut BTreeSet<T>, element: T) {
    if !set.remove(&element) {
        set.insert(element);
    }
}
