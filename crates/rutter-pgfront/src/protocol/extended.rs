//! The extended protocol: Parse, Bind and Execute.

use std::sync::Arc;

use async_trait::async_trait;
use futures::{Sink, SinkExt as _};
use pgwire::api::portal::{Portal, PortalExecutionState};
use pgwire::api::query::{ExtendedQueryHandler, send_partial_query_response};
use pgwire::api::results::Response;
use pgwire::api::stmt::StoredStatement;
use pgwire::api::store::{Entry, PortalStore};
use pgwire::api::{ClientInfo, ClientPortalStore, DEFAULT_NAME, PgWireConnectionState};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::extendedquery::{
    Bind, BindComplete, Close, CloseComplete, Execute, Parse, ParseComplete,
    TARGET_TYPE_BYTE_STATEMENT,
};

use super::handler::{ConnectionHandler, empty};
use super::kept_statements::ClientObjects;
use super::prepared::{Parser, Prepared};
use super::responses::send;

#[async_trait]
impl ExtendedQueryHandler for ConnectionHandler {
    type Statement = Prepared;
    type QueryParser = Parser;

    fn query_parser(&self) -> Arc<Parser> {
        self.parser()
    }

    /// Counts the statement until it is closed.
    async fn on_parse<C>(&self, client: &mut C, message: Parse) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: std::fmt::Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let name = message.name.as_deref().unwrap_or(DEFAULT_NAME);
        let held = ClientObjects::of(client);
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

    /// Counts the portal until it is closed or its transaction ends.
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
        if let Entry::Value(statement) = &found {
            self.query_parser().check(&statement.statement, &message)?;
        }
        let values = message.parameters.iter().flatten();
        let octets = values.map(|value| value.len()).sum();
        store.rm_portal(portal);
        ClientObjects::of(client).portal(portal, octets, &self.memory())?;
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
        let held = ClientObjects::of(client);
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

    /// Sends rows as they arrive. The protocol's library would collect all rows first, and reserve room for as many rows as
    /// the client names.
    async fn on_execute<C>(&self, client: &mut C, message: Execute) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: std::fmt::Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let name = message.name.as_deref().unwrap_or(DEFAULT_NAME);
        let portal = match client.portal_store().get_portal(name) {
            Some(Entry::Value(portal)) => portal,
            _ => return self._on_execute(client, message).await,
        };
        if !matches!(client.state(), PgWireConnectionState::ReadyForQuery) {
            return Err(PgWireError::NotReadyForQuery);
        }
        client.set_state(PgWireConnectionState::QueryInProgress);
        if !portal.statement.statement.statement.has_rows() {
            let response = ExtendedQueryHandler::do_query(self, client, &portal, 0).await?;
            send(client, response).await?;
            client.set_state(PgWireConnectionState::ReadyForQuery);
            return Ok(());
        }
        // Zero and negative counts mean all rows.
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
        self.session().record_activity();
        let prepared = &portal.statement.statement;
        self.answer(client, prepared, Some(portal)).await
    }
}
