//! Oddities of the UPDATEs that a router reports: values that RFCs forbid. The routes are shown in spite of them.

use rutter_rib::Pushed;
use rutter_wire::attr::{Attributes, Fault, Malformed, code};
use rutter_wire::bmp::RouteMonitoring;
use rutter_wire::update;

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
        if pushed.exceeds {
            found.fault = Some("the lengths inside the UPDATE do not add up".into());
        }
        for fault in &pushed.faults {
            if is_missing_next_hop(fault, monitored.update()) {
                found.lacks_next_hop = true;
            } else if !is_unspecified(fault, monitored.update()) && found.fault.is_none() {
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
            let reach = reported(body).mp_reach();
            reach.is_some_and(|reach| reach.next_hop.is_empty())
        }
        _ => false,
    }
}

fn is_unspecified(fault: &Malformed, body: &[u8]) -> bool {
    reported(body).has_unspecified_next_hop(fault)
}

fn reported(body: &[u8]) -> Attributes<'_> {
    let (sections, _) = update::split_reported(body);
    Attributes::as_reported(sections.attributes, true)
}
