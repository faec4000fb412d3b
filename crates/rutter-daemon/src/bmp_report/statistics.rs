//! Statistics Reports (RFC 7854 §4.8, RFC 8671 §6.2, RFC 9069 §5.5).

use std::collections::HashMap;
use std::ops::ControlFlow;

use rutter_net::{Family, PerFamily};
use rutter_rib::{DestinationPlace, PeerId, Rib, StationView};
use rutter_wire::bmp::{PeerHeader, RibView, Statistic, write_statistics_report};

use super::changes::Changes;
use super::sessions::Sessions;
use crate::shared::unix_us;

/// The names of a gauge of all families, and of the one of a single family.
type Kinds = (u16, u16);

const RECEIVED: Kinds = (Statistic::ADJ_RIB_IN, Statistic::ADJ_RIB_IN_OF_FAMILY);
const SENT: Kinds = (Statistic::ADJ_RIB_OUT, Statistic::ADJ_RIB_OUT_OF_FAMILY);
const SELECTED: Kinds = (Statistic::LOC_RIB, Statistic::LOC_RIB_OF_FAMILY);

/// Appends a report for each session. With `adj_rib_out` it also has the number of routes that the neighbor is sent, for which
/// the table is walked in one call. Returns the number of messages.
pub(super) fn write_of_sessions(
    out: &mut Vec<u8>,
    rib: &Rib,
    sessions: &Sessions,
    changes: &Changes,
    adj_rib_out: bool,
) -> u64 {
    let ids: Vec<PeerId> = sessions.iter().map(|(id, _)| id).collect();
    let mut sent: HashMap<PeerId, PerFamily<u64>> = HashMap::new();
    if adj_rib_out {
        for family in Family::ALL {
            let counts = rib.export_counts(family, &ids);
            for id in &ids {
                sent.entry(*id).or_insert(PerFamily::both(0))[family] = counts.of(*id).routes;
            }
        }
    }
    for (id, known) in sessions.iter() {
        let counts = rib.counts(id);
        let received = PerFamily::from_fn(|family| u64::from(counts[family].received));
        let has = |family: Family| known.session.families[family].is_some();
        let rejected = known.rejected_before + changes.rejections(id);
        let mut report = vec![
            Statistic::new(Statistic::REJECTED_PREFIXES, rejected),
            total(RECEIVED, received),
        ];
        report.extend(of_families(RECEIVED, received, has));
        if let Some(sent) = sent.get(&id) {
            report.push(total(SENT, *sent));
            report.extend(of_families(SENT, *sent, has));
        }
        let header = known.header(RibView::AdjRibInPre);
        write_statistics_report(out, &now(header), &report);
    }
    ids.len() as u64
}

/// A count of the selected routes, in slices, because changes wait for it.
pub(super) struct LocRibCount {
    selected: PerFamily<u64>,
    family: Family,
    place: DestinationPlace,
}

impl Default for LocRibCount {
    fn default() -> Self {
        LocRibCount {
            selected: PerFamily::both(0),
            family: Family::Ipv4Unicast,
            place: DestinationPlace::default(),
        }
    }
}

impl LocRibCount {
    /// Counts the next slice. Returns whether the count has ended.
    pub(super) fn step(&mut self, monitor: &mut StationView) -> bool {
        let selected = &mut self.selected[self.family];
        let next = monitor.visit(self.family, self.place, |destination| {
            *selected += u64::from(destination.best().is_some());
            ControlFlow::Continue(())
        });
        self.place = next.unwrap_or_default();
        match (next, self.family) {
            (Some(_), _) => return false,
            (None, Family::Ipv4Unicast) => self.family = Family::Ipv6Unicast,
            (None, Family::Ipv6Unicast) => return true,
        }
        false
    }

    /// Appends a report with the number.
    pub(super) fn write(&self, out: &mut Vec<u8>, loc_rib: PeerHeader) {
        let total = total(SELECTED, self.selected);
        let mut report = vec![total];
        report.extend(of_families(SELECTED, self.selected, |_| true));
        write_statistics_report(out, &now(loc_rib), &report);
    }
}

fn total((all, _): Kinds, counts: PerFamily<u64>) -> Statistic {
    Statistic::new(all, counts.iter().sum())
}

fn of_families(
    (_, of_family): Kinds,
    counts: PerFamily<u64>,
    has: impl Fn(Family) -> bool,
) -> impl Iterator<Item = Statistic> {
    let families = Family::ALL.into_iter().filter(move |family| has(*family));
    families.map(move |family| Statistic::of_family(of_family, family.afi_safi(), counts[family]))
}

fn now(header: PeerHeader) -> PeerHeader {
    PeerHeader {
        unix_us: Some(unix_us()),
        ..header
    }
}
