//! Rewrites the expressions of a plan whose types are known. Each keeps its name.

use std::sync::Arc;

use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan, Union};

/// Changes each part of each expression, the inner ones first. The closure receives the columns that the
/// node reads.
///
/// # Errors
/// An error of the change.
pub fn rewritten(
    plan: LogicalPlan,
    change: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    let changed = plan.transform_up_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let expr = expr.transform_up(|part| change(part, &schema))?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })?
        .map_data(LogicalPlan::recompute_schema)?
        .map_data(|node| match node {
            LogicalPlan::Union(union) => Ok(LogicalPlan::Union(with_nulls(union)?)),
            node => Ok(node),
        })
    })?;
    Ok(changed.data)
}

/// Makes the columns of a union nullable if a part's column has become nullable. DataFusion does not.
fn with_nulls(union: Union) -> Result<Union> {
    let may_be_null = |at| {
        let parts = union.inputs.iter();
        parts.map(move |part| part.schema().field(at).is_nullable())
    };
    let fields = union.schema.iter().enumerate().map(|(at, (table, field))| {
        let is_nullable = field.is_nullable() || may_be_null(at).any(|may| may);
        let field = field.as_ref().clone().with_nullable(is_nullable);
        (table.cloned(), Arc::new(field))
    });
    let metadata = union.schema.metadata().clone();
    let schema = DFSchema::new_with_metadata(fields.collect(), metadata)?;
    Ok(Union {
        schema: Arc::new(schema),
        inputs: union.inputs,
    })
}
