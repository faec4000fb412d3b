//! Reports to BMP stations (RFC 7854, 8671, 9069): a thread of low priority per station, which reads the table and the log
//! of its changes.
//!
//! ```text
//! change log ─► Changes: the routes that wait ─► Tables: their present state ─► Updates ─► Connection
//! table ─► Walk: the routes of new sessions ───────┘
//! ```
//! Routing never waits for a station. A station that is slow costs the list of changed routes, which is bounded: a route
//! that changes often waits once. If the list or the log overflows, the station forgets all sessions and is sent the
//! table again.

mod changes;
mod connection;
mod control;
mod report;
mod sessions;
mod statistics;
mod status;
mod tables;
mod updates;
mod walk;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rutter_api::{StationRow, StationState};
use rutter_config::BmpStation;

use crate::privileges;
use crate::shared::Shared;
use connection::Connection;
use control::Control;
use report::Report;
use status::StationStatus;

/// The stations of a running daemon.
#[derive(Default)]
pub(crate) struct Stations(Vec<Station>);

struct Station {
    settings: BmpStation,
    status: Arc<StationStatus>,
    control: Arc<Control>,
    thread: JoinHandle<()>,
}

/// The longest time between two attempts to connect (RFC 7854 §3.2).
const LONGEST_RETRY: Duration = Duration::from_secs(720);

/// The time that all stations together have to end.
const END_TIMEOUT: Duration = Duration::from_secs(2);
const END_POLL: Duration = Duration::from_millis(5);

impl Stations {
    /// The rows of `rutter show stations`.
    pub(crate) fn rows(&self, now_ms: u64) -> Vec<StationRow> {
        let statuses = self.0.iter().map(|station| &station.status);
        statuses.map(|status| status.row(now_ms)).collect()
    }
}

/// Starts the stations that do not run, and stops those that are not wanted any more. One whose settings changed is stopped
/// and started. An error is that of the first station that did not start; the others run. One caller at a time.
pub(crate) fn change(shared: &Arc<Shared>, wanted: &[BmpStation]) -> io::Result<()> {
    let unwanted = {
        let mut stations = shared.stations.lock();
        let is_wanted = |station: &Station| wanted.contains(&station.settings);
        let (kept, others) = std::mem::take(&mut stations.0)
            .into_iter()
            .partition(is_wanted);
        stations.0 = kept;
        others
    };
    end(unwanted);
    let is_running = |settings: &BmpStation| {
        let stations = shared.stations.lock();
        stations
            .0
            .iter()
            .any(|running| running.settings == *settings)
    };
    let mut outcome = Ok(());
    for settings in wanted {
        if is_running(settings) {
            continue;
        }
        match Station::start(shared, settings) {
            Ok(station) => shared.stations.lock().0.push(station),
            Err(error) => outcome = outcome.and(Err(error)),
        }
    }
    let place = |station: &Station| wanted.iter().position(|one| *one == station.settings);
    shared.stations.lock().0.sort_by_key(place);
    outcome
}

/// Ends all reports.
pub(crate) fn stop(shared: &Shared) {
    let stations = std::mem::take(&mut *shared.stations.lock());
    end(stations.0);
}

/// Ends reports, at the same time. A thread that still tries to connect is left to end by itself.
fn end(stations: Vec<Station>) {
    let controls = stations.iter().map(|station| &station.control);
    controls.for_each(|control| control.stop());
    let until = Instant::now() + END_TIMEOUT;
    for station in stations {
        while !station.thread.is_finished() && Instant::now() < until {
            thread::sleep(END_POLL);
        }
    }
}

impl Station {
    fn start(shared: &Arc<Shared>, settings: &BmpStation) -> io::Result<Self> {
        let now_ms = shared.clock.now_ms();
        let status = StationStatus::new(settings.label(), settings.address, now_ms);
        let (status, control) = (Arc::new(status), Arc::new(Control::default()));
        let thread = {
            let (shared, settings) = (Arc::clone(shared), settings.clone());
            let (status, control) = (Arc::clone(&status), Arc::clone(&control));
            thread::Builder::new().name("bmp".into()).spawn(move || {
                privileges::yield_to_routing();
                run(&shared, &settings, &status, &control);
            })?
        };
        Ok(Station {
            settings: settings.clone(),
            status,
            control,
            thread,
        })
    }
}

/// Connects and reports until the station is stopped.
fn run(shared: &Arc<Shared>, settings: &BmpStation, status: &StationStatus, control: &Control) {
    let shortest = Duration::from_secs(settings.retry_s);
    let mut retry = shortest;
    while !control.is_stopping() {
        status.set(StationState::Connecting, shared.clock.now_ms());
        let send_timeout = Duration::from_secs(settings.send_timeout_s);
        let outcome = Connection::open(settings.address, send_timeout).and_then(|connection| {
            status.connects.fetch_add(1, Ordering::Relaxed);
            Report::begin(shared, settings, status, control, connection).run()
        });
        status.disconnected();
        let Err(error) = outcome else { return };
        if control.take_reached() {
            retry = shortest;
        }
        status.failed(&error.to_string(), shared.clock.now_ms());
        status.set(StationState::Away, shared.clock.now_ms());
        if let Some(not_logged) = control.allow_log() {
            tracing::warn!(
                station = %settings.label(), address = %settings.address, %error,
                retry_in_s = retry.as_secs(), not_logged, "no report to the BMP station"
            );
        }
        control.wait(retry);
        retry = (retry * 2).min(LONGEST_RETRY);
    }
}
