//! A database in memory that goes away, and that may commit without an answer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;

use rutter_bench::rng::Rng;
use rutter_net::Prefix;
use rutter_sinks::{Batch, Load, LoadRow, Position, RowChunks, Store, StoreError, StoreProgress};

/// The committed data.
#[derive(Clone, Default)]
pub struct Tables {
    pub position: Option<Position>,
    /// The wall time of the last row.
    pub time_us: u64,
    /// Run, number, and kind with peer and prefix, in the order of the commits.
    pub events: Vec<(u64, u64, String)>,
    /// The details of gaps, by run and number.
    pub gaps: BTreeMap<(u64, u64), String>,
    pub routes: BTreeMap<(IpAddr, Prefix, u32), String>,
    /// True if each session is up.
    pub up: BTreeMap<IpAddr, bool>,
}

/// The server: it outlives the process that writes to it.
pub struct Server {
    pub tables: Tables,
    pub rng: Rng,
    /// The percentage of calls that fail.
    pub faults: u64,
    pub away: bool,
}

/// A client of the server.
#[derive(Clone)]
pub struct Database {
    pub server: Rc<RefCell<Server>>,
    connected: bool,
}

impl Database {
    pub fn new(rng: Rng) -> Self {
        let server = Server {
            tables: Tables::default(),
            rng,
            faults: 0,
            away: false,
        };
        Self {
            server: Rc::new(RefCell::new(server)),
            connected: false,
        }
    }

    /// Applies a transaction or not, and confirms it or not.
    fn transact(&mut self, change: impl FnOnce(&mut Tables)) -> Result<(), StoreError> {
        assert!(self.connected, "a store is opened after a fault");
        let server = &mut *self.server.borrow_mut();
        let fault = Err(StoreError("the connection was lost".into()));
        if server.away {
            return fault;
        }
        let fails = server.rng.chance(server.faults);
        if fails && server.rng.chance(50) {
            return fault;
        }
        change(&mut server.tables);
        if fails { fault } else { Ok(()) }
    }
}

impl Store for Database {
    fn open(&mut self) -> Result<StoreProgress, StoreError> {
        let server = &mut *self.server.borrow_mut();
        if server.away || server.rng.chance(server.faults) {
            return Err(StoreError("the server is away".into()));
        }
        self.connected = true;
        let tables = &server.tables;
        Ok(StoreProgress {
            position: tables.position,
            time_us: tables.position.map(|_| tables.time_us),
            lost_position: None,
        })
    }

    fn find_loss(&mut self, behind: Position, _: u64) -> Result<Option<String>, StoreError> {
        let server = self.server.borrow();
        let last =
            |event: &(u64, u64, String)| (event.0, event.1 + 1) == (behind.run, behind.next_seq);
        let has = server.tables.events.iter().any(last);
        Ok((!has).then(|| "it has no such event".into()))
    }

    fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.transact(|tables| {
            tables.position = Some(batch.end);
            tables.time_us = batch.last_us().unwrap_or(tables.time_us);
            for (behind, entry) in &batch.rows {
                let mut text = entry.kind.name().to_owned();
                if let Some(peer) = &entry.peer {
                    text += &format!(" {}", peer.key.address);
                }
                if let Some(prefix) = entry.prefix {
                    text += &format!(" {prefix}");
                }
                let (run, seq) = (behind.run, behind.next_seq - 1);
                if text == "gap" {
                    tables.gaps.insert((run, seq), entry.detail.to_string());
                }
                tables.events.push((run, seq, text));
            }
            for change in &batch.peer_changes {
                tables.up.insert(change.peer.key.address, change.up);
            }
            for (peer, families) in &batch.cleared {
                tables.routes.retain(|(of, prefix, _), _| {
                    *of != peer.key.address || !families[prefix.family()]
                });
            }
            for ((peer, prefix, path_id), change) in &batch.changes {
                let key = (batch.peers[*peer].key.address, *prefix, *path_id);
                match &change.attrs {
                    Some(attrs) => {
                        let path = attrs.as_path.clone().unwrap_or_default();
                        tables.routes.insert(key, path);
                    }
                    None => {
                        tables.routes.remove(&key);
                    }
                }
            }
        })
    }

    fn begin_load(&mut self, load: &Load) -> Result<(), StoreError> {
        self.transact(|tables| {
            let named = |address: IpAddr| {
                load.peers
                    .iter()
                    .any(|(_, peer)| peer.key.address == address)
            };
            tables
                .routes
                .retain(|(of, _, _), _| !load.all && !named(*of));
            if load.all {
                tables.up.values_mut().for_each(|up| *up = false);
            }
        })
    }

    fn load(&mut self, _: &Load, chunks: &mut RowChunks<'_>) -> Result<(), StoreError> {
        while let Some(rows) = chunks() {
            self.add(&rows)?;
        }
        Ok(())
    }

    fn end_load(&mut self, load: &Load) -> Result<(), StoreError> {
        self.transact(|tables| {
            for (up, peer) in &load.peers {
                tables.up.insert(peer.key.address, *up);
            }
        })
    }

    fn close(&mut self) {
        self.connected = false;
    }
}

impl Database {
    fn add(&mut self, rows: &[LoadRow]) -> Result<(), StoreError> {
        self.transact(|tables| {
            for row in rows {
                let key = (row.peer.key.address, row.prefix, row.path_id);
                let path = row.attrs.as_path.clone().unwrap_or_default();
                let before = tables.routes.insert(key, path);
                assert!(before.is_none(), "a load met the key {key:?}");
            }
        })
    }
}
