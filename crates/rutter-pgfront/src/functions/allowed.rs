//! The functions that queries may call. All others are refused: an upgrade of DataFusion brings new functions, and one
//! without a bound on its result or its time would block every client.

use std::borrow::Cow;
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
    WindowFrame, WindowFunctionDefinition, lit,
};
use datafusion::prelude::SessionContext;

use super::adjusted::{amended, is_amended};
use super::array_subquery::check_orders;
use super::bounded::{BOUNDED, Bounded};
use super::intervals::{LENGTH, ordered};
use super::like::{ESCAPED, ILIKE, LIKE};
use super::operators::JOIN;
use super::regex_syntax;
use super::sum;

/// Scalar functions whose result has a fixed size, or about the size of the arguments, in linear time.
const PLAIN: &str = "arrow_typeof coalesce get_field greatest least nullif nvl nvl2 version \
    current_date current_time date_bin date_part date_trunc from_unixtime make_date make_time now to_local_time \
    to_time to_timestamp_micros to_timestamp_millis to_timestamp_nanos to_timestamp_seconds to_unixtime \
    decode uuid random \
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh cot degrees exp factorial floor gcd isnan iszero lcm ln \
    log log10 log2 nanvl pi power radians round signum sin sinh sqrt tan tanh trunc \
    ascii bit_length btrim chr contains ends_with initcap lower ltrim octet_length rtrim split_part starts_with to_hex \
    upper character_length find_in_set left reverse right strpos substr substr_index \
    array_any_value array_dims array_distinct array_element array_has array_length array_max array_min array_ndims \
    array_pop_back array_pop_front array_position array_remove array_remove_all array_remove_n array_reverse array_slice \
    array_sort cardinality empty flatten \
    prefix_key network_inet network_cidr network_text timezone \
    current_setting format_type relation_number relation_name type_number schema_number schema_name \
    quotient gathered pg_get_function_result pg_get_function_arguments pg_get_function_identity_arguments";

/// Aggregates, which count their memory as it grows.
const AGGREGATES: &str = "approx_distinct approx_median array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count \
    covar_pop covar_samp first_value grouping last_value max median min nth_value percentile_cont regr_avgx regr_avgy \
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy stddev stddev_pop string_agg sum var var_pop";

const WINDOWS: &str = "row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value";

/// Aggregates that need much memory for each partition of a window. A batch may have a partition for each row.
const DEAR: &str = "approx_distinct approx_median percentile_cont";

/// Table functions, which make rows as they are read.
const TABLES: &str = "generate_series range";

/// The longest separator of `string_agg`: it is not counted in advance.
const BETWEEN: usize = 64;
/// The most bytes of a literal argument of a window function.
const LITERAL: usize = 256;
/// The most grouping sets of a query.
const SETS: usize = 64;

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
            Some((_, bound)) => {
                context.register_udf(Bounded::wrap(&amended(function), *bound, pool));
            }
            None if is_amended(function.name()) => {
                context.register_udf(amended(function).as_ref().clone());
            }
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
        } else if function.name() == "sum" {
            context.register_udaf(sum::typed(function));
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
            check_orders(&aggregate.aggr_expr)?;
        }
        if let LogicalPlan::Window(window) = &node {
            check_window(window)?;
        }
        let node = ordered(node);
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
            let call = ScalarFunction::new_udf(known, call.args);
            Ok(Transformed::yes(Expr::ScalarFunction(call)))
        }
        Expr::AggregateFunction(ref call) => {
            aggregate(call.func.name(), &call.params.args)?;
            Ok(Transformed::no(part))
        }
        Expr::WindowFunction(ref window) => {
            let WindowFunction { fun, params } = window.as_ref();
            match fun {
                WindowFunctionDefinition::AggregateUDF(function) => {
                    aggregate(function.name(), &params.args)?;
                    if is_in(DEAR, function.name()) {
                        return not_impl_err!(
                            "{} is not offered over windows: group in a query within FROM",
                            function.name()
                        );
                    }
                    if function.name() == "median" && shrinks(&params.window_frame) {
                        return not_impl_err!(
                            "median is not offered over windows from a row to the end: order the other way round, \
                             from UNBOUNDED PRECEDING to a row"
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
        Expr::SimilarTo(like) => similar(like, state),
        part => Ok(Transformed::no(part)),
    }
}

/// Returns whether rows only leave a window. All rows of a partition are then computed at once, and each median reads all
/// remaining values.
fn shrinks(frame: &WindowFrame) -> bool {
    frame.end_bound.is_unbounded() && !frame.start_bound.is_unbounded()
}

fn scalar(function: &Arc<ScalarUDF>, state: &SessionState) -> Result<Arc<ScalarUDF>> {
    let name = function.name();
    match state.scalar_functions().get(name) {
        Some(known) => Ok(Arc::clone(known)),
        None if [JOIN, LENGTH].contains(&name) => Ok(Arc::clone(function)),
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
        return Ok(said(compared));
    }
    let mut args = vec![*compared.left, *compared.right];
    if ignores_case {
        args.push(lit("i"));
    }
    test(name, args, negated, state)
}

/// Translates a short regular expression.
fn said(mut compared: BinaryExpr) -> Transformed<Expr> {
    use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    let is_regular = matches!(
        compared.op,
        RegexMatch | RegexIMatch | RegexNotMatch | RegexNotIMatch
    );
    let pattern = match compared.right.as_ref() {
        Expr::Literal(value, _) if is_regular => value.try_as_str().flatten(),
        _ => None,
    };
    if let Some(Cow::Owned(pattern)) = pattern.map(regex_syntax::translated) {
        compared.right = Box::new(lit(pattern));
    }
    Transformed::yes(Expr::BinaryExpr(compared))
}

/// The same for `LIKE`.
fn liked(like: Like, state: &SessionState) -> Result<Transformed<Expr>> {
    let escape = like.escape_char.filter(|sign| *sign != '\\');
    if is_short(&like.pattern) && escape.is_none() {
        return Ok(Transformed::no(Expr::Like(like)));
    }
    let pattern = match escape {
        Some(sign) => call_of(ESCAPED, vec![*like.pattern, lit(sign.to_string())], state)?,
        None => *like.pattern,
    };
    let name = if like.case_insensitive { ILIKE } else { LIKE };
    test(name, vec![*like.expr, pattern], like.negated, state)
}

/// `SIMILAR TO` must match the whole string. DataFusion matches any part of it.
fn similar(like: Like, state: &SessionState) -> Result<Transformed<Expr>> {
    let pattern = match like.pattern.as_ref() {
        Expr::Literal(value, _) if like.escape_char.is_none_or(|sign| sign == '\\') => {
            value.try_as_str().flatten()
        }
        _ => None,
    };
    let Some(pattern) = pattern else {
        return not_impl_err!(
            "SIMILAR TO takes a pattern as it is written, without ESCAPE; or write ~"
        );
    };
    let mut expression = "^(?:".to_owned();
    let mut signs = pattern.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '%' => expression.push_str(".*"),
            '_' => expression.push('.'),
            '.' | '^' | '$' => expression.extend(['\\', sign]),
            '\\' => expression.extend(std::iter::once('\\').chain(signs.next())),
            sign => expression.push(sign),
        }
    }
    let args = vec![*like.expr, lit(format!("{expression})$")), lit("s")];
    test("regexp_like", args, like.negated, state)
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
    let call = call_of(name, args, state)?;
    Ok(Transformed::yes(if negated { !call } else { call }))
}

fn call_of(name: &str, args: Vec<Expr>, state: &SessionState) -> Result<Expr> {
    let Some(function) = state.scalar_functions().get(name) else {
        return not_impl_err!("the function {name} is not offered here");
    };
    let call = ScalarFunction::new_udf(Arc::clone(function), args);
    Ok(Expr::ScalarFunction(call))
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
                    "{} as a window function takes a column: compute what it is given in a query within FROM",
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
    match sets <= SETS {
        true => Ok(()),
        false => not_impl_err!("a query that groups by {sets} sets of columns: at most {SETS}"),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::SessionStateDefaults;

    use super::*;
    use crate::{Application, Database, Limits};

    /// Known functions that are not offered: they have no bound, or no use for queries over routes.
    const REFUSED: &str = "arrow_cast arrow_try_cast arrow_field arrow_metadata with_metadata cast_to_type \
        try_cast_to_type union_extract union_tag input_file_name file_row_index \
        map map_entries map_extract map_keys map_values array_add array_subtract array_scale array_normalize array_avg \
        array_compact array_distance array_product array_sum cosine_distance inner_product \
        array_any_match array_filter array_first array_transform \
        approx_percentile_cont approx_percentile_cont_with_weight any_value";

    #[test]
    fn every_function_of_the_engine_has_been_looked_at() {
        let seen = |list: &str, name: &str| is_in(list, name) || is_in(REFUSED, name);
        let mut unseen = Vec::new();
        for function in SessionStateDefaults::default_scalar_functions() {
            if !is_scalar(function.name()) && !is_in(REFUSED, function.name()) {
                unseen.push(function.name().to_owned());
            }
        }
        for function in SessionStateDefaults::default_higher_order_functions() {
            if !is_in(REFUSED, function.name()) {
                unseen.push(function.name().to_owned());
            }
        }
        for function in SessionStateDefaults::default_aggregate_functions() {
            if !seen(AGGREGATES, function.name()) {
                unseen.push(function.name().to_owned());
            }
        }
        for function in SessionStateDefaults::default_window_functions() {
            if !seen(WINDOWS, function.name()) {
                unseen.push(function.name().to_owned());
            }
        }
        for function in SessionStateDefaults::default_table_functions() {
            if !seen(TABLES, function.name()) {
                unseen.push(function.name().to_owned());
            }
        }
        assert!(unseen.is_empty(), "in no list: {unseen:?}");
    }

    #[test]
    fn only_what_is_allowed_is_offered() {
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
