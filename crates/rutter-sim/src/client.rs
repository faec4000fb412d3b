//! A client: the routes that it announces, and the routes that it has received.

use std::collections::BTreeMap;

use rutter_net::{Asn, Family, Prefix};
use rutter_session::{Config, RemoteAs, Session};
use rutter_wire::attr::{self, code};
use rutter_wire::{nlri, update};

use crate::HeldRoutes;
use crate::endpoint::Endpoint;
use crate::world::{SERVER_AS, router_id};

/// The number of AS numbers in the path of an announced route.
pub type PathLen = u8;

/// One client of the exchange.
#[derive(Debug)]
pub struct Client {
    pub(crate) index: u16,
    pub(crate) end: Endpoint,
    /// The prefixes that it announces, with the length of their paths.
    pub announced: BTreeMap<Prefix, PathLen>,
    /// The routes that it has received.
    pub held: HeldRoutes,
    /// The number of sessions that it has had, with the present one.
    pub sessions: u64,
    /// Routes of different prefixes carry different communities, so that few of them share an UPDATE.
    pub(crate) has_communities: bool,
    /// It keeps the routes of a session that ended, as far as its session says so (RFC 4724).
    pub(crate) keeps_stale: bool,
    /// Whole UPDATEs that wait for room on the connection.
    pub(crate) queue: Vec<u8>,
    up: bool,
}

/// The AS number of a client.
pub(crate) fn asn(index: u16) -> u32 {
    1_000 + u32::from(index)
}

/// The AS path of a client's route.
pub(crate) fn path(index: u16, path_len: PathLen) -> impl Iterator<Item = u32> {
    let hops = (1..path_len).map(|hop| 3_000 + u32::from(hop));
    std::iter::once(asn(index)).chain(hops)
}

/// ORIGIN, AS_PATH and NEXT_HOP of a client's route.
pub(crate) fn mandatory_attributes(index: u16, path_len: PathLen) -> Vec<u8> {
    let mut out = Vec::new();
    attr::write_attr(&mut out, 0x40, code::ORIGIN, &[0]);
    let mut value = vec![2, path_len];
    for asn in path(index, path_len) {
        value.extend(asn.to_be_bytes());
    }
    attr::write_attr(&mut out, 0x40, code::AS_PATH, &value);
    let next_hop = [198, 51, 100, index as u8 + 1];
    attr::write_attr(&mut out, 0x40, code::NEXT_HOP, &next_hop);
    out
}

/// Four octets of which the middle ones differ between the prefixes of an exchange.
fn octets(prefix: Prefix) -> [u8; 4] {
    match prefix {
        Prefix::V4(prefix) => prefix.bits().to_be_bytes(),
        Prefix::V6(prefix) => ((prefix.bits() >> 72) as u32).to_be_bytes(),
    }
}

impl Client {
    pub(crate) fn new(index: u16, passive: bool, seed: u64) -> Self {
        let mut config = Config::new(
            Asn(asn(index)),
            RemoteAs::One(Asn(SERVER_AS)),
            router_id(index),
        );
        config.passive = passive;
        config.hold_time_s = 9;
        config.connect_retry_s = 3;
        config.idle_hold.max_ms = 8_000;
        config.send_hold_time_s = 20;
        Client {
            index,
            end: Endpoint::new(Session::new(config, seed)),
            announced: BTreeMap::new(),
            held: HeldRoutes::default(),
            sessions: 0,
            has_communities: false,
            keeps_stale: false,
            queue: Vec::new(),
            up: false,
        }
    }

    /// Returns whether its session is established.
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// Announces a prefix with a path of this length, or withdraws it.
    pub(crate) fn announce(&mut self, prefix: Prefix, path_len: Option<PathLen>) {
        match path_len {
            Some(path_len) => self.announced.insert(prefix, path_len),
            None => self.announced.remove(&prefix),
        };
        if self.up {
            let message = self.message(prefix);
            self.queue.extend(message);
        }
    }

    fn message(&self, prefix: Prefix) -> Vec<u8> {
        let path_len = self.announced.get(&prefix);
        let (mut attributes, mut own, mut withdrawn) = (Vec::new(), Vec::new(), Vec::new());
        match (prefix, path_len) {
            (Prefix::V4(prefix), Some(path_len)) => {
                self.write_attributes(&mut attributes, prefix.into(), *path_len);
                nlri::write_ipv4(&mut own, None, prefix);
            }
            (Prefix::V4(prefix), None) => nlri::write_ipv4(&mut withdrawn, None, prefix),
            (Prefix::V6(prefix), Some(path_len)) => {
                let mut value = vec![0, 2, 1, 16, 0x20, 1, 0xd, 0xb8];
                value.extend([0; 11]);
                value.extend([self.index as u8 + 1, 0]);
                nlri::write_ipv6(&mut value, None, prefix);
                attr::write_attr(&mut attributes, 0x80, code::MP_REACH_NLRI, &value);
                self.write_attributes(&mut attributes, prefix.into(), *path_len);
            }
            (Prefix::V6(prefix), None) => {
                let mut value = vec![0, 2, 1];
                nlri::write_ipv6(&mut value, None, prefix);
                attr::write_attr(&mut attributes, 0x80, code::MP_UNREACH_NLRI, &value);
            }
        }
        let mut out = Vec::new();
        let sections = update::Sections {
            withdrawn: &withdrawn,
            attributes: &attributes,
            nlri: &own,
        };
        update::write(&mut out, &sections);
        out
    }

    /// Writes the attributes of its route for a prefix, without MP_REACH_NLRI.
    fn write_attributes(&self, out: &mut Vec<u8>, prefix: Prefix, path_len: PathLen) {
        out.extend(mandatory_attributes(self.index, path_len));
        if self.has_communities {
            let [_, high, low, _] = octets(prefix);
            attr::write_attr(out, 0xc0, code::COMMUNITIES, &[0x75, 0x30, high, low]);
        }
    }

    /// Handles an output of its session that concerns routes.
    pub(crate) fn handle_output(&mut self, output: rutter_session::Output) {
        use rutter_session::Output;
        match output {
            Output::Established { .. } => {
                self.up = true;
                self.sessions += 1;
                self.queue.clear();
                if !self.keeps_stale {
                    self.held.clear();
                }
                self.announce_all();
                for family in Family::ALL {
                    update::write_end_of_rib(&mut self.queue, family.afi_safi());
                }
            }
            Output::Down { keep, .. } => {
                self.up = false;
                self.queue.clear();
                for family in Family::ALL {
                    self.held.mark_stale(family);
                    if !(self.keeps_stale && keep[family]) {
                        self.held.sweep(family);
                    }
                }
            }
            Output::SweepStale(family) => self.held.sweep(family),
            Output::RefreshRequested(_) => self.announce_all(),
            _ => {}
        }
    }

    fn announce_all(&mut self) {
        let prefixes: Vec<Prefix> = self.announced.keys().copied().collect();
        for prefix in prefixes {
            let message = self.message(prefix);
            self.queue.extend(message);
        }
    }
}
