//! The routes of one UPDATE, parsed as its session negotiated.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_wire::attr::{self, AttrContext, Attributes, Disposition};
use rutter_wire::{nlri, update};

use crate::peer::Reading;

/// Buffers that are reused for every message.
#[derive(Default)]
pub(crate) struct Scratch {
    ipv4: Vec<(u32, Ipv4Prefix)>,
    ipv6: Vec<(u32, Ipv6Prefix)>,
    canonical: Vec<u8>,
    faults: Vec<attr::Malformed>,
}

/// The action on a route.
pub(crate) enum RouteAction<'a> {
    Withdrawn,
    /// The canonical block of attributes and the next hop.
    Announced(&'a [u8], Option<IpAddr>),
}

/// The attribute that holds the next hop of the routes.
#[derive(Clone, Copy)]
enum Part<'a> {
    Own,
    Reach(&'a [u8]),
}

/// Calls a callback with each route of an UPDATE body, withdrawn ones first. Malformed attributes withdraw routes, as
/// in the table (RFC 7606). A body that would have reset the session has no routes.
pub(crate) fn read(
    body: &[u8],
    reading: &Reading,
    scratch: &mut Scratch,
    mut visit: impl FnMut(Prefix, u32, &RouteAction<'_>),
) {
    let Ok(sections) = update::split(body) else {
        return;
    };
    let context = AttrContext {
        as4: reading.as4,
        external: reading.external,
        accept_as_set: reading.accept_as_set,
        has_ipv4_nlri: !sections.nlri.is_empty(),
    };
    scratch.faults.clear();
    let attributes = attr::parse(sections.attributes, &context, &mut scratch.faults);
    let worst = scratch.faults.iter().map(|fault| fault.disposition()).max();
    if matches!(
        worst,
        Some(Disposition::SessionReset(_) | Disposition::AfiSafiDisable(_))
    ) {
        return;
    }
    let mut routes = Routes {
        reading,
        ipv4: &mut scratch.ipv4,
        ipv6: &mut scratch.ipv6,
    };
    routes.visit(
        Family::Ipv4Unicast,
        sections.withdrawn,
        &RouteAction::Withdrawn,
        &mut visit,
    );
    if let Some(unreach) = attributes.mp_unreach()
        && let Some(family) = unreach.afi_safi.family()
    {
        routes.visit(
            family,
            unreach.withdrawn,
            &RouteAction::Withdrawn,
            &mut visit,
        );
    }
    scratch.canonical.clear();
    attributes.write_canonical(&mut scratch.canonical);
    let block = &scratch.canonical;
    let withdraw = worst == Some(Disposition::TreatAsWithdraw);
    let action = |part| match withdraw {
        true => RouteAction::Withdrawn,
        false => RouteAction::Announced(block, next_hop(&attributes, part)),
    };
    if !sections.nlri.is_empty() {
        routes.visit(
            Family::Ipv4Unicast,
            sections.nlri,
            &action(Part::Own),
            &mut visit,
        );
    }
    if let Some(reach) = attributes.mp_reach()
        && let Some(family) = reach.afi_safi.family()
    {
        routes.visit(
            family,
            reach.nlri,
            &action(Part::Reach(reach.next_hop)),
            &mut visit,
        );
    }
}

struct Routes<'s> {
    reading: &'s Reading,
    ipv4: &'s mut Vec<(u32, Ipv4Prefix)>,
    ipv6: &'s mut Vec<(u32, Ipv6Prefix)>,
}

impl Routes<'_> {
    fn visit(
        &mut self,
        family: Family,
        bytes: &[u8],
        action: &RouteAction<'_>,
        visit: &mut impl FnMut(Prefix, u32, &RouteAction<'_>),
    ) {
        let Some(add_path) = self.reading.add_path[family] else {
            return;
        };
        // A fault here would have reset the session, and the UPDATE would not be in the feed.
        match family {
            Family::Ipv4Unicast => {
                self.ipv4.clear();
                if nlri::parse_ipv4(bytes, add_path, self.ipv4).is_ok() {
                    self.ipv4
                        .iter()
                        .for_each(|(id, p)| visit((*p).into(), *id, action));
                }
            }
            Family::Ipv6Unicast => {
                self.ipv6.clear();
                if nlri::parse_ipv6(bytes, add_path, self.ipv6).is_ok() {
                    self.ipv6
                        .iter()
                        .for_each(|(id, p)| visit((*p).into(), *id, action));
                }
            }
        }
    }
}

fn next_hop(attributes: &Attributes<'_>, part: Part<'_>) -> Option<IpAddr> {
    match part {
        Part::Own => attributes.next_hop().map(IpAddr::V4),
        Part::Reach(octets) => match octets.first_chunk::<16>() {
            Some(global) => Some(IpAddr::V6(Ipv6Addr::from(*global))),
            None => octets
                .first_chunk::<4>()
                .map(|octets| IpAddr::V4(Ipv4Addr::from(*octets))),
        },
    }
}
