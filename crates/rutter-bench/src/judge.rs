//! Resolves UPDATEs: the destinations that they name, and the clients for which the announcement is right. A message
//! that many clients receive is resolved once.

use rapidhash::v3::rapidhash_v3;
use rutter_net::Prefix;
use std::collections::HashMap;

use crate::fingerprint::{self, Dissected};
use crate::nlri;
use crate::oracle::Right;
use crate::span::{self, Span};
use crate::tracker::Bench;

/// The resolved messages of one thread.
#[derive(Debug, Default)]
pub struct Judge {
    by_hash: HashMap<u64, u32, rapidhash::fast::RandomState>,
    known: Vec<Known>,
    spans: Vec<Span>,
    /// Descriptions of the first differences.
    pub complaints: Vec<String>,
}

/// A resolved message.
#[derive(Debug)]
struct Known {
    hash: u64,
    /// The message that a client received after it; other clients probably receive the same.
    next: u32,
    meaning: Meaning,
}

/// A resolved UPDATE. Its spans begin at `start`: first the withdrawn destinations, then the announced ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meaning {
    start: u32,
    /// The beginning and the end of the spans of announced destinations.
    middle: u32,
    end: u32,
    pub(crate) withdrawn: u32,
    pub(crate) announced: u32,
    pub(crate) unknown: u32,
    pub(crate) probes: u32,
    pub(crate) malformed: bool,
}

impl Judge {
    /// Forgets all messages, because the oracle has changed.
    pub fn clear(&mut self) {
        self.by_hash.clear();
        self.known.clear();
        self.spans.clear();
    }

    /// Withdrawn and announced destinations of the message that was resolved last.
    pub(crate) fn spans(&self, meaning: &Meaning) -> (&[Span], &[Span]) {
        let [start, middle, end] =
            [meaning.start, meaning.middle, meaning.end].map(|at| at as usize);
        (&self.spans[start..middle], &self.spans[middle..end])
    }

    /// Resolves a message. `last` is the client's previous message; it is set to this one.
    pub(crate) fn meaning(&mut self, body: &[u8], bench: &Bench, last: &mut u32) -> Meaning {
        if bench.workload.peers.len() < WORTH_REMEMBERING {
            self.spans.clear();
            return self.fresh(body, bench);
        }
        let hash = rapidhash_v3(body);
        if let Some(before) = self.known.get(*last as usize)
            && let Some(known) = self.known.get(before.next as usize)
            && known.hash == hash
        {
            *last = before.next;
            return known.meaning;
        }
        let index = match self.by_hash.get(&hash) {
            Some(index) => *index,
            None => self.remember(hash, body, bench),
        };
        if let Some(before) = self.known.get_mut(*last as usize) {
            before.next = index;
        }
        *last = index;
        self.known[index as usize].meaning
    }

    fn remember(&mut self, hash: u64, body: &[u8], bench: &Bench) -> u32 {
        if self.spans.len() > MOST_REMEMBERED {
            self.clear();
        }
        let meaning = self.fresh(body, bench);
        let index = self.known.len() as u32;
        self.known.push(Known {
            hash,
            next: index + 1,
            meaning,
        });
        self.by_hash.insert(hash, index);
        index
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
        let start = self.spans.len();
        let mut meaning = Meaning::default();
        let spans = &mut self.spans;
        let mut gone = |prefix| {
            if let Some(id) = bench.index.get(prefix) {
                span::push(spans, start, id, Right::Nobody);
                meaning.withdrawn += 1;
            }
        };
        let mut fits = nlri::each_v4(parts.withdrawn_v4, &mut gone);
        fits &= nlri::each_v6(parts.withdrawn_v6, &mut gone);
        let middle = self.spans.len();
        let mut strangers = Vec::new();
        let mut forged = None;
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
            let spans = &mut self.spans;
            fits &= each(field, &mut |prefix| match lookup.judge(prefix) {
                Some((id, right)) => {
                    span::push(spans, middle, id, right);
                    meaning.announced += 1;
                    forged = forged.or((right == Right::Forged).then_some(prefix));
                }
                None => strangers.push(prefix),
            });
        }
        [meaning.start, meaning.middle, meaning.end] =
            [start, middle, self.spans.len()].map(|at| at as u32);
        meaning.malformed = !fits;
        for prefix in strangers {
            if Some(prefix) == bench.probe {
                meaning.probes += 1;
            } else {
                meaning.unknown += 1;
                self.complain(|| format!("no peer announced {prefix}"));
            }
        }
        if let Some(prefix) = forged {
            let attributes = fingerprint::describe(parts.attributes);
            self.complain(|| {
                format!("{prefix} has attributes that no peer announced: {attributes}")
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

/// Finds the destinations of one UPDATE. They are close together in the group that its attributes belong to, mostly in
/// order.
struct Lookup<'a> {
    bench: &'a Bench,
    fingerprint: u64,
    /// The first destination of the group, its prefixes, the next index to try, and the judgement that they share.
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

/// The number of spans at which all remembered messages are dropped.
const MOST_REMEMBERED: usize = 8_000_000;
/// The number of clients from which remembering messages saves time.
const WORTH_REMEMBERING: usize = 8;
const MOST_COMPLAINTS: usize = 10;
