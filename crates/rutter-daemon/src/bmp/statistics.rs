//! Statistics Reports (RFC 7854 §4.8, RFC 8671 §6.2, RFC 9069 §5.5).

use std::collections::HashMap;
use std::ops::ControlFlow;

use rutter_net::{Family, PerFamily};
use rutter_rib::{DestinationPlace, Monitor, PeerId, Rib};
use rutter_wire::bmp::{PeerHeader, RibView, Statistic, write_statistics_report};

use super::sessions::Sessions;
use crate::shared::unix_us;

/// The names of a gauge of all families, and of the one of a single family.
type Kinds = (u16, u16);

const RECEIVED: Kinds = (Statistic::ADJ_RIB_IN, Statistic::ADJ_RIB_IN_OF_FAMILY);
const SENT: Kinds = (Statistic::ADJ_RIB_OUT, Statistic::ADJ_RIB_OUT_OF_FAMILY);
const SELECTED: Kinds = (Statistic::LOC_RIB, Statistic::LOC_RIB_OF_FAMILY);

/// Appends a report for each session. With `adj_rib_out` it also has the number of prefixes that the neighbor is sent, for
/// which the table is walked. Returns the number of messages.
pub(super) fn write_of_sessions(
    out: &mut Vec<u8>,
    rib: &Rib,
    sessions: &Sessions,
    adj_rib_out: bool,
) -> u64 {
    let ids: Vec<PeerId> = sessions.iter().map(|(id, _)| id).collect();
    let mut sent: HashMap<PeerId, PerFamily<u64>> = HashMap::new();
    if adj_rib_out {
        for family in Family::ALL {
            let counts = rib.advertised_prefixes(family, &ids);
            for (id, count) in ids.iter().zip(counts) {
                sent.entry(*id).or_insert(PerFamily::both(0))[family] = count.into();
            }
        }
    }
    for (id, known) in sessions.iter() {
        let counts = rib.counts(id);
        let received = PerFamily::from_fn(|family| u64::from(counts[family].received));
        let has = |family: Family| known.session.families[family].is_some();
        let mut report = gauges(RECEIVED, received, has);
        if let Some(sent) = sent.get(&id) {
            report.extend(gauges(SENT, *sent, has));
        }
        let header = known.header(RibView::AdjRibInPre);
        write_statistics_report(out, &now(header), &report);
    }
    ids.len() as u64
}

/// Appends a report with the number of selected routes. It walks the table.
pub(super) fn write_of_loc_rib(out: &mut Vec<u8>, monitor: &mut Monitor, loc_rib: PeerHeader) {
    let mut selected = PerFamily::both(0);
    for family in Family::ALL {
        let mut place = Some(DestinationPlace::default());
        while let Some(from) = place {
            place = monitor.visit(family, from, |destination| {
                selected[family] += u64::from(destination.best().is_some());
                ControlFlow::Continue(())
            });
        }
    }
    let report = gauges(SELECTED, selected, |_| true);
    write_statistics_report(out, &now(loc_rib), &report);
}

fn gauges(
    (all, of_family): Kinds,
    counts: PerFamily<u64>,
    has: impl Fn(Family) -> bool,
) -> Vec<Statistic> {
    let total = counts.iter().sum();
    let mut gauges = vec![Statistic::new(all, total)];
    for family in Family::ALL.into_iter().filter(|family| has(*family)) {
        let wire = family.afi_safi();
        gauges.push(Statistic::of_family(of_family, wire, counts[family]));
    }
    gauges
}

fn now(header: PeerHeader) -> PeerHeader {
    PeerHeader {
        unix_us: Some(unix_us()),
        ..header
    }
}
