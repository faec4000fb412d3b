//! Counts the prepared statements and portals of a connection, and limits them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use pgwire::api::ClientInfo;
use pgwire::error::PgWireResult;

use super::row_stream::failure;

/// The objects of one kind, by name.
#[derive(Default)]
struct ObjectMap(HashMap<String, (usize, MemoryReservation)>);

/// All objects of a connection.
#[derive(Default)]
pub struct ClientObjects(Mutex<Objects>);

#[derive(Default)]
struct Objects {
    statements: ObjectMap,
    portals: ObjectMap,
}

impl ClientObjects {
    /// The objects of a client.
    pub fn of(client: &impl ClientInfo) -> Arc<Self> {
        client
            .session_extensions()
            .get_or_insert_with(Self::default)
    }

    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a statement; it replaces one of the same name.
    pub fn statement(
        &self,
        name: &str,
        octets: usize,
        memory: &Arc<dyn MemoryPool>,
    ) -> PgWireResult<()> {
        let charge = PLAN + PLANNED * octets;
        let mut objects = self.objects();
        objects
            .statements
            .insert(name, octets, charge, memory, STATEMENTS)
    }

    /// Adds a portal; it replaces one of the same name.
    pub fn portal(
        &self,
        name: &str,
        octets: usize,
        memory: &Arc<dyn MemoryPool>,
    ) -> PgWireResult<()> {
        self.objects()
            .portals
            .insert(name, octets, 2 * octets, memory, PORTALS)
    }

    /// Removes a statement.
    pub fn close_statement(&self, name: &str) {
        let mut objects = self.objects();
        objects.statements.0.remove(name);
    }

    /// Removes a portal.
    pub fn close_portal(&self, name: &str) {
        self.objects().portals.0.remove(name);
    }

    /// Removes all portals.
    pub fn close_portals(&self) {
        self.objects().portals.0.clear();
    }

    /// The names of all statements.
    pub fn statements(&self) -> Vec<String> {
        self.objects().statements.0.keys().cloned().collect()
    }
}

/// The limits of a kind: its number, its bytes, and its name in errors.
type Limit = (usize, usize, &'static str);

impl ObjectMap {
    fn insert(
        &mut self,
        name: &str,
        octets: usize,
        charge: usize,
        memory: &Arc<dyn MemoryPool>,
        limit: Limit,
    ) -> PgWireResult<()> {
        self.0.remove(name);
        let (number, objects, what) = limit;
        let held: usize = self.0.values().map(|(octets, _)| octets).sum();
        if self.0.len() >= number || held + octets > objects {
            return Err(failure(
                "54000",
                format!(
                    "a connection keeps at most {number} {what} of {objects} octets together: close some"
                ),
            ));
        }
        let reserved = MemoryConsumer::new(what).register(memory);
        if reserved.try_grow(charge).is_err() {
            return Err(failure(
                "53200",
                format!(
                    "queries need all memory that they may have (the setting `memory`): close {what}, or try again later"
                ),
            ));
        }
        self.0.insert(name.to_owned(), (octets, reserved));
        Ok(())
    }
}

const STATEMENTS: Limit = (256, 1 << 20, "prepared statements");
const PORTALS: Limit = (64, 4 << 20, "portals");
/// The bytes of a short statement's plan, and of a plan for each byte of a long statement. Measured with lists of numbers.
const PLAN: usize = 16 * 1024;
const PLANNED: usize = 24;
