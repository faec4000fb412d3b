//! PostgreSQL: binary COPY into the history and, through a staging table, into the current routes.

mod changes;
mod copy;
mod indexes;
mod peers;
mod schema;

use std::fmt;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use postgres::error::SqlState;
use postgres::{Client, CopyInWriter, NoTls, Transaction};
use rutter_config::Database;

use crate::batch::Batch;
use crate::load::LoadRow;
use crate::spool::Position;
use crate::store::{Fault, Load, Pieces, Store};
use copy::{ATTR_COLUMNS, Rows};
use peers::PeerIds;

/// A database of PostgreSQL 12 or later, written to as one collector.
pub struct Postgres {
    collector: String,
    settings: Database,
    session: Option<Session>,
}

struct Session {
    client: Client,
    collector: i32,
    peers: PeerIds,
    /// As it was committed last.
    position: Option<Position>,
}

impl Postgres {
    /// Nothing is connected before [`Store::open`].
    pub fn new(collector: &str, settings: Database) -> Self {
        Self {
            collector: collector.to_owned(),
            settings,
            session: None,
        }
    }

    fn connect(&self) -> Result<Client, Fault> {
        let mut config = postgres::Config::new();
        let settings = &self.settings;
        match settings.host.starts_with('/') {
            true => config.host_path(Path::new(&settings.host)),
            false => config.host(&settings.host),
        };
        config
            .port(settings.port)
            .user(&settings.user)
            .dbname(&settings.database)
            .application_name("rutter")
            .connect_timeout(Duration::from_secs(10))
            .tcp_user_timeout(Duration::from_secs(60));
        if let Some(password) = &settings.password {
            config.password(password.reveal());
        }
        config.connect(NoTls).map_err(fault("cannot connect"))
    }

    /// Only one process at a time writes as a collector, and a transaction of an earlier connection has ended.
    fn exclude_others(&self, client: &mut Client) -> Result<(), Fault> {
        let name = format!("rutter collector {}", self.collector);
        let row = client
            .query_one(
                "SELECT pg_try_advisory_lock(hashtextextended($1, 0))",
                &[&name],
            )
            .map_err(fault("cannot take the collector's lock"))?;
        match row.get(0) {
            true => Ok(()),
            false => Err(Fault(format!(
                "another connection writes as collector `{}`: give each collector a name of its own",
                self.collector
            ))),
        }
    }

    fn session(&mut self) -> Result<&mut Session, Fault> {
        self.session
            .as_mut()
            .ok_or_else(|| Fault("not connected".into()))
    }
}

const REGISTER: &str = "INSERT INTO rutter_collectors (collector) VALUES ($1)
ON CONFLICT (collector) DO UPDATE SET updated = now()
RETURNING collector_id, run, next_seq";

/// Whoever made tables anew has unset it: what was said of the routes until then does not hold.
const POSITION: &str = "UPDATE rutter_collectors SET run = $2, next_seq = $3, updated = now()
WHERE collector_id = $1 AND run IS NOT DISTINCT FROM $4 AND next_seq IS NOT DISTINCT FROM $5";

/// Tables that were made anew meanwhile hold only the rest of the load.
const LIVE: &str = "UPDATE rutter_collectors SET state = 'live'
WHERE collector_id = $1 AND run IS NOT DISTINCT FROM $2 AND next_seq IS NOT DISTINCT FROM $3";

fn moved() -> Fault {
    Fault("somebody else changed the position of this collector".into())
}

fn signed(at: Position) -> (i64, i64) {
    (at.run as i64, at.next_seq as i64)
}

impl Store for Postgres {
    fn open(&mut self) -> Result<Option<Position>, Fault> {
        self.session = None;
        let mut client = self.connect()?;
        client
            .batch_execute("SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET client_min_messages = warning")
            .map_err(fault("cannot prepare the session"))?;
        self.exclude_others(&mut client)?;
        schema::migrate(&mut client)?;
        let row = client
            .query_one(REGISTER, &[&self.collector])
            .map_err(fault("cannot register the collector"))?;
        client
            .batch_execute(changes::STAGE)
            .map_err(fault("cannot make the staging table"))?;
        let (run, next_seq): (Option<i64>, Option<i64>) = (row.get(1), row.get(2));
        let position = run.zip(next_seq).map(|(run, next_seq)| Position {
            run: run as u64,
            next_seq: next_seq as u64,
        });
        self.session = Some(Session {
            client,
            collector: row.get(0),
            peers: PeerIds::default(),
            position,
        });
        Ok(position)
    }

    fn write(&mut self, batch: &Batch) -> Result<(), Fault> {
        let history = self.settings.history;
        let session = self.session()?;
        let collector = session.collector;
        let mut transaction = session
            .client
            .transaction()
            .map_err(fault("cannot begin"))?;
        for peer in &batch.peers {
            session.peers.learn(&mut transaction, collector, peer)?;
        }
        if history {
            write_events(&mut transaction, collector, &session.peers, batch)?;
        }
        changes::apply(&mut transaction, &session.peers, batch)?;
        let (run, next_seq) = signed(batch.end);
        let before = session.position.map(signed);
        let stored = transaction
            .execute(
                POSITION,
                &[
                    &collector,
                    &run,
                    &next_seq,
                    &before.map(|at| at.0),
                    &before.map(|at| at.1),
                ],
            )
            .map_err(fault("cannot store the position"))?;
        if stored == 0 {
            return Err(moved());
        }
        transaction.commit().map_err(fault("cannot commit"))?;
        session.position = Some(batch.end);
        Ok(())
    }

    fn begin_load(&mut self, load: &Load) -> Result<(), Fault> {
        let session = self.session()?;
        let collector = session.collector;
        let mut transaction = session
            .client
            .transaction()
            .map_err(fault("cannot begin"))?;
        let mut ids = Vec::new();
        for (_, peer) in &load.peers {
            ids.push(session.peers.learn(&mut transaction, collector, peer)?);
        }
        match load.all {
            true => changes::clear_all(&mut transaction, collector, &load.peers, &session.peers)?,
            false => changes::clear_peers(&mut transaction, &ids)?,
        }
        transaction.commit().map_err(fault("cannot commit"))
    }

    fn load(&mut self, load: &Load, pieces: &mut Pieces<'_>) -> Result<(), Fault> {
        let session = self.session()?;
        while let Some(rows) = pieces() {
            let mut transaction = session
                .client
                .transaction()
                .map_err(fault("cannot begin"))?;
            // The last transaction of the load makes all before it durable, too.
            transaction
                .batch_execute("SET LOCAL synchronous_commit = off")
                .map_err(fault("cannot begin"))?;
            load_some(&mut transaction, &session.peers, load, rows, pieces)?;
            transaction.commit().map_err(fault("cannot commit"))?;
        }
        Ok(())
    }

    fn end_load(&mut self, load: &Load) -> Result<(), Fault> {
        let session = self.session()?;
        let collector = session.collector;
        let mut transaction = session
            .client
            .transaction()
            .map_err(fault("cannot begin"))?;
        changes::loaded(&mut transaction, load, &session.peers)?;
        let (run, next_seq) = session.position.map(signed).unzip();
        let stands = transaction
            .execute(LIVE, &[&collector, &run, &next_seq])
            .map_err(fault("cannot store the state of the collector"))?;
        if stands == 0 {
            return Err(moved());
        }
        transaction.commit().map_err(fault("cannot commit"))
    }

    fn expire(&mut self, before_us: u64) -> Result<bool, Fault> {
        let session = self.session()?;
        let before_s = before_us as f64 / 1e6;
        let removed = session
            .client
            .execute(EXPIRE, &[&session.collector, &before_s, &EXPIRED])
            .map_err(fault("cannot remove old events"))?;
        Ok(removed as i64 == EXPIRED)
    }

    fn close(&mut self) {
        self.session = None;
    }
}

const COPY_ROUTES: &str = "COPY rutter_routes (peer_id, prefix, path_id, time, origin, as_path, origin_as, next_hop, med, local_pref,
    communities, extended_communities, large_communities) FROM STDIN BINARY";
const COPY_EVENTS: &str = "COPY rutter_events (collector_id, run, seq, time, peer_id, kind, prefix, path_id, origin, as_path, origin_as,
    next_hop, med, local_pref, communities, extended_communities, large_communities, detail) FROM STDIN BINARY";

fn write_events(
    transaction: &mut Transaction<'_>,
    collector: i32,
    peers: &PeerIds,
    batch: &Batch,
) -> Result<(), Fault> {
    let mut writer = copy_into(transaction, COPY_EVENTS)?;
    let mut out = Rows::new();
    for (behind, entry) in &batch.rows {
        out.begin(9 + ATTR_COLUMNS);
        out.int(collector);
        out.bigint(behind.run as i64);
        out.bigint(behind.next_seq as i64 - 1);
        out.time(entry.time_us);
        match &entry.peer {
            Some(peer) => out.int(peers.of(&peer.key)?),
            None => out.null(),
        }
        out.text(entry.kind.name());
        match entry.prefix {
            Some(prefix) => {
                out.cidr(prefix);
                out.bigint(entry.path_id.into());
            }
            None => {
                out.null();
                out.null();
            }
        }
        out.attrs(entry.attrs.as_deref());
        out.text(&entry.detail);
        send_piece(&mut writer, &mut out)?;
    }
    finish(writer, out)
}

/// The index by time leads to the pages of old rows.
const EXPIRE: &str = "DELETE FROM rutter_events WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM rutter_events WHERE collector_id = $1 AND time < to_timestamp($2) LIMIT $3))";
/// Old events removed at a time.
const EXPIRED: i64 = 20_000;
/// So many rows a transaction: undoing one that failed takes as long as it took.
const LOADED: usize = 1_000_000;

fn load_some(
    transaction: &mut Transaction<'_>,
    peers: &PeerIds,
    load: &Load,
    first: Vec<LoadRow>,
    pieces: &mut Pieces<'_>,
) -> Result<(), Fault> {
    let mut writer = copy_into(transaction, COPY_ROUTES)?;
    let (mut out, mut count, mut next) = (Rows::new(), 0, Some(first));
    while let Some(rows) = next {
        for row in &rows {
            out.begin(4 + ATTR_COLUMNS);
            out.int(peers.of(&row.peer.key)?);
            out.cidr(row.prefix);
            out.bigint(row.path_id.into());
            out.time(load.time_us);
            out.attrs(Some(&row.attrs));
            send_piece(&mut writer, &mut out)?;
        }
        out.forget_sets();
        count += rows.len();
        next = if count < LOADED { pieces() } else { None };
    }
    finish(writer, out)
}

fn copy_into<'t>(
    transaction: &'t mut Transaction<'_>,
    statement: &str,
) -> Result<CopyInWriter<'t>, Fault> {
    transaction
        .copy_in(statement)
        .map_err(fault("cannot begin COPY"))
}

fn send_piece(writer: &mut CopyInWriter<'_>, out: &mut Rows) -> Result<(), Fault> {
    if !out.is_piece() {
        return Ok(());
    }
    let sent = writer.write_all(&out.octets);
    out.octets.clear();
    sent.map_err(|why| Fault(format!("COPY failed: {why}")))
}

fn finish(mut writer: CopyInWriter<'_>, mut out: Rows) -> Result<(), Fault> {
    out.end();
    writer
        .write_all(&out.octets)
        .map_err(|why| Fault(format!("COPY failed: {why}")))?;
    writer.finish().map(drop).map_err(fault("COPY failed"))
}

/// What was tried, and what the server or the connection had to say about it. Never a password.
fn fault(what: &str) -> impl FnOnce(postgres::Error) -> Fault {
    let what = what.to_owned();
    move |why| match why.as_db_error() {
        Some(said) if *said.code() == SqlState::INSUFFICIENT_PRIVILEGE => Fault(format!(
            "{what}: {}; let the sink's user own the database, or GRANT CREATE, USAGE ON SCHEMA public to it and let \
             it own the tables rutter_*",
            said.message()
        )),
        Some(said) => Fault(format!("{what}: {}: {}", said.severity(), said.message())),
        None => Fault(format!("{what}: {}", chain(&why))),
    }
}

fn chain(why: &dyn std::error::Error) -> impl fmt::Display {
    let mut text = why.to_string();
    let mut source = why.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}
