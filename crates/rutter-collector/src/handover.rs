//! The services of a collector in `rutter upgrade`: they stand still, and the new version goes on where they stand.
//!
//! BMP routers stay connected. The archive and the sinks go on in the same run, so their rows have no hole and no end.
//! The clients of SQL and streams connect again, to the same listening sockets. The stations of `[[bmp-target]]` are
//! connected again.

use std::collections::HashMap;
use std::net::TcpListener;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rutter_config::Config;
use rutter_daemon::{GivenService, HeldServices, MovableServices, NotHeld, TakenService};
use rutter_history::{ContinuedHistory, HistoryService};
use rutter_ingest::bmp::{HeldStation, Station, StationHandle, TakenStation};
use rutter_ingest::stream::StreamServer;
use rutter_server::inherit;
use rutter_service::{Context, FEED_PATIENCE, FeedPause, FeedPosition, Paused};
use rutter_sinks::ContinuedFeed;
use rutter_wire::handover::{BadRecord, Reader, Writer};

use crate::sql::SqlService;

/// The services that another process can continue.
#[derive(Clone, Default)]
pub(crate) struct Movable {
    pub(crate) station: Option<StationHandle>,
    /// The archive and the sinks, by their names.
    pub(crate) followers: Vec<(String, FeedPause)>,
    /// The sockets of services for readers. One that is configured but does not run has none.
    pub(crate) listeners: Vec<(&'static str, Arc<Vec<TcpListener>>)>,
}

struct Held {
    station: Option<HeldStation>,
    followers: Vec<(String, Paused)>,
    listeners: Vec<(&'static str, Arc<Vec<TcpListener>>)>,
}

/// The services of another process, before they go on in this one.
#[derive(Default)]
pub(crate) struct Taken {
    pub(crate) station: Option<TakenStation>,
    pub(crate) history: Option<ContinuedHistory>,
    /// By the name of the sink.
    pub(crate) sinks: HashMap<String, ContinuedFeed>,
    /// The sockets of SQL and of the stream. `None`: the other process is of a version that passes none.
    pub(crate) sql: Option<Vec<TcpListener>>,
    pub(crate) stream: Option<Vec<TcpListener>>,
}

/// The names of the services for readers in the records.
pub(crate) const SQL: &str = "sql";
pub(crate) const STREAM: &str = "stream";
/// The names of the others. That of a sink is this with its own name.
const LISTENERS: &str = "bmp";
const ROUTER: &str = "bmp router";
const HISTORY: &str = "history";
const SINK: &str = "sink ";

/// The name of a sink in the records.
pub(crate) fn of_sink(name: &str) -> String {
    format!("{SINK}{name}")
}

/// The name of the archive in the records.
pub(crate) fn of_history() -> String {
    HISTORY.to_owned()
}

impl MovableServices for Movable {
    fn hold(&self, patience: Duration) -> Result<Box<dyn HeldServices>, NotHeld> {
        let mut station = None;
        if let Some(handle) = &self.station {
            let held = handle.hold(patience).ok_or_else(|| {
                let why = "a message of a BMP router is still being read";
                NotHeld::Busy(why.to_owned())
            })?;
            station = Some(held);
        }
        // Nobody changes the table any more.
        self.followers.iter().for_each(|(_, pause)| pause.request());
        let until = Instant::now() + FEED_PATIENCE;
        let waited = self.followers.iter();
        let waited: Vec<_> = waited
            .map(|(name, pause)| (name.clone(), pause.wait(until)))
            .collect();
        let mut followers = Vec::new();
        for (name, paused) in waited {
            match paused.map_err(NotHeld::Refused)? {
                Some(paused) => followers.push((name, paused)),
                None => return Err(NotHeld::Busy(lags(&name))),
            }
        }
        Ok(Box::new(Held {
            station,
            followers,
            listeners: self.listeners.clone(),
        }))
    }
}

/// The text for the operator about an archive or sink that has not read all changes of the table.
fn lags(name: &str) -> String {
    format!("{name}: it does not keep up with the changes of the table; its disk may be slow")
}

impl HeldServices for Held {
    fn records(&self) -> Vec<GivenService<'_>> {
        let mut records = Vec::new();
        if let Some(station) = &self.station {
            records.push(given(LISTENERS, Vec::new(), station.listeners()));
            let routers = station.connections();
            records.extend(routers.map(|(socket, record)| given(ROUTER, record, vec![socket])));
        }
        for (name, Paused { position, .. }) in &self.followers {
            let mut record = Writer::default();
            record.number(position.0);
            record.number(position.1);
            records.push(given(name, record.bytes, Vec::new()));
        }
        for (name, sockets) in &self.listeners {
            let sockets = sockets.iter().map(|socket| socket.as_fd()).collect();
            records.push(given(name, Vec::new(), sockets));
        }
        records
    }

    fn routers(&self) -> usize {
        let station = self.station.iter();
        station.map(HeldStation::routers).sum()
    }

    fn give_up(self: Box<Self>) {
        self.station.into_iter().for_each(HeldStation::give_up);
        let followers = self.followers.into_iter();
        followers.for_each(|(_, paused)| paused.give_up());
    }
}

fn given<'a>(name: &str, record: Vec<u8>, sockets: Vec<BorrowedFd<'a>>) -> GivenService<'a> {
    GivenService {
        name: name.to_owned(),
        record,
        sockets,
    }
}

impl Taken {
    /// Takes services over: the archive and the sinks subscribe to the table, and the routers' sockets are kept. The error is
    /// for the operator.
    pub(crate) fn take(
        context: &Context,
        config: &Config,
        services: Vec<TakenService>,
    ) -> Result<Self, String> {
        let mut taken = Taken::default();
        let mut listeners: Vec<TcpListener> = Vec::new();
        let mut routers = Vec::new();
        for service in services {
            let name = service.name.clone();
            match name.strip_prefix(SINK) {
                Some(sink) => {
                    let feed = ContinuedFeed::subscribe(&context.rib, position(&service)?);
                    taken.sinks.insert(sink.to_owned(), feed);
                }
                None if name == SQL => taken.sql = Some(service.into_listeners()),
                None if name == STREAM => taken.stream = Some(service.into_listeners()),
                None if name == LISTENERS => listeners.extend(service.into_listeners()),
                None if name == ROUTER => routers.extend(service.into_connection()),
                None if name == HISTORY => {
                    let history = ContinuedHistory::subscribe(context, position(&service)?);
                    taken.history = Some(history);
                }
                None => return Err(format!("it has no service {name}")),
            }
        }
        check_folders(&context.collector, config)?;
        taken.open_missing(config)?;
        taken.station = match &config.bmp {
            Some(bmp) => Some(Station::take(context, bmp, listeners, routers)?),
            None if routers.is_empty() => None,
            None => {
                return Err("BMP routers are connected, and [bmp] is gone: restart it".to_owned());
            }
        };
        Ok(taken)
    }

    /// Opens the sockets of services for readers that did not run in the other process.
    fn open_missing(&mut self, config: &Config) -> Result<(), String> {
        if let (Some(sql), Some(sockets)) = (&config.sql, self.sql.take()) {
            let sockets = SqlService::inherit(sql, sockets);
            let sockets = sockets.map_err(|failure| failure.words().to_owned())?;
            self.sql = Some(sockets);
        }
        if let (Some(stream), Some(sockets)) = (&config.stream, self.stream.take()) {
            let sockets = inherit(&[stream.listen], sockets, StreamServer::listen);
            self.stream = Some(sockets.map_err(|error| error.to_string())?);
        }
        Ok(())
    }
}

/// Returns an error if the archive or a spool could not be continued. Once the other process has ended it would be too late.
fn check_folders(collector: &str, config: &Config) -> Result<(), String> {
    if let Some(history) = &config.history {
        HistoryService::check(collector, history).map_err(|error| error.to_string())?;
    }
    let mut sinks = config.sinks.iter();
    sinks.try_for_each(|sink| rutter_sinks::check(sink).map_err(|error| error.to_string()))
}

fn position(service: &TakenService) -> Result<FeedPosition, String> {
    let mut record = Reader::new(&service.record);
    let mut number = || {
        record
            .number("position")
            .map_err(|e: BadRecord| e.to_string())
    };
    Ok((number()?, number()?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::{self, JoinHandle};

    use super::*;

    /// Two threads that stand still whenever they are asked to.
    struct Followers {
        pauses: [FeedPause; 2],
        threads: Vec<JoinHandle<bool>>,
        end: Arc<AtomicBool>,
    }

    impl Followers {
        fn start(positions: impl IntoIterator<Item = Result<FeedPosition, String>>) -> Self {
            let mut followers = Followers {
                pauses: [FeedPause::default(), FeedPause::default()],
                threads: Vec::new(),
                end: Arc::default(),
            };
            for (pause, position) in followers.pauses.iter().zip(positions) {
                let (pause, end) = (pause.clone(), Arc::clone(&followers.end));
                followers.threads.push(thread::spawn(move || {
                    while !end.load(Ordering::Relaxed) {
                        if pause.is_requested() && !pause.stand(position.clone()) {
                            return false;
                        }
                        thread::yield_now();
                    }
                    true
                }));
            }
            followers
        }

        fn hold(&self) -> Result<Box<dyn HeldServices>, NotHeld> {
            let names = [of_history(), of_sink("db")];
            let movable = Movable {
                station: None,
                followers: names.into_iter().zip(self.pauses.iter().cloned()).collect(),
                listeners: Vec::new(),
            };
            movable.hold(Duration::ZERO)
        }

        /// Holds them, also on a machine on which that takes long.
        fn hold_at_last(&self) -> Result<Box<dyn HeldServices>, NotHeld> {
            loop {
                match self.hold() {
                    Err(NotHeld::Busy(_)) => {}
                    held => return held,
                }
            }
        }

        /// Returns for each thread whether it went on to its end.
        fn end(self) -> Vec<bool> {
            self.end.store(true, Ordering::Relaxed);
            let threads = self.threads.into_iter();
            threads.map(|thread| thread.join().unwrap()).collect()
        }
    }

    #[test]
    fn positions_are_passed_on_and_nobody_goes_on_then() {
        let followers = Followers::start([Ok((7, 3)), Ok((9, 4))]);
        let held = followers.hold_at_last().unwrap();
        let mut passed = Vec::new();
        for given in held.records() {
            let mut record = Reader::new(&given.record);
            let mut number = || record.number::<u64>("position").unwrap();
            passed.push((given.name, (number(), number())));
        }
        assert_eq!(passed, [(of_history(), (7, 3)), (of_sink("db"), (9, 4))]);
        held.give_up();
        assert_eq!(followers.end(), [false, false]);
    }

    #[test]
    fn all_go_on_if_no_other_process_takes_over() {
        let followers = Followers::start([Ok((7, 3)), Ok((9, 4))]);
        drop(followers.hold_at_last().unwrap());
        drop(followers.hold_at_last().unwrap());
        assert_eq!(followers.end(), [true, true]);
    }

    #[test]
    fn all_go_on_if_one_is_far_behind() {
        let followers = Followers::start([Ok((7, 3))]);
        let why = lags("sink db");
        assert_eq!(followers.hold().err(), Some(NotHeld::Busy(why)));
        assert_eq!(followers.end(), [true]);
    }

    #[test]
    fn all_go_on_if_one_cannot_stand_still() {
        let why = "the disk is full";
        let followers = Followers::start([Ok((7, 3)), Err(why.to_owned())]);
        let refused = NotHeld::Refused(why.to_owned());
        assert_eq!(followers.hold_at_last().err(), Some(refused));
        assert_eq!(followers.end(), [true, true]);
    }
}
