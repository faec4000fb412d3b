//! How the UPDATEs of a monitored session are to be read: what its OPENs agreed on.

use rutter_net::Family;
use rutter_wire::bmp::{PeerUp, RibView};
use rutter_wire::capability::{AddPathMode, Capability};
use rutter_wire::open::Open;

/// Per family: path identifiers in what the router received, in what it sent, and in its own table.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    received: [bool; 2],
    sent: [bool; 2],
    local: [bool; 2],
}

impl Reading {
    /// Of both OPENs. One that cannot be read agreed on nothing.
    pub fn of(up: &PeerUp<'_>) -> Self {
        let modes = |body| Open::parse(body).map_or([None; 2], |open| modes(&open));
        let (ours, theirs) = (modes(up.sent_open), modes(up.received_open));
        let mut reading = Reading::default();
        for family in Family::ALL {
            let at = family.index();
            let (Some(ours), Some(theirs)) = (ours[at], theirs[at]) else {
                continue;
            };
            reading.received[at] = ours.receives() && theirs.sends();
            reading.sent[at] = ours.sends() && theirs.receives();
            // RFC 9069 §5.2: both are made up, to tell how the Loc-RIB is written.
            reading.local[at] = true;
        }
        reading
    }

    /// Whether NLRI have path identifiers, per family.
    pub fn add_path(&self, view: RibView) -> [bool; 2] {
        match view {
            RibView::AdjRibInPre | RibView::AdjRibInPost => self.received,
            RibView::AdjRibOutPre | RibView::AdjRibOutPost => self.sent,
            RibView::LocRib => self.local,
        }
    }
}

fn modes(open: &Open) -> [Option<AddPathMode>; 2] {
    let families = open.capabilities.iter().filter_map(|one| match one {
        Capability::AddPath(families) => Some(families),
        _ => None,
    });
    let mut modes = [None; 2];
    for entry in families.flatten() {
        if let Some(family) = entry.afi_safi.family() {
            modes[family.index()] = Some(entry.mode);
        }
    }
    modes
}
