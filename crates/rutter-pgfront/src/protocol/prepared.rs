//! Prepared statements. A statement of the simple protocol is prepared and answered at once.

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use pgwire::api::portal::Format;
use pgwire::api::results::FieldInfo;
use pgwire::api::stmt::QueryParser;
use pgwire::api::{ClientInfo, Type};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::extendedquery::Bind;

use super::cursor::Cursors;
use super::encode::fields;
use super::handler::show_field;
use super::planned_query::Planned;
use super::row_stream::failure;
use super::statement::{Statement, is_only_comments};
use crate::Database;

/// A prepared statement.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub statement: Statement,
    /// The query of a statement that has one.
    pub plan: Option<Planned>,
    /// The columns of a cursor that is read.
    cursor: Option<SchemaRef>,
}

impl Prepared {
    /// A query without parameters.
    pub fn query(plan: Planned) -> Self {
        Self {
            statement: Statement::Query(String::new()),
            plan: Some(plan),
            cursor: None,
        }
    }

    /// The types of its parameters.
    fn types(&self) -> PgWireResult<Vec<Type>> {
        self.plan.as_ref().map_or(Ok(Vec::new()), Planned::types)
    }
}

/// Prepares statements.
pub struct Parser(Database);

impl Parser {
    /// A parser for the statements of a database.
    pub fn new(database: Database) -> Self {
        Self(database)
    }

    /// The columns of an answer.
    fn columns(&self, prepared: &Prepared, format: &Format) -> PgWireResult<Vec<FieldInfo>> {
        Ok(
            match (&prepared.statement, &prepared.plan, &prepared.cursor) {
                (Statement::Query(_), Some(plan), _) => {
                    fields(plan.plan().schema().as_arrow(), format)
                }
                (_, _, Some(schema)) => fields(schema, format),
                (Statement::Show(name), ..) => vec![show_field(&self.0.application, name, format)?],
                _ => Vec::new(),
            },
        )
    }

    /// Refuses a Bind whose number of values or formats differs from the parameters or columns.
    pub fn check(&self, prepared: &Prepared, bind: &Bind) -> PgWireResult<()> {
        let parameters = prepared.types()?.len();
        let columns = self.columns(prepared, &Format::UnifiedText)?.len();
        let given = bind.parameters.len();
        if given != parameters {
            return Err(wrong(format!("{given} values for {parameters} parameters")));
        }
        for (formats, of, what) in [
            (&bind.parameter_format_codes, given, "values"),
            (&bind.result_column_format_codes, columns, "columns"),
        ] {
            // A statement without columns accepts any number.
            if formats.len() > 1 && of > 0 && formats.len() != of {
                let count = formats.len();
                return Err(wrong(format!("{count} formats for {of} {what}")));
            }
            if let Some(format) = formats.iter().find(|format| !(0..=1).contains(*format)) {
                return Err(wrong(format!("there is no format {format}")));
            }
        }
        Ok(())
    }
}

#[async_trait]
impl QueryParser for Parser {
    type Statement = Prepared;

    async fn parse_sql<C>(
        &self,
        client: &C,
        sql: &str,
        types: &[Option<Type>],
    ) -> PgWireResult<Option<Prepared>>
    where
        C: ClientInfo + Unpin + Send + Sync,
    {
        if is_only_comments(sql) {
            return Ok(None);
        }
        let statement = Statement::of(sql)?;
        let plan = match statement.query() {
            Some(sql) => Some(Planned::new(&self.0, sql, types).await?),
            None => None,
        };
        let cursor = match &statement {
            Statement::Fetch(name, _) => Some(Cursors::of(client).schema(name)?),
            _ => None,
        };
        Ok(Some(Prepared {
            statement,
            plan,
            cursor,
        }))
    }

    fn get_parameter_types(&self, statement: &Prepared) -> PgWireResult<Vec<Type>> {
        statement.types()
    }

    fn get_result_schema(
        &self,
        statement: &Prepared,
        format: Option<&Format>,
    ) -> PgWireResult<Vec<FieldInfo>> {
        // The format is not requested before Bind. Drivers expect what is announced here.
        self.columns(statement, format.unwrap_or(&Format::UnifiedText))
    }
}

fn wrong(what: String) -> PgWireError {
    failure("08P01", format!("a message Bind with {what}"))
}
