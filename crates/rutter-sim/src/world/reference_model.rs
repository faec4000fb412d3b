//! The routes that each client should hold, computed without Rutter.

use std::collections::BTreeMap;

use rutter_net::Prefix;

use super::{World, router_id};
use crate::client::{Client, asn};

impl World {
    /// The clients whose routes differ from the reference model, with the prefixes that differ.
    pub(crate) fn differences(&self) -> Vec<(u16, Vec<Prefix>)> {
        let differing = |client: &Client| {
            let expected = self.expected(client.index);
            let held = |p: &Prefix| {
                client
                    .held
                    .get(p)
                    .map(|held| (held.path[0], held.path.len()))
            };
            let differs = |p: &&Prefix| held(p) != expected.get(p).copied();
            let wrong: Vec<Prefix> = self.prefixes.iter().filter(differs).copied().collect();
            let foreign = client
                .held
                .prefixes()
                .filter(|p| !self.prefixes.contains(p));
            (
                client.index,
                wrong.into_iter().chain(foreign.copied()).collect(),
            )
        };
        let all = self.clients.iter().map(differing);
        all.filter(|(_, wrong): &(u16, Vec<Prefix>)| !wrong.is_empty())
            .collect()
    }

    /// The reference model of RFC 7947: the shortest accepted path of another client, then the lowest identifier.
    fn expected(&self, index: u16) -> BTreeMap<Prefix, (u32, usize)> {
        let mut best: BTreeMap<Prefix, (u8, u32, u32)> = BTreeMap::new();
        if !self.configuration[usize::from(index)].export {
            return BTreeMap::new();
        }
        for client in self.clients.iter().filter(|client| client.index != index) {
            let black_list = &self.configuration[usize::from(client.index)].black_list;
            let announced = client.announced.iter();
            for (prefix, path_len) in announced.filter(|(prefix, _)| !black_list.contains(prefix)) {
                let rank = (*path_len, router_id(client.index), asn(client.index));
                let held = best.entry(*prefix).or_insert(rank);
                *held = (*held).min(rank);
            }
        }
        best.into_iter()
            .map(|(prefix, (len, _, asn))| (prefix, (asn, usize::from(len))))
            .collect()
    }
}
