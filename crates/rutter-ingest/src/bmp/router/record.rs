//! A router as a record: its sessions, the peers of the table for their views, and its counters.

use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddr;

use rutter_net::{AfiSafi, Asn, PerFamily};
use rutter_rib::{PeerId, Source};
use rutter_wire::bmp::{PeerType, Statistic};
use rutter_wire::handover::{self, BadRecord, Reader};

use super::{MAX_COUNTERS, MAX_WARNINGS, Router};
use crate::bmp::monitored::{Key, Oddities, Session, ViewPeer};
use crate::bmp::other_families::{self, FamilyCount};
use crate::bmp::peer_shares::PeerShares;
use crate::bmp::reading::Reading;
use crate::bmp::status::{Counter, RouterStatus};
use crate::writer::Writer;

type Sessions = BTreeMap<Key, (Session, Vec<Counter>)>;

impl Router {
    /// Appends the router. All of its routes must be in the table: see [`Router::commit`].
    pub fn write_state(&self, out: &mut handover::Writer) {
        out.address(self.address.ip());
        out.number(self.address.port());
        out.string(&self.name);
        out.string(&self.status.description);
        for flag in [self.introduced, self.named, self.was_full] {
            out.bool(flag);
        }
        out.number(self.lines);
        out.number(self.status.since_us);
        let counts = [
            self.status.messages,
            self.status.faults,
            self.status.unknown,
            self.status.malformed,
            self.status.without_next_hop,
            self.status.without_peer_up,
            self.status.mirrored,
        ];
        counts.into_iter().for_each(|count| out.number(count));
        out.count(self.status.other_families.len());
        for count in &self.status.other_families {
            write_family(count.afi_safi, out);
            out.number(count.updates);
        }
        out.count(self.unknown.len());
        self.unknown.iter().for_each(|key| key.write(out));
        out.count(self.sessions.len());
        for (key, (session, counters)) in &self.sessions {
            key.write(out);
            write_session(session, out);
            out.count(counters.len());
            counters.iter().for_each(|one| write_counter(one, out));
        }
    }

    /// Reads a router. Its peers must be in the table of `writer`.
    pub fn from_state(
        writer: Writer,
        most_views: usize,
        shares: &PeerShares,
        state: &mut Reader<'_>,
    ) -> Result<Self, BadRecord> {
        let ip = state.address("address")?;
        let address = SocketAddr::new(ip, state.number("port")?);
        let mut router = Router::new(writer, address, most_views, shares, 0);
        router.name = state.string("name of a router")?.into();
        let description = state.string("description")?.to_owned();
        router.introduced = state.bool("introduction")?;
        router.named = state.bool("ownership of a name")?;
        router.was_full = state.bool("limit of peers")?;
        router.lines = state.number("count of warnings")?;
        router.status = RouterStatus {
            name: router.name.to_string(),
            description,
            since_us: state.number("time")?,
            messages: state.number("counter")?,
            faults: state.number("counter")?,
            unknown: state.number("counter")?,
            malformed: state.number("counter")?,
            without_next_hop: state.number("counter")?,
            without_peer_up: state.number("counter")?,
            mirrored: state.number("counter")?,
            ..router.status
        };
        for _ in 0..count(state, other_families::MOST + 1)? {
            router.status.other_families.push(FamilyCount {
                afi_safi: read_family(state)?,
                updates: state.number("counter")?,
            });
        }
        for _ in 0..count(state, MAX_WARNINGS as usize)? {
            router.unknown.push(Key::read(state)?);
        }
        router.sessions = read_sessions(state)?;
        router.count_views()?;
        Ok(router)
    }

    /// Counts the views. Each must be a peer of the table that carries the router's name, and no other view's.
    fn count_views(&mut self) -> Result<(), BadRecord> {
        let mut peers = HashSet::new();
        let views = self
            .sessions
            .values()
            .flat_map(|(session, _)| session.views);
        for view in views.flatten() {
            let peer = self.writer.rib().neighbor(view.peer);
            let monitored = peer.and_then(|peer| peer.monitored);
            let is_own = monitored.is_some_and(|monitored| {
                monitored.source == Source::Bmp && monitored.router == self.name
            });
            if !is_own || !peers.insert(view.peer) {
                return Err(BadRecord("peer of a router"));
            }
        }
        self.views.resume(peers.len());
        Ok(())
    }
}

fn read_sessions(state: &mut Reader<'_>) -> Result<Sessions, BadRecord> {
    let mut sessions = Sessions::new();
    for _ in 0..count(state, usize::from(u16::MAX))? {
        let key = Key::read(state)?;
        let session = read_session(state)?;
        let mut counters = Vec::new();
        for _ in 0..count(state, MAX_COUNTERS)? {
            counters.push(read_counter(state)?);
        }
        if sessions.insert(key, (session, counters)).is_some() {
            return Err(BadRecord("session of a router"));
        }
    }
    Ok(sessions)
}

fn count(state: &mut Reader<'_>, most: usize) -> Result<usize, BadRecord> {
    let count: usize = state.number("count")?;
    if count > most {
        return Err(BadRecord("count"));
    }
    Ok(count)
}

fn write_session(session: &Session, out: &mut handover::Writer) {
    out.string(&session.name);
    out.address(session.address);
    out.number(session.asn.0);
    out.number(session.bgp_id);
    out.number(session.distinguisher);
    session.reading.write(out);
    out.bool(session.is_implied);
    out.bool(session.logged.malformed);
    out.bool(session.logged.without_next_hop);
    for view in &session.views {
        out.bool(view.is_some());
        if let Some(view) = view {
            out.number(view.peer.0);
            out.bool(view.as4);
            let flags = view.add_path.iter().chain(view.shown.iter());
            flags.for_each(|flag| out.bool(*flag));
        }
    }
}

fn read_session(state: &mut Reader<'_>) -> Result<Session, BadRecord> {
    let mut session = Session {
        name: state.string("name of a session")?.to_owned(),
        address: state.address("address")?,
        asn: Asn(state.number("AS number")?),
        bgp_id: state.number("BGP Identifier")?,
        distinguisher: state.number("distinguisher")?,
        reading: Reading::read(state)?,
        is_implied: state.bool("Peer Up")?,
        logged: Oddities {
            malformed: state.bool("oddity")?,
            without_next_hop: state.bool("oddity")?,
        },
        views: Default::default(),
    };
    for view in &mut session.views {
        if state.bool("view")? {
            *view = Some(ViewPeer {
                peer: PeerId(state.number("peer")?),
                as4: state.bool("length of AS numbers")?,
                add_path: families(state)?,
                shown: families(state)?,
            });
        }
    }
    Ok(session)
}

/// Reads a truth value for each family.
pub(in crate::bmp) fn families(state: &mut Reader<'_>) -> Result<PerFamily<bool>, BadRecord> {
    let mut flags = PerFamily::both(false);
    for flag in flags.iter_mut() {
        *flag = state.bool("path identifiers")?;
    }
    Ok(flags)
}

fn write_counter(counter: &Counter, out: &mut handover::Writer) {
    out.number(counter.kind);
    write_family(counter.afi_safi, out);
    out.number(counter.value);
}

fn write_family(family: Option<AfiSafi>, out: &mut handover::Writer) {
    out.bool(family.is_some());
    if let Some(family) = family {
        out.number(family.afi);
        out.u8(family.safi);
    }
}

fn read_family(state: &mut Reader<'_>) -> Result<Option<AfiSafi>, BadRecord> {
    Ok(match state.bool("family")? {
        true => Some(AfiSafi {
            afi: state.number("family")?,
            safi: state.u8("family")?,
        }),
        false => None,
    })
}

fn read_counter(state: &mut Reader<'_>) -> Result<Counter, BadRecord> {
    let kind = state.number("counter")?;
    let afi_safi = read_family(state)?;
    let value = state.number("counter")?;
    let statistic = Statistic {
        kind,
        afi_safi,
        value,
    };
    Ok(Counter {
        kind,
        afi_safi,
        name: statistic.name(),
        value,
    })
}

impl Key {
    fn write(&self, out: &mut handover::Writer) {
        out.u8(self.kind.code());
        out.number(self.distinguisher);
        out.address(self.address);
    }

    fn read(state: &mut Reader<'_>) -> Result<Self, BadRecord> {
        Ok(Key {
            kind: PeerType::from_code(state.u8("kind of peer")?),
            distinguisher: state.number("distinguisher")?,
            address: state.address("address")?,
        })
    }
}
