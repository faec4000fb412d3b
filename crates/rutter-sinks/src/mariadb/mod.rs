//! MariaDB and MySQL: LOAD DATA into the history and, replacing by key, into the current routes.

mod changes;
mod connection;
mod expire;
mod peers;
mod rows;
mod schema;

use std::io;
use std::thread;

use rutter_config::Database;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::batch::Batch;
use crate::peer_ids::PeerIds;
use crate::route_count::RouteCount;
use crate::spool::Position;
use crate::store::{Load, RowChunks, Store, StoreError, StoreProgress, timeout_error};
use crate::table_load::LoadRow;
use connection::Connection;
use rows::Rows;

/// A database of MariaDB 10.5 or MySQL 8 or later, written by one collector.
pub struct MariaDb {
    collector: String,
    settings: Database,
    /// The number of current routes of this collector.
    count: RouteCount,
    session: Option<Session>,
}

struct Session {
    conn: Connection,
    collector: i32,
    ids: PeerIds,
    /// The position after the last commit.
    position: Option<Position>,
    /// The key after which the search for old events continues.
    searched: (u64, u64),
}

impl MariaDb {
    /// Connects to nothing before [`Store::open`].
    pub fn new(collector: &str, settings: Database) -> Self {
        Self {
            collector: collector.to_owned(),
            settings,
            count: RouteCount::default(),
            session: None,
        }
    }
}

/// The stored state of a collector: its id, run, next row, and the time of the row before.
type Registered = (i32, Option<u64>, Option<u64>, Option<u64>);

const REGISTERED: &str =
    "SELECT collector_id, run, next_seq, timestampdiff(MICROSECOND, '1970-01-01', time)
    FROM rutter_collectors WHERE collector = ?";

fn connected(session: &mut Option<Session>) -> Result<&mut Session, StoreError> {
    let session = session.as_mut();
    session.ok_or_else(|| StoreError("not connected".into()))
}

/// Held while tables are created or truncated, and while a collector is registered.
const SCHEMA_LOCK: &str = "schema";

/// Takes a lock of the server for this database and connection. Returns `false` if another connection holds it
/// for too long.
fn lock(conn: &mut Connection, name: &str, wait_s: u32) -> Result<bool, StoreError> {
    let taken: Option<Option<i32>> = conn
        .exec_first(
            "SELECT GET_LOCK(CONCAT('rutter ', MD5(CONCAT(DATABASE(), '/', ?))), ?)",
            (name, wait_s),
        )
        .map_err(store_error("cannot take a lock"))?;
    Ok(taken.flatten() == Some(1))
}

fn unlock(conn: &mut Connection, name: &str) -> Result<(), StoreError> {
    conn.exec_drop(
        "SELECT RELEASE_LOCK(CONCAT('rutter ', MD5(CONCAT(DATABASE(), '/', ?))))",
        (name,),
    )
    .map_err(store_error("cannot release a lock"))
}

impl Store for MariaDb {
    fn open(&mut self) -> Result<StoreProgress, StoreError> {
        self.session = None;
        let mut conn = Connection::open(&self.settings)?;
        conn.query_drop("SET time_zone = '+00:00', lock_wait_timeout = 30")
            .map_err(store_error("cannot prepare the session"))?;
        // Only one process at a time writes as a collector. The lock also proves that a transaction of an
        // earlier connection has ended.
        if !lock(&mut conn, &format!("collector {}", self.collector), 0)? {
            return Err(StoreError(format!(
                "another connection writes as collector `{}`: give each collector a name of its own",
                self.collector
            )));
        }
        if !lock(&mut conn, SCHEMA_LOCK, 60)? {
            return Err(StoreError("another collector changes the schema".into()));
        }
        schema::migrate(&mut conn)?;
        conn.exec_drop(
            "INSERT IGNORE INTO rutter_collectors (collector) VALUES (?)",
            (&self.collector,),
        )
        .map_err(store_error("cannot register the collector"))?;
        unlock(&mut conn, SCHEMA_LOCK)?;
        let row: Option<Registered> = conn
            .exec_first(REGISTERED, (&self.collector,))
            .map_err(store_error("cannot read the position"))?;
        let (collector, run, next_seq, time_us) = row.ok_or_else(|| {
            StoreError("somebody removed the collector's row from rutter_collectors".into())
        })?;
        for table in [changes::STAGE].into_iter().chain(peers::STAGES) {
            conn.query_drop(table)
                .map_err(store_error("cannot create the staging tables"))?;
        }
        let position = run
            .zip(next_seq)
            .map(|(run, next_seq)| Position { run, next_seq });
        self.session = Some(Session {
            conn,
            collector,
            ids: PeerIds::default(),
            position,
            searched: (0, 0),
        });
        Ok(StoreProgress {
            position,
            // The time remains when somebody clears the position.
            time_us: position.and(time_us),
            lost_position: None,
        })
    }

    fn find_loss(&mut self, behind: Position, _: u64) -> Result<Option<String>, StoreError> {
        if !self.settings.history {
            return Ok(None);
        }
        let session = connected(&mut self.session)?;
        let there: Option<i32> = session
            .conn
            .exec_first(
                "SELECT 1 FROM rutter_events WHERE collector_id = ? AND run = ? AND seq = ?",
                (
                    session.collector,
                    behind.run,
                    behind.next_seq.saturating_sub(1),
                ),
            )
            .map_err(store_error("cannot look for the last event"))?;
        Ok((there.is_none()).then(|| "the last of them is not in rutter_events".into()))
    }

    fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let history = self.settings.history;
        let session = connected(&mut self.session)?;
        session.run("START TRANSACTION", "cannot begin")?;
        session.learn(&batch.peers)?;
        if history {
            session.write_events(batch)?;
        }
        let more = changes::apply(session, batch)?;
        session.store_position(batch.end, batch.last_us())?;
        self.count.expect_change(more);
        session.run("COMMIT", "cannot commit")?;
        self.count.committed();
        session.position = Some(batch.end);
        Ok(())
    }

    fn begin_load(&mut self, load: &Load) -> Result<(), StoreError> {
        let session = connected(&mut self.session)?;
        session.run("START TRANSACTION", "cannot begin")?;
        session.learn(load.peers.iter().map(|(_, peer)| peer))?;
        let gone = changes::begin_load(session, load)?;
        self.count.begin_load(load.all, gone);
        Ok(())
    }

    fn load(&mut self, load: &Load, chunks: &mut RowChunks<'_>) -> Result<(), StoreError> {
        let session = connected(&mut self.session)?;
        while let Some(rows) = chunks() {
            let some = session.load_some(load, rows, chunks)?;
            self.count.add_loaded(some);
        }
        Ok(())
    }

    fn end_load(&mut self, load: &Load) -> Result<(), StoreError> {
        let session = connected(&mut self.session)?;
        changes::set_state(session, "up", load, true)?;
        // Fails if the position was cleared: then the tables were created again and hold only a part
        // of the load. Setting the time changes each row found, and the server counts changed rows only.
        let (run, next_seq) = session.position.map(|at| (at.run, at.next_seq)).unzip();
        session
            .conn
            .exec_drop(
                "UPDATE rutter_collectors SET state = 'live', updated = utc_timestamp(6)
                 WHERE collector_id = ? AND run <=> ? AND next_seq <=> ?",
                (session.collector, run, next_seq),
            )
            .map_err(store_error("cannot store the state of the collector"))?;
        session.expect_changed()?;
        self.count.end_load();
        Ok(())
    }

    fn has_expected_routes(&mut self) -> Result<bool, StoreError> {
        let session = connected(&mut self.session)?;
        let found: Option<i64> = session
            .conn
            .exec_first(COUNT, (session.collector,))
            .map_err(store_error("cannot count the routes"))?;
        Ok(self.count.matches_store(found.unwrap_or_default()))
    }

    fn expire(&mut self, before_us: u64) -> Result<bool, StoreError> {
        expire::expire(connected(&mut self.session)?, before_us)
    }

    fn close(&mut self) {
        self.session = None;
    }
}

impl Session {
    fn run(&mut self, statement: &str, what: &str) -> Result<(), StoreError> {
        self.conn.query_drop(statement).map_err(store_error(what))
    }

    /// Stores the position. Fails if somebody cleared it by creating tables again: what we know of the routes
    /// does not hold then.
    fn store_position(
        &mut self,
        position: Position,
        last_us: Option<u64>,
    ) -> Result<(), StoreError> {
        let before = self.position;
        self.conn
            .exec_drop(
                "UPDATE rutter_collectors SET run = ?, next_seq = ?, updated = utc_timestamp(6),
                     time = coalesce(timestampadd(MICROSECOND, ?, '1970-01-01'), time)
                 WHERE collector_id = ? AND run <=> ? AND next_seq <=> ?",
                (
                    position.run,
                    position.next_seq,
                    last_us,
                    self.collector,
                    before.map(|at| at.run),
                    before.map(|at| at.next_seq),
                ),
            )
            .map_err(store_error("cannot store the position"))?;
        self.expect_changed()
    }

    /// Fails if the stored position was not the expected one.
    fn expect_changed(&self) -> Result<(), StoreError> {
        match self.conn.affected_rows() {
            0 => Err(StoreError(
                "somebody else changed the position of this collector".into(),
            )),
            _ => Ok(()),
        }
    }

    /// Runs LOAD DATA with these rows.
    fn load_data(&mut self, into: Into, rows: Rows) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        let (send, receive) = channel(1);
        // The channel has room for it.
        let _ = send.try_send(rows.bytes);
        drop(send);
        load_file(&mut self.conn, into, receive)
    }

    /// Runs one LOAD DATA with many routes. The server reads rows while the next ones are formatted. Returns
    /// their number.
    fn load_some(
        &mut self,
        load: &Load,
        first: Vec<LoadRow>,
        chunks: &mut RowChunks<'_>,
    ) -> Result<usize, StoreError> {
        let (send, receive) = channel(8);
        let (conn, numbers) = (&mut self.conn, &self.ids);
        thread::scope(|scope| {
            let loading = scope.spawn(|| load_file(conn, ROUTES, receive));
            let written = write_routes(numbers, load, first, chunks, &send);
            drop(send);
            let loaded = loading.join();
            let panicked = |_| StoreError("LOAD DATA panicked: this is a bug in Rutter".into());
            loaded.map_err(panicked)?.and(written)
        })
    }

    fn write_events(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let mut out = Rows::default();
        for (behind, entry) in &batch.rows {
            out.number(self.collector);
            out.number(behind.run as i64);
            out.number(behind.next_seq as i64 - 1);
            out.time(entry.time_us);
            match &entry.peer {
                Some(peer) => out.number(self.ids.id_of(&peer.key)?),
                None => out.null(),
            }
            out.plain(entry.kind.name());
            match entry.prefix {
                Some(prefix) => {
                    out.network(prefix);
                    out.number(entry.path_id);
                    out.plain(prefix);
                }
                None => (0..4).for_each(|_| out.null()),
            }
            out.attrs(entry.attrs.as_deref());
            out.text(&entry.detail);
            out.end_row();
        }
        self.load_data(EVENTS, out)
    }
}

const COUNT: &str = "SELECT count(*) FROM rutter_routes
    WHERE peer_id IN (SELECT peer_id FROM rutter_peers WHERE collector_id = ?)";

/// A table for LOAD DATA, and the columns of the rows. A table may have other columns with defaults.
type Into = (&'static str, &'static str);

/// The routes, replaced by key.
const ROUTES: Into = (
    "REPLACE INTO TABLE rutter_routes",
    "(peer_id, network, length, path_id, prefix, time, origin, as_path, origin_as, next_hop, med, local_pref,
      communities, extended_communities, large_communities)",
);
const EVENTS: Into = (
    "INTO TABLE rutter_events",
    "(collector_id, run, seq, time, peer_id, kind, network, length, path_id, prefix, origin, as_path, origin_as,
      next_hop, med, local_pref, communities, extended_communities, large_communities, detail)",
);
/// The number of routes in a statement. Undoing a failed statement takes longer than running it.
const LOADED: usize = 1_000_000;
/// The number of bytes sent at once.
const SENT: usize = 256 << 10;

fn write_routes(
    ids: &PeerIds,
    load: &Load,
    first: Vec<LoadRow>,
    chunks: &mut RowChunks<'_>,
    send: &Sender<Vec<u8>>,
) -> Result<usize, StoreError> {
    let (mut count, mut next) = (0, Some(first));
    while let Some(rows) = next {
        let mut out = Rows::default();
        for row in &rows {
            out.number(ids.id_of(&row.peer.key)?);
            out.network(row.prefix);
            out.number(row.path_id);
            out.plain(row.prefix);
            out.time(load.time_us);
            out.attrs(Some(&row.attrs));
            out.end_row();
            // If the server has closed the connection, its error says why.
            if out.bytes.len() >= SENT
                && send.blocking_send(std::mem::take(&mut out.bytes)).is_err()
            {
                return Ok(count);
            }
        }
        if send.blocking_send(out.bytes).is_err() {
            return Ok(count);
        }
        count += rows.len();
        next = if count < LOADED { chunks() } else { None };
    }
    Ok(count)
}

/// Runs LOAD DATA with the bytes that arrive. A warning of the server is an error here.
fn load_file(
    conn: &mut Connection,
    (into, columns): Into,
    arriving: Receiver<Vec<u8>>,
) -> Result<(), StoreError> {
    let sql = format!("LOAD DATA LOCAL INFILE 'rutter' {into} CHARACTER SET binary {columns}");
    conn.load(&sql, arriving)
        .map_err(store_error("LOAD DATA failed"))?;
    if conn.warnings() == 0 {
        return Ok(());
    }
    let warning: Option<(String, u32, String)> = conn
        .query_first("SHOW WARNINGS")
        .map_err(store_error("LOAD DATA warned"))?;
    let text = warning.map_or_else(String::new, |(_, _, text)| text);
    Err(StoreError(format!(
        "LOAD DATA rejected or changed a value: {text}"
    )))
}

/// The error codes for missing rights: to the database, a table, a column or a routine.
const DENIED: [u16; 4] = [1044, 1142, 1143, 1370];

/// The error code for an unknown user or a wrong password.
const NO_LOGIN: u16 = 1045;
/// The error code for a database that does not exist.
const NO_DATABASE: u16 = 1049;

/// Makes an error from the failed action and the reason that the server or the connection gave. It never
/// contains a password.
fn store_error(what: &str) -> impl FnOnce(mysql_async::Error) -> StoreError {
    use mysql_async::Error::{Driver, Io, Server};
    let what = what.to_owned();
    move |why| match &why {
        why if is_timeout(why) => timeout_error(&what),
        Server(error) => {
            let hint = match error.code {
                code if DENIED.contains(&code) => "; GRANT ALL ON the sink's database to its user",
                NO_LOGIN => "; see `user` and `password` of the sink",
                NO_DATABASE => "; create the database first",
                _ => "",
            };
            StoreError(format!("{what}: {}{hint}", error.message))
        }
        Driver(why) => StoreError(format!("{what}: {why}")),
        Io(mysql_async::IoError::Io(why)) => StoreError(format!("{what}: {why}")),
        _ => StoreError(format!("{what}: {why}")),
    }
}

/// Returns whether an answer did not come in time.
fn is_timeout(why: &mysql_async::Error) -> bool {
    use mysql_async::{Error, IoError};
    matches!(why, Error::Io(IoError::Io(why)) if why.kind() == io::ErrorKind::TimedOut)
}
