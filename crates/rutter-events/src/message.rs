//! The routes of one UPDATE, parsed as its session negotiated.

use std::net::IpAddr;

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, Prefix};
use rutter_wire::attr::{self, AttrContext, Disposition};
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

/// Calls a callback with each route of an UPDATE body, withdrawn ones first. As in the table, malformed attributes
/// withdraw the routes of a session (RFC 7606), but stay as they stand in the report of another router. A body that would
/// have reset a session of ours has no routes.
pub(crate) fn read(
    body: &[u8],
    reading: &Reading,
    scratch: &mut Scratch,
    mut visit: impl FnMut(Prefix, u32, &RouteAction<'_>),
) {
    let sections = match update::split(body) {
        Ok(sections) => sections,
        Err(_) if reading.reported => update::split_reported(body).0,
        Err(_) => return,
    };
    let context = AttrContext {
        as4: reading.as4,
        external: reading.external,
        accept_as_set: reading.accept_as_set,
        has_ipv4_nlri: !sections.nlri.is_empty(),
    };
    scratch.faults.clear();
    let attributes = match reading.reported {
        true => attr::parse_reported(sections.attributes, &context, &mut scratch.faults),
        false => attr::parse(sections.attributes, &context, &mut scratch.faults),
    };
    let faults = scratch.faults.iter().filter(|_| !reading.reported);
    let worst = faults.map(|fault| fault.disposition()).max();
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
    let action = |next_hop| match withdraw {
        true => RouteAction::Withdrawn,
        false => RouteAction::Announced(block, next_hop),
    };
    if !sections.nlri.is_empty() {
        routes.visit(
            Family::Ipv4Unicast,
            sections.nlri,
            &action(attributes.next_hop().map(IpAddr::V4)),
            &mut visit,
        );
    }
    if let Some(reach) = attributes.mp_reach()
        && let Some(family) = reach.afi_safi.family()
    {
        routes.visit(
            family,
            reach.nlri,
            &action(attributes.mp_next_hop()),
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
        // A fault resets a session, and then the UPDATE is not in the feed. In a report, the routes before the fault count.
        match family {
            Family::Ipv4Unicast => {
                self.ipv4.clear();
                let _ = nlri::parse_ipv4(bytes, add_path, self.ipv4);
                let routes = self.ipv4.iter();
                routes.for_each(|(id, p)| visit((*p).into(), *id, action));
            }
            Family::Ipv6Unicast => {
                self.ipv6.clear();
                let _ = nlri::parse_ipv6(bytes, add_path, self.ipv6);
                let routes = self.ipv6.iter();
                routes.for_each(|(id, p)| visit((*p).into(), *id, action));
            }
        }
    }
}
