//! Functions of lists as PostgreSQL defines them.

use datafusion::logical_expr::sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, OrderByExpr, OrderByOptions,
};

use super::rewrite::parsed;
use super::system_functions::arguments;
use crate::dialect::literals::items;

/// Rewrites functions of lists. DataFusion's lengths are unsigned, its empty lists have one, and of
/// equal items it changes only one.
pub fn said(name: &str, function: &Function) -> Option<Expr> {
    let value = match (name, arguments(function).as_slice()) {
        // A table function takes literals only.
        ("array_upper", [Expr::Array(list), _]) if !list.elem.is_empty() => {
            list.elem.len().to_string()
        }
        ("array_upper" | "array_length", [list, dimension]) => {
            format!("CAST(NULLIF(array_length({list}, {dimension}), 0) AS INT)")
        }
        ("array_dims", [list]) => {
            format!("'[1:' || CAST(NULLIF(array_length({list}, 1), 0) AS TEXT) || ']'")
        }
        ("cardinality", [list]) => format!("CAST(cardinality({list}) AS INT)"),
        ("array_remove", [list, item]) => format!("array_remove_all({list}, {item})"),
        ("array_replace", [list, item, by]) => format!("array_replace_all({list}, {item}, {by})"),
        ("array_lower", [list, dimension]) => {
            format!("CAST(CASE WHEN array_length({list}, {dimension}) > 0 THEN 1 END AS INT)")
        }
        ("array_ndims", [list]) => {
            format!("CAST(CASE WHEN cardinality({list}) > 0 THEN array_ndims({list}) END AS INT)")
        }
        _ => return None,
    };
    parsed(&value)
}

/// Orders the items of `array_agg(DISTINCT …)`: PostgreSQL sorts them to find duplicates.
pub fn order(name: &str, call: &mut Function) {
    let FunctionArguments::List(given) = &mut call.args else {
        return;
    };
    if name == "string_agg" {
        same_texts(given);
        return;
    }
    let is_distinct = given.duplicate_treatment == Some(DuplicateTreatment::Distinct);
    if name != "array_agg" || !is_distinct || !given.clauses.is_empty() || call.over.is_some() {
        return;
    }
    if let [FunctionArg::Unnamed(FunctionArgExpr::Expr(item))] = given.args.as_slice() {
        let by = OrderByExpr {
            expr: item.clone(),
            options: OrderByOptions::default(),
            with_fill: None,
        };
        given
            .clauses
            .push(FunctionArgumentClause::OrderBy(vec![by]));
    }
}

/// `string_agg(DISTINCT x, ',' ORDER BY x)`: DataFusion requires both expressions to be equal after its cast.
fn same_texts(given: &mut FunctionArgumentList) {
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(item))) = given.args.first_mut() else {
        return;
    };
    if given.duplicate_treatment != Some(DuplicateTreatment::Distinct) {
        return;
    }
    let Some(text) = parsed(&format!("CAST({item} AS TEXT)")) else {
        return;
    };
    for clause in &mut given.clauses {
        if let FunctionArgumentClause::OrderBy(by) = clause {
            let same = by.iter_mut().filter(|by| by.expr == *item);
            same.for_each(|by| by.expr = text.clone());
        }
    }
    *item = text;
}

/// Rewrites `{a,"b c"}` to an array expression.
pub fn listed(text: &str) -> Option<String> {
    let items = items(text)?;
    let written = items.iter().map(|item| match item {
        None => "NULL".to_owned(),
        Some(item) => format!("'{}'", item.replace('\'', "''")),
    });
    Some(format!("ARRAY[{}]", written.collect::<Vec<_>>().join(", ")))
}
