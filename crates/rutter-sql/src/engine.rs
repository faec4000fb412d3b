//! Queries over a table.

use std::sync::Arc;

use datafusion::dataframe::DataFrame;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::execution::{SendableRecordBatchStream, SessionStateDefaults};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::optimizer::AnalyzerRule as _;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::{SessionConfig, SessionContext};
use rutter_rib::Rib;

use crate::catalog;
use crate::complexity;
use crate::error::QueryError;
use crate::events::EventLog;
use crate::functions::{
    self, Checked, Dates, Forms, Guards, Indexes, Lists, PrefixOperators, Signed, Small, Texts,
};
use crate::guarded::Guarded;
use crate::interruptible::Interruptible;
use crate::memory::QueryMemory;
use crate::subqueries;
use crate::tables::{
    Current, EventsTable, Lookup, PeersTable, Router, RoutersTable, RoutesTable, Which,
};
use crate::unordered::Unordered;
use crate::zones;

/// What queries may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Memory of all queries together, octets. A query that needs more ends with an error.
    pub memory: usize,
    /// Partitions of a query that run at the same time.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            memory: 512 << 20,
            threads,
        }
    }
}

/// Answers queries over a [`Rib`]: tables `peers`, `routes`, `best`, `rejected` and, where a log is kept, `events`;
/// the table function `lookup('192.0.2.1')`; functions and operators on prefixes, paths and communities.
#[derive(Clone)]
pub struct Engine {
    pub(crate) context: SessionContext,
}

/// A plan whose columns have the types that its rows will have: clients are told them before the first row. Where values
/// are still to be bound, their types decide.
fn settled(plan: LogicalPlan, state: &SessionState) -> Result<LogicalPlan, QueryError> {
    let is_bound = plan.get_parameter_names()?.is_empty();
    let is_explained = matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_));
    if !is_bound || is_explained {
        return Ok(plan);
    }
    // No other rule changes types; some would take long if they met their own work.
    Ok(TypeCoercion::new().analyze(plan, state.config_options())?)
}

/// The rules of the engine for plans, before which it is told what rows are ordered by.
fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let first: Arc<dyn PhysicalOptimizerRule + Send + Sync> = Arc::new(Unordered);
    let rules = PhysicalOptimizer::new().rules;
    std::iter::once(first).chain(rules).collect()
}

impl Engine {
    /// Over a table that may change while it is asked.
    ///
    /// # Errors
    /// Not with sensible limits.
    pub fn new(rib: Arc<Rib>, log: Option<EventLog>, limits: &Limits) -> Result<Self, QueryError> {
        let Self { context } = Self::without_tables(limits)?;
        let routes = |which| Arc::new(RoutesTable::new(Arc::clone(&rib), which));
        context.register_table("routes", routes(Which::All))?;
        context.register_table("best", routes(Which::Best))?;
        context.register_table("rejected", routes(Which::Rejected))?;
        context.register_table(
            "peers",
            Arc::new(Current(PeersTable::new(Arc::clone(&rib)))),
        )?;
        if let Some(log) = log {
            context.register_table("events", Arc::new(Current(EventsTable::new(log))))?;
        }
        context.register_udtf("lookup", Arc::new(Lookup(rib)));
        catalog::register(&context)?;
        Ok(Self { context })
    }

    /// As this one, with a table `routers` of those that report by BMP, asked for anew by each query.
    ///
    /// # Errors
    /// Not with an engine over a table.
    pub fn with_routers(
        self,
        routers: impl Fn() -> Vec<Router> + Send + Sync + 'static,
    ) -> Result<Self, QueryError> {
        let table = Arc::new(Current(RoutersTable::new(Arc::new(routers))));
        self.context.register_table("routers", table)?;
        catalog::register(&self.context)?;
        Ok(self)
    }

    /// Without any table, for files.
    ///
    /// # Errors
    /// Not with sensible limits.
    pub fn without_tables(limits: &Limits) -> Result<Self, QueryError> {
        let mut config = SessionConfig::new()
            .with_information_schema(true)
            .with_default_catalog_and_schema(catalog::DATABASE, catalog::SCHEMA)
            .with_target_partitions(limits.threads.max(1));
        config.options_mut().sql_parser.dialect = "PostgreSQL".parse()?;
        // Of some expressions the engine says that they may be NULL when it plans, and not when it computes, or the other way round.
        config
            .options_mut()
            .execution
            .skip_physical_aggregate_schema_check = true;
        config.options_mut().execution.time_zone = Some(zones::UTC.to_owned());
        // What lists of views hold is not counted by all that gather them.
        config.options_mut().sql_parser.map_string_types_to_utf8view = false;
        // What does not fit in memory is an error, not a full disk: history and spools may lie there.
        let no_disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(QueryMemory::new(limits.memory)))
            .with_disk_manager_builder(no_disk);
        let runtime = runtime.build_arc()?;
        let pool = &runtime.memory_pool;
        let mut planners: Vec<Arc<dyn ExprPlanner>> = vec![
            Arc::new(PrefixOperators::new(pool)),
            Arc::new(Forms::default()),
            Arc::new(Indexes::default()),
            Arc::new(Signed::default()),
            Arc::new(Small),
            Arc::new(Dates),
            Arc::new(Lists),
        ];
        planners.extend(SessionStateDefaults::default_expr_planners());
        let state = SessionStateBuilder::new_with_default_features()
            .with_config(config)
            .with_runtime_env(Arc::clone(&runtime))
            .with_expr_planners(planners)
            .with_analyzer_rule(Arc::new(Texts))
            .with_analyzer_rule(Arc::new(Checked::default()))
            .with_analyzer_rule(Arc::new(Guards))
            .with_optimizer_rules(functions::rules())
            .with_physical_optimizer_rules(physical_rules())
            .with_physical_optimizer_rule(Arc::new(Guarded))
            .with_physical_optimizer_rule(Arc::new(Interruptible))
            .build();
        let context = SessionContext::new_with_state(state);
        for function in functions::all() {
            context.register_udf(function);
        }
        functions::register_allowed(&context, &runtime.memory_pool);
        Ok(Self { context })
    }

    /// As this one, and files can be named as tables: `SELECT * FROM 'events.parquet'`. Not for servers: whoever may
    /// ask may read every file then.
    pub fn with_files(self) -> Self {
        Self {
            context: self.context.enable_url_table(),
        }
    }

    /// Plans a query. Statements that would change something are refused, and queries that would take long to plan.
    ///
    /// # Errors
    /// Whatever is wrong with the query.
    pub async fn plan(&self, sql: &str) -> Result<DataFrame, QueryError> {
        complexity::check_text(sql)?;
        let state = self.context.state();
        let sql = catalog::spelled(sql);
        let mut statement =
            state.sql_to_statement(&sql, &state.config_options().sql_parser.dialect)?;
        complexity::check_tables(&statement)?;
        complexity::check_orders(&statement)?;
        zones::check(&statement)?;
        catalog::adapt(&mut statement)?;
        let plan = state.statement_to_plan(statement).await?;
        let read_only = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        read_only.verify_plan(&plan)?;
        let plan = functions::admit(plan, &state)?;
        let plan = subqueries::said(plan)?;
        let plan = settled(plan, &state)?;
        Ok(self.context.execute_logical_plan(plan).await?)
    }

    /// Begins to answer a query; its rows come as they are found.
    ///
    /// # Errors
    /// Whatever is wrong with the query.
    pub async fn query(&self, sql: &str) -> Result<SendableRecordBatchStream, QueryError> {
        Ok(self.plan(sql).await?.execute_stream().await?)
    }

    /// Whether queries have held much memory since this was asked last, and now hold little.
    pub(crate) fn has_emptied(&self) -> bool {
        let memory = self.memory();
        let memory = memory.downcast_ref::<QueryMemory>();
        memory.is_some_and(QueryMemory::has_emptied)
    }

    /// What all queries together hold.
    pub(crate) fn memory(&self) -> Arc<dyn MemoryPool> {
        Arc::clone(&self.context.runtime_env().memory_pool)
    }

    pub(crate) async fn run(
        &self,
        plan: LogicalPlan,
    ) -> Result<SendableRecordBatchStream, QueryError> {
        let frame = self.context.execute_logical_plan(plan).await?;
        Ok(frame.execute_stream().await?)
    }
}
