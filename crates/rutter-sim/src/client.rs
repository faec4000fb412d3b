//! A client: the routes that it announces, and the routes that it has received.

use std::collections::BTreeMap;

use rutter_net::{Asn, Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_session::{Config, RemoteAs, Session};
use rutter_wire::attr::{self, AttrContext, code};
use rutter_wire::{nlri, update};

use crate::endpoint::{Endpoint, UpdateOutcome};
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
    /// The routes that it has received: the sender (the first AS of the path) and the length of the path.
    pub held: BTreeMap<Prefix, (u32, u8)>,
    /// Whole UPDATEs that wait for room on the connection.
    pub(crate) queue: Vec<u8>,
    up: bool,
}

/// The AS number of a client.
pub(crate) fn asn(index: u16) -> u32 {
    1_000 + u32::from(index)
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
            held: BTreeMap::new(),
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
                self.write_attributes(&mut attributes, *path_len);
                nlri::write_ipv4(&mut own, None, prefix);
            }
            (Prefix::V4(prefix), None) => nlri::write_ipv4(&mut withdrawn, None, prefix),
            (Prefix::V6(prefix), Some(path_len)) => {
                let mut value = vec![0, 2, 1, 16, 0x20, 1, 0xd, 0xb8];
                value.extend([0; 11]);
                value.extend([self.index as u8 + 1, 0]);
                nlri::write_ipv6(&mut value, None, prefix);
                attr::write_attr(&mut attributes, 0x80, code::MP_REACH_NLRI, &value);
                self.write_attributes(&mut attributes, *path_len);
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

    fn write_attributes(&self, out: &mut Vec<u8>, path_len: PathLen) {
        attr::write_attr(out, 0x40, code::ORIGIN, &[0]);
        let mut path = vec![2, path_len];
        path.extend(asn(self.index).to_be_bytes());
        for hop in 1..path_len {
            path.extend((3_000 + u32::from(hop)).to_be_bytes());
        }
        attr::write_attr(out, 0x40, code::AS_PATH, &path);
        let next_hop = [198, 51, 100, self.index as u8 + 1];
        attr::write_attr(out, 0x40, code::NEXT_HOP, &next_hop);
    }

    /// Handles an output of its session that concerns routes.
    pub(crate) fn handle_output(&mut self, output: rutter_session::Output) {
        use rutter_session::Output;
        match output {
            Output::Established { .. } => {
                self.up = true;
                self.queue.clear();
                self.held.clear();
                self.announce_all();
                for family in Family::ALL {
                    update::write_end_of_rib(&mut self.queue, family.afi_safi());
                }
            }
            Output::Down { .. } => {
                self.up = false;
                self.queue.clear();
                self.held.clear();
            }
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

    /// Applies an UPDATE body from the server, which must be well formed.
    pub(crate) fn apply(held: &mut BTreeMap<Prefix, (u32, u8)>, body: &[u8]) -> UpdateOutcome {
        if let Some(family) = update::is_end_of_rib(body) {
            return UpdateOutcome {
                end_of_rib: family.family(),
                reset: None,
            };
        }
        let sections = update::split(body).expect("the server's UPDATE");
        let context = AttrContext {
            as4: true,
            external: true,
            accept_as_set: true,
            has_ipv4_nlri: !sections.nlri.is_empty(),
        };
        let mut faults = Vec::new();
        let attributes = attr::parse(sections.attributes, &context, &mut faults);
        assert!(faults.is_empty(), "the server sent {faults:?}");
        let (mut gone, mut new): (Vec<Prefix>, Vec<Prefix>) = (Vec::new(), Vec::new());
        gone.extend(ipv4(sections.withdrawn));
        new.extend(ipv4(sections.nlri));
        gone.extend(
            attributes
                .mp_unreach()
                .into_iter()
                .flat_map(|u| ipv6(u.withdrawn)),
        );
        new.extend(attributes.mp_reach().into_iter().flat_map(|r| ipv6(r.nlri)));
        for prefix in gone {
            held.remove(&prefix);
        }
        let path: Vec<u32> = attributes
            .as_path()
            .map(|path| path.asns().map(|asn| asn.0).collect())
            .unwrap_or_default();
        for prefix in new {
            held.insert(prefix, (path[0], path.len() as u8));
        }
        UpdateOutcome::default()
    }
}

fn ipv4(bytes: &[u8]) -> Vec<Prefix> {
    let mut out: Vec<(u32, Ipv4Prefix)> = Vec::new();
    nlri::parse_ipv4(bytes, false, &mut out).expect("the server's NLRI");
    out.into_iter().map(|(_, prefix)| prefix.into()).collect()
}

fn ipv6(bytes: &[u8]) -> Vec<Prefix> {
    let mut out: Vec<(u32, Ipv6Prefix)> = Vec::new();
    nlri::parse_ipv6(bytes, false, &mut out).expect("the server's NLRI");
    out.into_iter().map(|(_, prefix)| prefix.into()).collect()
}
