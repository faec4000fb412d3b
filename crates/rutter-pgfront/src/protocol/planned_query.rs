//! Queries with parameters: planned when they are prepared; values are filled in when they run.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use pgwire::api::Type;
use pgwire::api::portal::Portal;
use pgwire::error::PgWireResult;

use super::parameters::{self, replace};
use super::row_stream::error;
use crate::Database;
use crate::dialect::rewrite::parsed;

/// A query with parameters.
#[derive(Clone, Debug)]
pub struct Planned {
    plan: LogicalPlan,
    /// The types of its parameters.
    types: Vec<Type>,
    replan: Option<Replan>,
}

impl From<LogicalPlan> for Planned {
    /// A query without parameters.
    fn from(plan: LogicalPlan) -> Self {
        Self {
            plan,
            types: Vec::new(),
            replan: None,
        }
    }
}

/// A query that is planned again with its values: DataFusion evaluates arguments of functions in `FROM` when it plans.
#[derive(Clone, Debug)]
struct Replan {
    statement: Statement,
    declared: Vec<Option<Type>>,
    /// The numbers of the parameters that are arguments in `FROM`.
    arguments: Vec<usize>,
}

impl Planned {
    /// Plans a query. The client may declare types.
    pub async fn new(
        database: &Database,
        sql: &str,
        declared: &[Option<Type>],
    ) -> PgWireResult<Self> {
        let mut statement = database.parse(sql).map_err(|e| error(&e))?;
        let functions = &database.application.table_functions;
        let arguments = parameters::table_arguments(&statement, functions);
        let replan = (!arguments.is_empty()).then(|| Replan {
            statement: statement.clone(),
            declared: declared.to_vec(),
            arguments: arguments.clone(),
        });
        let sample = functions
            .first()
            .map(|(_, sample)| ScalarValue::from(*sample));
        with_values(&mut statement, &arguments, |_| sample.as_ref());
        let networks = parameters::networks(&statement);
        let (plan, mut types) = plan(database, statement, declared).await?;
        for (number, kind) in networks {
            if let Some(known) = types.get_mut(number - 1) {
                *known = kind;
            }
        }
        if let Some(last) = arguments.iter().max() {
            types.resize(types.len().max(*last), Type::TEXT);
        }
        Ok(Self {
            plan,
            types,
            replan,
        })
    }

    /// The plan. Its columns do not depend on the values.
    pub fn plan(&self) -> &LogicalPlan {
        &self.plan
    }

    /// The types of its parameters.
    pub fn types(&self) -> &[Type] {
        &self.types
    }

    /// Returns the plan with the values that a client bound.
    pub async fn bound<S: Clone>(
        &self,
        database: &Database,
        portal: &Portal<S>,
    ) -> PgWireResult<LogicalPlan> {
        let values = parameters::values(portal, &self.types)?;
        let plan = match &self.replan {
            None => self.plan.clone(),
            Some(replan) => {
                let mut statement = replan.statement.clone();
                let value = |number: usize| values.get(number - 1);
                with_values(&mut statement, &replan.arguments, value);
                plan(database, statement, &replan.declared).await?.0
            }
        };
        let plan = plan.with_param_values(values);
        plan.map_err(|failed| error(&failed.into()))
    }
}

/// Plans a query, and infers the types of its parameters.
async fn plan(
    database: &Database,
    statement: Statement,
    declared: &[Option<Type>],
) -> PgWireResult<(LogicalPlan, Vec<Type>)> {
    let application = &database.application;
    let planned = async |statement: &Statement| {
        let frame = database.plan_statement(statement.clone()).await;
        PgWireResult::Ok(frame.map_err(|e| error(&e))?.into_parts().1)
    };
    let mut types = declared.to_vec();
    let mut cast = statement.clone();
    parameters::cast_lists(&mut cast, &types);
    let mut plan = planned(&cast).await?;
    // The item that a list is compared with determines the type of its items.
    if parameters::compared(&plan, &mut types)? {
        cast = statement;
        parameters::cast_lists(&mut cast, &types);
        plan = planned(&cast).await?;
    }
    let undetermined = parameters::undetermined(&plan, &types, application)?;
    if undetermined.iter().any(Option::is_some) {
        parameters::cast_scalars(&mut cast, &undetermined);
        plan = planned(&cast).await?;
    }
    // Refuse parameters that no client could bind before any work for them.
    let types = parameters::types(&plan, application)?;
    Ok((plan, types))
}

/// Writes values in place of these parameters, wherever they occur.
fn with_values<'a>(
    statement: &mut Statement,
    arguments: &[usize],
    value: impl Fn(usize) -> Option<&'a ScalarValue>,
) {
    replace(statement, |number, _| {
        let value = value(number).filter(|_| arguments.contains(&number));
        let text = value.and_then(|value| value.try_as_str().flatten());
        let literal = text.map_or("NULL".to_owned(), |text| {
            format!("'{}'", text.replace('\'', "''"))
        });
        arguments.contains(&number).then(|| parsed(&literal))?
    });
}
