//! SQL over the live table, as a service of the collector.

use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rutter_api::{CollectorServices as _, RouterRow};
use rutter_config::Sql;
use rutter_events::{Decoder, Now};
use rutter_server::{START_PATIENCE, inherit, once_free};
use rutter_service::{Context, Service};
use rutter_sql::{
    Access, CertificateFiles, ConnectionBounds, EventLog, Limits, Router, Server, live_database,
    with_routers,
};

use crate::failure::Failure;

/// The queue of events for the log. The log takes them as fast as they are decoded.
const QUEUE: usize = 1 << 18;
/// The interval between checks for the shutdown.
const SHUTDOWN_CHECK: Duration = Duration::from_millis(200);

/// The server, and the thread that keeps the latest events.
pub(crate) struct SqlService {
    server: Server,
    events: Option<JoinHandle<()>>,
}

impl SqlService {
    /// Opens the sockets. Another process may free their addresses first ([`once_free`]).
    pub(crate) fn listen(settings: &Sql) -> Result<Vec<TcpListener>, Failure> {
        let listen = |&address| once_free(START_PATIENCE, || rutter_sql::listen(address));
        let sockets = settings.listen.iter().map(listen).collect::<Result<_, _>>();
        sockets.map_err(|error| Failure::text(error.to_string()))
    }

    /// Keeps these sockets of another process, and opens the missing ones. Checks that the server could start.
    pub(crate) fn inherit(
        settings: &Sql,
        sockets: Vec<TcpListener>,
    ) -> Result<Vec<TcpListener>, Failure> {
        let checked = served(settings).check();
        let sockets = checked.and_then(|()| inherit(&settings.listen, sockets, rutter_sql::listen));
        sockets.map_err(|error| Failure::text(error.to_string()))
    }

    /// Starts the server and the thread for events.
    pub(crate) fn start(
        sockets: Vec<TcpListener>,
        context: &Context,
        settings: &Sql,
    ) -> Result<Self, Failure> {
        let limits = Limits {
            memory: usize::try_from(settings.memory).unwrap_or(usize::MAX),
            threads: settings.threads,
        };
        // The events may use this memory in addition to the queries.
        let events = limits.memory / 4;
        let log = (settings.events > 0).then(|| EventLog::new(settings.events, events));
        let database = live_database(context.rib.clone(), log.clone(), &limits);
        let database = database.map_err(|error| Failure::text(error.to_string()))?;
        let status = context.status.clone();
        let routers = move || status.routers().into_iter().map(router).collect();
        let database =
            with_routers(database, routers).map_err(|error| Failure::text(error.to_string()))?;
        let server = Server::start_on(sockets, database, served(settings));
        let server = server.map_err(|error| Failure::text(error.to_string()))?;
        for address in server.addresses() {
            tracing::info!(%address, "SQL is answered");
        }
        let events = match log {
            None => None,
            Some(log) => Some(keep(context.clone(), log)?),
        };
        Ok(Self { server, events })
    }

    /// The listening sockets.
    pub(crate) fn sockets(&self) -> &[TcpListener] {
        self.server.sockets()
    }
}

/// Returns the settings of the server.
fn served(settings: &Sql) -> rutter_sql::Settings {
    let access = match &settings.login {
        None => Access::Open,
        Some(login) => Access::Password {
            user: login.user.clone(),
            password: String::from_utf8_lossy(login.password.reveal()).into_owned(),
        },
    };
    let tls = settings.tls.as_ref().map(|tls| CertificateFiles {
        certificate: tls.certificate.clone(),
        key: tls.key.clone(),
    });
    rutter_sql::Settings {
        listen: settings.listen.clone(),
        access,
        tls,
        threads: settings.threads,
        bounds: bounds(settings),
        step_back: rutter_daemon::yield_to_routing,
        release: rutter_daemon::release_free_memory,
    }
}

fn router(row: RouterRow) -> Router {
    Router {
        other_families: row.updates_of_other_families(),
        name: row.name,
        address: row.address,
        description: row.description,
        since_us: unix_us().saturating_sub(row.connected_for_s * 1_000_000),
        peers: row.peers,
        messages: row.messages,
        faults: row.faults,
        unknown: row.unknown,
        malformed: row.malformed,
        without_next_hop: row.without_next_hop,
        without_peer_up: row.without_peer_up,
        mirrored: row.mirrored,
    }
}

fn bounds(settings: &Sql) -> ConnectionBounds {
    ConnectionBounds {
        connections: settings.max_connections,
        login: Duration::from_secs(settings.login_timeout_s),
        idle: Duration::from_secs(settings.idle_timeout_s),
        query: Duration::from_secs(settings.query_timeout_s),
    }
}

/// Starts the thread that keeps the latest events.
fn keep(context: Context, log: EventLog) -> Result<JoinHandle<()>, Failure> {
    let (reader, peers) = context.rib.subscribe(QUEUE);
    let begun = Instant::now();
    let clock = move || Now {
        unix_us: unix_us(),
        monotonic_us: begun.elapsed().as_micros() as u64,
    };
    let run = move || {
        rutter_daemon::yield_to_routing();
        let mut decoder = Decoder::new(&context.collector, &peers, clock());
        decoder.start(clock(), &mut |row| log.push(row));
        while !context.shutdown.is_triggered() {
            if let Some(event) = reader.next(SHUTDOWN_CHECK) {
                decoder.decode(&event, clock(), &mut |row| log.push(row));
            }
        }
    };
    Ok(std::thread::Builder::new()
        .name("sql-events".into())
        .spawn(run)?)
}

fn unix_us() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

impl Service for SqlService {
    fn name(&self) -> String {
        "sql".into()
    }

    fn stop(self: Box<Self>) {
        drop(self.server);
        if let Some(events) = self.events {
            let _ = events.join();
        }
    }

    fn leave(self: Box<Self>) {
        self.server.leave();
    }
}
