//! The registry of an exchange for a workload: what the IRR and the RPKI say about its routes, and which they reject.
//!
//! The verdicts come from a slow look-up of every covering prefix. They share no code with a daemon under test.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use rutter_net::{Asn, Prefix};
use std::collections::{HashMap, HashSet};

use crate::rng::Rng;
use crate::workload::{Route, Workload};

/// The size of a registry.
#[derive(Clone, Copy, Debug)]
pub struct RegistrySize {
    /// Members of the exchange, connected ones included.
    pub members: usize,
    /// Registered prefixes of all members together.
    pub entries: usize,
    /// Validated ROA payloads.
    pub vrps: usize,
}

/// The first registry, or the second in which about 0.5 % of the registrations are others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edition {
    /// In force from the start.
    First,
    /// In force after a refresh.
    Second,
}

/// A statement of the RPKI. The longest length is that of the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roa {
    /// The prefix that may be originated.
    pub prefix: Prefix,
    /// The AS that may originate it.
    pub asn: Asn,
}

/// A member that is configured and never connects.
#[derive(Clone, Debug)]
pub struct IdleMember {
    /// Its address.
    pub address: Ipv4Addr,
    /// Its AS.
    pub asn: Asn,
    /// The groups whose prefixes are registered for it.
    groups: Vec<u32>,
}

/// The registered data of all members.
#[derive(Clone, Debug)]
pub struct Registry {
    /// The statements of the RPKI.
    pub roas: Vec<Roa>,
    /// The members that never connect.
    pub idle: Vec<IdleMember>,
    /// The number of registered prefixes of all members.
    pub entries: usize,
    seed: u64,
}

impl Registry {
    /// Draws a registry, and notes in each route which edition rejects it.
    pub fn draw(workload: &mut Workload, size: RegistrySize, seed: u64) -> Registry {
        let rng = Rng::new(seed ^ 0x7265_6769);
        let mut roas = draw_roas(workload, size.vrps, &mut rng.fork(1));
        let invalid = settle(workload, &mut roas);
        add_longer(workload, &mut roas, size.vrps, &mut rng.fork(2));
        let mut registry = Registry {
            roas,
            idle: Vec::new(),
            entries: 0,
            seed,
        };
        for route in &mut workload.routes {
            let is_invalid = invalid[route.group as usize];
            let registered = [Edition::First, Edition::Second]
                .map(|edition| registry.is_registered(route, edition));
            route.rejected = registered.map(|is| is_invalid || !is);
            if registered[0] {
                registry.entries += workload.groups[route.group as usize].len as usize;
            }
        }
        registry.fill(workload, size, &mut rng.fork(3));
        registry
    }

    /// Gives the idle members the rest of the registrations. They overlap with those of the others.
    fn fill(&mut self, workload: &Workload, size: RegistrySize, rng: &mut Rng) {
        let count = size.members.saturating_sub(workload.peers.len());
        let left = size.entries.saturating_sub(self.entries);
        for number in 0..count {
            let wanted = left / count;
            let mut member = IdleMember {
                address: Ipv4Addr::from_bits(127 << 24 | 200 << 16 | (number as u32 + 1)),
                asn: Asn(300_000 + number as u32),
                groups: Vec::new(),
            };
            let mut entries = 0;
            let mut at = rng.below(workload.groups.len() as u64) as usize;
            while entries < wanted && member.groups.len() < workload.groups.len() {
                let group = workload.groups[at];
                member.groups.push(at as u32);
                entries += group.len as usize;
                at = (at + 1) % workload.groups.len();
            }
            self.entries += entries;
            self.idle.push(member);
        }
    }

    /// Returns whether the prefixes of a route are registered for the peer that announces it: 97 % are. A change of
    /// edition adds 0.25 %, and removes as many.
    fn is_registered(&self, route: &Route, edition: Edition) -> bool {
        let place = u64::from(route.peer) << 32 | u64::from(route.group);
        let draw = Rng::new(self.seed).fork(place).below(10_000);
        match edition {
            Edition::First => draw >= 300,
            Edition::Second => !(25..325).contains(&draw),
        }
    }

    /// The registrations of a peer.
    pub fn of_peer<'a>(
        &'a self,
        workload: &'a Workload,
        peer: usize,
        edition: Edition,
    ) -> impl Iterator<Item = (Prefix, Asn)> + 'a {
        let routes = workload.routes_of(peer).iter();
        let registered = routes.filter(move |route| self.is_registered(route, edition));
        registered.flat_map(|route| rows(workload, route.group))
    }

    /// The registrations of an idle member, the same in both editions.
    pub fn of_idle<'a>(
        &'a self,
        workload: &'a Workload,
        member: &'a IdleMember,
    ) -> impl Iterator<Item = (Prefix, Asn)> + 'a {
        let groups = member.groups.iter();
        groups.flat_map(|group| rows(workload, *group))
    }

    /// Writes the statements of the RPKI as the JSON of validators.
    pub fn write_roas(&self, path: &Path) -> io::Result<()> {
        let mut out = BufWriter::new(File::create(path)?);
        out.write_all(b"{\"roas\":[\n")?;
        for (number, roa) in self.roas.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            let (prefix, asn) = (roa.prefix, roa.asn);
            let len = prefix.len();
            writeln!(
                out,
                "{comma}{{\"asn\":\"AS{asn}\",\"prefix\":\"{prefix}\",\"maxLength\":{len},\"ta\":\"bench\"}}"
            )?;
        }
        out.write_all(b"]}\n")?;
        out.flush()
    }
}

/// The prefixes of a group with their origin.
fn rows(workload: &Workload, group: u32) -> impl Iterator<Item = (Prefix, Asn)> + '_ {
    let group = workload.groups[group as usize];
    let prefixes = workload.of_group(group).iter();
    prefixes.map(move |prefix| (*prefix, group.origin_as))
}

/// Half of the groups have ROAs of their origin, and one in fifty only those of another AS. There are fewer where the
/// destinations are many, because [`settle`] adds others.
fn draw_roas(workload: &Workload, wanted: usize, rng: &mut Rng) -> Vec<Roa> {
    let destinations = workload.destinations.len().max(1);
    let share = (25 * wanted / destinations).min(50) as u32;
    let mut roas = Vec::new();
    for group in &workload.groups {
        let asn = match rng.weighted(&[98 - share, share, 2]) {
            0 => continue,
            1 => group.origin_as,
            _ => Asn(group.origin_as.0 ^ 1),
        };
        let of_group = workload.of_group(*group).iter();
        roas.extend(of_group.map(|prefix| Roa {
            prefix: *prefix,
            asn,
        }));
    }
    roas
}

/// Finds the groups whose routes are invalid (RFC 6811). All prefixes of a group must have the same verdict, because they
/// share their routes: a group with different ones gets ROAs of its origin. That can make others invalid, so all are
/// compared again.
fn settle(workload: &Workload, roas: &mut Vec<Roa>) -> Vec<bool> {
    let mut known: HashMap<Prefix, Vec<Asn>> = HashMap::new();
    for roa in roas.iter() {
        known.entry(roa.prefix).or_default().push(roa.asn);
    }
    loop {
        let mut is_settled = true;
        let mut invalid = Vec::with_capacity(workload.groups.len());
        for group in &workload.groups {
            let prefixes = workload.of_group(*group);
            let verdicts: HashSet<bool> = prefixes
                .iter()
                .map(|prefix| is_invalid(&known, *prefix, group.origin_as))
                .collect();
            if verdicts.len() > 1 {
                is_settled = false;
                for prefix in prefixes {
                    let asn = group.origin_as;
                    known.entry(*prefix).or_default().push(asn);
                    roas.push(Roa {
                        prefix: *prefix,
                        asn,
                    });
                }
            }
            invalid.push(verdicts.contains(&true));
        }
        if is_settled {
            return invalid;
        }
    }
}

/// A route is invalid if a ROA covers its prefix and none has its length and origin.
fn is_invalid(known: &HashMap<Prefix, Vec<Asn>>, prefix: Prefix, origin: Asn) -> bool {
    let lengths = 0..=prefix.len();
    let covering = lengths.filter_map(|len| Prefix::from_addr(prefix.addr(), len));
    let mut is_covered = false;
    for at in covering {
        let Some(asns) = known.get(&at) else { continue };
        is_covered = true;
        if at == prefix && asns.contains(&origin) {
            return false;
        }
    }
    is_covered
}

/// Adds ROAs inside of destinations, which say nothing about them, until there are enough.
fn add_longer(workload: &Workload, roas: &mut Vec<Roa>, wanted: usize, rng: &mut Rng) {
    let used: HashSet<Prefix> = workload.destinations.iter().copied().collect();
    for _ in 0..wanted.saturating_mul(4) {
        if roas.len() >= wanted {
            return;
        }
        let at = rng.below(workload.destinations.len() as u64) as usize;
        let outer = workload.destinations[at];
        let longest = longest(outer);
        if outer.len() >= longest {
            continue;
        }
        let spare = u32::from(longest - outer.len());
        let inner = inside(outer, longest, rng.below(1 << spare.min(20)));
        if let Some(prefix) = inner.filter(|inner| !used.contains(inner)) {
            roas.push(Roa {
                prefix,
                asn: Asn(24_000 + rng.below(38_000) as u32),
            });
        }
    }
}

/// Longer than any destination: such a ROA covers none.
fn longest(prefix: Prefix) -> u8 {
    match prefix {
        Prefix::V4(_) => 28,
        Prefix::V6(_) => 56,
    }
}

/// The prefix with this length and number inside another.
fn inside(outer: Prefix, len: u8, number: u64) -> Option<Prefix> {
    let at: IpAddr = match outer {
        Prefix::V4(outer) => {
            let bits = outer.bits() | (number as u32) << (32 - u32::from(len));
            Ipv4Addr::from_bits(bits).into()
        }
        Prefix::V6(outer) => {
            let bits = outer.bits() | u128::from(number) << (128 - u32::from(len));
            Ipv6Addr::from_bits(bits).into()
        }
    };
    Prefix::from_addr(at, len)
}

/// Writes text to a file.
pub(crate) fn write(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    write(&mut out)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Settings, Shape};

    const SIZE: RegistrySize = RegistrySize {
        members: 12,
        entries: 30_000,
        vrps: 8_000,
    };

    fn share(routes: &[Route], is: impl Fn(&Route) -> bool) -> f64 {
        routes.iter().filter(|route| is(route)).count() as f64 / routes.len() as f64
    }

    #[test]
    fn a_registry_has_its_size_and_rejects_a_few_routes() {
        let shape = Shape::shared(8, 20_000, 8_000);
        let mut workload = Workload::generate(shape, None, Settings::default());
        let registry = Registry::draw(&mut workload, SIZE, 1);
        assert!((29_000..31_000).contains(&registry.entries));
        assert_eq!((registry.roas.len(), registry.idle.len()), (8_000, 3));
        let rejected = share(&workload.routes, |route| route.rejected[0]);
        assert!((0.03..0.12).contains(&rejected), "{rejected}");
        let changed = share(&workload.routes, |route| {
            route.rejected[0] != route.rejected[1]
        });
        assert!((0.002..0.009).contains(&changed), "{changed}");
        let peer = registry.of_peer(&workload, 0, Edition::First).count();
        assert!(peer > 0 && peer < workload.peers[0].routes);
    }

    #[test]
    fn prefixes_that_share_routes_share_their_verdict() {
        let shape = Shape::shared(4, 10_000, 6_000);
        let mut workload = Workload::generate(shape, None, Settings::default());
        let registry = Registry::draw(&mut workload, SIZE, 3);
        let covering = |prefix: Prefix| {
            let roas = registry.roas.iter();
            roas.filter(move |roa| roa.prefix.covers(prefix))
        };
        for route in workload.routes.iter().step_by(37) {
            let group = workload.groups[route.group as usize];
            for prefix in workload.of_group(group) {
                let mut all = covering(*prefix).peekable();
                let is_covered = all.peek().is_some();
                let is_valid =
                    all.any(|roa| roa.prefix.len() == prefix.len() && roa.asn == group.origin_as);
                let is_registered = registry.is_registered(route, Edition::First);
                let is_rejected = !is_registered || is_covered && !is_valid;
                assert_eq!(route.rejected[0], is_rejected, "{prefix}");
            }
        }
    }
}
