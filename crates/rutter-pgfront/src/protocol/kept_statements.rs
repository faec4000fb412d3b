//! Counts the prepared statements and portals of a connection, and limits them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use pgwire::api::ClientInfo;
use pgwire::error::PgWireResult;

use super::row_stream::failure;

/// The kinds of objects that a connection keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kept {
    Statement,
    Portal,
}

impl Kept {
    /// The most objects, their most bytes together, and their name in errors.
    fn limits(self) -> (usize, usize, &'static str) {
        match self {
            Self::Statement => (256, 1 << 20, "prepared statements"),
            Self::Portal => (64, 4 << 20, "portals"),
        }
    }

    /// The memory of an object of this many bytes. A short statement's plan takes 16 KiB, a long one's 24 bytes for each
    /// byte: measured with lists of numbers.
    fn charge(self, octets: usize) -> usize {
        match self {
            Self::Statement => 16 * 1024 + 24 * octets,
            Self::Portal => 2 * octets,
        }
    }
}

/// All objects of a connection, by kind and name, with their bytes.
#[derive(Default)]
pub struct ClientObjects(Mutex<Objects>);

type Objects = HashMap<(Kept, String), (usize, MemoryReservation)>;

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

    /// Adds an object; it replaces one of the same kind and name.
    pub fn insert(
        &self,
        kept: Kept,
        name: &str,
        octets: usize,
        memory: &Arc<dyn MemoryPool>,
    ) -> PgWireResult<()> {
        let mut objects = self.objects();
        let key = (kept, name.to_owned());
        objects.remove(&key);
        let (most, most_octets, what) = kept.limits();
        let same = objects.iter().filter(|((kind, _), _)| *kind == kept);
        let sizes: Vec<usize> = same.map(|(_, (octets, _))| *octets).collect();
        if sizes.len() >= most || sizes.iter().sum::<usize>() + octets > most_octets {
            let why = format!(
                "a connection keeps at most {most} {what} of {most_octets} octets together: close some"
            );
            return Err(failure("54000", why));
        }
        let reserved = MemoryConsumer::new(what).register(memory);
        if reserved.try_grow(kept.charge(octets)).is_err() {
            let why = format!(
                "queries need all memory that they may have (the setting `memory`): close {what}, or try again later"
            );
            return Err(failure("53200", why));
        }
        objects.insert(key, (octets, reserved));
        Ok(())
    }

    /// Removes an object.
    pub fn remove(&self, kept: Kept, name: &str) {
        self.objects().remove(&(kept, name.to_owned()));
    }

    /// Removes all portals.
    pub fn remove_portals(&self) {
        self.objects().retain(|(kept, _), _| *kept != Kept::Portal);
    }

    /// The names of all statements.
    pub fn statements(&self) -> Vec<String> {
        let objects = self.objects();
        let statements = objects.keys().filter(|(kept, _)| *kept == Kept::Statement);
        statements.map(|(_, name)| name.clone()).collect()
    }
}
