//! Files of what neighbors said (BGP4MP_ET), from the change feed.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rutter_config::Mrt;
use rutter_net::{Asn, Family};
use rutter_rib::{FeedEvent, FeedReader, PeerId, PeerSummary};
use rutter_wire::frame::{self, MessageType};
use rutter_wire::mrt::{Link, Timestamp, write_message, write_state_change};
use rutter_wire::update;

use super::file::ArchiveFile;
use super::{PATIENCE, next_boundary, now_s};
/// Events that may wait for the disk; more are counted as lost.
pub(super) const QUEUE: usize = 262_144;
/// States of RFC 6396 §4.4.1.
const IDLE: u16 = 1;
const OPEN_CONFIRM: u16 = 5;
const ESTABLISHED: u16 = 6;

/// Writes until stopped; begins a new file at every multiple of the interval.
pub(super) fn run(config: &Mrt, stop: &AtomicBool, reader: &FeedReader, peers: &[PeerSummary]) {
    let mut writer = Writer::default();
    peers.iter().for_each(|peer| writer.links.meet(peer));
    let mut ends = 0;
    while !stop.load(Ordering::Acquire) {
        if now_s() >= ends {
            finish(writer.file.take());
            writer.file = begin(config);
            ends = next_boundary(now_s(), config.updates_interval_s);
        }
        if let Some(event) = reader.next(PATIENCE) {
            writer.write(&event);
        }
    }
    while let Some(event) = reader.next(Duration::ZERO) {
        writer.write(&event);
    }
    finish(writer.file);
}

/// The file that is open, if one could be opened.
#[derive(Default)]
struct Writer {
    file: Option<ArchiveFile>,
    links: Links,
    out: Vec<u8>,
}

impl Writer {
    fn write(&mut self, event: &FeedEvent) {
        self.out.clear();
        self.links.write(event, &mut self.out);
        if let Some(file) = &mut self.file
            && let Err(error) = file.write(&self.out)
        {
            tracing::error!(%error, "updates are not archived until the next file begins");
            if let Some(broken) = self.file.take() {
                broken.abandon();
            }
        }
    }
}

fn begin(config: &Mrt) -> Option<ArchiveFile> {
    let file = ArchiveFile::create(&config.directory, "updates", now_s(), config.gzip);
    file.inspect_err(|error| tracing::error!(%error, "updates are not archived"))
        .ok()
}

fn finish(file: Option<ArchiveFile>) {
    let Some(file) = file else { return };
    let finished: io::Result<()> = if file.bytes == 0 {
        file.abandon();
        Ok(())
    } else {
        file.finish().map(drop)
    };
    if let Err(error) = finished {
        tracing::error!(%error, "a file of updates was lost");
    }
}

/// What records say of each neighbor.
#[derive(Default)]
struct Links(HashMap<PeerId, Known>);

struct Known {
    link: Link,
    /// Per family: NLRI have path identifiers.
    add_path: [bool; 2],
}

impl Links {
    fn meet(&mut self, peer: &PeerSummary) {
        self.0.insert(peer.id, Known::new(peer));
    }

    fn write(&mut self, event: &FeedEvent, out: &mut Vec<u8>) {
        match event {
            FeedEvent::Update {
                peer,
                unix_us,
                body,
            } => {
                let Some(known) = self.0.get(peer) else {
                    return;
                };
                let mut message = Vec::with_capacity(body.len() + frame::HEADER_LEN);
                let start = frame::begin(&mut message, MessageType::Update);
                message.extend_from_slice(body);
                frame::finish(&mut message, start);
                let time = Timestamp::Microseconds(*unix_us);
                write_message(out, time, &known.link, add_path(known, body), &message);
            }
            FeedEvent::PeerUp { peer, unix_us } => {
                self.meet(peer);
                self.write_state(peer.id, *unix_us, (OPEN_CONFIRM, ESTABLISHED), out);
            }
            FeedEvent::PeerDown { peer, unix_us, .. } => {
                self.write_state(*peer, *unix_us, (ESTABLISHED, IDLE), out);
            }
            // The neighbor said nothing, and this is a record of what neighbors said.
            FeedEvent::Swept { .. } => {}
            FeedEvent::Gap { lost } => {
                tracing::error!(
                    lost,
                    "the archive of updates has a gap: the disk is too slow"
                );
            }
        }
    }

    fn write_state(&self, peer: PeerId, unix_us: u64, (old, new): (u16, u16), out: &mut Vec<u8>) {
        if let Some(known) = self.0.get(&peer) {
            write_state_change(out, Timestamp::Microseconds(unix_us), &known.link, old, new);
        }
    }
}

impl Known {
    fn new(summary: &PeerSummary) -> Self {
        let neighbor = &summary.neighbor;
        let session = summary.session.as_ref();
        let local = match neighbor.address {
            IpAddr::V4(_) => neighbor.local_ipv4.unwrap_or(Ipv4Addr::UNSPECIFIED).into(),
            IpAddr::V6(_) => neighbor.local_ipv6.unwrap_or(Ipv6Addr::UNSPECIFIED).into(),
        };
        let asn: Asn = session.map_or(neighbor.remote_asn, |session| session.remote_asn);
        let add_path = |family| {
            let agreed = session.and_then(|session| session.family(family));
            agreed.is_some_and(|agreed| agreed.add_path_receive)
        };
        Known {
            link: Link {
                peer_asn: asn,
                local_asn: neighbor.local_asn,
                interface: 0,
                peer: neighbor.address,
                local,
                as4: session.is_none_or(|session| session.as4),
            },
            add_path: Family::ALL.map(add_path),
        }
    }
}

/// Whether the NLRI of this message have path identifiers. Where only one family has them, it is IPv4 that stands
/// outside of the attributes.
fn add_path(known: &Known, body: &[u8]) -> bool {
    let [ipv4, ipv6] = known.add_path;
    if ipv4 == ipv6 {
        return ipv4;
    }
    let plain = update::split(body)
        .is_ok_and(|sections| !sections.nlri.is_empty() || !sections.withdrawn.is_empty());
    if plain { ipv4 } else { ipv6 }
}
