//! The unsent messages of a client that leaves the log. They are parsed, and their prefixes become marks.
//!
//! The messages are our own, so all of them parse; anything else is skipped.

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, PerFamily};
use rutter_wire::attr::code;
use rutter_wire::{nlri, update};

use crate::adj_rib_in::shard::Stored;
use crate::{PeerId, Rib};

/// The messages of a log that a client left, while they are turned into marks.
pub(crate) struct Unsent<'r> {
    rib: &'r Rib,
    peer: PeerId,
    /// Per family: NLRI carry path identifiers.
    add_path: PerFamily<bool>,
    ipv4: Vec<(u32, Ipv4Prefix)>,
    ipv6: Vec<(u32, Ipv6Prefix)>,
}

/// The number of prefixes marked at once, about half a millisecond: every shard is locked once for them.
const MARK_BATCH: usize = 2 * 1024;

impl<'r> Unsent<'r> {
    pub fn new(rib: &'r Rib, peer: PeerId, add_path: PerFamily<bool>) -> Self {
        Unsent {
            rib,
            peer,
            add_path,
            ipv4: Vec::new(),
            ipv6: Vec::new(),
        }
    }

    /// Collects the destinations that the messages announce or withdraw, until [`Unsent::is_full`]. They are marked at
    /// [`Unsent::finish`]. Returns the number of bytes of the messages that were read.
    pub fn read(&mut self, all: &[u8]) -> usize {
        let mut messages = all;
        while !self.is_full()
            && let Some(len) = messages.get(16..18)
        {
            let len = usize::from(u16::from_be_bytes([len[0], len[1]]));
            let Some((message, rest)) = messages.split_at_checked(len.max(19)) else {
                break;
            };
            read(
                &message[19..],
                self.add_path,
                &mut self.ipv4,
                &mut self.ipv6,
            );
            messages = rest;
        }
        match self.is_full() {
            true => all.len() - messages.len(),
            false => all.len(),
        }
    }

    /// Returns whether enough destinations for a slice are collected.
    pub fn is_full(&self) -> bool {
        self.ipv4.len() + self.ipv6.len() >= MARK_BATCH
    }

    /// Marks the destinations. Returns their number.
    pub fn finish(self) -> usize {
        mark_all(self.rib, self.peer, &self.ipv4);
        mark_all(self.rib, self.peer, &self.ipv6);
        self.ipv4.len() + self.ipv6.len()
    }
}

fn read(
    body: &[u8],
    add_path: PerFamily<bool>,
    ipv4: &mut Vec<(u32, Ipv4Prefix)>,
    ipv6: &mut Vec<(u32, Ipv6Prefix)>,
) {
    let Ok(sections) = update::split(body) else {
        return;
    };
    let _ = nlri::parse_ipv4(sections.withdrawn, add_path[Family::Ipv4Unicast], ipv4);
    let _ = nlri::parse_ipv4(sections.nlri, add_path[Family::Ipv4Unicast], ipv4);
    if let Some((family, octets)) = multiprotocol(sections.attributes) {
        let _ = match family {
            Family::Ipv4Unicast => nlri::parse_ipv4(octets, add_path[Family::Ipv4Unicast], ipv4),
            Family::Ipv6Unicast => nlri::parse_ipv6(octets, add_path[Family::Ipv6Unicast], ipv6),
        };
    }
}

/// The NLRI of the first attribute where it is MP_REACH_NLRI or MP_UNREACH_NLRI: our messages have them there.
fn multiprotocol(attributes: &[u8]) -> Option<(Family, &[u8])> {
    let extended = attributes.first()? & 0x10 != 0;
    let code = *attributes.get(1)?;
    let value = attributes.get(if extended { 4 } else { 3 }..)?;
    let len = match extended {
        true => usize::from(u16::from_be_bytes([
            *attributes.get(2)?,
            *attributes.get(3)?,
        ])),
        false => usize::from(*attributes.get(2)?),
    };
    let value = value.get(..len)?;
    let family = match value.first_chunk::<3>()? {
        [0, 1, 1] => Family::Ipv4Unicast,
        [0, 2, 1] => Family::Ipv6Unicast,
        _ => return None,
    };
    match code {
        code::MP_REACH_NLRI => {
            let next_hop_len = usize::from(*value.get(3)?);
            Some((family, value.get(4 + next_hop_len + 1..)?))
        }
        code::MP_UNREACH_NLRI => Some((family, &value[3..])),
        _ => None,
    }
}

fn mark_all<K: Stored>(rib: &Rib, peer: PeerId, prefixes: &[(u32, K)]) {
    let mut parts: Vec<Vec<(u32, K)>> = vec![Vec::new(); rib.shards.len()];
    for line in prefixes {
        parts[rib.shard_of(line.1.seeded_hash(rib.seed))].push(*line);
    }
    let mut ids = Vec::new();
    for (shard, part) in rib.shards.iter().zip(&parts) {
        if part.is_empty() {
            continue;
        }
        let mut shard = shard.lock();
        let tombstone = |(path_id, prefix): &(u32, K)| (shard.tombstone(*prefix), *path_id);
        ids.extend(part.iter().map(tombstone));
        if let Some(catching_up) = shard.clients.catching_up(peer) {
            for (id, path_id) in &ids {
                catching_up.mark(K::FAMILY, *id);
                catching_up.remember_path(K::FAMILY, *id, *path_id);
            }
        }
        ids.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rutter_policy::{ExportPolicy, ExportSettings};

    use super::*;
    use crate::RibConfig;

    /// An UPDATE that withdraws these /24s.
    fn withdrawal(numbers: std::ops::Range<u32>) -> Vec<u8> {
        let prefix = |number: u32| {
            let [_, a, b, c] = number.to_be_bytes();
            [24, a, b, c]
        };
        let withdrawn: Vec<u8> = numbers.flat_map(prefix).collect();
        let mut message = vec![0xff; 16];
        message.extend((19 + 4 + withdrawn.len() as u16).to_be_bytes());
        message.push(2);
        message.extend((withdrawn.len() as u16).to_be_bytes());
        message.extend_from_slice(&withdrawn);
        message.extend([0, 0]);
        message
    }

    #[test]
    fn a_slice_marks_few_destinations_and_the_next_goes_on_after_it() {
        let rib = Rib::new(RibConfig {
            shards: 2,
            cluster_id: 0,
            log_limit: 1 << 20,
            export: Arc::new(ExportPolicy::new(ExportSettings::default())),
            seed: 7,
            always_compare_med: false,
        });
        let messages = (0..1_000).map(|at| withdrawal(at * 100..(at + 1) * 100));
        let messages: Vec<u8> = messages.flatten().collect();
        let (mut read, mut marked, mut slices) = (0, 0, 0);
        while read < messages.len() {
            let mut unsent = Unsent::new(&rib, PeerId(0), PerFamily::both(false));
            read += unsent.read(&messages[read..]);
            let count = unsent.finish();
            assert!(count < MARK_BATCH + 100, "{count}");
            marked += count;
            slices += 1;
        }
        assert_eq!(marked, 100_000);
        assert_eq!(slices, 100_000_usize.div_ceil(2_100));
    }
}
