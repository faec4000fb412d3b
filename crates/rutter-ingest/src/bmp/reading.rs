//! The form of a monitored session's UPDATEs, as its OPENs negotiated it.

use std::collections::HashSet;

use rutter_net::{Family, Ipv4Prefix, Ipv6Prefix, PerFamily, Prefix};
use rutter_wire::attr::{Attributes, Malformed};
use rutter_wire::bmp::{PeerUp, RibView};
use rutter_wire::capability::{AddPathMode, Capability};
use rutter_wire::handover::{self, BadRecord};
use rutter_wire::open::Open;
use rutter_wire::{nlri, update};

use super::router::families;

/// For each family, whether NLRI carry path identifiers: in received routes, in sent routes, and in the Loc-RIB.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    received: PerFamily<bool>,
    sent: PerFamily<bool>,
    local: PerFamily<bool>,
}

impl Reading {
    /// Compares both OPENs. An OPEN that cannot be parsed negotiates nothing.
    pub fn of(up: &PeerUp<'_>) -> Self {
        let modes = |body| Open::parse(body).map_or(PerFamily::both(None), |open| modes(&open));
        let (ours, theirs) = (modes(up.sent_open), modes(up.received_open));
        let mut reading = Reading::default();
        for family in Family::ALL {
            let (Some(ours), Some(theirs)) = (ours[family], theirs[family]) else {
                continue;
            };
            reading.received[family] = ours.receives() && theirs.sends();
            reading.sent[family] = ours.sends() && theirs.receives();
            // RFC 9069 §5.2: both OPENs are made up to describe the form of the Loc-RIB.
            reading.local[family] = true;
        }
        reading
    }

    /// Appends the form.
    pub fn write(&self, out: &mut handover::Writer) {
        let all = [&self.received, &self.sent, &self.local];
        let flags = all.into_iter().flat_map(|families| families.iter());
        flags.for_each(|flag| out.bool(*flag));
    }

    /// Reads a form.
    pub fn read(state: &mut handover::Reader<'_>) -> Result<Self, BadRecord> {
        Ok(Reading {
            received: families(state)?,
            sent: families(state)?,
            local: families(state)?,
        })
    }

    /// For each family, whether NLRI carry path identifiers.
    pub fn add_path(&self, view: RibView) -> PerFamily<bool> {
        match view {
            RibView::AdjRibInPre | RibView::AdjRibInPost => self.received,
            RibView::AdjRibOutPre | RibView::AdjRibOutPost => self.sent,
            RibView::LocRib => self.local,
        }
    }
}

fn modes(open: &Open) -> PerFamily<Option<AddPathMode>> {
    let families = open.capabilities.iter().filter_map(|one| match one {
        Capability::AddPath(families) => Some(families),
        _ => None,
    });
    let mut modes = PerFamily::both(None);
    for entry in families.flatten() {
        if let Some(family) = entry.afi_safi.family() {
            modes[family] = Some(entry.mode);
        }
    }
    modes
}

/// Returns `Some(true)` if the NLRI of a family are only valid with path identifiers, `Some(false)` if only without,
/// and `None` otherwise.
///
/// FRR before version 10 negotiates path identifiers by default, but omits them in its reports. `guesses`: no Peer Up says
/// which form they have. Then a field that names a prefix twice without path identifiers is read with them: most of their
/// octets are 0, which reads as 0.0.0.0/0 or ::/0.
pub(super) fn only_with_path_ids(body: &[u8], family: Family, guesses: bool) -> Option<bool> {
    let sections = update::split(body).ok()?;
    let view = Attributes::from_canonical(sections.attributes);
    let mut parts = Vec::new();
    if family == Family::Ipv4Unicast {
        parts.extend([sections.withdrawn, sections.nlri]);
    }
    let mine = Some(family);
    let reach = view.mp_reach().filter(|r| r.afi_safi.family() == mine);
    parts.extend(reach.map(|reach| reach.nlri));
    let unreach = view.mp_unreach().filter(|u| u.afi_safi.family() == mine);
    parts.extend(unreach.map(|unreach| unreach.withdrawn));
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() {
        return None;
    }
    let read = |with: bool| -> Vec<Option<Vec<(Prefix, u32)>>> {
        let all = parts.iter().map(|part| routes(part, family, with).ok());
        all.collect()
    };
    let (with, without) = (read(true), read(false));
    let is_valid = |fields: &[Option<_>]| fields.iter().all(Option::is_some);
    match (is_valid(&with), is_valid(&without)) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        (true, true) if guesses && repeats(&without) && !repeats(&with) => Some(true),
        _ => None,
    }
}

/// Returns whether a field names a route twice.
fn repeats(fields: &[Option<Vec<(Prefix, u32)>>]) -> bool {
    fields.iter().flatten().any(|routes| {
        let mut seen = HashSet::new();
        !routes.iter().all(|route| seen.insert(*route))
    })
}

/// The routes of a field. `with`: they follow path identifiers.
pub(super) fn routes(
    part: &[u8],
    family: Family,
    with: bool,
) -> Result<Vec<(Prefix, u32)>, Malformed> {
    match family {
        Family::Ipv4Unicast => {
            let mut parsed: Vec<(u32, Ipv4Prefix)> = Vec::new();
            nlri::parse_ipv4(part, with, &mut parsed)?;
            let routes = parsed.iter().map(|(id, prefix)| ((*prefix).into(), *id));
            Ok(routes.collect())
        }
        Family::Ipv6Unicast => {
            let mut parsed: Vec<(u32, Ipv6Prefix)> = Vec::new();
            nlri::parse_ipv6(part, with, &mut parsed)?;
            let routes = parsed.iter().map(|(id, prefix)| ((*prefix).into(), *id));
            Ok(routes.collect())
        }
    }
}
