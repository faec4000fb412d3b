//! Prepared statements.

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use pgwire::api::portal::Format;
use pgwire::api::results::FieldInfo;
use pgwire::api::stmt::QueryParser;
use pgwire::api::{ClientInfo, Type};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::extendedquery::Bind;

use super::copy::Copy;
use super::cursor::Cursors;
use super::declare_cursor::Declared;
use super::encode::fields;
use super::handler::{show_field, unknown_zone};
use super::planned_query::Planned;
use super::row_stream::failure;
use super::statement::{Statement, ends_transaction, is_silent};
use crate::Database;

/// A prepared statement.
#[derive(Clone, Debug)]
pub enum Prepared {
    Nothing(&'static str),
    Deallocate(Option<String>),
    Timeout(String),
    Show(String),
    Declare(Declared, Box<Planned>),
    Fetch(String, Option<usize>, SchemaRef),
    Move(String, Option<usize>),
    Close(Option<String>),
    Query(Box<Planned>),
    Copy(Box<(Copy, Planned)>),
}

impl Prepared {
    /// Returns whether the statement ends a transaction or rolls it back to a savepoint.
    pub fn ends_transaction(&self) -> bool {
        matches!(self, Self::Nothing(tag) if ends_transaction(tag))
    }

    /// Returns whether the statement answers with rows.
    pub fn has_rows(&self) -> bool {
        matches!(self, Self::Query(_) | Self::Show(_) | Self::Fetch(..))
    }
}

/// Prepares statements.
pub struct Parser(Database);

impl Parser {
    /// A parser for the statements of a database.
    pub fn new(database: Database) -> Self {
        Self(database)
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.0
    }

    async fn plan(&self, sql: &str, types: &[Option<Type>]) -> PgWireResult<Box<Planned>> {
        Ok(Box::new(Planned::new(&self.0, sql, types).await?))
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
        if is_silent(sql) {
            return Ok(None);
        }
        Ok(Some(match Statement::of(sql) {
            Statement::Nothing(tag) => Prepared::Nothing(tag),
            Statement::Deallocate(name) => Prepared::Deallocate(name),
            Statement::Timeout(time) => Prepared::Timeout(time),
            Statement::Zone(zone) => return Err(unknown_zone(&zone)),
            Statement::Copy(text) => {
                let copy = Copy::of(&text)?;
                let plan = self.plan(&copy.sql, types).await?;
                Prepared::Copy(Box::new((copy, *plan)))
            }
            Statement::Show(name) => Prepared::Show(name),
            Statement::Close(name) => Prepared::Close(name),
            Statement::Fetch(name, count) => {
                let schema = Cursors::of(client).schema(&name)?;
                Prepared::Fetch(name, count, schema)
            }
            Statement::Declare(declared) => {
                let plan = self.plan(&declared.sql, types).await?;
                Prepared::Declare(declared, plan)
            }
            Statement::Move(name, count) => Prepared::Move(name, count),
            Statement::Refused(why) => return Err(failure("0A000", why.to_owned())),
            Statement::Query(sql) => Prepared::Query(self.plan(&sql, types).await?),
        }))
    }

    fn get_parameter_types(&self, statement: &Prepared) -> PgWireResult<Vec<Type>> {
        match statement {
            Prepared::Query(plan) | Prepared::Declare(_, plan) => plan.types(),
            Prepared::Copy(copy) => copy.1.types(),
            _ => Ok(Vec::new()),
        }
    }

    fn get_result_schema(
        &self,
        statement: &Prepared,
        format: Option<&Format>,
    ) -> PgWireResult<Vec<FieldInfo>> {
        // The format is not requested before Bind. Drivers expect what is announced here.
        let format = format.unwrap_or(&Format::UnifiedText);
        Ok(match statement {
            Prepared::Query(plan) => fields(plan.plan().schema().as_arrow(), format),
            Prepared::Show(name) => vec![show_field(&self.0.application, name, format)?],
            Prepared::Fetch(_, _, schema) => fields(schema, format),
            Prepared::Nothing(_) | Prepared::Deallocate(_) | Prepared::Timeout(_) => Vec::new(),
            Prepared::Declare(..) | Prepared::Move(..) | Prepared::Close(_) => Vec::new(),
            Prepared::Copy(_) => Vec::new(),
        })
    }
}

impl Prepared {
    /// Refuses a Bind whose number of values or formats differs from the parameters or columns.
    pub fn check(&self, bind: &Bind) -> PgWireResult<()> {
        let (parameters, columns) = match self {
            Self::Query(plan) => (plan.types()?.len(), plan.plan().schema().fields().len()),
            Self::Declare(_, plan) => (plan.types()?.len(), 0),
            Self::Copy(copy) => (copy.1.types()?.len(), 0),
            Self::Fetch(_, _, schema) => (0, schema.fields().len()),
            Self::Show(_) => (0, 1),
            _ => (0, 0),
        };
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

fn wrong(what: String) -> PgWireError {
    failure("08P01", format!("a message Bind with {what}"))
}
