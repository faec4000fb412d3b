//! Oddities of the UPDATEs that a router reports: values that RFCs forbid. The routes are shown in spite of them.

use rutter_net::{AfiSafi, PerFamily};
use rutter_rib::Pushed;
use rutter_wire::attr::{Attributes, Fault, Malformed, code};
use rutter_wire::bmp::RouteMonitoring;
use rutter_wire::update;

use super::reading::routes;

/// The oddities of one UPDATE.
pub(super) struct Found {
    /// It announces routes without a next hop.
    pub lacks_next_hop: bool,
    /// The first fault of another kind.
    pub fault: Option<FoundFault>,
}

/// A fault of an UPDATE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FoundFault {
    /// Lengths exceed it.
    Exceeds,
    /// A value is malformed.
    Value(Malformed),
}

impl Found {
    /// Looks for them in an UPDATE and in what the table found.
    pub fn in_update(monitored: &RouteMonitoring<'_>, pushed: &Pushed) -> Self {
        let mut found = Found {
            lacks_next_hop: false,
            fault: pushed.exceeds.then_some(FoundFault::Exceeds),
        };
        for fault in &pushed.faults {
            if is_missing_next_hop(fault, monitored.update()) {
                found.lacks_next_hop = true;
            } else if !is_unspecified(fault, monitored.update()) && found.fault.is_none() {
                found.fault = Some(FoundFault::Value(*fault));
            }
        }
        found
    }
}

impl FoundFault {
    /// The fault for the log. `add_path`: for each family, whether its prefixes follow path identifiers.
    pub fn in_words(&self, body: &[u8], add_path: PerFamily<bool>) -> String {
        match self {
            FoundFault::Exceeds => "the lengths inside the UPDATE do not add up".into(),
            FoundFault::Value(fault) => {
                prefix_fault(fault, body, add_path).unwrap_or_else(|| fault.summary().to_string())
            }
        }
    }
}

/// A malformed prefix, with its field and its offset in the field. The table does not say which field it is in, so
/// they are read again, in the same order.
fn prefix_fault(fault: &Malformed, body: &[u8], add_path: PerFamily<bool>) -> Option<String> {
    if !matches!(
        fault.fault,
        Fault::PrefixLength(_) | Fault::PrefixTruncated(_)
    ) {
        return None;
    }
    let (sections, _) = update::split_reported(body);
    let attributes = reported(body);
    // The prefixes end these attributes.
    let before = |code, prefixes: &[u8]| {
        let value = attributes.value(code).unwrap_or_default();
        value.len() - prefixes.len()
    };
    let ipv4 = AfiSafi::IPV4_UNICAST;
    let unreach = attributes.mp_unreach().map(|unreach| {
        let start = before(code::MP_UNREACH_NLRI, unreach.withdrawn);
        let family = unreach.afi_safi;
        ("MP_UNREACH_NLRI", family, unreach.withdrawn, start)
    });
    let reach = attributes.mp_reach().map(|reach| {
        let start = before(code::MP_REACH_NLRI, reach.nlri);
        ("MP_REACH_NLRI", reach.afi_safi, reach.nlri, start)
    });
    let fields = [
        Some(("Withdrawn Routes", ipv4, sections.withdrawn, 0)),
        unreach,
        Some(("NLRI", ipv4, sections.nlri, 0)),
        reach,
    ];
    fields
        .into_iter()
        .flatten()
        .find_map(|(name, family, prefixes, start)| {
            let family = family.family()?;
            let fault = routes(prefixes, family, add_path[family]).err()?;
            let at = start + fault.offset;
            Some(fault.summary_in(&format!("{name} at octet {at}")))
        })
}

fn is_missing_next_hop(fault: &Malformed, body: &[u8]) -> bool {
    match fault.fault {
        Fault::Missing => fault.code == Some(code::NEXT_HOP),
        Fault::NextHopLength(_) => {
            let reach = reported(body).mp_reach();
            reach.is_some_and(|reach| reach.next_hop.is_empty())
        }
        _ => false,
    }
}

fn is_unspecified(fault: &Malformed, body: &[u8]) -> bool {
    reported(body).has_unspecified_next_hop(fault)
}

/// The attributes of an UPDATE as they stand.
pub(super) fn reported(body: &[u8]) -> Attributes<'_> {
    let (sections, _) = update::split_reported(body);
    Attributes::as_reported(sections.attributes, true)
}
