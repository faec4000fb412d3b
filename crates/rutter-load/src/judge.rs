//! What UPDATEs mean: which destinations they name, and for whom what they say is right. Those that many clients hear
//! alike are judged once.

use hashbrown::HashMap;
use rapidhash::v3::rapidhash_v3;
use rutter_net::Prefix;

use crate::fingerprint::{self, Dissected};
use crate::nlri;
use crate::oracle::Right;
use crate::tracker::Bench;

/// What the messages of one thread mean, judged once each.
#[derive(Debug, Default)]
pub struct Judge {
    known: HashMap<u64, Meaning, rapidhash::fast::RandomState>,
    pub(crate) ids: Vec<(u32, Right)>,
    /// The first differences in words.
    pub complaints: Vec<String>,
}

/// An UPDATE, resolved: from `start` in `Judge::ids`, the withdrawn destinations, then the announced ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meaning {
    pub(crate) start: u32,
    pub(crate) withdrawn: u32,
    pub(crate) announced: u32,
    pub(crate) unknown: u32,
    pub(crate) probes: u32,
    pub(crate) malformed: bool,
}

impl Judge {
    /// Forgets all judgements: the oracle has changed.
    pub fn clear(&mut self) {
        self.known.clear();
        self.ids.clear();
    }

    pub(crate) fn meaning(&mut self, body: &[u8], bench: &Bench) -> Meaning {
        if bench.workload.peers.len() < WORTH_REMEMBERING {
            self.ids.clear();
            return self.fresh(body, bench);
        }
        let hash = rapidhash_v3(body);
        if let Some(&meaning) = self.known.get(&hash) {
            return meaning;
        }
        if self.ids.len() > MOST_REMEMBERED {
            self.clear();
        }
        let meaning = self.fresh(body, bench);
        self.known.insert(hash, meaning);
        meaning
    }

    fn fresh(&mut self, body: &[u8], bench: &Bench) -> Meaning {
        if let Some(parts) = fingerprint::dissect(body) {
            return self.resolve(&parts, bench);
        }
        self.complain(|| "an UPDATE whose lengths do not fit".to_owned());
        Meaning {
            malformed: true,
            ..Meaning::default()
        }
    }

    fn resolve(&mut self, parts: &Dissected<'_>, bench: &Bench) -> Meaning {
        let start = self.ids.len();
        let mut meaning = Meaning {
            start: start as u32,
            ..Meaning::default()
        };
        let ids = &mut self.ids;
        let mut gone = |prefix| ids.extend(bench.index.get(prefix).map(|id| (id, Right::Nobody)));
        let mut fits = nlri::each_v4(parts.withdrawn_v4, &mut gone);
        fits &= nlri::each_v6(parts.withdrawn_v6, &mut gone);
        let middle = self.ids.len();
        let mut strangers = Vec::new();
        let families: [(_, _, Each); 2] = [
            (parts.announced_v4, parts.fingerprint_v4, |field, found| {
                nlri::each_v4(field, found)
            }),
            (parts.announced_v6, parts.fingerprint_v6, |field, found| {
                nlri::each_v6(field, found)
            }),
        ];
        for (field, fingerprint, each) in families {
            if field.is_empty() {
                continue;
            }
            let mut lookup = Lookup::new(bench, fingerprint);
            let ids = &mut self.ids;
            fits &= each(field, &mut |prefix| match lookup.judge(prefix) {
                Some(judged) => ids.push(judged),
                None => strangers.push(prefix),
            });
        }
        meaning.withdrawn = (middle - start) as u32;
        meaning.announced = (self.ids.len() - middle) as u32;
        meaning.malformed = !fits;
        for prefix in strangers {
            if Some(prefix) == bench.probe {
                meaning.probes += 1;
            } else {
                meaning.unknown += 1;
                self.complain(|| format!("{prefix} was announced by nobody"));
            }
        }
        let forged = self.ids[middle..]
            .iter()
            .find(|(_, right)| *right == Right::Forged);
        if let Some(&(id, _)) = forged {
            let prefix = bench.workload.destinations[id as usize];
            let attributes = fingerprint::describe(parts.attributes);
            self.complain(|| {
                format!("{prefix} came with attributes that no peer announced for it: {attributes}")
            });
        }
        meaning
    }

    fn complain(&mut self, text: impl FnOnce() -> String) {
        if self.complaints.len() < MOST_COMPLAINTS {
            self.complaints.push(text());
        }
    }
}

type Each = fn(&[u8], &mut dyn FnMut(Prefix)) -> bool;

/// Finds the destinations of one UPDATE: they stand together in the group that its attributes belong to, mostly in order.
struct Lookup<'a> {
    bench: &'a Bench,
    fingerprint: u64,
    /// The first destination of the group, its prefixes, where to look next, and the judgement they share.
    group: Option<(u32, &'a [Prefix], usize, Right)>,
}

impl<'a> Lookup<'a> {
    fn new(bench: &'a Bench, fingerprint: u64) -> Self {
        let mut lookup = Lookup {
            bench,
            fingerprint,
            group: None,
        };
        lookup.group = bench.oracle.group_with(fingerprint).map(|known| {
            let first = known.first as usize;
            let members = &bench.workload.destinations[first..first + known.len as usize];
            let right = match bench.deep {
                true => bench.oracle.judge_known(known, fingerprint),
                false => bench.oracle.judge_presence(known.first),
            };
            (known.first, members, 0, right)
        });
        lookup
    }

    fn right(&self, id: u32) -> Right {
        match self.bench.deep {
            true => self.bench.oracle.judge(id, self.fingerprint),
            false => self.bench.oracle.judge_presence(id),
        }
    }

    fn judge(&mut self, prefix: Prefix) -> Option<(u32, Right)> {
        if let Some((first, members, next, right)) = &mut self.group {
            let count = members.len();
            let at = (0..count)
                .map(|i| (*next + i) % count)
                .find(|&at| members[at] == prefix);
            if let Some(at) = at {
                *next = at + 1;
                return Some((*first + at as u32, *right));
            }
        }
        let id = self.bench.index.get(prefix)?;
        Some((id, self.right(id)))
    }
}

/// Judgements kept, in destinations: beyond this the memory is emptied.
const MOST_REMEMBERED: usize = 16_000_000;
/// From so many clients on it pays to remember judgements.
const WORTH_REMEMBERING: usize = 8;
const MOST_COMPLAINTS: usize = 10;
