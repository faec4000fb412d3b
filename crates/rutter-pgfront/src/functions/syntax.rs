//! The grammar's special calls: `substring(x FROM 2 FOR 3)`, `position(a IN x)`.

use std::sync::Arc;

use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::execution::SessionStateDefaults;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult};
use datafusion::logical_expr::{Expr, ScalarUDF, lit};

/// Plans them as calls of DataFusion's functions.
#[derive(Debug)]
pub struct Forms {
    functions: Vec<Arc<ScalarUDF>>,
}

impl Default for Forms {
    fn default() -> Self {
        Self {
            functions: SessionStateDefaults::default_scalar_functions(),
        }
    }
}

impl Forms {
    fn call(&self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        let mut all = self.functions.iter();
        match all.find(|function| function.name() == name) {
            Some(function) => Ok(Expr::ScalarFunction(ScalarFunction::new_udf(
                Arc::clone(function),
                args,
            ))),
            None => plan_err!("the function {name} is not offered here"),
        }
    }
}

impl ExprPlanner for Forms {
    fn plan_position(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(self.call("strpos", args)?))
    }

    fn plan_substring(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        let planned = match args.as_slice() {
            // The match of a regular expression.
            [_, Expr::Literal(pattern, _)] if pattern.try_as_str().is_some() => {
                let found = self.call("regexp_match", args)?;
                self.call("array_element", vec![found, lit(1_i64)])?
            }
            _ => self.call("substr", args)?,
        };
        Ok(PlannerResult::Planned(planned))
    }
}
