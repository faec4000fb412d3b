//! The attacks: what a hostile or broken member sends.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Scope};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use rutter_net::Asn;
use serde::Serialize;

use super::session::{Offer, Session, message, open};
use crate::speaker::message::kind;
use crate::workload::attributes::write_attributes;
use crate::workload::{Attributes, Family, Origin, Peer, ROUTE_SERVER_ASN};

/// An attack of one member or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Attack {
    /// Enhanced route refresh in a loop: BoRR, one route, EoRR (RFC 7313)
    RefreshSweep,
    /// ROUTE-REFRESH requests in a loop, by a member that reads nothing
    RefreshUnread,
    /// Attribute sets that collide under a hash with public secrets
    CollidingAttributes,
    /// 300,000 paths of one prefix, then the session closes (RFC 7911)
    ManyPaths,
    /// 200 paths of one prefix that change all the time (RFC 7911)
    FlappingPaths,
    /// One member reads slowly, alone in its group, while another changes its routes all the time
    SlowReader,
    /// One member reads steadily, as far behind as it may without being slow, while another changes its routes all the time
    SteadyReader,
    /// One member announces new prefixes and withdraws them, while another reads nothing
    UnreadWithdrawals,
    /// Messages that are logged: ROUTE-REFRESH of a family that was not agreed
    LogLines,
    /// Sessions that are established and closed in a loop
    SessionFlaps,
    /// A thousand routes that change as fast as the member can write
    Churn,
    /// A new attribute set of 3,800 bytes for each route
    LargeAttributes,
    /// UPDATEs without routes in a loop
    EmptyUpdates,
    /// Routes that come and go because every other UPDATE is malformed (RFC 7606)
    MalformedUpdates,
    /// Each route has other action communities, so that it goes to other members than all others
    ManyAudiences,
    /// Small UPDATEs, each with another two action communities
    SmallAudiences,
    /// New path identifiers of a hundred prefixes all the time (RFC 7911)
    PathChurn,
    /// A change of one path in each of a thousand prefixes, over and over; each prefix has 256 paths in the end (RFC 7911)
    CrowdedPrefixes,
    /// One path without MED flaps in each of two thousand prefixes, beside 14 paths with MED that go to different members
    /// (RFC 7911)
    MedFlaps,
    /// One member fills the log with routes for a single client that reads nothing for a second; four clients take turns
    PausingReaders,
    /// Connections in a loop, each with an OPEN full of capabilities and a NOTIFICATION of 4 KB
    Handshakes,
}

impl Attack {
    /// All attacks.
    pub const ALL: [Attack; 21] = [
        Attack::RefreshSweep,
        Attack::RefreshUnread,
        Attack::CollidingAttributes,
        Attack::ManyPaths,
        Attack::FlappingPaths,
        Attack::SlowReader,
        Attack::SteadyReader,
        Attack::UnreadWithdrawals,
        Attack::LogLines,
        Attack::SessionFlaps,
        Attack::Churn,
        Attack::LargeAttributes,
        Attack::EmptyUpdates,
        Attack::MalformedUpdates,
        Attack::ManyAudiences,
        Attack::SmallAudiences,
        Attack::PathChurn,
        Attack::CrowdedPrefixes,
        Attack::MedFlaps,
        Attack::PausingReaders,
        Attack::Handshakes,
    ];

    /// The daemon must accept several paths per prefix from its members, and send them.
    pub(super) fn needs_add_path(self) -> bool {
        matches!(
            self,
            Attack::ManyPaths
                | Attack::FlappingPaths
                | Attack::PathChurn
                | Attack::CrowdedPrefixes
                | Attack::MedFlaps
        )
    }

    /// The daemon closes sessions in the course of the attack.
    fn reconnects(self) -> bool {
        matches!(self, Attack::SessionFlaps | Attack::Handshakes)
    }

    /// The members that the attack needs, where `wanted` were asked for.
    pub(super) fn members(self, wanted: usize) -> usize {
        wanted + self.readers()
    }

    /// Members beside the first that only read, slowly or not at all.
    fn readers(self) -> usize {
        match self {
            Attack::SlowReader | Attack::SteadyReader | Attack::UnreadWithdrawals => 1,
            Attack::PausingReaders => MAX_READERS,
            _ => 0,
        }
    }

    /// All attackers but the first only read.
    fn has_reader(self) -> bool {
        self.readers() > 0
    }

    fn offer(self) -> Offer {
        let capabilities = match self {
            Attack::RefreshSweep | Attack::RefreshUnread => ENHANCED_REFRESH.to_vec(),
            attack if attack.needs_add_path() => ADD_PATH_BOTH.to_vec(),
            Attack::Handshakes => UNKNOWN_CAPABILITY.repeat(MANY_CAPABILITIES),
            // Another size of messages makes another group of clients.
            Attack::SlowReader | Attack::SteadyReader => EXTENDED_MESSAGE.to_vec(),
            _ => Vec::new(),
        };
        let is_slow = self == Attack::RefreshUnread || self.has_reader();
        let receive_buffer = is_slow.then_some(SMALL_BUFFER);
        Offer {
            capabilities,
            receive_buffer,
            ..Offer::default()
        }
    }
}

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// A member that attacks.
#[derive(Debug)]
pub(super) struct Attacker<'a> {
    session: Session,
    target: SocketAddr,
    peer: &'a Peer,
    attack: Attack,
    /// The AS of each member.
    members: &'a [Asn],
    /// The AS of each attacker.
    attackers: &'a [Asn],
    /// Its number among the attackers.
    number: usize,
}

impl<'a> Attacker<'a> {
    /// Connects, announces the member's routes and starts the thread that reads, as far as the attack reads.
    ///
    /// `sessions` receives a handle of each session, so that the caller can close it.
    pub(super) fn prepare<'scope>(
        target: SocketAddr,
        (number, peer): (usize, &'a Peer),
        (attack, members, attackers): (Attack, &'a [Asn], &'a [Asn]),
        (stop, sessions, sent): (&'scope AtomicBool, &super::Sessions, &'scope AtomicU64),
        threads: &'scope Scope<'scope, '_>,
    ) -> io::Result<Attacker<'a>> {
        let is_slow = attack.has_reader() && number > 0;
        let offer = match attack.has_reader() && !is_slow {
            true => Offer::default(),
            false => attack.offer(),
        };
        let mut session = Session::establish(target, peer, &offer)?;
        // The workload's routes have no path identifiers.
        if !attack.needs_add_path() {
            session.send(&peer.stream)?;
        }
        sessions.add(session.try_clone()?);
        let mut reader = session.try_clone()?;
        threads.spawn(move || {
            let mut received = 0;
            while !stop.load(Ordering::Acquire) {
                let sent = sent.load(Ordering::Relaxed);
                let read = match attack {
                    Attack::RefreshUnread => return,
                    // It is sent the table before.
                    Attack::UnreadWithdrawals if is_slow && sent > 0 => return,
                    Attack::SteadyReader if is_slow && sent > 0 && received + STEADY_LAG > sent => {
                        thread::sleep(Duration::from_millis(1));
                        continue;
                    }
                    Attack::PausingReaders if is_slow && sent > 0 && pausing_reader() == number => {
                        thread::sleep(Duration::from_millis(5));
                        continue;
                    }
                    Attack::SlowReader if is_slow => {
                        thread::sleep(Duration::from_millis(20));
                        reader.discard(SLOW_BYTES)
                    }
                    _ => reader.discard(1 << 16),
                };
                match read {
                    Ok(bytes) if bytes > 0 && sent > 0 => received += bytes as u64,
                    Ok(bytes) if bytes > 0 => {}
                    _ => return,
                }
            }
        });
        Ok(Attacker {
            session,
            target,
            peer,
            attack,
            members,
            attackers,
            number,
        })
    }

    /// Attacks until `stop` is set. Counts the bytes that were sent.
    ///
    /// Returns the error when the daemon closes the session before.
    pub(super) fn run(
        mut self,
        stop: &AtomicBool,
        sessions: &super::Sessions,
        sent: &AtomicU64,
    ) -> Option<io::Error> {
        for round in 0.. {
            if stop.load(Ordering::Acquire) {
                break;
            }
            let burst = self.burst(round);
            if burst.is_empty() {
                thread::sleep(Duration::from_millis(100));
                continue;
            }
            let result = match self.attack {
                Attack::SessionFlaps => self.flap(&burst, sessions),
                Attack::Handshakes => self.handshake(&burst),
                _ => self.session.send(&burst),
            };
            match result {
                Ok(()) => {
                    sent.fetch_add(burst.len() as u64, Ordering::Relaxed);
                }
                Err(_) if self.attack.reconnects() || stop.load(Ordering::Acquire) => {}
                Err(error) => return Some(error),
            }
        }
        None
    }

    /// Establishes another session, announces one route and closes the session.
    fn flap(&mut self, route: &[u8], sessions: &super::Sessions) -> io::Result<()> {
        self.session.close();
        sessions.forget();
        let established = Session::establish(self.target, self.peer, &self.attack.offer());
        self.session = match established {
            Ok(session) => session,
            Err(error) => {
                thread::sleep(Duration::from_millis(5));
                return Err(error);
            }
        };
        sessions.add(self.session.try_clone()?);
        self.session.send(route)
    }

    /// Opens another connection and sends these messages. It is closed when the next one is open.
    fn handshake(&mut self, messages: &[u8]) -> io::Result<()> {
        let connected = Session::connect(self.target, self.peer, &self.attack.offer());
        self.session.close();
        match connected {
            Ok(session) => self.session = session,
            Err(error) => {
                thread::sleep(Duration::from_millis(5));
                return Err(error);
            }
        }
        self.session.send(messages)
    }

    /// The next bytes to send; none to wait.
    fn burst(&mut self, round: u32) -> Vec<u8> {
        let mut out = Vec::new();
        match self.attack {
            Attack::RefreshSweep => {
                for at in 0..16 {
                    out.extend(refresh(IPV4_UNICAST, BEGIN));
                    out.extend(self.update(
                        &self.set(round * 16 + at),
                        &[],
                        &prefix(self.number as u32),
                    ));
                    out.extend(refresh(IPV4_UNICAST, END));
                }
            }
            Attack::RefreshUnread => {
                (0..64).for_each(|_| out.extend(refresh(IPV4_UNICAST, REQUEST)));
            }
            Attack::CollidingAttributes => {
                for at in round * 32..(round + 1) * 32 {
                    let attribute = self.colliding_attribute(at);
                    out.extend(self.update(&self.set(0), &attribute, &prefix(at)));
                }
            }
            Attack::ManyPaths => match round {
                0..MANY_PATHS_ROUNDS => {
                    let paths = (0..500).flat_map(|at| path(round * 500 + at, 7));
                    out.extend(self.update(&self.set(round), &[], &paths.collect::<Vec<u8>>()));
                }
                CLOSE_ROUND => self.session.close(),
                _ => {}
            },
            Attack::FlappingPaths => {
                for at in 0..200 {
                    out.extend(self.update(&self.set(round * 200 + at), &[], &path(at, 7)));
                }
            }
            attack if attack.has_reader() && self.number > 0 => {}
            Attack::UnreadWithdrawals => {
                for at in round * 8..(round + 1) * 8 {
                    let prefixes = (0..500).flat_map(|index| prefix(at.wrapping_mul(500) + index));
                    let prefixes: Vec<u8> = prefixes.collect();
                    out.extend(self.update(&self.set(0), &[], &prefixes));
                    out.extend(withdrawal(&prefixes));
                }
            }
            Attack::SlowReader | Attack::SteadyReader | Attack::Churn => {
                for at in 0..10 {
                    let prefixes = (0..100).flat_map(|index| prefix(at * 100 + index));
                    out.extend(self.update(&self.set(round), &[], &prefixes.collect::<Vec<u8>>()));
                }
            }
            Attack::LogLines => {
                (0..64).for_each(|_| out.extend(refresh(L2VPN_EVPN, REQUEST)));
            }
            Attack::SessionFlaps => out.extend(self.update(&self.set(round), &[], &prefix(0))),
            Attack::LargeAttributes => {
                let attribute = large_attribute(round, LARGE_ATTRIBUTES);
                out.extend(self.update(&self.set(0), &attribute, &prefix(round)));
            }
            Attack::EmptyUpdates => {
                (0..256).for_each(|_| out.extend(message(kind::UPDATE, &[0; 4])));
            }
            Attack::MalformedUpdates => {
                for at in 0..32 {
                    let set = self.set(round);
                    out.extend(self.update(&set, &[], &prefix(at)));
                    out.extend(self.update(&set, &MALFORMED_COMMUNITIES, &prefix(at)));
                }
            }
            Attack::ManyAudiences => {
                for at in round * 16..(round + 1) * 16 {
                    let actions = self.actions(at);
                    out.extend(self.update(&self.set(0), &actions, &prefix(at % 1_000)));
                }
            }
            Attack::SmallAudiences => {
                for at in round * 32..(round + 1) * 32 {
                    let to = [300_000 + at % 1_000, 400_000 + at / 1_000];
                    let actions = not_to(to.into_iter());
                    out.extend(self.update(&self.set(0), &actions, &prefix(at % 200_000)));
                }
            }
            Attack::PathChurn => {
                // Each prefix has 200 paths at a time.
                let new = (0..100).flat_map(|at| path(round, at));
                out.extend(self.update(&self.set(round), &[], &new.collect::<Vec<u8>>()));
                let old = (0..100).flat_map(|at| path(round.wrapping_sub(200), at));
                out.extend(withdrawal(&old.collect::<Vec<u8>>()));
            }
            Attack::CrowdedPrefixes => {
                for at in [0, 500] {
                    let paths = (at..at + 500).flat_map(|at| path(round % 256, at));
                    out.extend(self.update(&self.set(round), &[], &paths.collect::<Vec<u8>>()));
                }
            }
            Attack::MedFlaps => {
                let is_prepared = round >= PATHS_WITH_MED;
                let set = Attributes {
                    med: (!is_prepared).then_some(round),
                    as_path: vec![self.peer.asn, Asn(24_000 + round % 8)],
                    ..self.set(round)
                };
                let (identifier, actions) = match is_prepared {
                    true => (PATHS_WITH_MED, Vec::new()),
                    false => (round, not_to(self.chosen_members(round))),
                };
                for first in (0..2_000).step_by(400) {
                    let paths = (first..first + 400).flat_map(|at| path(identifier, at));
                    out.extend(self.update(&set, &actions, &paths.collect::<Vec<u8>>()));
                }
            }
            Attack::PausingReaders => {
                for at in round * 16..(round + 1) * 16 {
                    let mut attributes = not_to(self.all_but_the_pausing_reader());
                    let room = LARGE_ATTRIBUTES.saturating_sub(attributes.len() as u16);
                    attributes.extend(large_attribute(at, room.max(4)));
                    out.extend(self.update(&self.set(0), &attributes, &prefix(at % 400)));
                }
            }
            Attack::Handshakes => {
                out.extend(open(self.peer, &self.attack.offer()));
                let mut body = vec![6, 2];
                body.resize(4_096 - 19, b'a');
                // Every other OPEN is not complete.
                match round % 2 {
                    0 => out.extend(message(kind::NOTIFICATION, &body)),
                    _ => out.truncate(40),
                }
            }
        }
        out
    }

    /// The attributes of a route, which differ from round to round.
    fn set(&self, round: u32) -> Attributes {
        Attributes {
            origin: Origin::Igp,
            as_path: vec![self.peer.asn, Asn(24_000)],
            med: Some(round),
            communities: Vec::new(),
            large_communities: Vec::new(),
        }
    }

    /// An UPDATE with an additional encoded attribute.
    fn update(&self, set: &Attributes, attribute: &[u8], nlri: &[u8]) -> Vec<u8> {
        let mut attributes = Vec::new();
        write_attributes(&mut attributes, set, &self.peer.next_hops, Family::V4, nlri);
        attributes.extend_from_slice(attribute);
        let mut body = vec![0, 0];
        body.extend_from_slice(&(attributes.len() as u16).to_be_bytes());
        body.extend_from_slice(&attributes);
        body.extend_from_slice(nlri);
        message(kind::UPDATE, &body)
    }

    /// Large communities by which the route does not go to some members, and to some ASes that nobody has. A set of members
    /// comes again after as many rounds as there are sets.
    fn actions(&self, number: u32) -> Vec<u8> {
        let nobody = (0..MANY_COMMUNITIES).map(|at| 300_000 + number % 1_000 + at);
        not_to(self.chosen_members(number).chain(nobody))
    }

    /// About half of the members: others for each number.
    fn chosen_members(&self, number: u32) -> impl Iterator<Item = u32> {
        let is_chosen = move |at: &u32| number.wrapping_mul(0x9e37_79b9) >> (at % 32) & 1 == 1;
        let members = (0..).zip(self.members);
        members
            .filter(move |(at, _)| is_chosen(at))
            .map(|(_, asn)| asn.0)
    }

    fn all_but_the_pausing_reader(&self) -> impl Iterator<Item = u32> {
        let pausing = self.attackers.get(pausing_reader()).copied();
        let others = self.members.iter().copied();
        others
            .filter(move |asn| Some(*asn) != pausing)
            .map(|asn| asn.0)
    }

    /// An unknown transitive attribute. The attributes before it have 31 bytes: its bytes 48 to 55 of the block are a
    /// secret of rapidhash, which cancels the state, and the next eight count.
    fn colliding_attribute(&self, number: u32) -> Vec<u8> {
        let mut known = Vec::new();
        write_attributes(
            &mut known,
            &self.set(0),
            &self.peer.next_hops,
            Family::V4,
            &[],
        );
        let mut attribute = vec![0xc0, UNKNOWN, 40];
        let padding = 48 - known.len() - attribute.len();
        attribute.resize(attribute.len() + padding, 0);
        attribute.extend_from_slice(&RAPIDHASH_SECRET.to_le_bytes());
        attribute.extend_from_slice(&u64::from(number).to_be_bytes());
        attribute.resize(3 + 40, 0);
        attribute
    }
}

/// The number of the attacker that reads nothing in this second.
fn pausing_reader() -> usize {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    1 + now.unwrap_or_default().as_secs() as usize % MAX_READERS
}

/// An unknown transitive attribute of so many bytes, another one for each number.
fn large_attribute(number: u32, bytes: u16) -> Vec<u8> {
    let mut attribute = vec![0xd0, UNKNOWN];
    attribute.extend_from_slice(&bytes.to_be_bytes());
    attribute.extend_from_slice(&number.to_be_bytes());
    attribute.resize(4 + usize::from(bytes), 0);
    attribute
}

/// Large communities by which a route does not go to these ASes.
fn not_to(asns: impl Iterator<Item = u32>) -> Vec<u8> {
    let mut value = Vec::new();
    for to in asns {
        for part in [ROUTE_SERVER_ASN.0, 0, to] {
            value.extend_from_slice(&part.to_be_bytes());
        }
    }
    let mut attribute = vec![0xd0, LARGE_COMMUNITIES];
    attribute.extend_from_slice(&(value.len() as u16).to_be_bytes());
    attribute.extend_from_slice(&value);
    attribute
}

/// An UPDATE that withdraws these NLRI.
fn withdrawal(nlri: &[u8]) -> Vec<u8> {
    let mut body = (nlri.len() as u16).to_be_bytes().to_vec();
    body.extend_from_slice(nlri);
    body.extend_from_slice(&[0, 0]);
    message(kind::UPDATE, &body)
}

/// The encoded prefix with this number: a /24 from 32.0.0.0 on.
fn prefix(number: u32) -> [u8; 4] {
    let [_, a, b, c] = (0x20_0000 + number % 0x20_0000).to_be_bytes();
    [24, a, b, c]
}

/// A prefix with its path identifier.
fn path(identifier: u32, number: u32) -> Vec<u8> {
    let mut out = identifier.to_be_bytes().to_vec();
    out.extend_from_slice(&prefix(number));
    out
}

/// A ROUTE-REFRESH (RFC 2918, RFC 7313).
fn refresh([high, low, safi]: [u8; 3], subtype: u8) -> Vec<u8> {
    message(5, &[high, low, subtype, safi])
}

/// AFI and SAFI.
const IPV4_UNICAST: [u8; 3] = [0, 1, 1];
const L2VPN_EVPN: [u8; 3] = [0, 25, 70];
/// Subtypes of ROUTE-REFRESH.
const REQUEST: u8 = 0;
const BEGIN: u8 = 1;
const END: u8 = 2;
/// Capabilities.
const ENHANCED_REFRESH: [u8; 2] = [70, 0];
const EXTENDED_MESSAGE: [u8; 2] = [6, 0];
const ADD_PATH_BOTH: [u8; 6] = [69, 4, 0, 1, 1, 3];
const UNKNOWN_CAPABILITY: [u8; 2] = [200, 0];
const MANY_CAPABILITIES: usize = 110;
/// COMMUNITIES of three bytes: treat-as-withdraw.
const MALFORMED_COMMUNITIES: [u8; 6] = [0xc0, 8, 3, 0, 0, 0];
const LARGE_COMMUNITIES: u8 = 32;
/// Action communities of a route towards ASes that nobody has.
const MANY_COMMUNITIES: u32 = 250;
/// An attribute type that nobody uses.
const UNKNOWN: u8 = 200;
const RAPIDHASH_SECRET: u64 = 0x2d35_8dcc_aa6c_78a5;
const SMALL_BUFFER: usize = 4_096;
/// Bytes of each read of a slow reader: 185 kB/s.
const SLOW_BYTES: usize = 3_700;
/// The bytes by which a steady reader lags behind what the other member sends. Beyond 8 MB in its own memory Rutter calls a
/// client slow; the kernel holds some, too.
const STEADY_LAG: u64 = 9 << 20;
/// Octets of attributes that fit into a message beside the usual ones.
const LARGE_ATTRIBUTES: u16 = 3_800;
/// The largest number of members that an attack needs beside the attackers.
pub(super) const MAX_READERS: usize = 4;
/// Paths of each prefix beside the one that flaps, in [`Attack::MedFlaps`].
const PATHS_WITH_MED: u32 = 14;
const MANY_PATHS_ROUNDS: u32 = 600;
/// Two seconds after the last path.
const CLOSE_ROUND: u32 = MANY_PATHS_ROUNDS + 20;
