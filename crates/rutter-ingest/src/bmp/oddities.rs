//! Oddities of the UPDATEs that a router reports: values that RFCs forbid. The routes are shown in spite of them.

use std::net::IpAddr;

use rutter_rib::Pushed;
use rutter_wire::attr::{Attributes, Fault, Malformed, code};
use rutter_wire::bmp::RouteMonitoring;
use rutter_wire::update;

use super::monitored::table_view;

/// The oddities of one UPDATE.
pub(super) struct Found {
    /// It announces routes without a next hop.
    pub lacks_next_hop: bool,
    /// The first fault of another kind.
    pub fault: Option<String>,
}

impl Found {
    /// Looks for them in an UPDATE and in what the table found.
    pub fn in_update(monitored: &RouteMonitoring<'_>, pushed: &Pushed) -> Self {
        let mut found = Found {
            lacks_next_hop: false,
            fault: None,
        };
        if pushed.reset.is_some() {
            found.fault = Some("the lengths inside the UPDATE do not add up".into());
        }
        for fault in &pushed.faults {
            if is_missing_next_hop(fault, monitored.update()) {
                found.lacks_next_hop = true;
            } else if !is_local_route(fault, monitored) && found.fault.is_none() {
                found.fault = Some(fault.summary().to_string());
            }
        }
        found
    }
}

fn is_missing_next_hop(fault: &Malformed, body: &[u8]) -> bool {
    match fault.fault {
        Fault::Missing => fault.code == Some(code::NEXT_HOP),
        Fault::NextHopLength(_) => {
            let reach = reported(body).and_then(|attributes| attributes.mp_reach());
            reach.is_some_and(|reach| reach.next_hop.is_empty())
        }
        _ => false,
    }
}

/// Returns whether a fault is the next hop 0.0.0.0 of a route that the router originates itself.
fn is_local_route(fault: &Malformed, monitored: &RouteMonitoring<'_>) -> bool {
    let next_hop = || reported(monitored.update())?.next_hop().map(IpAddr::V4);
    let view = table_view(monitored.peer.view());
    fault.fault == Fault::NextHopNotHost && view.is_locally_originated(next_hop())
}

fn reported(body: &[u8]) -> Option<Attributes<'_>> {
    let sections = update::split(body).ok()?;
    Some(Attributes::as_reported(sections.attributes, true))
}
