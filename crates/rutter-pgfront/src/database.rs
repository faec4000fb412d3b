//! The tables of an application, and queries over them.

use std::sync::Arc;

use datafusion::catalog::{TableFunctionImpl, TableProvider};
use datafusion::dataframe::DataFrame;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::application::Application;
use crate::catalog;
use crate::dialect::time_zone;
use crate::error::QueryError;
use crate::functions;
use crate::limits::inline_query;
use crate::limits::memory::QueryMemory;
use crate::passes;

/// The limits of queries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The memory of all queries together, in bytes. A query that needs more ends with an error.
    pub memory: usize,
    /// The partitions of a query that run at the same time.
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

/// The tables of an application. Clones share them.
#[derive(Clone)]
pub struct Database {
    pub(crate) context: SessionContext,
    pub(crate) application: Arc<Application>,
}

impl Database {
    /// A database without tables.
    ///
    /// # Errors
    /// Not with sensible limits.
    pub fn new(application: Application, limits: &Limits) -> Result<Self, QueryError> {
        let application = Arc::new(application);
        let mut config = SessionConfig::new()
            .with_information_schema(true)
            .with_default_catalog_and_schema(application.database, catalog::SCHEMA)
            .with_target_partitions(limits.threads.max(1));
        let options = config.options_mut();
        options.sql_parser.dialect = "PostgreSQL".parse()?;
        // DataFusion's planner and its executor disagree on which expressions may be NULL.
        options.execution.skip_physical_aggregate_schema_check = true;
        options.execution.time_zone = Some(time_zone::UTC.to_owned());
        // Some aggregates do not count the memory of lists of views.
        options.sql_parser.map_string_types_to_utf8view = false;
        // A query that does not fit in memory fails. It must not fill the disk of the application.
        let no_disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(QueryMemory::new(limits.memory)))
            .with_disk_manager_builder(no_disk);
        let runtime = runtime.build_arc()?;
        let pool = &runtime.memory_pool;
        let state = SessionStateBuilder::new_with_default_features()
            .with_config(config)
            .with_runtime_env(Arc::clone(&runtime))
            .with_expr_planners(passes::expression_planners(&application, pool))
            .with_physical_optimizer_rules(passes::physical_rules())
            .with_analyzer_rule(passes::analyzer_rule());
        let context = SessionContext::new_with_state(state.build());
        for function in functions::all(&application) {
            context.register_udf(function);
        }
        functions::register_allowed(&context, &runtime.memory_pool);
        for function in &application.functions {
            context.register_udf(function.clone());
        }
        Ok(Self {
            context,
            application,
        })
    }

    /// Adds tables and describes all tables in `pg_catalog` and `information_schema`.
    ///
    /// # Errors
    /// Not with names of their own.
    pub fn with_tables(
        self,
        tables: impl IntoIterator<Item = (&'static str, Arc<dyn TableProvider>)>,
    ) -> Result<Self, QueryError> {
        for (name, table) in tables {
            self.context.register_table(name, table)?;
        }
        catalog::register(&self.context, &self.application)?;
        Ok(self)
    }

    /// Adds a table function: `FROM name(…)`.
    pub fn with_table_function(
        self,
        name: &'static str,
        function: Arc<dyn TableFunctionImpl>,
    ) -> Self {
        self.context.register_udtf(name, function);
        self
    }

    /// Lets queries name files as tables: `SELECT * FROM 'events.parquet'`. Not for servers: every client could read every
    /// file then.
    pub fn with_files(self) -> Self {
        Self {
            context: self.context.enable_url_table(),
            ..self
        }
    }

    /// Plans a query. Refuses statements that would change something, and queries that would take long to plan.
    ///
    /// # Errors
    /// An error of the query.
    pub async fn plan(&self, sql: &str) -> Result<DataFrame, QueryError> {
        let state = self.context.state();
        passes::TEXT_PASS(sql)?;
        let mut statement =
            state.sql_to_statement(sql, &state.config_options().sql_parser.dialect)?;
        for pass in passes::STATEMENT_PASSES {
            pass(&mut statement, &self.application)?;
        }
        let mut plan = state.statement_to_plan(statement).await?;
        for pass in passes::PLAN_PASSES {
            plan = pass(plan, &state)?;
        }
        Ok(self.context.execute_logical_plan(plan).await?)
    }

    /// Begins to answer a query. Its rows arrive while they are computed.
    ///
    /// # Errors
    /// An error of the query.
    pub async fn query(&self, sql: &str) -> Result<SendableRecordBatchStream, QueryError> {
        Ok(self.plan(sql).await?.execute_stream().await?)
    }

    /// Returns whether a query is so short that it runs on the thread that has read it.
    pub fn runs_inline(&self, plan: &LogicalPlan) -> bool {
        inline_query::is_inline(plan, self.application.is_small_lookup)
    }

    /// Returns whether queries have held much memory since the last call, and hold little now.
    pub(crate) fn has_shrunk(&self) -> bool {
        let memory = self.memory();
        let memory = memory.downcast_ref::<QueryMemory>();
        memory.is_some_and(QueryMemory::has_shrunk)
    }

    /// The memory of all queries together.
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
