//! Every pass over a query, in the order in which they run.
//!
//! | step | works on | here |
//! | --- | --- | --- |
//! | 1 | the text | [`TEXT_PASS`] |
//! | 2 | the parsed statement | [`STATEMENT_PASSES`] |
//! | 3 | each expression, while DataFusion makes a plan | [`expression_planners`] |
//! | 4 | the logical plan, before DataFusion's analyzer | [`PLAN_PASSES`] |
//! | 5 | the logical plan, behind DataFusion's analyzer rules | [`analyzer_rule`] |
//! | 6 | the physical plan, around DataFusion's rules | [`physical_rules`] |

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::SessionStateDefaults;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::session_state::SessionState;
use datafusion::functions::unicode::planner::UnicodeFunctionPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::sql::parser::Statement;

use crate::application::Application;
use crate::dialect::{self, time_zone};
use crate::functions::{self, Casts, Dates, Operators, Signed};
use crate::limits::complexity;
use crate::limits::interruptible::Interruptible;
use crate::plan::sort_order::Unordered;
use crate::plan::subqueries;

/// The pass over the text of a query. The parser is recursive, and a deep text would overflow its stack.
pub const TEXT_PASS: fn(&str) -> Result<()> = complexity::check_text;

type StatementPass = fn(&mut Statement, &Application) -> Result<()>;

/// Passes over a parsed statement.
pub const STATEMENT_PASSES: [StatementPass; 3] = [
    // Limits come first: every later pass walks the whole statement.
    |statement, _| complexity::check_statement(statement),
    |statement, _| time_zone::check(statement),
    // Last: its output is DataFusion's SQL and need not be PostgreSQL's.
    dialect::rewrite::adapt,
];

/// Planners of expressions. The first that knows an expression plans it.
pub fn expression_planners(
    application: &Application,
    pool: &Arc<dyn MemoryPool>,
) -> Vec<Arc<dyn ExprPlanner>> {
    // `&&` between lists, and `||` within the memory of queries.
    let mut planners: Vec<Arc<dyn ExprPlanner>> = vec![Arc::new(Operators::new(pool))];
    // The application's own operators: lists are planned by now.
    planners.extend(application.operators.iter().cloned());
    planners.extend([
        // Differences of unsigned integers.
        Arc::new(Signed) as Arc<dyn ExprPlanner>,
        // Dates beside intervals.
        Arc::new(Dates),
        // `substring(x FROM 2)` and `position(x IN y)`.
        Arc::new(UnicodeFunctionPlanner),
    ]);
    // DataFusion's own take the rest.
    planners.extend(SessionStateDefaults::default_expr_planners());
    planners
}

type PlanPass = fn(LogicalPlan, &SessionState) -> Result<LogicalPlan>;

/// Passes over a logical plan before DataFusion's analyzer sees it.
pub const PLAN_PASSES: [PlanPass; 4] = [
    // This check comes first: it rejects all statements that write.
    |plan, _| read_only(plan),
    // The planner knows some functions without their names; all calls are checked here.
    functions::admit,
    // Subqueries must be such that DataFusion turns them into the right joins.
    |plan, _| subqueries::check(plan),
    // Last: it needs the functions that the passes above have put in.
    with_settled_types,
];

/// The analyzer rule behind DataFusion's own: types are known by then.
pub fn analyzer_rule() -> Arc<dyn AnalyzerRule + Send + Sync> {
    Arc::new(Casts)
}

/// Rules over the physical plan.
pub fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    // First: DataFusion's rules remove sorts that they believe to be unnecessary.
    let mut rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> = vec![Arc::new(Unordered)];
    rules.extend(PhysicalOptimizer::new().rules);
    // Last: it wraps operators, which no other rule would recognise then.
    rules.push(Arc::new(Interruptible));
    rules
}

/// Refuses statements that would change something.
fn read_only(plan: LogicalPlan) -> Result<LogicalPlan> {
    let options = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    options.verify_plan(&plan)?;
    Ok(plan)
}

/// Gives the columns of a plan the types that its rows will have: clients learn them before the first row. Plans with
/// parameters stay as they are: the types of the parameters decide.
fn with_settled_types(plan: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
    let is_bound = plan.get_parameter_names()?.is_empty();
    let is_explained = matches!(plan, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_));
    if !is_bound || is_explained {
        return Ok(plan);
    }
    // No other rule changes types; some would take long over their own output.
    TypeCoercion::new().analyze(plan, state.config_options())
}
