//! The functions that queries may call. All others are refused: an upgrade of DataFusion brings new functions, and one
//! without a bound on its result or its time would block every client.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::not_impl_err;
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::expr::{GroupingSet, ScalarFunction, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable as _, Like, LogicalPlan, Operator, ScalarUDF, Window,
    WindowFunctionDefinition, lit,
};
use datafusion::prelude::SessionContext;

use super::bounded::{BOUNDED, Bounded};
use super::intervals::check_order;
use super::like::{ILIKE, LIKE};
use super::operators::JOIN;

/// Scalar functions whose result has a fixed size, or about the size of the arguments, in linear time.
const PLAIN: &str = "arrow_typeof coalesce get_field greatest least nullif nvl version \
    current_date current_time date_bin date_part date_trunc make_date now to_timestamp to_timestamp_micros to_timestamp_seconds \
    abs cbrt ceil exp floor ln log log10 pi power random round signum sqrt trunc \
    ascii bit_length btrim chr contains ends_with initcap lower ltrim octet_length rtrim split_part starts_with to_hex \
    upper character_length left reverse right strpos substr \
    array_any_value array_distinct array_element array_has array_length array_ndims array_position array_remove_all \
    array_reverse array_slice array_sort cardinality empty flatten \
    prefix_key network_inet network_cidr network_text \
    current_setting format_type relation_number relation_name type_number schema_number schema_name \
    gathered pg_get_function_result pg_get_function_arguments pg_get_function_identity_arguments";

/// Aggregates, which count their memory as it grows.
const AGGREGATES: &str = "approx_distinct array_agg avg bit_and bit_or bool_and bool_or corr count first_value grouping \
    last_value max median min percentile_cont stddev stddev_pop string_agg sum var var_pop";

const WINDOWS: &str = "row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value";

/// Aggregates that need much memory for each partition of a window. A batch may have a partition for each row.
const COSTLY: &str = "approx_distinct median percentile_cont";

/// Table functions, which make rows as they are read.
const TABLES: &str = "generate_series";

/// The longest separator of `string_agg`: it is not counted in advance.
const BETWEEN: usize = 64;
/// The most bytes of a literal argument of a window function.
const LITERAL: usize = 256;
/// The most grouping sets of a query.
const MAX_GROUPING_SETS: usize = 64;

fn is_in(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}

fn is_scalar(name: &str) -> bool {
    is_in(PLAIN, name) || BOUNDED.iter().any(|(known, _)| *known == name)
}

/// Replaces DataFusion's functions by bounded ones, and removes functions that are not allowed.
pub fn register(context: &SessionContext, pool: &Arc<dyn MemoryPool>) {
    let state = context.state();
    for function in state.scalar_functions().values() {
        let bound = BOUNDED.iter().find(|(name, _)| *name == function.name());
        match bound {
            Some((_, bound)) => context.register_udf(Bounded::wrap(function, *bound, pool)),
            None if is_scalar(function.name()) => {}
            None => context.deregister_udf(function.name()),
        }
    }
    for name in state.higher_order_functions().keys() {
        context.deregister_higher_order_function(name);
    }
    for function in state.aggregate_functions().values() {
        if !is_in(AGGREGATES, function.name()) {
            context.deregister_udaf(function.name());
        }
    }
    for function in state.window_functions().values() {
        if !is_in(WINDOWS, function.name()) {
            context.deregister_udwf(function.name());
        }
    }
    for name in state.table_functions().keys() {
        if !is_in(TABLES, name) {
            context.deregister_udtf(name);
        }
    }
}

/// Refuses plans that call other functions. The planner knows some functions without their names, for `[…]`, `||` and
/// the like.
pub fn admit(plan: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
    let admitted = plan.transform_down_with_subqueries(|node| {
        if let LogicalPlan::Aggregate(aggregate) = &node {
            check_sets(&aggregate.group_expr)?;
        }
        if let LogicalPlan::Window(window) = &node {
            check_window(window)?;
        }
        if let LogicalPlan::Sort(sort) = &node {
            for by in &sort.expr {
                check_order(&by.expr, sort.input.schema())?;
            }
        }
        // Other nodes refer to the value by its name.
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = expr.transform_up(|part| call(part, state))?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(admitted.data)
}

fn call(part: Expr, state: &SessionState) -> Result<Transformed<Expr>> {
    match part {
        Expr::ScalarFunction(call) => {
            let known = scalar(&call.func, state)?;
            if known.name() == "to_timestamp" && call.args.len() > 1 {
                return not_impl_err!(
                    "to_timestamp takes a number of seconds or a string, and no pattern"
                );
            }
            let call = ScalarFunction::new_udf(known, call.args);
            Ok(Transformed::yes(Expr::ScalarFunction(call)))
        }
        Expr::AggregateFunction(ref call) => {
            aggregate(call.func.name(), &call.params.args)?;
            if call.func.name() == "array_agg"
                && call.params.distinct
                && !call.params.order_by.is_empty()
            {
                // DataFusion takes the order of the first such call for all of them.
                return not_impl_err!(
                    "array_agg(DISTINCT … ORDER BY …): order in a query within FROM"
                );
            }
            Ok(Transformed::no(part))
        }
        Expr::WindowFunction(ref window) => {
            let WindowFunction { fun, params } = window.as_ref();
            match fun {
                WindowFunctionDefinition::AggregateUDF(function) => {
                    aggregate(function.name(), &params.args)?;
                    if is_in(COSTLY, function.name()) {
                        return not_impl_err!(
                            "{} is not offered over windows: group in a query within FROM",
                            function.name()
                        );
                    }
                }
                WindowFunctionDefinition::WindowUDF(function) => {
                    named(WINDOWS, function.name())?;
                }
            }
            Ok(Transformed::no(part))
        }
        Expr::BinaryExpr(compared) => matched(compared, state),
        Expr::Like(like) => liked(like, state),
        Expr::SimilarTo(_) => not_impl_err!("SIMILAR TO is not offered: write ~"),
        part => Ok(Transformed::no(part)),
    }
}

fn scalar(function: &Arc<ScalarUDF>, state: &SessionState) -> Result<Arc<ScalarUDF>> {
    let name = function.name();
    match state.scalar_functions().get(name) {
        Some(known) => Ok(Arc::clone(known)),
        None if name == JOIN => Ok(Arc::clone(function)),
        None => not_impl_err!("the function {name} is not offered here"),
    }
}

fn named(list: &str, name: &str) -> Result<()> {
    match is_in(list, name) {
        true => Ok(()),
        false => not_impl_err!("the function {name} is not offered here"),
    }
}

fn aggregate(name: &str, args: &[Expr]) -> Result<()> {
    named(AGGREGATES, name)?;
    if name != "string_agg" {
        return Ok(());
    }
    let between = match args.get(1) {
        Some(Expr::Literal(value, _)) => value.try_as_str().flatten(),
        _ => None,
    };
    match between {
        Some(between) if between.len() <= BETWEEN => Ok(()),
        _ => not_impl_err!(
            "string_agg takes at most {BETWEEN} octets between texts, as they are; or write array_to_string(array_agg(…), …)"
        ),
    }
}

/// Turns `~` and `~~` with a computed pattern into functions that check the pattern first.
fn matched(compared: BinaryExpr, state: &SessionState) -> Result<Transformed<Expr>> {
    use Operator::{
        ILikeMatch, LikeMatch, NotILikeMatch, NotLikeMatch, RegexIMatch, RegexMatch,
        RegexNotIMatch, RegexNotMatch,
    };
    let (name, ignores_case, negated) = match compared.op {
        RegexMatch => ("regexp_like", false, false),
        RegexIMatch => ("regexp_like", true, false),
        RegexNotMatch => ("regexp_like", false, true),
        RegexNotIMatch => ("regexp_like", true, true),
        LikeMatch => (LIKE, false, false),
        ILikeMatch => (ILIKE, false, false),
        NotLikeMatch => (LIKE, false, true),
        NotILikeMatch => (ILIKE, false, true),
        _ => return Ok(Transformed::no(Expr::BinaryExpr(compared))),
    };
    if is_short(&compared.right) {
        return Ok(Transformed::no(Expr::BinaryExpr(compared)));
    }
    let mut args = vec![*compared.left, *compared.right];
    if ignores_case {
        args.push(lit("i"));
    }
    test(name, args, negated, state)
}

/// The same for `LIKE`. DataFusion refuses another escape character.
fn liked(like: Like, state: &SessionState) -> Result<Transformed<Expr>> {
    if is_short(&like.pattern) || like.escape_char.is_some_and(|sign| sign != '\\') {
        return Ok(Transformed::no(Expr::Like(like)));
    }
    let name = if like.case_insensitive { ILIKE } else { LIKE };
    test(name, vec![*like.expr, *like.pattern], like.negated, state)
}

/// Returns whether a pattern is a literal too short to be expensive.
fn is_short(pattern: &Expr) -> bool {
    let is_short = |value: &str| value.len() <= BETWEEN && !value.contains('{');
    let Expr::Literal(value, _) = pattern else {
        return false;
    };
    value.try_as_str().flatten().is_some_and(is_short)
}

fn test(
    name: &str,
    args: Vec<Expr>,
    negated: bool,
    state: &SessionState,
) -> Result<Transformed<Expr>> {
    let Some(function) = state.scalar_functions().get(name) else {
        return not_impl_err!("the function {name} is not offered here");
    };
    let call = Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), args));
    Ok(Transformed::yes(if negated { !call } else { call }))
}

/// A window may copy the value of one row to every row. Values of columns are counted in advance, computed arguments are
/// not.
fn check_window(window: &Window) -> Result<()> {
    let schema = window.input.schema();
    let is_large = |value: &Expr| {
        let known = match value {
            Expr::Column(_) => true,
            Expr::Literal(value, _) => value.size() <= LITERAL,
            _ => false,
        };
        let kind = value.get_type(schema).unwrap_or(DataType::Utf8);
        !known
            && (kind.is_nested() || kind.primitive_width().is_none() && kind != DataType::Boolean)
    };
    for expr in &window.window_expr {
        expr.apply(|part| {
            if let Expr::WindowFunction(call) = part
                && call.params.args.iter().any(|value| is_large(unaliased(value)))
            {
                return not_impl_err!(
                    "{} as a window function takes only columns: compute its arguments in a subquery in FROM",
                    call.fun.name()
                );
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(())
}

/// Removes casts and aliases.
fn unaliased(value: &Expr) -> &Expr {
    match value {
        Expr::Alias(named) => unaliased(&named.expr),
        Expr::Cast(cast)
            if matches!(unaliased(&cast.expr), Expr::Column(_) | Expr::Literal(..)) =>
        {
            unaliased(&cast.expr)
        }
        value => value,
    }
}

fn check_sets(by: &[Expr]) -> Result<()> {
    let of = |expr: &Expr| match expr {
        Expr::GroupingSet(GroupingSet::Cube(by)) => 1usize << by.len().min(32),
        Expr::GroupingSet(GroupingSet::Rollup(by)) => by.len() + 1,
        Expr::GroupingSet(GroupingSet::GroupingSets(sets)) => sets.len(),
        _ => 1,
    };
    let sets = by.iter().map(of).fold(1, usize::saturating_mul);
    match sets <= MAX_GROUPING_SETS {
        true => Ok(()),
        false => not_impl_err!(
            "a query that groups by {sets} sets of columns: at most {MAX_GROUPING_SETS}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Application, Database, Limits};

    #[test]
    fn only_allowed_functions_are_offered() {
        let database = Database::new(Application::default(), &Limits::default()).unwrap();
        let state = database.context.state();
        for function in state.scalar_functions().values() {
            assert!(is_scalar(function.name()), "{}", function.name());
        }
        let missing: Vec<&str> = PLAIN
            .split_ascii_whitespace()
            .filter(|name| !state.scalar_functions().contains_key(*name))
            .collect();
        assert!(missing.is_empty(), "allowed, and not there: {missing:?}");
        for function in state.aggregate_functions().values() {
            assert!(is_in(AGGREGATES, function.name()), "{}", function.name());
        }
        for function in state.window_functions().values() {
            assert!(is_in(WINDOWS, function.name()), "{}", function.name());
        }
        assert!(state.higher_order_functions().is_empty());
        for name in state.table_functions().keys() {
            assert!(is_in(TABLES, name), "{name}");
        }
    }
}
