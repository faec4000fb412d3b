//! Tables of routes: `routes`, `best` and `rejected`.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::stream;
use rutter_net::Prefix;
use rutter_rib::{PeerSummary, Rib, RouteView, Snapshot};

use super::batch::{Batches, Peers};
use super::columns::{COLUMNS, Column, schema};
use super::filter::{Condition, Wanted};

/// The rows of a batch.
const BATCH: usize = 8192;

/// The routes of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Every route of every peer.
    All,
    /// The best route of each destination.
    Best,
    /// The routes that take no part in the decision.
    Rejected,
}

impl Which {
    fn takes(self, place: usize, route: &RouteView<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Best => place == 0 && route.reject.is_none(),
            Self::Rejected => route.reject.is_some(),
        }
    }
}

/// A table of routes, as they are when the query begins.
pub struct RoutesTable {
    rib: Arc<Rib>,
    which: Which,
    schema: SchemaRef,
    /// Only the routes of the longest match of this prefix. Each query searches it again: a prepared query may run long
    /// after it was planned.
    longest_of: Option<Prefix>,
}

impl RoutesTable {
    /// A table over a [`Rib`].
    pub fn new(rib: Arc<Rib>, which: Which) -> Self {
        Self {
            rib,
            which,
            schema: schema(),
            longest_of: None,
        }
    }

    /// A table of the routes of the longest match.
    pub fn longest(rib: Arc<Rib>, net: Prefix) -> Self {
        Self {
            longest_of: Some(net),
            ..Self::new(rib, Which::All)
        }
    }

    /// The server sends this many routes in about three milliseconds, which delays no other client.
    pub const FEW: usize = 256;

    /// Returns whether the conditions together select one prefix with few routes.
    pub fn looks_up_few(&self, conditions: &[&Expr]) -> bool {
        let named = conditions
            .iter()
            .find_map(|expr| match Condition::of(expr) {
                Some(Condition::Is(prefix)) => Some(prefix),
                _ => None,
            });
        let prefix = match (named, self.longest_of) {
            (Some(named), _) => Some(named),
            (None, Some(net)) => self.rib.longest_match(net),
            (None, None) => return false,
        };
        let routes = prefix.and_then(|prefix| self.rib.destination(prefix, |at| at.routes.len()));
        routes.is_none_or(|routes| routes <= Self::FEW)
    }

    fn conditions(&self, filters: &[Expr]) -> Vec<Condition> {
        filters.iter().filter_map(Condition::of).collect()
    }

    /// The prefixes to look up, if the conditions name them.
    fn only(&self, conditions: &[Condition]) -> Option<Vec<Prefix>> {
        let named = Wanted::new(conditions, &[]).only;
        let Some(net) = self.longest_of else {
            return named;
        };
        let found = self.rib.longest_match(net).into_iter();
        let wanted = |prefix: &Prefix| named.as_ref().is_none_or(|named| named.contains(prefix));
        Some(found.filter(wanted).collect())
    }
}

impl fmt::Debug for RoutesTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RoutesTable({:?})", self.which)
    }
}

#[async_trait]
impl TableProvider for RoutesTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let answer = |filter: &&Expr| match Condition::of(filter) {
            Some(_) => TableProviderFilterPushDown::Exact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(answer).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all: Vec<usize> = (0..COLUMNS.len()).collect();
        let projection = projection.unwrap_or(&all);
        let projected = Arc::new(self.schema.project(projection)?);
        let columns: Arc<[Column]> = projection.iter().map(|at| COLUMNS[*at].0).collect();
        let conditions = self.conditions(filters);
        let reading = |peers: &[PeerSummary], from: From| Reading {
            rib: Arc::clone(&self.rib),
            which: self.which,
            peers: Arc::new(Peers::new(peers)),
            from,
            schema: Arc::clone(&projected),
            columns: Arc::clone(&columns),
            wanted: Arc::new(Wanted::new(&conditions, peers)),
        };
        let partitions: Vec<Arc<dyn PartitionStream>> = match self.only(&conditions) {
            // Look-ups read the table itself. They share no page, so that no writer must copy one.
            Some(only) => {
                let from = From::LookUps(only.into());
                vec![Arc::new(reading(&self.rib.peers(), from))]
            }
            None => {
                let snapshot = Arc::new(self.rib.snapshot());
                let step = state.config().target_partitions().max(1);
                let from = |next| From::Pages(Arc::clone(&snapshot), Pages { next, step });
                (0..step)
                    .map(|next| reading(snapshot.peers(), from(next)))
                    .map(|reading| Arc::new(reading) as Arc<dyn PartitionStream>)
                    .collect()
            }
        };
        let plan = StreamingTableExec::try_new(projected, partitions, None, [], false, limit)?;
        Ok(Arc::new(plan))
    }
}

/// The source of a partition's routes.
#[derive(Clone)]
enum From {
    /// Every `step`-th page of a snapshot.
    Pages(Arc<Snapshot>, Pages),
    /// Look-ups of these prefixes.
    LookUps(Arc<[Prefix]>),
}

/// The pages of the snapshot that one partition reads.
#[derive(Clone, Copy, Debug)]
struct Pages {
    next: usize,
    step: usize,
}

/// The state of one partition.
#[derive(Clone)]
struct Reading {
    rib: Arc<Rib>,
    which: Which,
    peers: Arc<Peers>,
    from: From,
    schema: SchemaRef,
    columns: Arc<[Column]>,
    wanted: Arc<Wanted>,
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} routes", self.which)
    }
}

impl PartitionStream for Reading {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let (rib, peers) = (Arc::clone(&self.rib), Arc::clone(&self.peers));
        let batches = Batches::new(rib, Arc::clone(&schema), &self.columns, peers);
        let (snapshot, pages) = match &self.from {
            From::Pages(snapshot, pages) => (Arc::clone(snapshot), *pages),
            From::LookUps(prefixes) => {
                let batch = self.look_up(prefixes, batches.holding());
                let stream = stream::once(async move { batch });
                return Box::pin(RecordBatchStreamAdapter::new(schema, stream));
            }
        };
        let reading = self.clone();
        let state = Some((batches, pages));
        let stream = stream::unfold(state, move |state| {
            let (reading, snapshot) = (reading.clone(), Arc::clone(&snapshot));
            async move {
                let (mut batches, mut pages) = state?;
                // Yield between batches, so that a long query can be cancelled.
                tokio::task::yield_now().await;
                let more = reading.fill(&snapshot, &mut pages, &mut batches);
                let batch = batches.finish();
                Some((batch, more.then_some((batches, pages))))
            }
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, stream))
    }
}

impl Reading {
    /// Fills a batch. Returns whether more rows may follow.
    fn fill(&self, snapshot: &Snapshot, pages: &mut Pages, batches: &mut Batches) -> bool {
        while batches.len() < BATCH {
            if pages.next >= snapshot.pages() {
                return false;
            }
            snapshot.visit_page(pages.next, |prefix, place, route| {
                if self.which.takes(place, &route) && self.wanted.takes(prefix, route.peer) {
                    batches.push(prefix, place, &route);
                }
            });
            pages.next += pages.step;
        }
        true
    }

    fn look_up(&self, prefixes: &[Prefix], mut batches: Batches) -> Result<RecordBatch> {
        for prefix in prefixes {
            self.rib.destination(*prefix, |destination| {
                for (place, route) in destination.routes.iter().enumerate() {
                    if self.which.takes(place, route) && self.wanted.takes(*prefix, route.peer) {
                        batches.push(*prefix, place, route);
                    }
                }
            });
        }
        batches.finish()
    }
}
