//! The state machine of one cache, without I/O: bytes and times in, bytes and complete sets of records out.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::client_settings::RtrClientSettings;
use super::fault::RtrFault;
use super::intervals::RtrIntervals;
use super::pdu::{Frame, Pdu};
use super::pdu_fault::PduFault;
use super::records::RtrData;
use super::records_update::RtrUpdate;
use super::version_offer::VersionOffer;

mod answer;

/// An event for the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RtrInput<'a> {
    /// The time of [`RtrClient::next_deadline`] has come.
    Timer,
    /// The connection that [`RtrOutput::Connect`] asked for is established.
    Connected,
    /// It is not, for this reason.
    ConnectFailed(String),
    /// Bytes arrived.
    Received(&'a [u8]),
    /// The cache closed the connection, or it broke with this error.
    Closed(Option<String>),
    /// An operator asks for new data now.
    Refresh,
}

/// An action or a report of the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RtrOutput {
    /// Connect, and report [`RtrInput::Connected`] or [`RtrInput::ConnectFailed`].
    Connect,
    /// Send these bytes.
    Send(Vec<u8>),
    /// Close the connection. The client knows that it is closed.
    Disconnect,
    /// An answer is complete. [`RtrClient::data`] has the data.
    Data {
        /// The records differ from those before.
        changed: bool,
    },
    /// The connection ended, or the answer had no data. Data before it stay.
    Fault(RtrFault),
}

/// The router's side of the protocol for one cache. It lives on when a connection ends.
///
/// A set of records is complete, and replaces the one before it, at its End of Data. No fault takes data away: their
/// age is in [`RtrData::received_at`], and the owner judges it. RFC 8210 §5.1 flushes the data of a cache whose session
/// changed. This client keeps them until the cache has sent its new set, so that a restart of a cache has no effect.
#[derive(Debug)]
pub struct RtrClient {
    settings: RtrClientSettings,
    versions: VersionOffer,
    agreed: Option<u8>,
    state: State,
    position: Option<Position>,
    data: Option<RtrData>,
    notified: Option<u32>,
    input: Vec<u8>,
    outputs: VecDeque<RtrOutput>,
    connected_at: Option<Instant>,
    failures: u32,
    fault: Option<RtrFault>,
}

#[derive(Debug)]
enum State {
    Disconnected {
        connect_at: Instant,
    },
    Connecting,
    Queried {
        reset: bool,
        wait: Wait,
    },
    Receiving {
        reset: bool,
        session: u16,
        update: RtrUpdate,
        wait: Wait,
    },
    Idle {
        query_at: Instant,
        answered_at: Instant,
    },
}

/// The deadlines of an answer.
#[derive(Clone, Copy, Debug)]
struct Wait {
    idle_end: Instant,
    end: Instant,
}

/// The state of a cache that [`RtrData`] came from. Sessions of different versions are different (RFC 8210 §5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Position {
    version: u8,
    session: u16,
    serial: u32,
}

impl RtrClient {
    /// A client without data, which connects at `now`.
    pub fn new(settings: RtrClientSettings, now: Instant) -> Self {
        RtrClient {
            settings,
            versions: VersionOffer::new(settings.highest_version()),
            agreed: None,
            state: State::Disconnected { connect_at: now },
            position: None,
            data: None,
            notified: None,
            input: Vec::new(),
            outputs: VecDeque::new(),
            connected_at: None,
            failures: 0,
            fault: None,
        }
    }

    /// The data of the last complete answer.
    pub fn data(&self) -> Option<&RtrData> {
        self.data.as_ref()
    }

    /// The last fault, if no complete answer followed.
    pub fn fault(&self) -> Option<&RtrFault> {
        self.fault.as_ref()
    }

    /// The version that the connection uses, once the cache has answered.
    pub fn version(&self) -> Option<u8> {
        self.agreed
    }

    /// The next action or report.
    pub fn poll_output(&mut self) -> Option<RtrOutput> {
        self.outputs.pop_front()
    }

    /// The time for [`RtrInput::Timer`].
    pub fn next_deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Disconnected { connect_at } => Some(*connect_at),
            State::Connecting => None,
            State::Queried { wait, .. } | State::Receiving { wait, .. } => {
                Some(wait.idle_end.min(wait.end))
            }
            State::Idle { query_at, .. } => Some(*query_at),
        }
    }

    /// Changes the settings. Data stay. A connection ends only if another version is wanted.
    pub fn change_settings(&mut self, settings: RtrClientSettings, now: Instant) {
        let is_other_version = settings.highest_version() != self.settings.highest_version();
        self.settings = settings;
        if let Some(data) = &mut self.data {
            data.intervals = settings.intervals(data.intervals);
        }
        if is_other_version {
            self.versions = VersionOffer::new(settings.highest_version());
            if !matches!(self.state, State::Disconnected { .. } | State::Connecting) {
                self.disconnect(now);
            }
        } else if let State::Idle { query_at, .. } = &mut self.state {
            *query_at = now;
        }
    }

    /// Handles an event. Every event has an answer in every state.
    pub fn handle(&mut self, now: Instant, input: RtrInput<'_>) {
        match input {
            RtrInput::Timer => self.timer(now),
            RtrInput::Connected => self.connected(now),
            RtrInput::ConnectFailed(why) => {
                if matches!(self.state, State::Connecting) {
                    self.fail(now, RtrFault::Connect(why), &[]);
                }
            }
            RtrInput::Received(bytes) => self.received(now, bytes),
            RtrInput::Closed(why) => self.closed(now, why),
            RtrInput::Refresh => {
                match &mut self.state {
                    State::Disconnected { connect_at: at } | State::Idle { query_at: at, .. } => {
                        *at = now;
                    }
                    // A query is under way.
                    State::Connecting | State::Queried { .. } | State::Receiving { .. } => {}
                }
                self.timer(now);
            }
        }
    }

    fn timer(&mut self, now: Instant) {
        if self.next_deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        match &self.state {
            State::Disconnected { .. } => {
                self.versions.start(now);
                self.state = State::Connecting;
                self.outputs.push_back(RtrOutput::Connect);
            }
            State::Queried { wait, .. } | State::Receiving { wait, .. } => {
                let limits = self.settings.limits;
                let fault = if now >= wait.end {
                    RtrFault::TooLong(limits.answer_timeout)
                } else {
                    RtrFault::Idle(limits.idle_timeout)
                };
                self.fail(now, fault, &[]);
            }
            State::Idle { .. } => self.query(now),
            State::Connecting => {}
        }
    }

    fn connected(&mut self, now: Instant) {
        if matches!(self.state, State::Connecting) {
            self.agreed = None;
            self.notified = None;
            self.connected_at = Some(now);
            self.input.clear();
            self.query(now);
        }
    }

    /// Asks for changes if the cache's state is known, or else for all data.
    fn query(&mut self, now: Instant) {
        let version = self.agreed.unwrap_or(self.versions.offer());
        let known = self.position.filter(|known| known.version == version);
        let query = match known {
            Some(Position {
                session, serial, ..
            }) => Pdu::SerialQuery { session, serial },
            None => Pdu::ResetQuery,
        };
        self.send(version, &query);
        let limits = self.settings.limits;
        let wait = Wait {
            idle_end: now + limits.idle_timeout,
            end: now + limits.answer_timeout,
        };
        self.state = State::Queried {
            reset: known.is_none(),
            wait,
        };
    }

    fn send(&mut self, version: u8, pdu: &Pdu<'_>) {
        let mut bytes = Vec::new();
        pdu.write(version, &mut bytes);
        self.outputs.push_back(RtrOutput::Send(bytes));
    }

    fn received(&mut self, now: Instant, bytes: &[u8]) {
        let idle_timeout = self.settings.limits.idle_timeout;
        match &mut self.state {
            State::Disconnected { .. } | State::Connecting => return,
            State::Queried { wait, .. } | State::Receiving { wait, .. } => {
                wait.idle_end = now + idle_timeout;
            }
            State::Idle { .. } => {}
        }
        let mut input = std::mem::take(&mut self.input);
        input.extend_from_slice(bytes);
        let mut at = 0;
        while self.is_connected() {
            let rest = &input[at..];
            match Frame::next(rest) {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    at += frame.wire.len();
                    if let Err(fault) = self.frame(now, &frame) {
                        self.fail(now, fault, frame.wire);
                    }
                }
                Err(fault) => self.fail(now, fault.into(), &rest[..rest.len().min(8)]),
            }
        }
        if self.is_connected() {
            input.drain(..at);
            self.input = input;
        }
    }

    fn is_connected(&self) -> bool {
        !matches!(self.state, State::Disconnected { .. } | State::Connecting)
    }

    fn closed(&mut self, now: Instant, why: Option<String>) {
        if !self.is_connected() {
            return;
        }
        // A cache may refuse a version without an Error Report (RFC 8210 §7). One that delivered this version did not: a
        // proxy before it may have closed the connection. Once its data expire, lower versions are tried.
        let offer = self.versions.offer();
        let delivered = self.data.as_ref().is_some_and(|data| data.version >= offer);
        if self.agreed.is_none() && !delivered {
            let probe = self.settings.limits.version_probe;
            self.versions.refuse(offer.saturating_sub(1), now, probe);
        }
        self.fail(now, RtrFault::Closed(why), &[]);
    }

    /// Ends the connection. `erroneous` is the PDU with the fault.
    fn fail(&mut self, now: Instant, fault: RtrFault, erroneous: &[u8]) {
        // Error Reports are never answered (RFC 8210 §5.11).
        let is_report = erroneous.get(1) == Some(&10);
        let version = self.agreed.unwrap_or(self.versions.offer());
        if let Some(code) = fault.code().filter(|_| !is_report) {
            let mut record = Vec::new();
            let erroneous = match &fault {
                RtrFault::Conflict(conflict) => {
                    conflict.write(version, &mut record);
                    &record
                }
                _ => &erroneous[..erroneous.len().min(MAX_ERRONEOUS)],
            };
            let text = fault.to_string();
            let report = Pdu::ErrorReport {
                code,
                erroneous,
                text: text.as_bytes(),
            };
            self.send(version, &report);
        }
        if fault.needs_reset() {
            self.position = None;
        }
        let is_aspa = match &fault {
            RtrFault::Pdu(PduFault::AspaProviders { .. }) => true,
            RtrFault::Conflict(conflict) => conflict.is_aspa(),
            _ => false,
        };
        if is_aspa {
            // Drafts before the 11th have another format. Version 1 still delivers the VRPs.
            self.versions
                .refuse(1, now, self.settings.limits.version_probe);
        }
        let is_open = self.is_connected() && !matches!(fault, RtrFault::Closed(_));
        self.forgive(now);
        self.report(fault);
        self.state = State::Disconnected {
            connect_at: now + self.backoff(),
        };
        self.agreed = None;
        if is_open {
            self.outputs.push_back(RtrOutput::Disconnect);
        }
    }

    /// Ends the connection without a fault, and connects again.
    fn disconnect(&mut self, now: Instant) {
        self.agreed = None;
        self.state = State::Disconnected { connect_at: now };
        self.outputs.push_back(RtrOutput::Disconnect);
    }

    /// Forgets former failures if the connection worked for longer than the last wait. A cache that delivers and fails in
    /// a loop is asked ever more rarely.
    fn forgive(&mut self, now: Instant) {
        let lived = self.connected_at.take().map(|at| now - at);
        if self.agreed.is_some() && lived.is_some_and(|lived| lived > self.backoff()) {
            self.failures = 0;
        }
    }

    fn report(&mut self, fault: RtrFault) {
        self.failures = self.failures.saturating_add(1);
        self.fault = Some(fault.clone());
        self.outputs.push_back(RtrOutput::Fault(fault));
    }

    /// The time until the next attempt.
    fn backoff(&self) -> Duration {
        let intervals = self.data.as_ref().map(|data| data.intervals);
        let intervals =
            intervals.unwrap_or_else(|| self.settings.intervals(RtrIntervals::default()));
        let retry = Duration::from_secs(intervals.retry_s.into());
        let doublings = self.failures.saturating_sub(1).min(16);
        retry.min(self.settings.limits.first_retry * (1 << doublings))
    }

    /// Checks the invariants, for tests.
    ///
    /// # Panics
    /// If one does not hold.
    pub fn check_invariants(&self) {
        let limit = self.settings.limits.max_records;
        if let State::Receiving { update, .. } = &self.state {
            assert!(update.counted() <= limit + 1, "an answer exceeds the limit");
        }
        if let Some(data) = &self.data {
            assert!(data.records.counted() <= limit, "the data exceed the limit");
            assert!(data.records.ipv4.is_sorted_by(|one, next| one < next));
            assert!(data.records.ipv6.is_sorted_by(|one, next| one < next));
            assert_eq!(data.intervals, data.intervals.clamped());
        }
        assert!(self.position.is_none() || self.data.is_some());
        assert!(self.input.len() <= super::pdu::MAX_PDU_LEN as usize);
    }
}

/// The most bytes of a wrong PDU that an Error Report repeats.
const MAX_ERRONEOUS: usize = 4096;
