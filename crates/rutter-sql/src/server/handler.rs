//! The messages of a connection.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::LogicalPlan;
use futures::{Sink, SinkExt as _};
use pgwire::api::portal::{Format, Portal, PortalExecutionState};
use pgwire::api::query::{ExtendedQueryHandler, SimpleQueryHandler, send_partial_query_response};
use pgwire::api::results::{DataRowEncoder, FieldInfo, QueryResponse, Response, Tag};
use pgwire::api::stmt::{QueryParser, StoredStatement};
use pgwire::api::store::{Entry, MemPortalStore, PortalStore};
use pgwire::api::{ClientInfo, ClientPortalStore, DEFAULT_NAME, PgWireConnectionState, Type};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::extendedquery::{
    Bind, BindComplete, Close, CloseComplete, Execute, Parse, ParseComplete,
    TARGET_TYPE_BYTE_STATEMENT,
};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::Bounds;
use super::access::Access;
use super::answer::{error, failure, respond, too_long};
use super::cancel::{Query, Running};
use super::compute;
use super::cursor::Cursors;
use super::doors::Door;
use super::encode::fields;
use super::held::Held;
use super::login::{Login, Logins};
use super::parameters;
use super::session::Session;
use super::statement::{Statement, cursor_name, nothing, setting, split};
use crate::Engine;

/// Everything that connections share.
#[derive(Clone)]
pub struct Shared {
    engine: Engine,
    /// Where queries run.
    threads: Handle,
    running: Arc<Running>,
    parser: Arc<Parser>,
    logins: Logins,
    places: Arc<Semaphore>,
    bounds: Bounds,
}

impl Shared {
    /// For a server.
    pub fn new(engine: Engine, access: &Access, threads: Handle, bounds: Bounds) -> Self {
        Self {
            parser: Arc::new(Parser(engine.clone())),
            engine,
            threads,
            running: Arc::default(),
            logins: Logins::new(access),
            places: Arc::new(Semaphore::new(bounds.connections)),
            bounds,
        }
    }

    /// For a connection that begins; without a door it is one too many.
    pub fn asker(&self, door: Option<Door>) -> Asker {
        let session = Session::new(door, Arc::clone(&self.places), self.bounds);
        Asker {
            shared: self.clone(),
            session,
        }
    }
}

/// Answers the queries of a connection.
pub struct Asker {
    shared: Shared,
    session: Session,
}

#[async_trait]
impl SimpleQueryHandler for Asker {
    async fn do_query<C>(&self, client: &mut C, query: &str) -> PgWireResult<Vec<Response>>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore,
        C::Error: std::fmt::Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        self.session.touch();
        let mut responses = Vec::new();
        for part in split(query) {
            responses.push(match Statement::of(part) {
                Statement::Nothing(tag) => {
                    forget(client, tag, part);
                    ended(client, tag)
                }
                Statement::Zone(zone) => return Err(unknown_zone(&zone)),
                Statement::Show(name) => Response::Query(show(&name, &Format::UnifiedText)?),
                Statement::Empty => Response::Query(empty()),
                Statement::Declare(name, sql) => {
                    let plan = self.shared.engine.plan(&sql).await.map_err(|e| error(&e))?;
                    self.declare(client, &name, plan.into_parts().1).await?
                }
                Statement::Fetch(name, count) => {
                    self.fetch(client, &name, count, &Format::UnifiedText)
                        .await?
                }
                Statement::Close(name) => close(client, name.as_deref())?,
                Statement::Query(sql) => {
                    let plan = self.shared.engine.plan(&sql).await.map_err(|e| error(&e))?;
                    let fields = fields(plan.schema().as_arrow(), &Format::UnifiedText);
                    let (_, plan) = plan.into_parts();
                    self.run(client, plan, fields).await?
                }
            });
        }
        Ok(responses)
    }
}

impl Asker {
    /// The connection.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The memory of all queries.
    pub fn memory(&self) -> Arc<dyn MemoryPool> {
        self.shared.engine.memory()
    }

    /// Its login.
    pub fn login(&self) -> Login {
        Login::new(self.shared.logins.clone(), self.session.clone())
    }

    /// All queries that run, for those who cancel one.
    pub fn running(&self) -> &Arc<Running> {
        &self.shared.running
    }

    async fn declare<C>(&self, client: &C, name: &str, plan: LogicalPlan) -> PgWireResult<Response>
    where
        C: ClientInfo + ClientPortalStore,
        C::PortalStore: PortalStore,
    {
        let shape = Prepared::Query(Box::new(plan.clone()));
        let mut query = self.begin(client);
        let batches = self.compute(plan, &mut query).await?;
        let memory = self.shared.engine.memory();
        Cursors::of(client).open(name.to_owned(), batches, memory)?;
        // Clients ask for the columns of a cursor as for those of a portal.
        let store = client.portal_store().as_any();
        if let Some(store) = store.downcast_ref::<MemPortalStore<Prepared>>() {
            let statement = StoredStatement::new(name.to_owned(), shape, Vec::new());
            let portal = Portal::new_cursor(name.to_owned(), Arc::new(statement));
            store.put_portal(Arc::new(portal));
        }
        Ok(Response::Execution(Tag::new("DECLARE CURSOR")))
    }

    async fn fetch(
        &self,
        client: &impl ClientInfo,
        name: &str,
        count: Option<usize>,
        format: &Format,
    ) -> PgWireResult<Response> {
        let query = self.begin(client);
        let cursors = Cursors::of(client);
        let limit = self.shared.bounds.query;
        Ok(Response::Query(
            cursors.fetch(name, count, format, query, limit).await?,
        ))
    }

    async fn run(
        &self,
        client: &impl ClientInfo,
        plan: LogicalPlan,
        fields: Vec<FieldInfo>,
    ) -> PgWireResult<Response> {
        let mut query = self.begin(client);
        let until = Instant::now() + self.shared.bounds.query;
        let batches = self.compute(plan, &mut query).await?;
        let fields = Arc::new(fields);
        Ok(Response::Query(respond(batches, fields, query, until)))
    }

    fn begin(&self, client: &impl ClientInfo) -> Query {
        self.shared.running.begin(client, self.session.busy())
    }

    /// Begins to compute an answer, unless the query is cancelled or takes too long before there is any of it.
    async fn compute(
        &self,
        plan: LogicalPlan,
        query: &mut Query,
    ) -> PgWireResult<SendableRecordBatchStream> {
        let Shared {
            threads,
            engine,
            bounds,
            ..
        } = &self.shared;
        tokio::select! {
            batches = compute::run(threads, engine, plan) => batches.map_err(|e| error(&e)),
            () = query.cancelled() => Err(PgWireError::QueryCanceled),
            () = tokio::time::sleep(bounds.query) => Err(too_long(bounds.query)),
        }
    }
}

/// Closes a cursor, or all.
fn close(client: &impl ClientInfo, name: Option<&str>) -> PgWireResult<Response> {
    Cursors::of(client).close(name)?;
    Ok(Response::Execution(Tag::new("CLOSE CURSOR")))
}

/// The answer to a statement without effect, but that cursors and portals end with their transaction.
fn ended<C>(client: &C, tag: &'static str) -> Response
where
    C: ClientInfo + ClientPortalStore,
    C::PortalStore: PortalStore,
{
    if matches!(tag, "COMMIT" | "ROLLBACK" | "DISCARD ALL") {
        client.portal_store().clear_portals();
        Held::of(client).close_portals();
        // Closing all cannot fail.
        let _ = Cursors::of(client).close(None);
    }
    nothing(tag)
}

fn unknown_zone(zone: &str) -> PgWireError {
    let why = format!("time zone {zone}: all times are UTC here, and no other zone is known");
    failure("22023", why)
}

/// `DEALLOCATE [PREPARE] {name | ALL}`, and what else ends prepared statements.
fn forget<C>(client: &C, tag: &str, sql: &str)
where
    C: ClientInfo + ClientPortalStore,
    C::PortalStore: PortalStore,
{
    let held = Held::of(client);
    let last = sql.split_whitespace().last().unwrap_or_default();
    let names = match tag {
        "DISCARD ALL" => held.statements(),
        "DEALLOCATE" if last.eq_ignore_ascii_case("ALL") => held.statements(),
        "DEALLOCATE" => vec![cursor_name(last)],
        _ => return,
    };
    for name in names {
        client.portal_store().rm_statement(&name);
        held.close_statement(&name);
    }
}

/// No rows, and no columns.
fn empty() -> QueryResponse {
    QueryResponse::new(Arc::new(Vec::new()), futures::stream::empty())
}

fn show(name: &str, format: &Format) -> PgWireResult<QueryResponse> {
    let fields = Arc::new(vec![show_field(name, format)]);
    let mut row = DataRowEncoder::new(Arc::clone(&fields));
    row.encode_field(&setting(name))?;
    let row = row.take_row();
    Ok(QueryResponse::new(fields, futures::stream::iter([Ok(row)])))
}

fn show_field(name: &str, format: &Format) -> FieldInfo {
    FieldInfo::new(
        name.to_owned(),
        None,
        None,
        Type::TEXT,
        format.format_for(0),
    )
}

/// A prepared statement.
#[derive(Clone, Debug)]
pub enum Prepared {
    Nothing(&'static str),
    Show(String),
    Empty,
    Declare(String, Box<LogicalPlan>),
    Fetch(String, Option<usize>, SchemaRef),
    Close(Option<String>),
    Query(Box<LogicalPlan>),
}

impl Prepared {
    /// Whether its answer is rows.
    fn has_rows(&self) -> bool {
        matches!(self, Self::Query(_) | Self::Show(_) | Self::Fetch(..))
    }
}

/// Prepares statements.
pub struct Parser(Engine);

impl Parser {
    async fn plan(&self, sql: &str) -> PgWireResult<Box<LogicalPlan>> {
        let frame = self.0.plan(sql).await.map_err(|e| error(&e))?;
        let plan = frame.into_parts().1;
        // Parameters that nobody could bind are refused before anything is made for them.
        parameters::types(&plan)?;
        Ok(Box::new(plan))
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
        Ok(Some(match Statement::of(&parameters::typed(sql, types)) {
            Statement::Nothing(tag) => Prepared::Nothing(tag),
            Statement::Zone(zone) => return Err(unknown_zone(&zone)),
            Statement::Show(name) => Prepared::Show(name),
            Statement::Empty => Prepared::Empty,
            Statement::Close(name) => Prepared::Close(name),
            Statement::Fetch(name, count) => {
                let schema = Cursors::of(client).schema(&name)?;
                Prepared::Fetch(name, count, schema)
            }
            Statement::Declare(name, sql) => Prepared::Declare(name, self.plan(&sql).await?),
            Statement::Query(sql) => Prepared::Query(self.plan(&sql).await?),
        }))
    }

    fn get_parameter_types(&self, statement: &Prepared) -> PgWireResult<Vec<Type>> {
        match statement {
            Prepared::Query(plan) | Prepared::Declare(_, plan) => parameters::types(plan),
            _ => Ok(Vec::new()),
        }
    }

    fn get_result_schema(
        &self,
        statement: &Prepared,
        format: Option<&Format>,
    ) -> PgWireResult<Vec<FieldInfo>> {
        let format = format.unwrap_or(&Format::UnifiedBinary);
        Ok(match statement {
            Prepared::Query(plan) => fields(plan.schema().as_arrow(), format),
            Prepared::Show(name) => vec![show_field(name, format)],
            Prepared::Fetch(_, _, schema) => fields(schema, format),
            Prepared::Nothing(_) | Prepared::Empty => Vec::new(),
            Prepared::Declare(..) | Prepared::Close(_) => Vec::new(),
        })
    }
}

#[async_trait]
impl ExtendedQueryHandler for Asker {
    type Statement = Prepared;
    type QueryParser = Parser;

    fn query_parser(&self) -> Arc<Parser> {
        Arc::clone(&self.shared.parser)
    }

    /// What is prepared is kept until it is closed: it counts.
    async fn on_parse<C>(&self, client: &mut C, message: Parse) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: std::fmt::Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let name = message.name.as_deref().unwrap_or(DEFAULT_NAME);
        let held = Held::of(client);
        client.portal_store().rm_statement(name);
        held.statement(name, message.query.len(), &self.memory())?;
        let parsed = StoredStatement::parse(client, &message, self.query_parser()).await;
        match parsed.inspect_err(|_| held.close_statement(name))? {
            Some(statement) => client.portal_store().put_statement(Arc::new(statement)),
            None => client.portal_store().put_empty_statement(name),
        }
        let done = PgWireBackendMessage::ParseComplete(ParseComplete::new());
        Ok(client.send(done).await?)
    }

    /// What is bound is kept until it is closed, or its transaction ends: it counts.
    async fn on_bind<C>(&self, client: &mut C, message: Bind) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: std::fmt::Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let portal = message.portal_name.as_deref().unwrap_or(DEFAULT_NAME);
        let statement = message.statement_name.as_deref().unwrap_or(DEFAULT_NAME);
        let store = client.portal_store();
        let found = store.get_statement(statement);
        let found = found.ok_or_else(|| PgWireError::StatementNotFound(statement.to_owned()))?;
        let values = message.parameters.iter().flatten();
        let octets = values.map(|value| value.len()).sum();
        store.rm_portal(portal);
        Held::of(client).portal(portal, octets, &self.memory())?;
        match found {
            Entry::Value(statement) => {
                let bound = Portal::try_new(&message, statement)?;
                store.put_portal(Arc::new(bound));
            }
            Entry::Empty => store.put_empty_portal(portal),
        }
        let done = PgWireBackendMessage::BindComplete(BindComplete::new());
        Ok(client.send(done).await?)
    }

    async fn on_close<C>(&self, client: &mut C, message: Close) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: std::fmt::Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let name = message.name.as_deref().unwrap_or(DEFAULT_NAME);
        let held = Held::of(client);
        if message.target_type == TARGET_TYPE_BYTE_STATEMENT {
            client.portal_store().rm_statement(name);
            held.close_statement(name);
        } else {
            client.portal_store().rm_portal(name);
            held.close_portal(name);
        }
        let done = PgWireBackendMessage::CloseComplete(CloseComplete::new());
        Ok(client.send(done).await?)
    }

    /// Rows go to the client as they come. The protocol's library would gather all of them first, and make room for as many
    /// as a client says that it wants.
    async fn on_execute<C>(&self, client: &mut C, message: Execute) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: std::fmt::Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let name = message.name.as_deref().unwrap_or(DEFAULT_NAME);
        let portal = match client.portal_store().get_portal(name) {
            Some(Entry::Value(portal)) if portal.statement.statement.has_rows() => portal,
            _ => return self._on_execute(client, message).await,
        };
        if !matches!(client.state(), PgWireConnectionState::ReadyForQuery) {
            return Err(PgWireError::NotReadyForQuery);
        }
        client.set_state(PgWireConnectionState::QueryInProgress);
        // Zero, and what is less, is all.
        let most = usize::try_from(message.max_rows).unwrap_or(0);
        let state = portal.state();
        let mut state = state.lock().await;
        if matches!(*state, PortalExecutionState::Initial)
            && let Response::Query(rows) =
                ExtendedQueryHandler::do_query(self, client, &portal, most).await?
        {
            *state = PortalExecutionState::Suspended(rows);
        }
        let has_more = match &mut *state {
            PortalExecutionState::Suspended(rows) => {
                send_partial_query_response(client, rows, most).await?
            }
            _ => send_partial_query_response(client, &mut empty(), 0).await?,
        };
        if !has_more {
            *state = PortalExecutionState::Finished;
        }
        client.set_state(PgWireConnectionState::ReadyForQuery);
        Ok(())
    }

    async fn do_query<C>(
        &self,
        client: &mut C,
        portal: &Portal<Prepared>,
        _max_rows: usize,
    ) -> PgWireResult<Response>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: std::fmt::Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        self.session.touch();
        match &portal.statement.statement {
            Prepared::Nothing(tag) => Ok(ended(client, tag)),
            Prepared::Show(name) => Ok(Response::Query(show(name, &portal.result_column_format)?)),
            Prepared::Empty => Ok(Response::Query(empty())),
            Prepared::Close(name) => close(client, name.as_deref()),
            Prepared::Fetch(name, count, _) => {
                let format = &portal.result_column_format;
                self.fetch(client, name, *count, format).await
            }
            Prepared::Declare(name, plan) => self.declare(client, name, bound(portal, plan)?).await,
            Prepared::Query(plan) => {
                let plan = bound(portal, plan)?;
                let fields = fields(plan.schema().as_arrow(), &portal.result_column_format);
                self.run(client, plan, fields).await
            }
        }
    }
}

/// A prepared query with the values that a client bound.
fn bound(portal: &Portal<Prepared>, plan: &LogicalPlan) -> PgWireResult<LogicalPlan> {
    let values = parameters::values(portal, &parameters::types(plan)?)?;
    let plan = plan.clone().with_param_values(values);
    plan.map_err(|failed| error(&failed.into()))
}
