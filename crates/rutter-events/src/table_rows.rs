//! A snapshot of the table as rows.

use std::collections::HashMap;
use std::sync::Arc;

use rutter_net::Family;
use rutter_rib::{PeerId, RouteView, Snapshot};

use crate::{AttrColumns, Kind, Peer, Row};

/// Calls `visit` with a row for every route of the table. The `detail` is the reason of a rejected route, or a remark about a
/// reported one.
///
/// Each row carries `run`, `seq` and `time_us`. They name the last event that the state is certain to include
/// ([`crate::Decoder::next_seq`]).
pub fn state_rows(
    snapshot: &Snapshot,
    collector: &str,
    (run, seq): (u64, u64),
    time_us: u64,
    mut visit: impl FnMut(&Row<'_>),
) {
    let peers: HashMap<PeerId, Arc<Peer>> = snapshot
        .peers()
        .iter()
        .map(|peer| (peer.id, Arc::new(peer.into())))
        .collect();
    let mut columns = Columns::default();
    for family in Family::ALL {
        for destination in snapshot.destinations(family) {
            for route in &destination.routes {
                let peer = peers.get(&route.peer);
                let attrs = route.attrs;
                let remark = || {
                    let of = |peer: &Arc<Peer>| peer.remark(attrs.block(), attrs.next_hop());
                    peer.map_or("", of)
                };
                visit(&Row {
                    run,
                    seq,
                    time_us,
                    collector,
                    peer,
                    kind: Kind::State,
                    prefix: Some(destination.prefix),
                    path_id: route.path_id,
                    attrs: Some(columns.of(route)),
                    detail: route.reject.map_or_else(remark, |reason| reason.name()),
                });
            }
        }
    }
}

/// The columns by the address of their attribute set, which is stable while the snapshot exists.
#[derive(Default)]
struct Columns(HashMap<*const u8, Arc<AttrColumns>>);

impl Columns {
    fn of(&mut self, route: &RouteView<'_>) -> &Arc<AttrColumns> {
        let address = route.attrs.block().as_ptr();
        self.0
            .entry(address)
            .or_insert_with(|| Arc::new(AttrColumns::of(route.attrs)))
    }
}
