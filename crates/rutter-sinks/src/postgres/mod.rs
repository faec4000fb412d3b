//! PostgreSQL: binary COPY into the history and, through a staging table, into the current routes.

mod changes;
mod connection;
mod copy;
mod indexes;
mod peers;
mod schema;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use rutter_config::Database;
use tokio_postgres::error::SqlState;

use crate::attr_cache::ATTR_COLUMNS;
use crate::batch::Batch;
use crate::peer_ids::PeerIds;
use crate::route_count::RouteCount;
use crate::spool::Position;
use crate::store::{Load, RowChunks, Store, StoreError, StoreProgress};
use crate::table_load::LoadRow;
use connection::{Connection, CopyIn};
use copy::Rows;

/// A database of PostgreSQL 12 or later, written by one collector.
pub struct Postgres {
    collector: String,
    settings: Database,
    /// The number of current routes of this collector.
    count: RouteCount,
    session: Option<Session>,
}

struct Session {
    connection: Connection,
    collector: i32,
    ids: PeerIds,
    /// The position after the last commit.
    position: Option<Position>,
}

impl Postgres {
    /// Connects to nothing before [`Store::open`].
    pub fn new(collector: &str, settings: Database) -> Self {
        Self {
            collector: collector.to_owned(),
            settings,
            count: RouteCount::default(),
            session: None,
        }
    }

    fn connect(&self) -> Result<Connection, StoreError> {
        let mut config = tokio_postgres::Config::new();
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
            .keepalives_idle(Duration::from_secs(30))
            .keepalives_interval(Duration::from_secs(10))
            .keepalives_retries(3)
            .tcp_user_timeout(Duration::from_secs(60));
        if let Some(password) = &settings.password {
            let password = password.current().map_err(StoreError)?;
            config.password(password.reveal());
        }
        let timeout = Duration::from_secs(settings.answer_timeout_s);
        Connection::open(&mut config, settings.tls.as_ref(), timeout)
    }

    /// Only one process at a time writes as a collector. The lock also proves that a transaction of an earlier
    /// connection has ended.
    fn exclude_others(&self, connection: &Connection) -> Result<(), StoreError> {
        let name = format!("rutter collector {}", self.collector);
        let row = connection.one(
            "SELECT pg_try_advisory_lock(hashtextextended($1, 0))",
            &[&name],
            "cannot take the collector's lock",
        )?;
        match row.get(0) {
            true => Ok(()),
            false => Err(StoreError(format!(
                "another connection writes as collector `{}`: give each collector a name of its own",
                self.collector
            ))),
        }
    }
}

fn connected(session: &mut Option<Session>) -> Result<&mut Session, StoreError> {
    let session = session.as_mut();
    session.ok_or_else(|| StoreError("not connected".into()))
}

const REGISTER: &str = "INSERT INTO rutter_collectors (collector) VALUES ($1)
ON CONFLICT (collector) DO UPDATE SET updated = now()
RETURNING collector_id, run, next_seq, (extract(epoch FROM time) * 1000000)::bigint";

/// Fails if somebody cleared the position by creating tables again: what we know of the routes does not hold
/// then.
const POSITION: &str = "UPDATE rutter_collectors SET run = $2, next_seq = $3, updated = now(),
    time = coalesce(timestamptz '1970-01-01 00:00:00+00' + $6::bigint * interval '1 microsecond', time)
WHERE collector_id = $1 AND run IS NOT DISTINCT FROM $4 AND next_seq IS NOT DISTINCT FROM $5";

/// Uses the index by time.
const LAST: &str =
    "SELECT EXISTS (SELECT FROM rutter_events WHERE collector_id = $1 AND run = $2 AND seq = $3
    AND time = timestamptz '1970-01-01 00:00:00+00' + $4::bigint * interval '1 microsecond')";

/// Fails if the tables were created again during the load: they contain only a part of it.
const LIVE: &str = "UPDATE rutter_collectors SET state = 'live'
WHERE collector_id = $1 AND run IS NOT DISTINCT FROM $2 AND next_seq IS NOT DISTINCT FROM $3";

fn wrong_position() -> StoreError {
    StoreError("somebody else changed the position of this collector".into())
}

fn signed(at: Position) -> (i64, i64) {
    (at.run as i64, at.next_seq as i64)
}

/// Limits how long others wait for our locks. PostgreSQL 14 and later also detects that a client has gone while
/// it waits for a lock.
const PREPARE: &str = "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET client_min_messages = warning;
SET lock_timeout = '60s';
SELECT set_config(name, '10s', false) FROM pg_settings WHERE name = 'client_connection_check_interval'";

impl Store for Postgres {
    fn open(&mut self) -> Result<StoreProgress, StoreError> {
        self.session = None;
        let connection = self.connect()?;
        connection.run(PREPARE, "cannot prepare the session")?;
        connection.run(schema::FIX_SEARCH_PATH, "cannot look for the tables")?;
        self.exclude_others(&connection)?;
        schema::migrate(&connection)?;
        let row = connection.one(
            REGISTER,
            &[&self.collector],
            "cannot register the collector",
        )?;
        for table in [changes::STAGE, peers::NEW_PEERS] {
            connection.run(table, "cannot create the staging tables")?;
        }
        let (run, next_seq): (Option<i64>, Option<i64>) = (row.get(1), row.get(2));
        let position = run.zip(next_seq).map(|(run, next_seq)| Position {
            run: run as u64,
            next_seq: next_seq as u64,
        });
        self.session = Some(Session {
            connection,
            collector: row.get(0),
            ids: PeerIds::default(),
            position,
        });
        let time_us = row.get::<_, Option<i64>>(3).map(|time_us| time_us as u64);
        Ok(StoreProgress {
            position,
            // The time remains when somebody clears the position.
            time_us: position.and(time_us),
            lost_position: None,
        })
    }

    fn find_loss(&mut self, behind: Position, time_us: u64) -> Result<Option<String>, StoreError> {
        if !self.settings.history {
            return Ok(None);
        }
        let session = connected(&mut self.session)?;
        let (run, next_seq) = signed(behind);
        let row = session.connection.one(
            LAST,
            &[&session.collector, &run, &(next_seq - 1), &(time_us as i64)],
            "cannot look for the last event",
        )?;
        let there: bool = row.get(0);
        Ok((!there).then(|| "the last of them is not in rutter_events".into()))
    }

    fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let history = self.settings.history;
        let session = connected(&mut self.session)?;
        let (connection, collector) = (&session.connection, session.collector);
        connection.begin()?;
        peers::learn(connection, collector, &mut session.ids, &batch.peers)?;
        if history {
            write_events(connection, collector, &session.ids, batch)?;
        }
        let more = changes::apply(connection, &session.ids, batch)?;
        let (run, next_seq) = signed(batch.end);
        let before = session.position.map(signed);
        let (run_before, seq_before) = before.unzip();
        let last_us = batch.last_us().map(|last_us| last_us as i64);
        let stored = connection.execute(
            POSITION,
            &[
                &collector,
                &run,
                &next_seq,
                &run_before,
                &seq_before,
                &last_us,
            ],
            "cannot store the position",
        )?;
        if stored == 0 {
            return Err(wrong_position());
        }
        self.count.expect_change(more);
        connection.commit()?;
        self.count.committed();
        session.position = Some(batch.end);
        Ok(())
    }

    fn begin_load(&mut self, load: &Load) -> Result<(), StoreError> {
        let session = connected(&mut self.session)?;
        let (connection, collector) = (&session.connection, session.collector);
        connection.begin()?;
        let (numbers, held) = (&mut session.ids, load.peers.iter());
        peers::learn(connection, collector, numbers, held.map(|(_, peer)| peer))?;
        let gone = if load.all {
            changes::clear_all(connection, collector, &load.peers, numbers)?;
            0
        } else {
            changes::clear_peers(connection, &load.peers, numbers)?
        };
        self.count.begin_load(load.all, gone);
        connection.commit()
    }

    fn load(&mut self, load: &Load, chunks: &mut RowChunks<'_>) -> Result<(), StoreError> {
        let session = connected(&mut self.session)?;
        while let Some(rows) = chunks() {
            session.connection.begin()?;
            // The last transaction of the load also makes all earlier ones durable.
            let hasten = "SET LOCAL synchronous_commit = off";
            session.connection.run(hasten, "cannot begin")?;
            let some = load_some(&session.connection, &session.ids, load, rows, chunks)?;
            session.connection.commit()?;
            self.count.add_loaded(some);
        }
        Ok(())
    }

    fn end_load(&mut self, load: &Load) -> Result<(), StoreError> {
        let session = connected(&mut self.session)?;
        let connection = &session.connection;
        connection.begin()?;
        changes::loaded(connection, load, &session.ids)?;
        let (run, next_seq) = session.position.map(signed).unzip();
        let stands = connection.execute(
            LIVE,
            &[&session.collector, &run, &next_seq],
            "cannot store the state of the collector",
        )?;
        if stands == 0 {
            return Err(wrong_position());
        }
        connection.commit()?;
        self.count.end_load();
        Ok(())
    }

    fn has_expected_routes(&mut self) -> Result<bool, StoreError> {
        let session = connected(&mut self.session)?;
        let what = "cannot count the routes";
        let row = session.connection.one(COUNT, &[&session.collector], what)?;
        Ok(self.count.matches_store(row.get(0)))
    }

    fn expire(&mut self, before_us: u64) -> Result<bool, StoreError> {
        let session = connected(&mut self.session)?;
        let before_s = before_us as f64 / 1e6;
        let removed = session.connection.execute(
            EXPIRE,
            &[&session.collector, &before_s, &EXPIRED],
            "cannot remove old events",
        )?;
        Ok(removed as i64 == EXPIRED)
    }

    fn close(&mut self) {
        self.session = None;
    }
}

const COUNT: &str = "SELECT count(*) FROM rutter_routes
WHERE peer_id IN (SELECT peer_id FROM rutter_peers WHERE collector_id = $1)";
const COPY_ROUTES: &str = "COPY rutter_routes (peer_id, prefix, path_id, time, origin, as_path, origin_as, next_hop, med, local_pref,
    communities, extended_communities, large_communities) FROM STDIN BINARY";
const COPY_EVENTS: &str = "COPY rutter_events (collector_id, run, seq, time, peer_id, kind, prefix, path_id, origin, as_path, origin_as,
    next_hop, med, local_pref, communities, extended_communities, large_communities, detail) FROM STDIN BINARY";

fn write_events(
    connection: &Connection,
    collector: i32,
    ids: &PeerIds,
    batch: &Batch,
) -> Result<(), StoreError> {
    let mut copy = connection.copy_in(COPY_EVENTS)?;
    let mut out = Rows::new();
    for (behind, entry) in &batch.rows {
        out.begin(9 + ATTR_COLUMNS);
        out.int(collector);
        out.bigint(behind.run as i64);
        out.bigint(behind.next_seq as i64 - 1);
        out.time(entry.time_us);
        match &entry.peer {
            Some(peer) => out.int(ids.id_of(&peer.key)?),
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
        send_piece(&mut copy, &mut out)?;
    }
    finish(copy, out)
}

/// The index by time leads to the pages of old rows.
const EXPIRE: &str = "DELETE FROM rutter_events WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM rutter_events WHERE collector_id = $1 AND time < to_timestamp($2) LIMIT $3))";
/// The number of old events removed at once.
const EXPIRED: i64 = 20_000;
/// The number of rows in a transaction. Undoing a failed transaction takes the time of running it.
const LOADED: usize = 1_000_000;

/// Loads routes in one transaction. Returns their number.
fn load_some(
    connection: &Connection,
    ids: &PeerIds,
    load: &Load,
    first: Vec<LoadRow>,
    chunks: &mut RowChunks<'_>,
) -> Result<usize, StoreError> {
    let mut copy = connection.copy_in(COPY_ROUTES)?;
    let (mut out, mut count, mut next) = (Rows::new(), 0, Some(first));
    while let Some(rows) = next {
        for row in &rows {
            out.begin(4 + ATTR_COLUMNS);
            out.int(ids.id_of(&row.peer.key)?);
            out.cidr(row.prefix);
            out.bigint(row.path_id.into());
            out.time(load.time_us);
            out.attrs(Some(&row.attrs));
            send_piece(&mut copy, &mut out)?;
        }
        out.forget_sets();
        count += rows.len();
        next = if count < LOADED { chunks() } else { None };
    }
    finish(copy, out).map(|()| count)
}

fn send_piece(copy: &mut CopyIn<'_>, out: &mut Rows) -> Result<(), StoreError> {
    match out.is_piece() {
        true => copy.send(out.take()),
        false => Ok(()),
    }
}

fn finish(mut copy: CopyIn<'_>, mut out: Rows) -> Result<(), StoreError> {
    out.end();
    copy.send(out.take())?;
    copy.finish()
}

/// Makes an error from the failed action and the reason that the server or the connection gave. It never
/// contains a password.
fn store_error(what: &str) -> impl FnOnce(tokio_postgres::Error) -> StoreError {
    let what = what.to_owned();
    move |why| match why.as_db_error() {
        Some(error) if *error.code() == SqlState::INSUFFICIENT_PRIVILEGE => StoreError(format!(
            "{what}: {}; let the sink's user own the database, or GRANT TEMPORARY ON DATABASE and GRANT CREATE, USAGE ON \
             SCHEMA public to it, and let it own the tables rutter_*",
            error.message()
        )),
        Some(error) => StoreError(format!("{what}: {}: {}", error.severity(), error.message())),
        None => StoreError(format!("{what}: {}", chain(&why))),
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
