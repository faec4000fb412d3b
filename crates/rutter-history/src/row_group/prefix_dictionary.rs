//! The prefixes of a row group, each once and sorted. Neighbours in the dictionary share most of their text,
//! which compresses well.

use std::collections::HashMap;

use rutter_net::{Ipv4Prefix, Ipv6Prefix, Prefix};

use super::MISSING;
use super::rle_hybrid::{self, Run};
use crate::fast_format::push_prefix;

/// The prefixes added so far, and the number of each row's prefix.
#[derive(Default)]
pub(super) struct PrefixDictionary {
    v4: HashMap<Ipv4Prefix, u32>,
    v6: HashMap<Ipv6Prefix, u32>,
    rows: Vec<u32>,
    /// The prefix of the row before. In a snapshot, the routes of a prefix are consecutive.
    last: Option<Prefix>,
}

/// The dictionary, and the keys of the rows.
pub(super) struct SortedPrefixes {
    /// The strings, each with its length in front.
    pub bytes: Vec<u8>,
    /// The number of prefixes.
    pub len: usize,
    /// The key of each row.
    pub rows: Vec<u32>,
}

impl PrefixDictionary {
    /// Adds a row.
    pub fn push(&mut self, prefix: Option<Prefix>) {
        if let (Some(last), true) = (self.rows.last(), prefix.is_some() && prefix == self.last) {
            self.rows.push(*last);
            return;
        }
        self.last = prefix;
        let met = match prefix {
            None => MISSING,
            Some(Prefix::V4(prefix)) => {
                let next = self.v4.len() as u32;
                *self.v4.entry(prefix).or_insert(next)
            }
            Some(Prefix::V6(prefix)) => {
                let next = self.v6.len() as u32;
                IS_V6 | *self.v6.entry(prefix).or_insert(next)
            }
        };
        self.rows.push(met);
    }

    /// Sorts the prefixes.
    pub fn finish(&mut self) -> SortedPrefixes {
        let mut bytes = Vec::with_capacity(20 * (self.v4.len() + self.v6.len()));
        let v4 = order(&mut self.v4, Prefix::V4, &mut bytes);
        let v6 = order(&mut self.v6, Prefix::V6, &mut bytes);
        let mut rows = std::mem::take(&mut self.rows);
        for row in &mut rows {
            *row = match *row {
                MISSING => MISSING,
                met if met & IS_V6 != 0 => v4.len() as u32 + v6[(met ^ IS_V6) as usize],
                met => v4[met as usize],
            };
        }
        let len = v4.len() + v6.len();
        SortedPrefixes { bytes, len, rows }
    }
}

/// Appends the prefixes as sorted strings. Returns the rank of each prefix by its number.
fn order<P: Copy + Ord>(
    met: &mut HashMap<P, u32>,
    prefix: impl Fn(P) -> Prefix,
    bytes: &mut Vec<u8>,
) -> Vec<u32> {
    let mut all: Vec<(P, u32)> = met.drain().collect();
    all.sort_unstable_by_key(|(prefix, _)| *prefix);
    let mut places = vec![0; all.len()];
    for (place, (of, number)) in all.into_iter().enumerate() {
        places[number as usize] = place as u32;
        let at = bytes.len();
        bytes.extend([0; 4]);
        push_prefix(bytes, prefix(of));
        let length = (bytes.len() - at - 4) as u32;
        bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }
    places
}

impl SortedPrefixes {
    /// The rows of a page as runs.
    pub fn runs(rows: &[u32], runs: &mut Vec<Run>) {
        runs.clear();
        rows.iter().for_each(|row| rle_hybrid::push(runs, *row, 1));
    }
}

/// Marks the numbers of IPv6 prefixes; larger than any number of rows in a group.
const IS_V6: u32 = 1 << 30;
