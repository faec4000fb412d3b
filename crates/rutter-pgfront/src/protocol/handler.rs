//! The handler of a connection, and the simple protocol: statements as text, answered one by one.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::LogicalPlan;
use futures::Sink;
use pgwire::api::portal::{Format, Portal};
use pgwire::api::query::{SimpleQueryHandler, send_ready_for_query};
use pgwire::api::results::{DataRowEncoder, FieldInfo, QueryResponse, Response, Tag};
use pgwire::api::stmt::{QueryParser as _, StoredStatement};
use pgwire::api::store::{MemPortalStore, PortalStore};
use pgwire::api::{ClientInfo, ClientPortalStore, DEFAULT_NAME, PgWireConnectionState, Type};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::TransactionStatus;
use rutter_server::{ConnectionLimits, ConnectionSlot};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

use super::ConnectionBounds;
use super::access::Access;
use super::cancel::{Query, Running};
use super::copy::{self, Copy};
use super::cursor::Cursors;
use super::declare_cursor::Declared;
use super::encode::fields;
use super::kept_statements::ClientObjects;
use super::login::{Login, Logins};
use super::prepared::{Parser, Prepared};
use super::query_threads;
use super::responses::{nothing as nothing_asked, send};
use super::row_stream::{error, failure, respond, too_long};
use super::session::Session;
use super::settings::{self, STATEMENT_TIMEOUT, time};
use super::statement::{ROLLBACK_TO, Statement, nothing, split};
use crate::{Application, Database};

/// The state that all connections share.
#[derive(Clone)]
pub struct HandlerFactory {
    database: Database,
    /// The threads of queries.
    threads: Handle,
    running: Arc<Running>,
    parser: Arc<Parser>,
    logins: Logins,
    /// Counts the connections that have logged in.
    clients: ConnectionLimits,
    bounds: ConnectionBounds,
    /// True when the server stops.
    stopped: watch::Receiver<bool>,
}

impl HandlerFactory {
    /// The state of a new server, until `stopped` is true.
    pub fn new(
        database: Database,
        access: &Access,
        threads: Handle,
        bounds: ConnectionBounds,
        stopped: watch::Receiver<bool>,
    ) -> Self {
        Self {
            parser: Arc::new(Parser::new(database.clone())),
            database,
            threads,
            running: Arc::default(),
            logins: Logins::new(access),
            clients: ConnectionLimits::new(bounds.connections),
            bounds,
            stopped,
        }
    }

    /// Waits until the server stops.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopped = self.stopped.clone();
        async move {
            let _ = stopped.wait_for(|stopped| *stopped).await;
        }
    }

    /// Returns the handler of a new connection. Without a slot, the connection is rejected.
    pub fn connection_handler(
        &self,
        peer: IpAddr,
        slot: Option<ConnectionSlot>,
    ) -> ConnectionHandler {
        let session = Session::new(peer, slot, self.clients.clone(), self.bounds);
        ConnectionHandler {
            shared: self.clone(),
            session,
        }
    }
}

/// Answers the queries of a connection.
pub struct ConnectionHandler {
    shared: HandlerFactory,
    session: Session,
}

#[async_trait]
impl SimpleQueryHandler for ConnectionHandler {
    /// Answers each statement before it begins the next.
    async fn on_query<C>(
        &self,
        client: &mut C,
        query: pgwire::messages::simplequery::Query,
    ) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore,
        C::Error: std::fmt::Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        if !matches!(client.state(), PgWireConnectionState::ReadyForQuery) {
            return Err(PgWireError::NotReadyForQuery);
        }
        client.set_state(PgWireConnectionState::QueryInProgress);
        self.session.record_activity();
        let statements = split(&query.query);
        if statements.is_empty() {
            nothing_asked(client).await?;
        }
        for statement in statements {
            for response in SimpleQueryHandler::do_query(self, client, statement).await? {
                send(client, response).await?;
            }
        }
        client.set_state(PgWireConnectionState::ReadyForQuery);
        send_ready_for_query(client, client.transaction_status()).await
    }

    /// Answers one statement.
    async fn do_query<C>(&self, client: &mut C, query: &str) -> PgWireResult<Vec<Response>>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore,
        C::Error: std::fmt::Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let ends = || Statement::of(query).is_ok_and(|statement| statement.ends_transaction());
        if has_failed(client) && !ends() {
            return Err(aborted());
        }
        let prepared = self.shared.parser.parse_sql(client, query, &[]).await?;
        Ok(match prepared {
            Some(prepared) => vec![self.answer(client, &prepared, None).await?],
            None => Vec::new(),
        })
    }
}

impl ConnectionHandler {
    /// Answers a prepared statement with the values and formats of a portal; without one, in the text format.
    pub async fn answer<C>(
        &self,
        client: &C,
        prepared: &Prepared,
        portal: Option<&Portal<Prepared>>,
    ) -> PgWireResult<Response>
    where
        C: ClientInfo + ClientPortalStore,
        C::PortalStore: PortalStore,
    {
        let statement = &prepared.statement;
        if has_failed(client) && !statement.ends_transaction() {
            return Err(aborted());
        }
        let format = portal.map_or(&Format::UnifiedText, |portal| &portal.result_column_format);
        let plan = match (&prepared.plan, portal) {
            (Some(plan), Some(portal)) => Some(plan.bound(&self.shared.database, portal).await?),
            (Some(plan), None) => Some(plan.plan().clone()),
            (None, _) => None,
        };
        Ok(match (statement, plan) {
            (Statement::Query(_), Some(plan)) => {
                let fields = fields(plan.schema().as_arrow(), format);
                Response::Query(self.run(client, plan, fields).await?)
            }
            (Statement::Copy(copy), Some(plan)) => self.copy(client, copy, plan).await?,
            (Statement::Declare(declared), Some(plan)) => {
                self.declare(client, declared, plan).await?
            }
            (Statement::Query(_) | Statement::Copy(_) | Statement::Declare(_), None) => {
                Response::EmptyQuery
            }
            (Statement::Fetch(name, count), _) => self.fetch(client, name, *count, format).await?,
            (Statement::Close(name), _) => close(client, name.as_deref())?,
            (Statement::Nothing(tag), _) => self.done(client, tag)?,
            (Statement::Deallocate(name), _) => forget(client, name.as_deref())?,
            (Statement::Timeout(time), _) => self.set_statement_timeout(time)?,
            (Statement::Show(name), _) => Response::Query(self.show(name, format)?),
        })
    }

    /// Waits until the server stops.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        self.shared.stopped()
    }

    /// The connection.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The parser of prepared statements.
    pub fn parser(&self) -> Arc<Parser> {
        Arc::clone(&self.shared.parser)
    }

    /// The memory of all queries.
    pub fn memory(&self) -> Arc<dyn MemoryPool> {
        self.shared.database.memory()
    }

    /// The login of the connection.
    pub fn login(&self) -> Login {
        let application = &self.shared.database.application;
        Login::new(
            self.shared.logins.clone(),
            self.session.clone(),
            application,
        )
    }

    /// All running queries, for cancel requests.
    pub fn running(&self) -> &Arc<Running> {
        &self.shared.running
    }

    /// Answers a statement that has no effect on queries.
    fn done<C>(&self, client: &C, tag: &'static str) -> PgWireResult<Response>
    where
        C: ClientInfo + ClientPortalStore,
        C::PortalStore: PortalStore,
    {
        if tag == ROLLBACK_TO && matches!(client.transaction_status(), TransactionStatus::Idle) {
            let why = "ROLLBACK TO SAVEPOINT without a transaction: BEGIN comes first";
            return Err(failure("25P01", why.to_owned()));
        }
        if matches!(tag, "RESET" | "DISCARD ALL") {
            self.session.set_query_timeout(None);
        }
        Ok(ended(client, tag))
    }

    /// Sets the client's own timeout.
    fn set_statement_timeout(&self, text: &str) -> PgWireResult<Response> {
        let Some(time) = time(text) else {
            let why = format!("statement_timeout: `{text}` is no time: write milliseconds, or 5s");
            return Err(failure("22023", why));
        };
        self.session.set_query_timeout(time);
        Ok(nothing("SET"))
    }

    /// Answers `SHOW`.
    fn show(&self, name: &str, format: &Format) -> PgWireResult<QueryResponse> {
        let application = &self.shared.database.application;
        let fields = Arc::new(vec![show_field(application, name, format)?]);
        let value = match name {
            STATEMENT_TIMEOUT => settings::shown(self.session.query_timeout()),
            name => application.setting(name).unwrap_or_default(),
        };
        let mut row = DataRowEncoder::new(Arc::clone(&fields));
        row.encode_field(&value)?;
        let row = row.take_row();
        Ok(QueryResponse::new(fields, futures::stream::iter([Ok(row)])))
    }

    /// Opens a cursor.
    async fn declare<C>(
        &self,
        client: &C,
        declared: &Declared,
        plan: LogicalPlan,
    ) -> PgWireResult<Response>
    where
        C: ClientInfo + ClientPortalStore,
        C::PortalStore: PortalStore,
    {
        let name = &declared.name;
        let shape = Prepared::query(plan.clone().into());
        let mut query = self.begin(client);
        let batches = self.compute(plan, &mut query).await?;
        let memory = self.shared.database.memory();
        Cursors::of(client).open(name, batches, memory)?;
        // Clients describe a cursor as a portal.
        let store = client.portal_store().as_any();
        if let Some(store) = store.downcast_ref::<MemPortalStore<Prepared>>() {
            let statement = StoredStatement::new(name.to_owned(), shape, Vec::new());
            let portal = Portal::new_cursor(name.to_owned(), Arc::new(statement));
            store.put_portal(Arc::new(portal));
        }
        Ok(Response::Execution(Tag::new("DECLARE CURSOR")))
    }

    /// Reads a cursor.
    async fn fetch(
        &self,
        client: &impl ClientInfo,
        name: &str,
        count: Option<usize>,
        format: &Format,
    ) -> PgWireResult<Response> {
        let query = self.begin(client);
        let cursors = Cursors::of(client);
        let limit = self.session.query_timeout();
        Ok(Response::Query(
            cursors.fetch(name, count, format, query, limit).await?,
        ))
    }

    /// Answers a query.
    async fn run(
        &self,
        client: &impl ClientInfo,
        plan: LogicalPlan,
        fields: Vec<FieldInfo>,
    ) -> PgWireResult<QueryResponse> {
        let mut query = self.begin(client);
        let until = Instant::now() + self.session.query_timeout();
        let batches = self.compute(plan, &mut query).await?;
        Ok(respond(batches, Arc::new(fields), query, until))
    }

    /// Copies the rows of a query.
    async fn copy(
        &self,
        client: &impl ClientInfo,
        copy: &Copy,
        plan: LogicalPlan,
    ) -> PgWireResult<Response> {
        let fields = fields(plan.schema().as_arrow(), &copy.values());
        let rows = self.run(client, plan, fields).await?;
        Ok(Response::CopyOut(copy::respond(client, copy, rows)))
    }

    fn begin(&self, client: &impl ClientInfo) -> Query {
        self.shared.running.begin(client, self.session.busy())
    }

    /// Begins to compute an answer. Fails if the query is cancelled or times out before its first row.
    async fn compute(
        &self,
        plan: LogicalPlan,
        query: &mut Query,
    ) -> PgWireResult<SendableRecordBatchStream> {
        let HandlerFactory {
            threads, database, ..
        } = &self.shared;
        let limit = self.session.query_timeout();
        tokio::select! {
            batches = query_threads::run(threads, database, plan, self.shared.bounds.query) => batches.map_err(|e| error(&e)),
            () = query.cancelled() => Err(PgWireError::QueryCanceled),
            () = tokio::time::sleep(limit) => Err(too_long(limit)),
        }
    }
}

/// Closes a cursor, or all.
fn close(client: &impl ClientInfo, name: Option<&str>) -> PgWireResult<Response> {
    Cursors::of(client).close(name)?;
    Ok(Response::Execution(Tag::new("CLOSE CURSOR")))
}

/// Answers a statement without effect. Cursors and portals end with their transaction.
fn ended<C>(client: &C, tag: &'static str) -> Response
where
    C: ClientInfo + ClientPortalStore,
    C::PortalStore: PortalStore,
{
    if tag == "DISCARD ALL" {
        // Ending all cannot fail.
        let _ = forget(client, None);
    }
    let tag = match tag {
        "COMMIT" if has_failed(client) => "ROLLBACK",
        tag => tag,
    };
    if matches!(tag, "COMMIT" | "ROLLBACK" | "DISCARD ALL") {
        // Closing all cannot fail.
        let _ = Cursors::of(client).close(None);
        client.portal_store().clear_portals();
        ClientObjects::of(client).close_portals();
    }
    nothing(tag)
}

/// Returns whether the current transaction has failed.
fn has_failed(client: &impl ClientInfo) -> bool {
    matches!(client.transaction_status(), TransactionStatus::Error)
}

/// The error of every query in a failed transaction.
fn aborted() -> PgWireError {
    let why = "the transaction has failed: nothing is answered until ROLLBACK";
    failure("25P02", why.to_owned())
}

/// Closes a prepared statement, or all named ones.
fn forget<C>(client: &C, name: Option<&str>) -> PgWireResult<Response>
where
    C: ClientInfo + ClientPortalStore,
    C::PortalStore: PortalStore,
{
    let held = ClientObjects::of(client);
    let mut names = held.statements();
    names.retain(|known| match name {
        Some(name) => known == name,
        None => known != DEFAULT_NAME,
    });
    if let (Some(name), true) = (name, names.is_empty()) {
        let why = format!("prepared statement \"{name}\" does not exist");
        return Err(failure("26000", why));
    }
    for known in names {
        client.portal_store().rm_statement(&known);
        held.close_statement(&known);
    }
    let tag = if name.is_some() {
        "DEALLOCATE"
    } else {
        "DEALLOCATE ALL"
    };
    Ok(Response::Execution(Tag::new(tag)))
}

/// An answer without columns and rows.
pub fn empty() -> QueryResponse {
    QueryResponse::new(Arc::new(Vec::new()), futures::stream::empty())
}

/// The column of `SHOW`.
pub fn show_field(
    application: &Application,
    name: &str,
    format: &Format,
) -> PgWireResult<FieldInfo> {
    if name != STATEMENT_TIMEOUT && application.setting(name).is_none() {
        return Err(unknown_setting(name));
    }
    let format = format.format_for(0);
    Ok(FieldInfo::new(
        name.to_owned(),
        None,
        None,
        Type::TEXT,
        format,
    ))
}

fn unknown_setting(name: &str) -> PgWireError {
    let why = format!("unrecognized configuration parameter \"{name}\"");
    failure("42704", why)
}
