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

/// The number of prefixes marked at once: every shard is locked once for them.
const MARK_BATCH: usize = 16 * 1024;

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

    /// Marks every destination that the messages announce or withdraw, now or at [`Unsent::finish`].
    pub fn mark(&mut self, mut messages: &[u8]) {
        while let Some(len) = messages.get(16..18) {
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
        if self.ipv4.len() + self.ipv6.len() > MARK_BATCH {
            self.finish();
        }
    }

    /// Marks the remaining destinations.
    pub fn finish(&mut self) {
        mark_all(self.rib, self.peer, &self.ipv4);
        mark_all(self.rib, self.peer, &self.ipv6);
        self.ipv4.clear();
        self.ipv6.clear();
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
