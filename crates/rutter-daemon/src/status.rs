//! The published state of each session: readers need not ask the thread that owns it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use rutter_api::{
    Direction, MessageCounts, NegotiatedRow, PrefixLimitRow, SessionRow, SessionState, TimerRow,
};
use rutter_config::{MaxPrefix, Neighbor, NeighborKind};
use rutter_net::{Family, PerFamily};
use rutter_rib::{PeerId, Rib};
use rutter_session::{
    DownReason, Feature, Negotiated, OneSidedOffer, Session, State, Stats, Timer,
};
use rutter_wire::frame::MessageType;
use rutter_wire::handover::{BadRecord, Reader, Writer};

use crate::session_facts::SessionFacts;
use crate::shared::Clock;

/// The published state of a session: counters without a lock, the other fields behind a lock that is held briefly.
pub(crate) struct PeerStatus {
    pub(crate) received: Counters,
    pub(crate) sent: Counters,
    pub(crate) malformed_updates: AtomicU64,
    pub(crate) paths_not_kept: AtomicU64,
    pub(crate) blocked_routes: AtomicU64,
    /// The neighbor announces no more prefixes than its limit again: its blocked routes, which were kept, have room.
    pub(crate) has_room: AtomicBool,
    out_limit_exceeded: AtomicU64,
    memory_limit_exceeded: AtomicU64,
    pub(crate) unsent_bytes: AtomicU64,
    pub(crate) catching_up: AtomicBool,
    /// Routes of former sessions are kept.
    has_stale_routes: AtomicBool,
    /// The deadlines of [`Timer::ALL`] in milliseconds; [`u64::MAX`] where a timer does not run.
    deadlines: [AtomicU64; Timer::ALL.len()],
    details: Mutex<Details>,
}

/// The fields that rarely change.
pub(crate) struct Details {
    pub(crate) config: Arc<Neighbor>,
    /// The index of the thread that owns the session.
    pub(crate) thread: usize,
    pub(crate) dynamic: bool,
    pub(crate) peer: Option<PeerId>,
    pub(crate) state: SessionState,
    pub(crate) state_since_ms: u64,
    pub(crate) established_count: u64,
    /// The text of the last error and its time.
    pub(crate) last_error: Option<(String, u64)>,
    pub(crate) negotiated: Option<NegotiatedRow>,
    /// The established session, for BMP.
    pub(crate) monitored: Option<Arc<SessionFacts>>,
    /// The end of the last session.
    pub(crate) last_down: Option<DownReason>,
}

/// The time in which a dynamic neighbor that has connected, or lost its session, keeps its place, in milliseconds.
const IDLE_MS: u64 = 1_000;
/// The same for one that exchanges OPENs.
const HANDSHAKE_MS: u64 = 10_000;

/// The bytes and messages of one direction.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) bytes: AtomicU64,
    messages: [AtomicU64; 5],
}

impl Counters {
    /// Counts bytes. Only the owning thread writes, so no read-modify-write is needed.
    pub(crate) fn count_bytes(&self, bytes: usize) {
        bump(&self.bytes, bytes as u64);
    }

    fn direction(&self) -> Direction {
        let message = |kind: MessageType| self.messages[kind as usize - 1].load(Ordering::Relaxed);
        Direction {
            bytes: self.bytes.load(Ordering::Relaxed),
            messages: MessageCounts {
                open: message(MessageType::Open),
                update: message(MessageType::Update),
                notification: message(MessageType::Notification),
                keepalive: message(MessageType::Keepalive),
                route_refresh: message(MessageType::RouteRefresh),
            },
        }
    }
}

fn bump(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Ordering::Relaxed) + by, Ordering::Relaxed);
}

impl PeerStatus {
    pub(crate) fn new(config: Arc<Neighbor>, thread: usize, dynamic: bool, now_ms: u64) -> Self {
        PeerStatus {
            received: Counters::default(),
            sent: Counters::default(),
            malformed_updates: AtomicU64::new(0),
            paths_not_kept: AtomicU64::new(0),
            blocked_routes: AtomicU64::new(0),
            has_room: AtomicBool::new(false),
            out_limit_exceeded: AtomicU64::new(0),
            memory_limit_exceeded: AtomicU64::new(0),
            unsent_bytes: AtomicU64::new(0),
            catching_up: AtomicBool::new(false),
            has_stale_routes: AtomicBool::new(false),
            deadlines: Timer::ALL.map(|_| AtomicU64::new(u64::MAX)),
            details: Mutex::new(Details {
                config,
                thread,
                dynamic,
                peer: None,
                state: SessionState::Idle,
                state_since_ms: now_ms,
                established_count: 0,
                last_error: None,
                negotiated: None,
                monitored: None,
                last_down: None,
            }),
        }
    }

    /// Reads or changes the fields behind the lock.
    pub(crate) fn with<T>(&self, action: impl FnOnce(&mut Details) -> T) -> T {
        action(&mut self.details.lock())
    }

    /// Publishes the session's counts of messages.
    pub(crate) fn publish_messages(&self, stats: &Stats) {
        for (counter, count) in self.received.messages.iter().zip(stats.received) {
            counter.store(count, Ordering::Relaxed);
        }
        for (counter, count) in self.sent.messages.iter().zip(stats.sent) {
            counter.store(count, Ordering::Relaxed);
        }
    }

    /// Publishes whether routes of former sessions are kept.
    pub(crate) fn publish_stale(&self, session: &Session) {
        let has_stale = session.stale() != PerFamily::both(false);
        self.has_stale_routes.store(has_stale, Ordering::Relaxed);
    }

    /// The rank in which dynamic neighbors give way, the least first: whether it waits because of its faults, whether it has a
    /// connection, and the time since which it has no session. `None` if it keeps its place: it has a session or stale routes, or its state changed lately.
    pub(crate) fn idle_since(&self, now_ms: u64) -> Option<(bool, bool, u64)> {
        let (state, since_ms) = self.with(|details| (details.state, details.state_since_ms));
        let (has_connection, patience_ms) = match state {
            SessionState::Established => return None,
            SessionState::OpenSent | SessionState::OpenConfirm => (true, HANDSHAKE_MS),
            SessionState::Idle | SessionState::Connect | SessionState::Active => (false, IDLE_MS),
        };
        let is_idle = now_ms.saturating_sub(since_ms) >= patience_ms;
        let keeps_routes = self.has_stale_routes.load(Ordering::Relaxed);
        let is_held = { self.deadlines.iter().zip(Timer::ALL) }
            .any(|(at, timer)| timer == Timer::IdleHold && at.load(Ordering::Relaxed) != u64::MAX);
        (is_idle && !keeps_routes).then_some((is_held, has_connection, since_ms))
    }

    /// Publishes the deadlines of the session's timers.
    pub(crate) fn publish_timers(&self, session: &Session) {
        for (deadline, timer) in self.deadlines.iter().zip(Timer::ALL) {
            let at = session.deadline(timer).unwrap_or(u64::MAX);
            deadline.store(at, Ordering::Relaxed);
        }
    }

    fn timer_rows(&self, now_ms: u64) -> Vec<TimerRow> {
        let deadlines = self.deadlines.iter().map(|at| at.load(Ordering::Relaxed));
        let running = deadlines.zip(Timer::ALL).filter(|(at, _)| *at != u64::MAX);
        let row = |(at, timer): (u64, Timer)| TimerRow {
            name: timer_name(timer),
            fires_in_ms: at.saturating_sub(now_ms),
        };
        running.map(row).collect()
    }

    /// Appends what the session itself does not count.
    pub(crate) fn write_state(&self, out: &mut Writer) {
        for counter in self.counters() {
            out.number(counter.load(Ordering::Relaxed));
        }
        let details = self.details.lock();
        out.number(details.state_since_ms);
        out.number(details.established_count);
        out.bool(details.last_error.is_some());
        if let Some((text, at_ms)) = &details.last_error {
            out.string(text);
            out.number(*at_ms);
        }
    }

    /// Takes over the counters of another process.
    pub(crate) fn read_state(&self, state: &mut Reader<'_>) -> Result<(), BadRecord> {
        for counter in self.counters() {
            counter.store(state.number("counter")?, Ordering::Relaxed);
        }
        let mut details = self.details.lock();
        details.state_since_ms = state.number("time of the state")?;
        details.established_count = state.number("count of sessions")?;
        if state.bool("last error")? {
            let text = state.string("last error")?.to_owned();
            details.last_error = Some((text, state.number("time of the last error")?));
        }
        Ok(())
    }

    fn counters(&self) -> [&AtomicU64; 7] {
        [
            &self.received.bytes,
            &self.sent.bytes,
            &self.malformed_updates,
            &self.paths_not_kept,
            &self.blocked_routes,
            &self.out_limit_exceeded,
            &self.memory_limit_exceeded,
        ]
    }

    /// Counts a malformed UPDATE.
    pub(crate) fn count_malformed(&self) {
        bump(&self.malformed_updates, 1);
    }

    /// Counts that more prefixes were advertised than the limit allows.
    pub(crate) fn count_out_limit(&self) {
        bump(&self.out_limit_exceeded, 1);
    }

    /// Counts that the neighbor's routes took more memory than its limit allows.
    pub(crate) fn count_memory_limit(&self) {
        bump(&self.memory_limit_exceeded, 1);
    }

    /// The row of `show peers`.
    pub(crate) fn row(&self, rib: &Rib, clock: &Clock) -> SessionRow {
        let now_ms = clock.now_ms();
        let details = self.details.lock();
        let config = &details.config;
        let ago_s = |ms: u64| now_ms.saturating_sub(ms) / 1_000;
        SessionRow {
            peer: details.peer,
            name: config.name.clone(),
            address: config.address,
            asn: config.asn.0,
            local_asn: config.local_asn.0,
            role: kind_name(config.kind).into(),
            dynamic: details.dynamic,
            state: details.state,
            state_for_s: ago_s(details.state_since_ms),
            state_changed_at: clock.unix_s(details.state_since_ms),
            shutdown: config.session.shutdown.clone(),
            established_count: details.established_count,
            last_error: details.last_error.as_ref().map(|(text, _)| text.clone()),
            last_error_ago_s: details.last_error.as_ref().map(|(_, at)| ago_s(*at)),
            received: self.received.direction(),
            sent: self.sent.direction(),
            malformed_updates: self.malformed_updates.load(Ordering::Relaxed),
            paths_not_kept: self.paths_not_kept.load(Ordering::Relaxed),
            blocked_routes: self.blocked_routes.load(Ordering::Relaxed),
            prefix_limits: prefix_limits(config),
            out_limit_exceeded: self.out_limit_exceeded.load(Ordering::Relaxed),
            memory_bytes: details.peer.map_or(0, |peer| rib.peer_memory(peer)),
            memory_limit_exceeded: self.memory_limit_exceeded.load(Ordering::Relaxed),
            unsent_bytes: self.unsent_bytes.load(Ordering::Relaxed),
            catching_up: self.catching_up.load(Ordering::Relaxed),
            negotiated: details.negotiated.clone(),
            timers: self.timer_rows(now_ms),
        }
    }
}

/// The limits in force. One that follows PeeringDB is absent until its data are known.
fn prefix_limits(config: &Neighbor) -> Vec<PrefixLimitRow> {
    let limits = config.session.max_prefix;
    let row = |(family, limit): (Family, &Option<MaxPrefix>)| {
        let limit = (*limit)?;
        Some(PrefixLimitRow {
            family: family.to_string(),
            limit: limit.limit,
            action: limit.action.name().to_owned(),
            peeringdb: limit.recommended,
        })
    };
    limits.entries().filter_map(row).collect()
}

fn timer_name(timer: Timer) -> String {
    match timer {
        Timer::LongLived(family) | Timer::RefreshStale(family) => format!("{timer} {family}"),
        timer => timer.to_string(),
    }
}

fn kind_name(kind: NeighborKind) -> &'static str {
    match kind {
        NeighborKind::Member => "member",
        NeighborKind::External => "external",
        NeighborKind::Internal => "internal",
        NeighborKind::ReflectorClient => "reflector-client",
        NeighborKind::Collector => "collector",
    }
}

/// Converts a state to that of the management protocol.
pub(crate) fn state(state: State) -> SessionState {
    match state {
        State::Idle => SessionState::Idle,
        State::Connect => SessionState::Connect,
        State::Active => SessionState::Active,
        State::OpenSent => SessionState::OpenSent,
        State::OpenConfirm => SessionState::OpenConfirm,
        State::Established => SessionState::Established,
    }
}

/// The result of the negotiation, for `show peer`.
pub(crate) fn negotiated_row(
    negotiated: &Negotiated,
    local: Option<SocketAddr>,
    remote: Option<SocketAddr>,
) -> NegotiatedRow {
    let restart = negotiated.graceful_restart.as_ref();
    let long_lived = negotiated.long_lived_s;
    NegotiatedRow {
        bgp_id: Ipv4Addr::from(negotiated.remote_bgp_id),
        local,
        remote,
        hold_time_s: negotiated.hold_time_s,
        keepalive_s: negotiated.keepalive_s,
        four_octet_as: negotiated.as4,
        max_message_len: negotiated.max_message_len as u32,
        route_refresh: negotiated.route_refresh,
        enhanced_refresh: negotiated.enhanced_refresh,
        graceful_restart: restart.map(|r| {
            let notification = if negotiated.notification_restart {
                ", also after NOTIFICATION"
            } else {
                ""
            };
            format!("restart time {} s{notification}", r.restart_time_s)
        }),
        long_lived_graceful_restart: (long_lived != PerFamily::both(0)).then(|| {
            let texts: Vec<_> = long_lived
                .entries()
                .map(|(f, s)| format!("{f} {s} s"))
                .collect();
            texts.join(", ")
        }),
        role: negotiated.remote_role.map(|role| role.to_string()),
        other: Vec::new(),
    }
}

/// The negotiated features as a string for the log.
pub(crate) fn summary(negotiated: &Negotiated) -> String {
    let mut words = Vec::new();
    for family in Family::ALL {
        if let Some(negotiated) = negotiated.families[family] {
            words.push(family.to_string());
            let options = [
                (negotiated.add_path_receive, "add-path-receive"),
                (negotiated.add_path_send, "add-path-send"),
                (negotiated.extended_next_hop, "extended-next-hop"),
            ];
            words.extend(chosen(&options));
        }
    }
    words.extend(chosen(&[
        (negotiated.as4, "four-octet-as"),
        (negotiated.max_message_len > 4_096, "extended-message"),
        (negotiated.route_refresh, "route-refresh"),
        (negotiated.enhanced_refresh, "enhanced-refresh"),
        (negotiated.graceful_restart.is_some(), "graceful-restart"),
        (
            negotiated.long_lived_s != PerFamily::both(0),
            "long-lived-graceful-restart",
        ),
    ]));
    if let Some(role) = negotiated.remote_role {
        words.push(format!("role {role}"));
    }
    words.join(", ")
}

/// The features that only one side offered, as a string for the log.
pub(crate) fn one_sided(negotiated: &Negotiated) -> String {
    let one = |u: &OneSidedOffer| match u.offered_by_us {
        true => format!("{} (offered by us)", feature(u.feature)),
        false => format!("{} (offered by the neighbor)", feature(u.feature)),
    };
    let all: Vec<_> = negotiated.one_sided.iter().map(one).collect();
    all.join(", ")
}

fn feature(feature: Feature) -> String {
    match feature {
        Feature::Family(family) => family.to_string(),
        Feature::AddPathReceive(family) => format!("{family} add-path-receive"),
        Feature::AddPathSend(family) => format!("{family} add-path-send"),
        Feature::ExtendedNextHop(family) => format!("{family} extended-next-hop"),
        Feature::ExtendedMessage => "extended-message".into(),
        Feature::FourOctetAs => "four-octet-as".into(),
        Feature::RouteRefresh => "route-refresh".into(),
        Feature::EnhancedRouteRefresh => "enhanced-refresh".into(),
        Feature::GracefulRestart => "graceful-restart".into(),
        Feature::NotificationRestart => "notification-restart".into(),
        Feature::LongLived(family) => format!("{family} long-lived-graceful-restart"),
        Feature::Role => "role".into(),
    }
}

fn chosen(options: &[(bool, &str)]) -> Vec<String> {
    let on = options.iter().filter(|(on, _)| *on);
    on.map(|(_, name)| (*name).to_owned()).collect()
}
