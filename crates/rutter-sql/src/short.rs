//! Queries that take no longer than to wake another thread for them: a prefix is looked up, and its routes are told.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, TableScan};

use crate::tables::RoutesTable;

/// Whether a query reads the routes of one prefix and does little with them: whatever is not known to be cheap is not.
pub(crate) fn is_short(plan: &LogicalPlan) -> bool {
    is_short_below(plan, false)
}

/// The same for a part of a query, which may lie below what computes something. There are no two such layers: a condition
/// is written out in what its columns are made of, and would double with each.
fn is_short_below(plan: &LogicalPlan, is_computed: bool) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => {
            let computes = !projection.expr.iter().all(is_column);
            projection.expr.iter().all(is_cheap)
                && !(computes && is_computed)
                && is_short_below(&projection.input, computes || is_computed)
        }
        LogicalPlan::SubqueryAlias(alias) => is_short_below(&alias.input, is_computed),
        LogicalPlan::Limit(limit) => {
            let mut numbers = limit.skip.iter().chain(&limit.fetch);
            numbers.all(|number| is_cheap(number)) && is_short_below(&limit.input, is_computed)
        }
        LogicalPlan::Sort(sort) => {
            sort.expr.iter().all(|by| is_cheap(&by.expr))
                && is_short_below(&sort.input, is_computed)
        }
        LogicalPlan::Filter(filter) => {
            let conditions = split_conjunction(&filter.predicate);
            is_cheap(&filter.predicate)
                && (is_short_below(&filter.input, is_computed)
                    || looks_up(&filter.input, &conditions))
        }
        LogicalPlan::TableScan(_) => looks_up(plan, &[]),
        _ => false,
    }
}

fn is_column(value: &Expr) -> bool {
    match value {
        Expr::Alias(alias) => is_column(&alias.expr),
        value => matches!(value, Expr::Column(_)),
    }
}

/// Whether a plan is a table of which the conditions leave one prefix.
fn looks_up(plan: &LogicalPlan, conditions: &[&Expr]) -> bool {
    let LogicalPlan::TableScan(TableScan { source, .. }) = plan else {
        return false;
    };
    let Ok(table) = source_as_provider(source) else {
        return false;
    };
    let routes = table.downcast_ref::<RoutesTable>();
    routes.is_some_and(|routes| routes.looks_up_one(conditions))
}

/// Whether a value is one that is there, or a comparison: nothing that grows with what it is made of.
fn is_cheap(value: &Expr) -> bool {
    let mut cheap = true;
    let walked = value.apply(|part| {
        cheap &= match part {
            Expr::Column(_)
            | Expr::Alias(_)
            | Expr::Not(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_) => true,
            Expr::Literal(value, _) => value.size() <= SMALL,
            Expr::BinaryExpr(BinaryExpr { op, .. }) => COMPARISONS.contains(op),
            _ => false,
        };
        Ok(match cheap {
            true => TreeNodeRecursion::Continue,
            false => TreeNodeRecursion::Stop,
        })
    });
    walked.is_ok() && cheap
}

const COMPARISONS: [Operator; 8] = [
    Operator::Eq,
    Operator::NotEq,
    Operator::Lt,
    Operator::LtEq,
    Operator::Gt,
    Operator::GtEq,
    Operator::And,
    Operator::Or,
];
/// Octets of a value that may be compared with each route, or told beside it.
const SMALL: usize = 1024;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rutter_policy::{ExportPolicy, ExportSettings};
    use rutter_rib::{Rib, RibConfig};

    use super::*;
    use crate::{Engine, Limits};

    fn engine() -> Engine {
        let rib = Rib::new(RibConfig {
            shards: 1,
            router_id: 1,
            log_limit: 1 << 20,
            export: Arc::new(ExportPolicy::new(ExportSettings::default())),
            seed: 1,
            always_compare_med: false,
        });
        Engine::new(Arc::new(rib), None, &Limits::default()).unwrap()
    }

    async fn short(engine: &Engine, sql: &str) -> bool {
        is_short(&engine.plan(sql).await.unwrap().into_parts().1)
    }

    #[tokio::test]
    async fn look_ups_are_short() {
        let engine = engine();
        for sql in [
            "SELECT prefix, peer_name, as_path, next_hop, best FROM lookup('192.0.2.1')",
            "SELECT * FROM lookup('2001:db8::/32') AS l",
            "SELECT as_path AS path FROM lookup('192.0.2.1') WHERE best ORDER BY peer_asn LIMIT 1",
            "SELECT as_path FROM lookup('192.0.2.1') WHERE peer_asn = 64500 AND NOT stale",
            "SELECT as_path FROM routes WHERE prefix = '192.0.2.0/24'",
            "SELECT as_path FROM best WHERE prefix = '192.0.2.0/24' AND peer_asn > 64500",
            "SELECT p FROM (SELECT prefix AS p FROM lookup('192.0.2.1')) AS l",
        ] {
            assert!(short(&engine, sql).await, "{sql}");
        }
    }

    #[tokio::test]
    async fn what_may_take_long_is_not_short() {
        let engine = engine();
        let text = "x".repeat(2_000);
        for sql in [
            "SELECT * FROM routes",
            "SELECT * FROM routes LIMIT 1",
            "SELECT * FROM peers",
            "SELECT 1",
            "SELECT as_path FROM routes WHERE prefix = '192.0.2.0/24' OR best",
            "SELECT as_path FROM routes WHERE prefix >>= '192.0.2.0/24'",
            "SELECT as_path FROM routes WHERE prefix <<= '192.0.2.0/24'",
            "SELECT count(*) FROM lookup('192.0.2.1')",
            "SELECT repeat(as_path, 1000000) FROM lookup('192.0.2.1')",
            "SELECT as_path || as_path FROM lookup('192.0.2.1')",
            "SELECT as_path FROM lookup('192.0.2.1') WHERE as_path ~ '^(1+)+$'",
            "SELECT as_path FROM lookup('192.0.2.1') WHERE peer_asn IN (SELECT peer_asn FROM routes)",
            "SELECT a.prefix FROM lookup('192.0.2.1') AS a, routes AS b",
            "SELECT prefix FROM lookup('192.0.2.1') UNION ALL SELECT prefix FROM routes",
            "SELECT x = y FROM (SELECT as_path = next_hop AS x, as_path < next_hop AS y FROM lookup('192.0.2.1')) AS l",
            &format!("SELECT '{text}' FROM lookup('192.0.2.1')"),
        ] {
            assert!(!short(&engine, sql).await, "{sql}");
        }
    }
}
