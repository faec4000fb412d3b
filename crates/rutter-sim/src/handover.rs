//! The server as records, for another process that goes on with its sessions and its table, as the daemon does.

use std::convert::Infallible;
use std::sync::Arc;

use rutter_rib::{Batch, ClientStream, ImportedTable, Neighbor, PeerId, Sweeper, TableExport};
use rutter_session::Session;
use rutter_wire::handover::{BadRecord, Reader, Writer};

use crate::endpoint::Endpoint;
use crate::server::{Peer, Server, config, empty_table, neighbor};
use crate::setup::Setup;

/// What one process passes to the next.
pub(crate) struct Records {
    /// The session of each client.
    sessions: Vec<Vec<u8>>,
    /// The table while it serves.
    first_stage: Vec<Vec<u8>>,
    /// The rest of it, while it is held still.
    last_stage: Vec<Vec<u8>>,
}

impl Records {
    /// The same without a part of the end: the process that wrote them died.
    pub fn cut(mut self, at: usize) -> Self {
        let mut rest = at;
        for record in self.first_stage.iter_mut().chain(&mut self.last_stage) {
            record.truncate(rest);
            rest -= record.len();
        }
        self
    }

    /// The size of the table's records, bytes.
    pub fn table_len(&self) -> usize {
        let table = self.first_stage.iter().chain(&self.last_stage);
        table.map(Vec::len).sum()
    }
}

impl Server {
    /// Returns the server as records; `None` if it cannot be held still now. It can go on afterwards.
    pub fn hold(&mut self) -> Option<Records> {
        if !self.sweeper.is_idle() || self.deferral.is_some() {
            return None;
        }
        let (mut first_stage, mut last_stage) = (Vec::new(), Vec::new());
        let mut export = TableExport::default();
        let sent = export.send_changes(&self.rib, |record| keep(&mut first_stage, record));
        sent.expect("no error is possible");
        let streams = self.peers.iter_mut();
        let mut streams: Vec<&mut ClientStream> =
            streams.filter_map(|p| p.stream.as_mut()).collect();
        let held = self.rib.hold(&mut streams)?;
        let streams: Vec<&ClientStream> = streams.iter().map(|stream| &**stream).collect();
        let written = held.write(&mut export, &streams, |record| {
            keep(&mut last_stage, record)
        });
        written.expect("no error is possible");
        let sessions = self.peers.iter().map(|peer| {
            let mut record = Writer::default();
            peer.end.session.write_state(&mut record);
            record.bytes
        });
        Some(Records {
            sessions: sessions.collect(),
            first_stage,
            last_stage,
        })
    }
}

fn keep(records: &mut Vec<Vec<u8>>, record: &[u8]) -> Result<(), Infallible> {
    records.push(record.to_vec());
    Ok(())
}

/// The server that another process creates from the records. `before` lends it what is no part of them: the bytes of the
/// sockets and the clients that keep its routes.
pub(crate) fn successor(
    before: &Server,
    setup: Setup,
    records: &Records,
    shards: usize,
    now_ms: u64,
    seed: u64,
) -> Result<Server, BadRecord> {
    let rib = empty_table(shards, setup.log_limit, setup.export, seed);
    let clients = setup.imports.into_iter().zip(&setup.rules).zip(0..);
    let neighbors = clients.map(|((import, rules), index)| {
        let id = before.peers[usize::from(index)].id;
        (id, neighbor(index, import, rules))
    });
    let neighbors: Vec<(PeerId, Neighbor)> = neighbors.collect();
    let mut import = rib.import(neighbors.clone());
    for record in &records.first_stage {
        import.record(record)?;
    }
    import.begin_last_stage(neighbors);
    for record in &records.last_stage {
        import.record(record)?;
    }
    let ImportedTable {
        mut streams, sets, ..
    } = import.finish()?;
    rib.release_imported(sets);
    let mut peers = Vec::new();
    for (index, (old, record)) in (0..).zip(before.peers.iter().zip(&records.sessions)) {
        let rules = &setup.rules[usize::from(index)];
        let passive = old.end.session.config().passive;
        let config = config(index, passive, rules);
        let session = Session::from_state(config, seed, now_ms, &mut Reader::new(record))?;
        let stream = streams.iter().position(|stream| stream.peer() == old.id);
        peers.push(Peer {
            end: Endpoint::continued(session, &old.end),
            id: old.id,
            stream: stream.map(|at| streams.swap_remove(at)),
        });
    }
    assert!(streams.is_empty(), "every client has a session");
    Ok(Server {
        rib: Arc::new(rib),
        batch: Batch::new(),
        peers,
        sweeper: Sweeper::default(),
        kept: before.kept.clone(),
        deferral: None,
    })
}
