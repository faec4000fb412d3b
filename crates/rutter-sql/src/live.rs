//! The databases of Rutter: PostgreSQL's front end with the tables and functions of routes.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::logical_expr::Expr;
use rutter_pgfront::{Application, Database, Limits, QueryError};
use rutter_rib::Rib;

use crate::events::EventLog;
use crate::functions::{self, PrefixOperators};
use crate::tables::{self, Lookup, Router, RoutesTable, Which};

/// Rutter as an application of the front end.
fn application() -> Application {
    Application {
        database: "rutter",
        product: "Rutter",
        // Their OIDs follow from this order: append only.
        tables: vec!["best", "events", "peers", "rejected", "routers", "routes"],
        table_functions: vec![("lookup", "0.0.0.0/0")],
        functions: functions::all(),
        operators: vec![Arc::new(PrefixOperators::default())],
        descriptions: functions::DESCRIPTIONS.to_vec(),
        prefix_columns: vec!["prefix"],
        is_small_lookup,
    }
}

/// Returns whether the conditions leave a few routes of one prefix.
fn is_small_lookup(table: &dyn TableProvider, conditions: &[&Expr]) -> bool {
    let routes = table.downcast_ref::<RoutesTable>();
    routes.is_some_and(|routes| routes.looks_up_few(conditions))
}

/// A database without tables, for files.
///
/// # Errors
/// Not with sensible limits.
pub fn database(limits: &Limits) -> Result<Database, QueryError> {
    Database::new(application(), limits)
}

/// A database over a [`Rib`] that may change during queries: the tables `peers`, `routes`, `best`, `rejected` and, with a
/// log, `events`, and the table function `lookup('192.0.2.1')`.
///
/// # Errors
/// Not with sensible limits.
pub fn live_database(
    rib: Arc<Rib>,
    log: Option<EventLog>,
    limits: &Limits,
) -> Result<Database, QueryError> {
    let routes =
        |which| -> Arc<dyn TableProvider> { Arc::new(RoutesTable::new(Arc::clone(&rib), which)) };
    let mut tables = vec![
        ("routes", routes(Which::All)),
        ("best", routes(Which::Best)),
        ("rejected", routes(Which::Rejected)),
        ("peers", Arc::new(tables::peers(Arc::clone(&rib))) as _),
    ];
    if let Some(log) = log {
        tables.push(("events", Arc::new(tables::events(log))));
    }
    let database = database(limits)?.with_table_function("lookup", Arc::new(Lookup(rib)));
    database.with_tables(tables)
}

/// Adds the table `routers`: the routers that report by BMP. Each query calls `routers`.
///
/// # Errors
/// Not with a live database.
pub fn with_routers(
    database: Database,
    routers: impl Fn() -> Vec<Router> + Send + Sync + 'static,
) -> Result<Database, QueryError> {
    let table: Arc<dyn TableProvider> = Arc::new(tables::routers(routers));
    database.with_tables([("routers", table)])
}
