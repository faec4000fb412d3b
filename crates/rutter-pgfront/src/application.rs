//! The served application: its name, and its additions to DataFusion.

use std::fmt;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::logical_expr::{Expr, ScalarUDF};

use crate::protocol::SETTINGS;

/// A function as `\df` lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionDescription {
    /// The name.
    pub name: &'static str,
    /// Its arguments, each with name and type: `prefix text, length bigint`.
    pub arguments: &'static str,
    /// The type of its result; `TABLE` for a table function.
    pub result: &'static str,
}

/// Returns whether a table with these conditions reads only a few rows, by a look-up.
pub type IsSmallLookup = fn(&dyn TableProvider, &[&Expr]) -> bool;

/// The application that is served.
#[derive(Clone)]
pub struct Application {
    /// The name of the database, of its owner and of its only role.
    pub database: &'static str,
    /// The product that `SHOW server_version` names in parentheses.
    pub product: &'static str,
    /// Tables that keep the same OID in every server, in the order of their OIDs. Other tables have the OID 0.
    pub tables: Vec<&'static str>,
    /// Table functions whose argument, a string, may be a parameter. Each with an argument to plan with before the value of
    /// the parameter is known.
    pub table_functions: Vec<(&'static str, &'static str)>,
    /// Scalar functions that queries may call beside DataFusion's. Their results must not be much larger than their
    /// arguments: their memory is not counted.
    pub functions: Vec<ScalarUDF>,
    /// Operators, in the order in which they are asked.
    pub operators: Vec<Arc<dyn ExprPlanner>>,
    /// The functions that `\df` lists.
    pub descriptions: Vec<FunctionDescription>,
    /// Columns of strings that hold prefixes, always with their length. What is compared with them gets one, too.
    pub prefix_columns: Vec<&'static str>,
    /// Recognises tables that answer a query by a small look-up. Such queries run on the thread that reads them.
    pub is_small_lookup: IsSmallLookup,
}

impl Default for Application {
    fn default() -> Self {
        Self {
            database: "postgres",
            product: "pgfront",
            tables: Vec::new(),
            table_functions: Vec::new(),
            functions: Vec::new(),
            operators: Vec::new(),
            descriptions: Vec::new(),
            prefix_columns: Vec::new(),
            is_small_lookup: |_, _| false,
        }
    }
}

impl fmt::Debug for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Application")
            .field("database", &self.database)
            .field("product", &self.product)
            .finish_non_exhaustive()
    }
}

impl Application {
    /// All settings with their values.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        SETTINGS.iter().map(|(name, value)| {
            let value = match *name {
                "server_version" => format!("{value} ({})", self.product),
                "session_authorization" => self.database.to_owned(),
                _ => (*value).to_owned(),
            };
            (*name, value)
        })
    }

    /// The value of a setting that drivers ask for.
    pub(crate) fn setting(&self, name: &str) -> Option<String> {
        let name = match name.to_ascii_lowercase().as_str() {
            "transaction isolation level" => "transaction_isolation".to_owned(),
            "time zone" => "timezone".to_owned(),
            "session authorization" => "session_authorization".to_owned(),
            name => name.to_owned(),
        };
        let found = self.settings().find(|(known, _)| *known == name);
        found.map(|(_, value)| value)
    }

    /// A function by its OID in `pg_proc`.
    pub(crate) fn function_by_oid(&self, oid: &str) -> Option<&FunctionDescription> {
        let at = oid.parse::<i64>().ok()? - FIRST_FUNCTION;
        self.descriptions.get(usize::try_from(at).ok()?)
    }

    /// The type of a function's argument, as PostgreSQL names it.
    pub(crate) fn argument_type(&self, function: &str, at: usize) -> Option<&'static str> {
        let mut known = self.descriptions.iter();
        let found = known.find(|known| known.name == function)?;
        let (_, kind) = found.arguments.split(", ").nth(at)?.split_once(' ')?;
        Some(kind)
    }
}

/// The OID of the first function that is not PostgreSQL's own.
pub(crate) const FIRST_FUNCTION: i64 = 20_000;
