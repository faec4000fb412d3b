//! Files of the neighbors' messages (BGP4MP_ET), from the change feed.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rutter_config::Mrt;
use rutter_net::{Asn, Family, PerFamily};
use rutter_rib::{FeedEvent, FeedReader, PeerId, PeerSummary};
use rutter_wire::frame::{self, MessageType};
use rutter_wire::mrt::{BgpSession, Timestamp, write_message, write_state_change};
use rutter_wire::update;

use super::file::ArchiveFile;
use super::{POLL_INTERVAL, next_boundary, now_s, was_set_back};

/// The largest number of events that wait for the disk. Further events are counted as lost.
pub(super) const QUEUE: usize = 262_144;
/// The time in which events that wait are written when the daemon stops. A restart must not wait for a slow disk.
const LAST_WRITES: Duration = Duration::from_secs(5);
/// The states of RFC 6396 §4.4.1.
const IDLE: u16 = 1;
const OPEN_CONFIRM: u16 = 5;
const ESTABLISHED: u16 = 6;

/// Writes until stopped. Starts a new file at every multiple of the interval.
pub(super) fn run(config: &Mrt, stop: &AtomicBool, reader: &FeedReader, peers: &[PeerSummary]) {
    let mut writer = Writer::default();
    peers.iter().for_each(|peer| writer.headers.add_peer(peer));
    let mut ends = 0;
    while !stop.load(Ordering::Acquire) {
        let now_s = now_s();
        if now_s >= ends || was_set_back(now_s, ends, config.updates_interval_s) {
            finish(writer.file.take());
            writer.file = begin(config);
            ends = next_boundary(now_s, config.updates_interval_s);
        }
        if let Some(event) = reader.next(POLL_INTERVAL) {
            writer.write(&event);
        }
    }
    let end = Instant::now() + LAST_WRITES;
    while let Some(event) = reader.next(Duration::ZERO) {
        if Instant::now() > end {
            tracing::error!("the archive of updates ends early: the disk is too slow");
            break;
        }
        writer.write(&event);
    }
    finish(writer.file);
}

/// Writes records to the open file, if there is one.
#[derive(Default)]
struct Writer {
    file: Option<ArchiveFile>,
    headers: Headers,
    out: Vec<u8>,
}

impl Writer {
    fn write(&mut self, event: &FeedEvent) {
        self.out.clear();
        self.headers.write(event, &mut self.out);
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

/// The header of each neighbor's records.
#[derive(Default)]
struct Headers(HashMap<PeerId, Header>);

struct Header {
    session: BgpSession,
    /// NLRI of the family have path identifiers, in index order.
    add_path: PerFamily<bool>,
}

impl Headers {
    fn add_peer(&mut self, peer: &PeerSummary) {
        self.0.insert(peer.id, Header::new(peer));
    }

    fn write(&mut self, event: &FeedEvent, out: &mut Vec<u8>) {
        match event {
            FeedEvent::Update {
                peer,
                unix_us,
                body,
            } => {
                let Some(header) = self.0.get(peer) else {
                    return;
                };
                let mut message = Vec::with_capacity(body.len() + frame::HEADER_LEN);
                let start = frame::begin(&mut message, MessageType::Update);
                message.extend_from_slice(body);
                frame::finish(&mut message, start);
                let time = Timestamp::Microseconds(*unix_us);
                write_message(out, time, &header.session, add_path(header, body), &message);
            }
            FeedEvent::PeerUp { peer, unix_us } => {
                self.add_peer(peer);
                self.write_state(peer.id, *unix_us, (OPEN_CONFIRM, ESTABLISHED), out);
            }
            FeedEvent::PeerDown { peer, unix_us, .. } => {
                self.write_state(*peer, *unix_us, (ESTABLISHED, IDLE), out);
            }
            // The archive has only the neighbors' messages, and this event has none.
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
        if let Some(header) = self.0.get(&peer) {
            write_state_change(
                out,
                Timestamp::Microseconds(unix_us),
                &header.session,
                old,
                new,
            );
        }
    }
}

impl Header {
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
        Header {
            session: BgpSession {
                peer_asn: asn,
                local_asn: neighbor.local_asn,
                interface: 0,
                peer: neighbor.address,
                local,
                as4: session.is_none_or(|session| session.as4),
            },
            add_path: PerFamily::from_fn(add_path),
        }
    }
}

/// Returns whether the NLRI of this message have path identifiers. If only one family has them, the place of the NLRI
/// decides: IPv4 prefixes are outside of the attributes.
fn add_path(header: &Header, body: &[u8]) -> bool {
    let ipv4 = header.add_path[Family::Ipv4Unicast];
    let ipv6 = header.add_path[Family::Ipv6Unicast];
    if ipv4 == ipv6 {
        return ipv4;
    }
    let plain = update::split(body)
        .is_ok_and(|sections| !sections.nlri.is_empty() || !sections.withdrawn.is_empty());
    if plain { ipv4 } else { ipv6 }
}
