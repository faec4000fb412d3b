//! The state of a session as a record, for the process that succeeds this one.
//!
//! All times stay as they are: the clock of the new process goes on where the old one stood.

use rutter_net::{Asn, Family, PerFamily};
use rutter_wire::capability::{Capability, Role};
use rutter_wire::handover::{BadRecord, Reader, Writer};
use rutter_wire::notification::Notification;

use crate::connection::{Connection, Phase};
use crate::graceful_restart::StaleState;
use crate::session::{Session, TargetState};
use crate::{Config, ConnectionId, DownReason, FamilyNegotiated, Negotiated, State, Stats, Timer};

impl Session {
    /// Appends the state. Of the connections only the established one is part of it: close the others.
    ///
    /// # Panics
    ///
    /// If outputs wait: drain [`Session::poll_output`] first.
    pub fn write_state(&self, out: &mut Writer) {
        assert!(self.has_no_output(), "all outputs were carried out");
        out.u8(self.target as u8);
        out.bool(self.passive);
        out.bool(self.without_capabilities);
        out.number(self.established_at_ms);
        for timer in Timer::ALL {
            out.optional(self.timers.deadline(timer));
        }
        for family in Family::ALL {
            out.u8(self.stale_routes.by_family[family] as u8);
            out.number(self.stale_routes.long_lived_s[family]);
            out.bool(self.refreshing[family]);
        }
        write_stats(&self.stats, out);
        let established = self.established();
        out.bool(established.is_some());
        if let Some(connection) = established
            && let Some(negotiated) = self.negotiated_on(connection)
        {
            out.u8(connection as u8);
            write_negotiated(negotiated, out);
        }
    }

    /// Continues a session. One without an established connection connects at `now_ms`, the time of the process
    /// before. `seed` determines the jitter of its timers.
    pub fn from_state(
        config: Config,
        seed: u64,
        now_ms: u64,
        state: &mut Reader<'_>,
    ) -> Result<Self, BadRecord> {
        let mut session = Session::new(config, seed);
        session.now_ms = now_ms;
        session.target = match state.u8("target")? {
            0 => TargetState::Stopped,
            1 => TargetState::IdleHold,
            2 => TargetState::Established,
            _ => return Err(BadRecord("target")),
        };
        session.passive = state.bool("passive")?;
        session.without_capabilities = state.bool("capabilities")?;
        session.established_at_ms = state.number("time of the establishment")?;
        for timer in Timer::ALL {
            if let Some(at_ms) = state.optional("timer")? {
                session.timers.start(timer, at_ms);
            }
        }
        for family in Family::ALL {
            session.stale_routes.by_family[family] = match state.u8("stale routes")? {
                0 => StaleState::None,
                1 => StaleState::Stale,
                2 => StaleState::LongLived,
                _ => return Err(BadRecord("stale routes")),
            };
            session.stale_routes.long_lived_s[family] = state.number("stale time")?;
            session.refreshing[family] = state.bool("refresh")?;
        }
        session.stats = read_stats(state)?;
        if state.bool("connection")? {
            session.read_connection(state)?;
        }
        session.forget_other_connections();
        session.state_is_reported();
        Ok(session)
    }

    fn read_connection(&mut self, state: &mut Reader<'_>) -> Result<(), BadRecord> {
        let number = usize::from(state.u8("connection")?);
        let connection = ConnectionId::ALL
            .get(number)
            .ok_or(BadRecord("connection"))?;
        if self.target != TargetState::Established {
            return Err(BadRecord("target"));
        }
        let negotiated = read_negotiated(state)?;
        self.connections[connection.index()] = Some(Connection {
            outgoing: negotiated.outgoing,
            phase: Phase::Established(Box::new(negotiated)),
        });
        Ok(())
    }

    /// Stops the timers of connections that did not come along, and connects again in their place.
    fn forget_other_connections(&mut self) {
        for connection in ConnectionId::ALL {
            if self.connection_state(connection).is_none() {
                self.timers.stop(Timer::Hold(connection));
                self.timers.stop(Timer::Keepalive(connection));
                self.timers.stop(Timer::SendHold(connection));
            }
        }
        let waits = self.target == TargetState::Established && self.state() == State::Active;
        if waits && !self.passive {
            self.timers.start(Timer::ConnectRetry, self.now_ms);
        }
    }
}

fn write_stats(stats: &Stats, out: &mut Writer) {
    let counts = stats.received.iter().chain(&stats.sent);
    counts.for_each(|count| out.number(*count));
    out.number(stats.established);
    out.number(stats.connects);
    out.number(stats.faults_in_a_row);
    out.number(stats.state_since_ms);
    out.bool(stats.last_end.is_some());
    if let Some((at_ms, reason)) = &stats.last_end {
        out.number(*at_ms);
        write_reason(reason, out);
    }
}

fn read_stats(state: &mut Reader<'_>) -> Result<Stats, BadRecord> {
    let mut stats = Stats::default();
    for count in stats.received.iter_mut().chain(&mut stats.sent) {
        *count = state.number("count of messages")?;
    }
    stats.established = state.number("count of sessions")?;
    stats.connects = state.number("count of attempts")?;
    stats.faults_in_a_row = state.number("count of faults")?;
    stats.state_since_ms = state.number("time of the state")?;
    if state.bool("last end")? {
        stats.last_end = Some((state.number("time of the last end")?, read_reason(state)?));
    }
    Ok(stats)
}

fn write_reason(reason: &DownReason, out: &mut Writer) {
    let (kind, notification) = match reason {
        DownReason::Sent(notification) => (0, Some(notification)),
        DownReason::Received(notification) => (1, Some(notification)),
        DownReason::ConnectionLost => (2, None),
        DownReason::ConnectFailed => (3, None),
        DownReason::Replaced => (4, None),
        DownReason::Restarting => (5, None),
    };
    out.u8(kind);
    if let Some(notification) = notification {
        out.u8(notification.code);
        out.u8(notification.subcode);
        out.octets(&notification.data);
    }
}

fn read_reason(state: &mut Reader<'_>) -> Result<DownReason, BadRecord> {
    let kind = state.u8("reason")?;
    let mut notification = || {
        Ok(Notification {
            code: state.u8("error code")?,
            subcode: state.u8("error subcode")?,
            data: state.octets("error data")?.to_vec(),
        })
    };
    Ok(match kind {
        0 => DownReason::Sent(notification()?),
        1 => DownReason::Received(notification()?),
        2 => DownReason::ConnectionLost,
        3 => DownReason::ConnectFailed,
        4 => DownReason::Replaced,
        5 => DownReason::Restarting,
        _ => return Err(BadRecord("reason")),
    })
}

fn write_negotiated(negotiated: &Negotiated, out: &mut Writer) {
    out.number(negotiated.remote_asn.0);
    out.number(negotiated.remote_bgp_id);
    out.bool(negotiated.outgoing);
    out.number(negotiated.hold_time_s);
    out.number(negotiated.agreed_hold_time_s);
    out.number(negotiated.keepalive_s);
    out.bool(negotiated.as4);
    out.count(negotiated.max_message_len);
    out.count(negotiated.max_receive_len);
    for family in negotiated.families.iter() {
        out.bool(family.is_some());
        if let Some(family) = family {
            out.bool(family.add_path_receive);
            out.bool(family.add_path_send);
            out.bool(family.extended_next_hop);
        }
    }
    out.bool(negotiated.route_refresh);
    out.bool(negotiated.enhanced_refresh);
    out.bool(negotiated.graceful_restart.is_some());
    out.bool(negotiated.notification_restart);
    negotiated.long_lived_s.iter().for_each(|s| out.number(*s));
    out.optional(negotiated.remote_role.map(|role| role as u64));
    let mut capabilities = Vec::new();
    for capability in &negotiated.remote_capabilities {
        capability.encode(&mut capabilities);
    }
    out.octets(&capabilities);
}

/// Reads the result of a negotiation, but for the features that only one side offered.
fn read_negotiated(state: &mut Reader<'_>) -> Result<Negotiated, BadRecord> {
    let mut negotiated = Negotiated {
        remote_asn: Asn(state.number("AS number")?),
        remote_bgp_id: state.number("BGP Identifier")?,
        outgoing: state.bool("direction")?,
        hold_time_s: state.number("Hold Time")?,
        agreed_hold_time_s: state.number("Hold Time")?,
        keepalive_s: state.number("KEEPALIVE time")?,
        as4: state.bool("length of AS numbers")?,
        max_message_len: state.number("length of messages")?,
        max_receive_len: state.number("length of messages")?,
        families: PerFamily::both(None),
        route_refresh: false,
        enhanced_refresh: false,
        graceful_restart: None,
        notification_restart: false,
        long_lived_s: PerFamily::both(0),
        remote_role: None,
        one_sided: Vec::new(),
        remote_capabilities: Vec::new(),
        opens: None,
    };
    for family in Family::ALL {
        if state.bool("family")? {
            negotiated.families[family] = Some(FamilyNegotiated {
                add_path_receive: state.bool("Add-Path")?,
                add_path_send: state.bool("Add-Path")?,
                extended_next_hop: state.bool("next hop of a family")?,
            });
        }
    }
    negotiated.route_refresh = state.bool("route refresh")?;
    negotiated.enhanced_refresh = state.bool("route refresh")?;
    let has_restart = state.bool("graceful restart")?;
    negotiated.notification_restart = state.bool("graceful restart")?;
    for family in Family::ALL {
        negotiated.long_lived_s[family] = state.number("stale time")?;
    }
    let role = state.optional("role")?.map(Role::from_code);
    negotiated.remote_role = role.map(|r| r.ok_or(BadRecord("role"))).transpose()?;
    negotiated.remote_capabilities = read_capabilities(state.octets("capabilities")?)?;
    // The last one counts, as in the negotiation.
    let mut offered = negotiated.remote_capabilities.iter().rev();
    let restart = offered.find_map(|capability| match capability {
        Capability::GracefulRestart(restart) => Some(restart.clone()),
        _ => None,
    });
    if has_restart {
        negotiated.graceful_restart = Some(restart.ok_or(BadRecord("graceful restart"))?);
    }
    Ok(negotiated)
}

fn read_capabilities(octets: &[u8]) -> Result<Vec<Capability>, BadRecord> {
    let mut rest = Reader::new(octets);
    let mut capabilities = Vec::new();
    while !rest.is_empty() {
        let code = rest.u8("capability")?;
        let len = rest.u8("capability")?;
        let value = rest.raw(len.into(), "capability")?;
        let capability = Capability::parse(code, value);
        capabilities.push(capability.map_err(|_| BadRecord("capability"))?);
    }
    Ok(capabilities)
}
