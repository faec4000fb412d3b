//! The table function `lookup('192.0.2.1')`: the routes of the longest prefix that covers an address.

use std::fmt;
use std::sync::Arc;

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use rutter_rib::Rib;

use super::filter::prefix_of;
use super::routes::RoutesTable;

/// Longest match: the destination with an accepted route whose prefix covers the address or prefix most closely.
pub struct Lookup(pub Arc<Rib>);

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lookup")
    }
}

impl TableFunctionImpl for Lookup {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let text = match args.exprs() {
            [Expr::Literal(value, _)] => value.try_as_str().flatten(),
            _ => None,
        };
        let Some(text) = text else {
            return plan_err!("write lookup('192.0.2.1'): one address or prefix, as a text");
        };
        let Some(net) = prefix_of(text) else {
            return plan_err!("lookup: `{text}` is not an address and not a prefix");
        };
        Ok(Arc::new(RoutesTable::longest(Arc::clone(&self.0), net)))
    }
}
