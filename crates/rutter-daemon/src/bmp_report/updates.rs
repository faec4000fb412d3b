//! Routes as Route Monitoring messages. Routes with equal attributes share an UPDATE.

use std::collections::HashMap;
use std::ops::ControlFlow;

use rutter_net::{Family, Prefix};
use rutter_wire::attr::{write_mp_reach, write_mp_unreach};
use rutter_wire::bmp::{PeerHeader, write_route_monitoring};
use rutter_wire::frame::{MAX_EXTENDED_LEN, MAX_LEN};
use rutter_wire::nlri::{write_ipv4, write_ipv6};
use rutter_wire::update::Writer;

/// Announced and withdrawn routes that are not yet messages. A route occurs once in it.
#[derive(Default)]
pub(super) struct Updates {
    announced: HashMap<Announcement, Vec<Nlri>>,
    withdrawn: HashMap<(PeerHeader, Family), Vec<Nlri>>,
    routes: usize,
    /// The octets of all attributes.
    octets: usize,
    /// The routes that no message holds, since they were last taken.
    too_large: u64,
}

type Nlri = (Prefix, Option<u32>);

#[derive(PartialEq, Eq, Hash)]
struct Announcement {
    header: PeerHeader,
    family: Family,
    /// The attributes without MP_REACH_NLRI.
    block: Vec<u8>,
    /// The next hop for MP_REACH_NLRI; empty where the NLRI have the message's own field.
    mp_next_hop: Vec<u8>,
}

/// Marker, length and type, and the lengths of the withdrawn routes and the attributes.
const FIXED_LEN: usize = 23;
/// The attribute header, family, length and reserved octet of MP_REACH_NLRI; that of MP_UNREACH_NLRI is shorter.
const MP_LEN: usize = 9;
/// More routes or octets of attributes should not be added, because sessions that begin or end wait for it.
const MOST_ROUTES: usize = 2_048;
const MOST_OCTETS: usize = 256 * 1024;
/// The most octets of one prefix with its path identifier.
const LONGEST_NLRI: usize = 21;

impl Updates {
    /// Adds a route.
    pub(super) fn announce(
        &mut self,
        header: PeerHeader,
        (prefix, path_id): Nlri,
        block: &[u8],
        mp_next_hop: &[u8],
    ) {
        let needed = FIXED_LEN + MP_LEN + mp_next_hop.len() + block.len() + LONGEST_NLRI;
        if needed > MAX_EXTENDED_LEN {
            // No message holds it, and the station must not keep an older route.
            self.too_large += 1;
            return self.withdraw(header, (prefix, path_id));
        }
        let key = Announcement {
            header,
            family: prefix.family(),
            block: block.to_vec(),
            mp_next_hop: mp_next_hop.to_vec(),
        };
        self.routes += 1;
        let alike = self.announced.entry(key).or_insert_with(|| {
            self.octets += block.len();
            Vec::new()
        });
        alike.push((prefix, path_id));
    }

    /// Withdraws a route.
    pub(super) fn withdraw(&mut self, header: PeerHeader, (prefix, path_id): Nlri) {
        let of_family = self.withdrawn.entry((header, prefix.family()));
        of_family.or_default().push((prefix, path_id));
        self.routes += 1;
    }

    /// Breaks when enough routes are added.
    pub(super) fn fill(&self) -> ControlFlow<()> {
        match self.routes >= MOST_ROUTES || self.octets >= MOST_OCTETS {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// The number of routes that no message holds, since the last call. The station is told that they are withdrawn.
    pub(super) fn take_too_large(&mut self) -> u64 {
        std::mem::take(&mut self.too_large)
    }

    /// Appends all routes as messages and forgets them. `unix_us`: the time in their headers. Returns the number of
    /// messages.
    pub(super) fn write(&mut self, out: &mut Vec<u8>, unix_us: Option<u64>) -> u64 {
        (self.routes, self.octets) = (0, 0);
        let mut messages = 0;
        let mut message = Vec::new();
        let timed = |header: PeerHeader| PeerHeader { unix_us, ..header };
        for ((header, family), routes) in self.withdrawn.drain() {
            for some in chunks(&routes, MAX_LEN - FIXED_LEN - MP_LEN) {
                message.clear();
                write_withdrawal(&mut message, family, some);
                write_route_monitoring(out, &timed(header), &message);
                messages += 1;
            }
        }
        for (one, routes) in self.announced.drain() {
            let fixed = FIXED_LEN + MP_LEN + one.mp_next_hop.len() + one.block.len();
            for some in chunks(&routes, MAX_LEN.saturating_sub(fixed)) {
                message.clear();
                write_announcement(&mut message, &one, some);
                write_route_monitoring(out, &timed(one.header), &message);
                messages += 1;
            }
        }
        messages
    }
}

/// The routes in parts whose NLRI take at most so many octets, or are a single route.
fn chunks(routes: &[Nlri], room: usize) -> impl Iterator<Item = &[Nlri]> {
    let most = (room / LONGEST_NLRI).max(1);
    routes.chunks(most)
}

fn write_nlri(out: &mut Vec<u8>, routes: &[Nlri]) {
    for (prefix, path_id) in routes {
        match prefix {
            Prefix::V4(prefix) => write_ipv4(out, *path_id, *prefix),
            Prefix::V6(prefix) => write_ipv6(out, *path_id, *prefix),
        }
    }
}

fn write_withdrawal(out: &mut Vec<u8>, family: Family, routes: &[Nlri]) {
    let mut writer = Writer::new(out);
    if family == Family::Ipv4Unicast {
        write_nlri(writer.out(), routes);
    }
    let attributes = writer.attributes();
    if family != Family::Ipv4Unicast {
        write_mp_unreach(attributes, family.afi_safi(), |out| write_nlri(out, routes));
    }
    writer.nlri();
    writer.finish();
}

fn write_announcement(out: &mut Vec<u8>, one: &Announcement, routes: &[Nlri]) {
    let mut writer = Writer::new(out);
    let attributes = writer.attributes();
    attributes.extend_from_slice(&one.block);
    let in_attribute = !one.mp_next_hop.is_empty() || one.family != Family::Ipv4Unicast;
    if in_attribute {
        let family = one.family.afi_safi();
        write_mp_reach(attributes, family, &one.mp_next_hop, |out| {
            write_nlri(out, routes);
        });
    }
    let nlri = writer.nlri();
    if !in_attribute {
        write_nlri(nlri, routes);
    }
    writer.finish();
}

#[cfg(test)]
mod tests {
    use rutter_net::Asn;
    use rutter_wire::bmp::RibView;

    use super::*;

    fn header() -> PeerHeader {
        let address = std::net::IpAddr::from([192, 0, 2, 1]);
        PeerHeader::global(address, Asn(64_501), 1, RibView::AdjRibInPre)
    }

    fn nlri(path_id: u32) -> Nlri {
        ("10.0.0.0/8".parse().expect("a prefix"), Some(path_id))
    }

    #[test]
    fn a_route_that_no_message_holds_is_counted_and_withdrawn() {
        let mut updates = Updates::default();
        updates.announce(header(), nlri(1), &[0; MAX_EXTENDED_LEN], &[]);
        assert_eq!(updates.take_too_large(), 1);
        assert_eq!(updates.take_too_large(), 0);
        assert_eq!((updates.announced.len(), updates.withdrawn.len()), (0, 1));
    }

    #[test]
    fn many_routes_and_large_ones_fill_a_slice() {
        let mut updates = Updates::default();
        for path_id in 0..MOST_ROUTES as u32 {
            assert!(updates.fill().is_continue());
            updates.announce(header(), nlri(path_id), &[1; 1_000], &[]);
        }
        assert!(updates.fill().is_break());
        updates.write(&mut Vec::new(), None);
        assert!(updates.fill().is_continue());
        for octet in 0..=MOST_OCTETS / 4_000 {
            assert!(updates.fill().is_continue());
            updates.announce(header(), nlri(1), &[octet as u8; 4_000], &[]);
        }
        assert!(updates.fill().is_break());
    }
}
