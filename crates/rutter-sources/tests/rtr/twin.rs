//! The client against caches with drawn histories: after each complete answer it has the cache's set.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rutter_sources::rtr::{Pdu, RtrClientSettings, RtrInput, VrpRecord};

use crate::script::{Script, end_of_data};

/// A step of a history.
#[derive(Clone, Debug)]
enum Step {
    /// The cache announces or withdraws these of the numbered VRPs, whatever it had.
    Change(Vec<u8>),
    /// The router asks, and the answer arrives in pieces of this many bytes.
    Answer(usize),
    /// The router asks, and the connection breaks after this share of the answer.
    Break(u8),
    /// The cache restarts with another session, without history.
    Restart,
    /// The cache forgets its history, and answers with a Cache Reset.
    Forget,
    /// The cache sends a Serial Notify.
    Notify,
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => proptest::collection::vec(0_u8..40, 0..6).prop_map(Step::Change),
        4 => (1_usize..200).prop_map(Step::Answer),
        1 => any::<u8>().prop_map(Step::Break),
        1 => Just(Step::Restart),
        1 => Just(Step::Forget),
        1 => Just(Step::Notify),
    ]
}

/// A cache that keeps the sets of all serial numbers since its start.
struct Cache {
    session: u16,
    first: u32,
    history: Vec<BTreeSet<u8>>,
}

impl Cache {
    fn serial(&self) -> u32 {
        self.first.wrapping_add(self.history.len() as u32 - 1)
    }

    fn set(&self) -> &BTreeSet<u8> {
        self.history.last().expect("a set")
    }

    /// The answer to the client's last query, which the script has in words.
    fn answer(&self, query: &str) -> Vec<Pdu<'static>> {
        let mut words = query.split(' ').skip(1);
        let empty = BTreeSet::new();
        let known = match words.next() {
            Some("reset") => &empty,
            Some("serial") => {
                let numbers: Vec<u32> = words.skip(1).map(|word| word.parse().unwrap()).collect();
                let back = self.serial().wrapping_sub(numbers[1]) as usize;
                let known = self.history.len().checked_sub(back + 1);
                match known.filter(|_| numbers[0] == u32::from(self.session)) {
                    Some(at) => &self.history[at],
                    None => return vec![Pdu::CacheReset],
                }
            }
            other => panic!("a query, not {other:?}"),
        };
        let mut pdus = vec![Pdu::CacheResponse {
            session: self.session,
        }];
        let added = self.set().difference(known).map(|n| (true, n));
        let removed = known.difference(self.set()).map(|n| (false, n));
        pdus.extend(added.chain(removed).map(|(announce, n)| Pdu::Vrp {
            announce,
            vrp: vrp(*n),
        }));
        pdus.push(end_of_data(self.session, self.serial()));
        pdus
    }
}

/// A numbered VRP. Some prefixes have several.
fn vrp(n: u8) -> VrpRecord {
    let prefix = match n % 4 {
        0 => format!("2001:db8:{:x}::/48", n / 8),
        _ => format!("10.{}.0.0/16", n / 8),
    };
    let prefix: rutter_net::Prefix = prefix.parse().unwrap();
    VrpRecord::new(prefix, prefix.len() + n % 3, u32::from(n)).unwrap()
}

/// Lets the client ask, and the cache answer until the answer is complete or cut at a share of its bytes.
fn exchange(script: &mut Script, cache: &Cache, piece: usize, cut: Option<u8>) {
    if !script.connected {
        script.connect();
    } else {
        script.input(RtrInput::Refresh);
    }
    loop {
        let query = script.sent().pop().expect("a query");
        // The client offers a lower version where a connection broke before the first answer.
        script.version = query[1..2].parse().expect("a version");
        let mut bytes = Vec::new();
        let pdus = cache.answer(&query);
        pdus.iter()
            .for_each(|pdu| pdu.write(script.version, &mut bytes));
        if let Some(share) = cut {
            bytes.truncate(bytes.len() * usize::from(share) / 256);
        }
        for piece in bytes.chunks(piece) {
            script.input(RtrInput::Received(piece));
        }
        if cut.is_some() {
            return script.close();
        }
        if pdus != [Pdu::CacheReset] {
            return;
        }
    }
}

proptest! {
    #[test]
    fn the_client_has_the_set_of_the_cache(
        first in any::<u32>(),
        steps in proptest::collection::vec(steps(), 0..40),
    ) {
        let mut script = Script::connected(RtrClientSettings::default(), 1);
        script.close();
        let mut cache = Cache { session: 1, first, history: vec![BTreeSet::new()] };
        let mut expected = BTreeSet::new();
        for step in steps {
            match step {
                Step::Change(numbers) => {
                    let mut set = cache.set().clone();
                    for n in numbers {
                        if !set.remove(&n) {
                            set.insert(n);
                        }
                    }
                    cache.history.push(set);
                }
                Step::Answer(piece) => {
                    exchange(&mut script, &cache, piece, None);
                    expected = cache.set().clone();
                    let data = script.client.data().expect("data");
                    prop_assert_eq!((data.session, data.serial), (cache.session, cache.serial()));
                }
                Step::Break(share) => exchange(&mut script, &cache, 50, Some(share)),
                Step::Restart => {
                    if script.connected {
                        script.close();
                    }
                    let set = cache.set().clone();
                    cache = Cache { session: cache.session + 1, first: 0, history: vec![set] };
                }
                Step::Forget => {
                    cache.first = cache.serial();
                    cache.history = vec![cache.set().clone()];
                }
                Step::Notify if script.connected => {
                    let serial = cache.serial();
                    script.receive(&[Pdu::SerialNotify { session: cache.session, serial }]);
                }
                Step::Notify => {}
            }
            let records: BTreeSet<VrpRecord> =
                script.client.data().map(|data| data.records.vrps().collect()).unwrap_or_default();
            let expected: BTreeSet<VrpRecord> = expected.iter().map(|n| vrp(*n)).collect();
            prop_assert_eq!(records, expected);
        }
    }
}
