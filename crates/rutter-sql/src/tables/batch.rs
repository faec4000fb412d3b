//! Builds record batches of routes, with the requested columns only.

use std::fmt::Write as _;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanBuilder, DictionaryArray, Int16Builder, Int32Array, Int32Builder,
    Int64Builder, ListBuilder, RecordBatch, RecordBatchOptions, StringArray, StringBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef};
use datafusion::error::{DataFusionError, Result};
use rutter_events::Peer;
use rutter_net::{Family, Prefix};
use rutter_policy::RejectReason;
use rutter_rib::{AttrSet, PeerId, PeerSummary, Rib, RouteView};

use super::attributes::Sets;
use super::columns::Column;

/// The peers of a snapshot as the values of dictionaries.
#[derive(Debug)]
pub struct Peers {
    /// The row of each peer id.
    rows: Vec<i32>,
    asns: Vec<i64>,
    texts: [Arc<StringArray>; 4],
}

/// The columns of the strings in `Peers`, in order.
const TEXTS: [Column; 4] = [
    Column::Router,
    Column::PeerName,
    Column::PeerAddress,
    Column::View,
];

impl Peers {
    /// The peers of a snapshot.
    pub fn new(summaries: &[PeerSummary]) -> Self {
        let peers: Vec<Peer> = summaries.iter().map(Peer::from).collect();
        let end = peers.last().map_or(0, |peer| peer.id.index() + 1);
        let mut rows = vec![0; end];
        for (row, peer) in peers.iter().enumerate() {
            rows[peer.id.index()] = row as i32;
        }
        let text = |column| {
            let value = |peer: &Peer| match column {
                Column::Router => peer.router.to_string(),
                Column::PeerName => peer.name.to_string(),
                Column::PeerAddress => peer.address.to_string(),
                _ => peer.view.name().to_owned(),
            };
            Arc::new(StringArray::from_iter_values(peers.iter().map(value)))
        };
        Self {
            rows,
            asns: peers.iter().map(|peer| i64::from(peer.asn.0)).collect(),
            texts: TEXTS.map(text),
        }
    }
}

/// A column of the current batch, except columns of attribute sets.
enum Builder {
    /// Rows of [`Peers`], with the number of the string.
    Peer(usize),
    Text(StringBuilder),
    /// Codes of verdicts or reasons.
    Code(Int32Builder),
    Flag(BooleanBuilder),
    Small(Int16Builder),
    Medium(Int32Builder),
    Large(Int64Builder),
    /// The rejected routes. They are evaluated when the batch is complete, without a lock.
    Judged(Vec<Option<Rejected>>),
    /// A column of [`Sets`].
    OfSet,
}

type Rejected = (Prefix, PeerId, AttrSet);

/// Builds batches of routes.
pub struct Batches {
    rib: Arc<Rib>,
    schema: SchemaRef,
    columns: Vec<(Column, Builder)>,
    sets: Sets,
    peers: Arc<Peers>,
    peer_rows: Vec<i32>,
    len: usize,
}

impl Batches {
    /// A builder of these columns of a schema, in order.
    pub fn new(rib: Arc<Rib>, schema: SchemaRef, columns: &[Column], peers: Arc<Peers>) -> Self {
        Self {
            rib,
            schema,
            columns: columns
                .iter()
                .map(|column| (*column, builder(*column)))
                .collect(),
            sets: Sets::new(columns),
            peers,
            peer_rows: Vec::new(),
            len: 0,
        }
    }

    /// The same, for routes that only the batch keeps alive.
    pub fn holding(mut self) -> Self {
        self.sets.hold();
        self
    }

    /// The number of routes in the current batch.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds a route; `place` is its rank among the routes of its prefix.
    pub fn push(&mut self, prefix: Prefix, place: usize, route: &RouteView<'_>) {
        self.len += 1;
        let row = self
            .peers
            .rows
            .get(route.peer.index())
            .copied()
            .unwrap_or(0);
        self.peer_rows.push(row);
        for (column, builder) in &mut self.columns {
            match builder {
                Builder::Peer(_) | Builder::OfSet => {}
                Builder::Text(out) => {
                    let _ = write!(out, "{prefix}");
                    out.append_value("");
                }
                Builder::Code(out) => out.append_option(code(*column, route)),
                Builder::Judged(out) => {
                    let rejected = route
                        .reject
                        .map(|_| (prefix, route.peer, route.attrs.clone()));
                    out.push(rejected);
                }
                Builder::Flag(out) => out.append_value(match column {
                    Column::Best => place == 0 && route.reject.is_none(),
                    _ => route.stale,
                }),
                Builder::Small(out) => out.append_value(small(*column, prefix)),
                Builder::Medium(out) => {
                    let path = route.attrs.attributes().as_path();
                    out.append_value(path.map_or(0, |path| path.path_len() as i32));
                }
                Builder::Large(out) => out.append_option(match column {
                    Column::PeerAsn => self.peers.asns.get(row as usize).copied(),
                    _ => number(*column, route),
                }),
            }
        }
        if self.sets.is_wanted() {
            self.sets.push(route.attrs);
        }
    }

    /// Returns the batch and starts the next.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let len = std::mem::take(&mut self.len);
        let peer_rows = Int32Array::from(std::mem::take(&mut self.peer_rows));
        let mut of_sets = self.sets.finish()?;
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (column, builder) in &mut self.columns {
            arrays.push(match builder {
                Builder::Peer(text) => {
                    let values = Arc::clone(&self.peers.texts[*text]);
                    Arc::new(DictionaryArray::try_new(peer_rows.clone(), values)?) as ArrayRef
                }
                Builder::OfSet => take_column(&mut of_sets, *column)?,
                Builder::Judged(routes) => judge(&self.rib, std::mem::take(routes)),
                builder => builder.finish(*column)?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options);
        Ok(batch?)
    }
}

impl Builder {
    fn finish(&mut self, column: Column) -> Result<ArrayRef> {
        Ok(match self {
            Builder::Text(out) => Arc::new(out.finish()),
            Builder::Code(out) => Arc::new(DictionaryArray::try_new(out.finish(), texts(column))?),
            Builder::Flag(out) => Arc::new(out.finish()),
            Builder::Small(out) => Arc::new(out.finish()),
            Builder::Medium(out) => Arc::new(out.finish()),
            Builder::Large(out) => Arc::new(out.finish()),
            Builder::Peer(_) | Builder::OfSet | Builder::Judged(_) => {
                return Err(misplaced(column));
            }
        })
    }
}

/// All reasons against each route, with the evidence; empty for accepted routes.
fn judge(rib: &Rib, routes: Vec<Option<Rejected>>) -> ArrayRef {
    let item = Arc::new(Field::new_list_field(DataType::Utf8, false));
    let mut out = ListBuilder::new(StringBuilder::new()).with_field(item);
    for route in routes {
        if let Some((prefix, peer, attrs)) = route {
            for finding in rib.findings(peer, prefix, &attrs) {
                let _ = write!(
                    out.values(),
                    "{}: {}",
                    finding.reason.name(),
                    finding.evidence
                );
                out.values().append_value("");
            }
        }
        out.append(true);
    }
    Arc::new(out.finish())
}

fn take_column(columns: &mut Vec<(Column, ArrayRef)>, column: Column) -> Result<ArrayRef> {
    let at = columns.iter().position(|(of, _)| *of == column);
    let at = at.ok_or_else(|| misplaced(column))?;
    Ok(columns.swap_remove(at).1)
}

fn misplaced(column: Column) -> DataFusionError {
    DataFusionError::Internal(format!("column {column:?} is not built here"))
}

fn builder(column: Column) -> Builder {
    if let Some(text) = TEXTS.iter().position(|of| *of == column) {
        return Builder::Peer(text);
    }
    if column.is_text_of_set() || column.is_list() {
        return Builder::OfSet;
    }
    match column {
        Column::Prefix => Builder::Text(StringBuilder::new()),
        Column::Reasons => Builder::Judged(Vec::new()),
        Column::Verdict | Column::Reason => Builder::Code(Int32Builder::new()),
        Column::Best | Column::Stale => Builder::Flag(BooleanBuilder::new()),
        Column::Family | Column::PrefixLength => Builder::Small(Int16Builder::new()),
        Column::AsPathLength => Builder::Medium(Int32Builder::new()),
        _ => Builder::Large(Int64Builder::new()),
    }
}

fn small(column: Column, prefix: Prefix) -> i16 {
    match (column, prefix.family()) {
        (Column::PrefixLength, _) => i16::from(prefix.len()),
        (_, Family::Ipv4Unicast) => 4,
        (_, Family::Ipv6Unicast) => 6,
    }
}

fn number(column: Column, route: &RouteView<'_>) -> Option<i64> {
    let attributes = || route.attrs.attributes();
    match column {
        Column::PathId => Some(i64::from(route.path_id)),
        Column::OriginAs => route.attrs.origin_as().map(|asn| i64::from(asn.0)),
        Column::Med => attributes().multi_exit_disc().map(i64::from),
        _ => attributes().local_pref().map(i64::from),
    }
}

fn code(column: Column, route: &RouteView<'_>) -> Option<i32> {
    match column {
        Column::Verdict => Some(i32::from(route.reject.is_some())),
        _ => route.reject.map(|reason| reason as i32),
    }
}

fn texts(column: Column) -> ArrayRef {
    Arc::new(match column {
        Column::Verdict => StringArray::from(vec!["accepted", "rejected"]),
        _ => StringArray::from_iter_values(RejectReason::ALL.iter().map(|reason| reason.name())),
    })
}
