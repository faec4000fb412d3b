//! Queries with parameters: planned when they are prepared; values are filled in when they run.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::LogicalPlan;
use pgwire::api::Type;
use pgwire::api::portal::Portal;
use pgwire::error::PgWireResult;

use super::parameters::{self, replaced};
use super::row_stream::error;
use crate::{Application, Database};

/// A query with parameters.
#[derive(Clone, Debug)]
pub struct Planned {
    plan: LogicalPlan,
    /// The types of the plan's parameters.
    types: Vec<Type>,
    /// The parameters that are cast to types for which the plan has others.
    renamed: Vec<(usize, Type)>,
    replan: Option<Replan>,
}

impl From<LogicalPlan> for Planned {
    /// A query without parameters.
    fn from(plan: LogicalPlan) -> Self {
        Self {
            plan,
            types: Vec::new(),
            renamed: Vec::new(),
            replan: None,
        }
    }
}

/// A query that is planned again with its values: DataFusion evaluates arguments of functions in `FROM` when it plans.
#[derive(Clone, Debug)]
struct Replan {
    sql: String,
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
        let application = &database.application;
        let arguments = arguments(application, sql);
        if arguments.is_empty() {
            let (plan, types) = plan(database, sql, declared).await?;
            return Ok(Self {
                plan,
                types,
                renamed: parameters::renamed(sql),
                replan: None,
            });
        }
        let mut samples = application.table_functions.iter();
        let text = samples.next().map_or("", |(_, sample)| *sample);
        let sample = with_values(sql, &arguments, |_| Some(format!("'{text}'")));
        let replan = Replan {
            sql: sql.to_owned(),
            declared: declared.to_vec(),
            arguments,
        };
        let (plan, types) = plan(database, &sample, declared).await?;
        Ok(Self {
            plan,
            types,
            renamed: parameters::renamed(sql),
            replan: Some(replan),
        })
    }

    /// The plan. Its columns do not depend on the values.
    pub fn plan(&self) -> &LogicalPlan {
        &self.plan
    }

    /// The types of its parameters.
    pub fn types(&self) -> PgWireResult<Vec<Type>> {
        let mut types = self.types.clone();
        for (number, kind) in &self.renamed {
            if let Some(known) = types.get_mut(number - 1) {
                *known = kind.clone();
            }
        }
        for number in self.replan.iter().flat_map(|replan| &replan.arguments) {
            types.resize(types.len().max(*number), Type::TEXT);
        }
        Ok(types)
    }

    /// Returns the plan with the values that a client bound.
    pub async fn bound<S: Clone>(
        &self,
        database: &Database,
        portal: &Portal<S>,
    ) -> PgWireResult<LogicalPlan> {
        let values = parameters::values(portal, &self.types()?)?;
        let plan = match &self.replan {
            None => self.plan.clone(),
            Some(replan) => {
                let value = |number: usize| Some(written(values.get(number - 1)));
                let sql = with_values(&replan.sql, &replan.arguments, value);
                plan(database, &sql, &replan.declared).await?.0
            }
        };
        let plan = plan.with_param_values(values);
        plan.map_err(|failed| error(&failed.into()))
    }
}

async fn plan(
    database: &Database,
    sql: &str,
    declared: &[Option<Type>],
) -> PgWireResult<(LogicalPlan, Vec<Type>)> {
    let application = &database.application;
    let planned = async |sql: &str| {
        let frame = database.plan(sql).await.map_err(|e| error(&e))?;
        PgWireResult::Ok(frame.into_parts().1)
    };
    let mut types = declared.to_vec();
    let mut cast = parameters::typed(sql, &types);
    let mut plan = planned(&cast).await?;
    // The item that a list is compared with determines the type of its items.
    if parameters::compared(&plan, &mut types)? {
        cast = parameters::typed(sql, &types);
        plan = planned(&cast).await?;
    }
    let undetermined = parameters::undetermined(&plan, &types, application)?;
    if undetermined.iter().any(Option::is_some) {
        plan = planned(&parameters::with_casts(&cast, &undetermined)).await?;
    }
    // Refuse parameters that no client could bind before any work for them.
    let types = parameters::types(&plan, application)?;
    Ok((plan, types))
}

/// The numbers of the parameters in arguments of the application's table functions.
fn arguments(application: &Application, sql: &str) -> Vec<usize> {
    let functions = &application.table_functions;
    let found = std::cell::RefCell::new(Vec::new());
    let text = sql.to_ascii_lowercase();
    if !functions.iter().any(|(name, _)| text.contains(name)) {
        return Vec::new();
    }
    replaced(sql, |number, before, _| {
        let number: usize = number.parse().ok().filter(|number| *number > 0)?;
        let name = called(before)?;
        let is_it = |(known, _): &(&str, &str)| name.eq_ignore_ascii_case(known);
        functions.iter().find(|known| is_it(known))?;
        found.borrow_mut().push(number);
        None
    });
    found.into_inner()
}

/// The function whose arguments are open at the end of a text.
fn called(before: &str) -> Option<&str> {
    let mut depth = 0_usize;
    let open = before.char_indices().rev().find(|(_, sign)| match sign {
        ')' => {
            depth += 1;
            false
        }
        '(' if depth > 0 => {
            depth -= 1;
            false
        }
        sign => *sign == '(',
    });
    let name = before[..open?.0].trim_end();
    let begin = name.rfind(|c: char| !c.is_alphanumeric() && c != '_');
    Some(&name[begin.map_or(0, |at| at + 1)..])
}

/// Writes values in place of these parameters, wherever they occur.
fn with_values(sql: &str, arguments: &[usize], value: impl Fn(usize) -> Option<String>) -> String {
    replaced(sql, |number, _, _| {
        let number = number.parse().ok();
        value(number.filter(|number| arguments.contains(number))?)
    })
}

/// Writes a value as an SQL literal.
fn written(value: Option<&ScalarValue>) -> String {
    match value.and_then(|value| value.try_as_str().flatten()) {
        Some(text) => format!("'{}'", text.replace('\'', "''")),
        None => "NULL".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_table_functions_are_found() {
        let sql = "SELECT f($1) FROM lookup($2) JOIN public.Generate_Series(abs(1), $3) ON $4 = upper('lookup(') WHERE $5";
        let application = Application {
            table_functions: vec![("lookup", "x")],
            ..Application::default()
        };
        let found = arguments(&application, sql);
        assert_eq!(found, [2]);
        let value = |number: usize| Some(format!("<{number}>"));
        assert_eq!(
            with_values("lookup($1), '$1', $1, $2", &[1], value),
            "lookup(<1>), '$1', <1>, $2"
        );
        assert_eq!(called("f(a, (b), "), Some("f"));
        assert_eq!(called("f(a)"), None);
    }

    #[test]
    fn inserted_strings_are_quoted() {
        let text = ScalarValue::Utf8(Some("it's $1".to_owned()));
        assert_eq!(written(Some(&text)), "'it''s $1'");
        let none = ScalarValue::Utf8(None);
        assert_eq!(written(Some(&none)), "NULL");
    }
}
