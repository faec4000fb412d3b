//! The report over one connection to a station: the sessions, the tables, every change, and statistics.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rutter_api::StationState;
use rutter_config::{BmpStation, BmpTables};
use rutter_net::Family;
use rutter_rib::{PeerId, StationView};
use rutter_wire::bmp::{
    PeerHeader, RibView, write_initiation, write_route_monitoring, write_termination,
};
use rutter_wire::update::write_end_of_rib;

use super::changes::{Changes, Lost, Moment};
use super::connection::Connection;
use super::control::Control;
use super::sessions::{Sessions, loc_rib_header, write_loc_rib_up};
use super::statistics::{self, LocRibCount};
use super::status::StationStatus;
use super::tables::Tables;
use super::updates::Updates;
use super::walk::{Purpose, Walk};
use crate::shared::{Shared, unix_us};

/// The report to a station over one connection.
pub(super) struct Report<'a> {
    shared: &'a Shared,
    settings: &'a BmpStation,
    status: &'a StationStatus,
    control: &'a Control,
    connection: Connection,
    monitor: StationView,
    loc_rib: PeerHeader,
    sessions: Sessions,
    /// Sessions may have begun or ended since they were last compared.
    is_stale: bool,
    updates: Updates,
    phase: Phase,
    /// The sessions whose routes the next walk sends.
    joined: HashSet<PeerId>,
    walk: Option<Walk>,
    /// The End-of-RIBs of neighbors, which follow the routes before them.
    end_of_ribs: Vec<(Moment, PeerId, Family)>,
    /// The count of the Loc-RIB for statistics, while it runs.
    counting: Option<LocRibCount>,
    /// The policies that the station's routes follow, by [`Shared::policy_changes`].
    policies: u64,
    ticked: Instant,
    reported: Instant,
    /// The pause before the table is sent again, and the time of the last loss.
    pause: Duration,
}

enum Phase {
    /// The station is sent the table, then every change.
    Following(Box<Changes>),
    /// Changes were lost, so that the station is sent the table again at this time.
    Paused(Instant),
}

/// The interval at which an idle thread looks for changes.
const IDLE: Duration = Duration::from_millis(100);
/// The interval at which sessions are compared without an event, and the connection is checked.
const TICK: Duration = Duration::from_secs(1);
/// The changes that are sent at once.
const BATCH: usize = 256;
/// The steps for changes that are taken at once, because sessions that begin or end wait for them.
const MOST_STEPS: usize = 2_048;
/// The time that the station has for the last messages.
const LAST_WRITE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const SOFTWARE: &str = concat!("Rutter ", env!("CARGO_PKG_VERSION"));

impl<'a> Report<'a> {
    /// Begins a report with an Initiation message.
    pub(super) fn begin(
        shared: &'a Arc<Shared>,
        settings: &'a BmpStation,
        status: &'a StationStatus,
        control: &'a Control,
        mut connection: Connection,
    ) -> Self {
        let config = Arc::clone(&shared.config.read());
        let router_id = config.router_id.to_string();
        let name = settings.system_name.as_deref().unwrap_or(&router_id);
        write_initiation(&mut connection.out, name, SOFTWARE);
        status.messages.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        Report {
            shared,
            settings,
            status,
            control,
            connection,
            monitor: StationView::new(Arc::clone(&shared.rib)),
            loc_rib: loc_rib_header(&config),
            sessions: Sessions::default(),
            is_stale: false,
            updates: Updates::default(),
            phase: Phase::Paused(now),
            joined: HashSet::new(),
            walk: None,
            end_of_ribs: Vec::new(),
            counting: None,
            policies: shared.policy_changes.load(Ordering::Relaxed),
            ticked: now,
            reported: now,
            pause: SHORTEST_PAUSE,
        }
    }

    /// Reports until the sender is stopped. An error is the end of the connection.
    pub(super) fn run(mut self) -> io::Result<()> {
        while !self.control.is_stopping() {
            let is_session = self.gather();
            self.resume();
            let is_tick = self.ticked.elapsed() >= TICK;
            if is_tick {
                self.ticked = Instant::now();
                self.connection.check_open()?;
            }
            self.is_stale |= is_session || is_tick;
            if self.is_stale && !self.connection.is_full() {
                self.reconcile();
            }
            let has_written = !self.connection.is_full() && self.write_next();
            let outcome = self.connection.write();
            self.publish();
            outcome?;
            if !has_written && self.connection.unsent() == 0 {
                self.control.wait(IDLE);
            }
        }
        self.end();
        Ok(())
    }

    /// Takes the changes of the table. Returns whether a session began or ended.
    fn gather(&mut self) -> bool {
        let Phase::Following(changes) = &mut self.phase else {
            return false;
        };
        match changes.gather() {
            Ok(is_session) => is_session,
            Err(Lost) => {
                self.lose();
                false
            }
        }
    }

    /// The station misses changes: it forgets everything, and is sent the table again after a pause.
    fn lose(&mut self) {
        add(&self.status.resyncs, 1);
        if let Some(not_logged) = self.control.allow_log() {
            tracing::warn!(
                station = %self.settings.label(), resyncs = self.status.resyncs.load(Ordering::Relaxed),
                again_in_s = self.pause.as_secs(), not_logged,
                "the BMP station is too slow for the changes of the table, which is sent again"
            );
        }
        let messages = self
            .sessions
            .end_all(&self.loc_rib, &mut self.connection.out);
        add(&self.status.messages, messages);
        self.walk = None;
        self.end_of_ribs.clear();
        self.counting = None;
        self.joined.clear();
        self.phase = Phase::Paused(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.set(StationState::Paused);
    }

    /// Begins to follow the table when a pause is over and the station has taken what waited.
    fn resume(&mut self) {
        let Phase::Paused(until) = self.phase else {
            return;
        };
        if until > Instant::now() || self.connection.is_full() {
            return;
        }
        let report = self.settings.report;
        let with_best = report.loc_rib || report.adj_rib_out;
        self.policies = self.shared.policy_changes.load(Ordering::Relaxed);
        let changes = Changes::begin(&self.shared.rib, with_best, pace(report));
        self.phase = Phase::Following(Box::new(changes));
        self.set(StationState::Loading);
        if report.loc_rib {
            write_loc_rib_up(&mut self.connection.out, &self.loc_rib);
            add(&self.status.messages, 1);
        }
        self.reconcile();
    }

    /// Reports the sessions that ended or began. A walk that runs has sent only a part of the routes of a new session, so
    /// the next one sends them.
    fn reconcile(&mut self) {
        self.is_stale = false;
        if matches!(self.phase, Phase::Paused(_)) {
            return;
        }
        let out = &mut self.connection.out;
        let done = self.sessions.reconcile(self.shared, out);
        add(
            &self.status.messages,
            (done.up.len() + done.down.len()) as u64,
        );
        for peer in done.down.iter().chain(&done.up) {
            self.joined.remove(peer);
            self.end_of_ribs.retain(|(_, other, _)| other != peer);
            if let Phase::Following(changes) = &mut self.phase {
                changes.forget_rejections(*peer);
            }
            if let Some(walk) = &mut self.walk {
                walk.leave_out(*peer);
            }
        }
        self.joined.extend(done.up);
        self.note_end_of_ribs();
    }

    /// Notes the End-of-RIBs that neighbors have sent. The routes before them may still wait.
    fn note_end_of_ribs(&mut self) {
        let Phase::Following(changes) = &mut self.phase else {
            return;
        };
        let taken = self.sessions.take_end_of_ribs();
        if taken.is_empty() {
            return;
        }
        // The table had these routes before the End-of-RIB, and so had the log.
        if let Err(Lost) = changes
            .gather()
            .map(|is_session| self.is_stale |= is_session)
        {
            return self.lose();
        }
        let moment = changes.moment();
        let noted = taken
            .into_iter()
            .map(|(peer, family)| (moment, peer, family));
        self.end_of_ribs.extend(noted);
    }

    /// Appends the End-of-RIBs of neighbors whose routes before them have been sent (RFC 4724 §2, RFC 7854 §5).
    fn write_noted_end_of_ribs(&mut self) -> bool {
        let Phase::Following(changes) = &self.phase else {
            return false;
        };
        let is_due = |(moment, ..): &mut (Moment, PeerId, Family)| changes.is_past(*moment);
        let due: Vec<_> = self.end_of_ribs.extract_if(.., is_due).collect();
        let report = self.settings.report;
        let views = [
            (report.adj_rib_in_pre, RibView::AdjRibInPre),
            (report.adj_rib_in_post, RibView::AdjRibInPost),
        ];
        let mut messages = 0;
        for (_, peer, family) in due {
            let Some(known) = self.sessions.get(peer) else {
                continue;
            };
            for (_, view) in views.iter().filter(|(on, _)| *on) {
                write_end(&mut self.connection.out, &known.header(*view), family);
                messages += 1;
            }
        }
        add(&self.status.messages, messages);
        messages > 0
    }

    /// Appends the next messages, if there are any: statistics that are due, changes, and a slice of a walk. So changes
    /// that never end delay neither statistics nor a walk. Returns whether there were some.
    fn write_next(&mut self) -> bool {
        if matches!(self.phase, Phase::Paused(_)) {
            return false;
        }
        let has_reported = self.write_statistics();
        let has_changed = self.write_changes() | self.write_noted_end_of_ribs();
        let has_walked = self.step_walk();
        let has_written = has_reported || has_changed || has_walked;
        if !has_written {
            self.set(StationState::Live);
        }
        has_written
    }

    /// Appends a batch of changes. Returns whether there were some.
    fn write_changes(&mut self) -> bool {
        let Phase::Following(changes) = &mut self.phase else {
            return false;
        };
        self.status
            .waiting
            .store(changes.waiting() as u64, Ordering::Relaxed);
        let mut tables = Tables {
            report: self.settings.report,
            loc_rib: self.loc_rib,
            sessions: &self.sessions,
            updates: &mut self.updates,
        };
        let mut taken = changes.take((MOST_STEPS / tables.steps()).clamp(1, BATCH));
        if taken.is_empty() {
            return false;
        }
        let prefixes: Vec<_> = taken.keys().copied().collect();
        self.monitor.look(prefixes, |destination| {
            let paths = taken.remove(&destination.prefix).unwrap_or_default();
            tables.changed(destination, &paths);
            tables.updates.fill()
        });
        changes.put_back(taken);
        self.write_updates(Some(unix_us()));
        true
    }

    /// Sends the next slice of a walk. Returns whether there was one.
    fn step_walk(&mut self) -> bool {
        self.begin_walk();
        let Some(mut walk) = self.walk.take() else {
            return false;
        };
        let mut tables = Tables {
            report: self.settings.report,
            loc_rib: self.loc_rib,
            sessions: &self.sessions,
            updates: &mut self.updates,
        };
        let has_ended = walk.step(&mut self.monitor, &mut tables);
        self.write_updates(None);
        match has_ended {
            false => self.walk = Some(walk),
            true => {
                if let Purpose::Initial { sessions, loc_rib } = &walk.purpose {
                    self.write_end_of_ribs(sessions, *loc_rib);
                }
            }
        }
        true
    }

    /// Begins a walk if one is needed and none runs.
    fn begin_walk(&mut self) {
        if self.walk.is_some() {
            return;
        }
        let policies = self.shared.policy_changes.load(Ordering::Relaxed);
        let loc_rib = self.settings.report.loc_rib && !self.sessions.has_loc_rib;
        if !self.joined.is_empty() || loc_rib {
            self.walk = Some(Walk::new(Purpose::Initial {
                sessions: std::mem::take(&mut self.joined),
                loc_rib,
            }));
        } else if self.policies != policies {
            self.policies = policies;
            self.walk = Some(Walk::new(Purpose::Policy));
        } else {
            return;
        }
        self.sessions.has_loc_rib = self.settings.report.loc_rib;
        self.set(StationState::Loading);
    }

    fn write_updates(&mut self, unix_us: Option<u64>) {
        let messages = self.updates.write(&mut self.connection.out, unix_us);
        add(&self.status.messages, messages);
        let routes = self.updates.take_too_large();
        if routes > 0
            && let Some(not_logged) = self.control.allow_log()
        {
            tracing::warn!(
                station = %self.settings.label(), routes, not_logged,
                "routes are too large for a BMP message: the BMP station is told that they are withdrawn"
            );
        }
    }

    /// Appends End-of-RIB for each family and table of these sessions.
    fn write_end_of_ribs(&mut self, walked: &HashSet<PeerId>, loc_rib: bool) {
        let report = self.settings.report;
        let views = [
            (report.adj_rib_in_pre, RibView::AdjRibInPre),
            (report.adj_rib_in_post, RibView::AdjRibInPost),
            (report.adj_rib_out, RibView::AdjRibOutPost),
        ];
        let mut headers = Vec::new();
        for known in walked.iter().filter_map(|peer| self.sessions.get(*peer)) {
            let agreed = |family: &Family| known.session.families[*family].is_some();
            for family in Family::ALL.into_iter().filter(agreed) {
                let views = views.iter().filter(|(on, _)| *on);
                headers.extend(views.map(|(_, view)| (known.header(*view), family)));
            }
        }
        if loc_rib {
            headers.extend(Family::ALL.map(|family| (self.loc_rib, family)));
        }
        for (header, family) in &headers {
            write_end(&mut self.connection.out, header, *family);
        }
        add(&self.status.messages, headers.len() as u64);
    }

    fn is_report_due(&self) -> bool {
        let interval = self.settings.statistics_interval_s;
        interval > 0 && self.reported.elapsed() >= Duration::from_secs(interval)
    }

    /// Appends the statistics that are due, or counts a slice of the Loc-RIB for them. Returns whether it did.
    fn write_statistics(&mut self) -> bool {
        if let Some(counting) = &mut self.counting {
            if counting.step(&mut self.monitor) {
                counting.write(&mut self.connection.out, self.loc_rib);
                self.counting = None;
                add(&self.status.messages, 1);
            }
            return true;
        }
        if !self.is_report_due() {
            return false;
        }
        self.reported = Instant::now();
        let report = self.settings.report;
        let Phase::Following(changes) = &self.phase else {
            return false;
        };
        let (rib, out) = (&self.shared.rib, &mut self.connection.out);
        let sessions = &self.sessions;
        let messages =
            statistics::write_of_sessions(out, rib, sessions, changes, report.adj_rib_out);
        add(&self.status.messages, messages);
        self.counting = report.loc_rib.then(LocRibCount::default);
        true
    }

    fn publish(&self) {
        let set = |counter: &AtomicU64, value: usize| {
            counter.store(value as u64, Ordering::Relaxed);
        };
        set(&self.status.unsent_bytes, self.connection.unsent());
        set(&self.status.sessions, self.sessions.len());
        if let Phase::Following(changes) = &self.phase {
            set(&self.status.waiting, changes.waiting());
        }
        self.status.count_taken(self.connection.taken);
    }

    fn set(&mut self, state: StationState) {
        if state == StationState::Live {
            self.pause = SHORTEST_PAUSE;
            self.control.reached();
        }
        self.status.set(state, self.shared.clock.now_ms());
    }

    /// Ends the report with a Termination message.
    fn end(mut self) {
        write_termination(
            &mut self.connection.out,
            0,
            "the station was removed, or this router stops",
        );
        add(&self.status.messages, 1);
        let until = Instant::now() + LAST_WRITE;
        while self.connection.unsent() > 0 && Instant::now() < until {
            if self.connection.write().is_err() {
                break;
            }
        }
        self.publish();
    }
}

/// The shortest time between two reports of a route. With the tables of all clients, a change of one route is a message for
/// each client, and a neighbor that changes a route again and again must not cause them as often.
fn pace(report: BmpTables) -> Duration {
    match report.adj_rib_out {
        true => Duration::from_secs(1),
        false => Duration::ZERO,
    }
}

fn write_end(out: &mut Vec<u8>, header: &PeerHeader, family: Family) {
    let mut message = Vec::new();
    write_end_of_rib(&mut message, family.afi_safi());
    write_route_monitoring(out, header, &message);
}

fn add(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}
