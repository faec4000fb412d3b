//! OpenSent and OpenConfirm: our OPEN, the neighbor's OPEN and its checks.

use rutter_net::{Asn, Family, PerFamily};
use rutter_wire::capability::{
    AddPathFamily, AddPathMode, Capability, ExtendedNextHop, GracefulRestart,
    GracefulRestartFamily, LongLivedFamily, MAX_RESTART_TIME_S, MAX_STALE_TIME_S, code,
};
use rutter_wire::frame::{self, MessageType};
use rutter_wire::notification::{Notification, fsm, open as error};
use rutter_wire::open::Open;

use crate::connection::Phase;
use crate::session::Session;
use crate::{Config, ConnectionId, Negotiated, OpenMessages, RemoteAs, SessionEvent};

impl Session {
    /// The OPEN of a new connection.
    pub(crate) fn our_open(&self) -> Open {
        let config = &self.config;
        let capabilities = if self.without_capabilities {
            Vec::new()
        } else {
            offer(config, self.restarting)
        };
        Open::new(
            config.local_asn,
            config.hold_time_s,
            config.router_id,
            capabilities,
        )
    }

    /// Events 19 and 22 in OpenSent.
    pub(crate) fn open_received(&mut self, connection: ConnectionId, body: &[u8]) {
        let Some(opened) = &self.connections[connection.index()] else {
            return;
        };
        let Phase::OpenSent(ours) = &opened.phase else {
            return;
        };
        let outgoing = opened.outgoing;
        let result = Open::parse(body).and_then(|theirs| negotiate(&self.config, ours, theirs));
        let opens = open_messages(ours, body);
        match result {
            Ok(negotiated) => self.open_accepted(
                connection,
                Negotiated {
                    outgoing,
                    opens: Some(Box::new(opens)),
                    ..negotiated
                },
            ),
            Err(notification) => self.fail(connection, notification),
        }
    }

    /// Enters OpenConfirm, unless the other connection wins the collision.
    fn open_accepted(&mut self, connection: ConnectionId, negotiated: Negotiated) {
        if !self.survives_collision(connection, &negotiated) {
            return;
        }
        self.set_phase(connection, Phase::OpenConfirm(Box::new(negotiated)));
        self.send_keepalive(connection);
        self.restart_hold_timer(connection);
    }

    /// Events 19 and 22 in OpenConfirm: a second OPEN on one connection.
    ///
    /// One that repeats the first is ignored: RFC 4271 asks only for collision detection here. OpenBGPD sends an OPEN
    /// twice where the one of an attempt that failed is still in its buffer.
    pub(crate) fn second_open(&mut self, connection: ConnectionId, body: &[u8]) {
        let fault = match Open::parse(body) {
            Ok(open) if self.repeats_open(connection, &open) => return,
            Ok(_) => fsm::open_confirm(MessageType::Open),
            Err(notification) => notification,
        };
        self.fail(connection, fault);
    }

    fn repeats_open(&self, connection: ConnectionId, open: &Open) -> bool {
        let first = self.negotiated_on(connection);
        first.is_some_and(|first| {
            (first.remote_asn, first.remote_bgp_id) == (open.asn, open.bgp_id)
                && first.remote_capabilities == open.capabilities
        })
    }

    /// The neighbor does not know capabilities: the next OPEN has none (RFC 5492 §4). Without capabilities only IPv4
    /// unicast is possible.
    pub(crate) fn parameters_rejected(&mut self) {
        if !self.without_capabilities && self.config.family(Family::Ipv4Unicast).enabled {
            self.without_capabilities = true;
            self.report(SessionEvent::WithoutCapabilities);
        }
    }
}

/// Both OPENs as they were sent.
fn open_messages(ours: &Open, their_body: &[u8]) -> OpenMessages {
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    ours.encode(&mut sent);
    let start = frame::begin(&mut received, MessageType::Open);
    received.extend_from_slice(their_body);
    frame::finish(&mut received, start);
    OpenMessages { sent, received }
}

/// Our capabilities, in the order of their codes.
fn offer(config: &Config, restarting: bool) -> Vec<Capability> {
    let enabled = |f: &Family| config.family(*f).enabled;
    let families: Vec<Family> = Family::ALL.into_iter().filter(enabled).collect();
    let mut offer: Vec<Capability> = families
        .iter()
        .map(|f| Capability::MultiProtocol(f.afi_safi()))
        .collect();
    let flags = [
        (config.route_refresh, Capability::RouteRefresh),
        (config.extended_message, Capability::ExtendedMessage),
        (config.enhanced_refresh, Capability::EnhancedRouteRefresh),
    ];
    offer.extend(flags.into_iter().filter(|(on, _)| *on).map(|(_, c)| c));
    offer.push(Capability::FourOctetAs(config.local_asn));
    offer.extend(offer_next_hop(config));
    offer.extend(offer_role(config));
    offer.extend(offer_add_path(config, &families));
    offer.extend(offer_restart(config, &families, restarting));
    offer.extend(config.host_name.clone().map(Capability::Fqdn));
    offer.extend(
        config
            .software_version
            .clone()
            .map(Capability::SoftwareVersion),
    );
    offer.sort_by_key(Capability::code);
    offer
}

fn offer_next_hop(config: &Config) -> Option<Capability> {
    let ipv4 = config.family(Family::Ipv4Unicast);
    let entry = ExtendedNextHop {
        nlri: Family::Ipv4Unicast.afi_safi(),
        next_hop_afi: Family::Ipv6Unicast.afi_safi().afi,
    };
    (ipv4.enabled && ipv4.extended_next_hop).then(|| Capability::ExtendedNextHop(vec![entry]))
}

/// Our role, on external sessions only (RFC 9234 §4.1).
fn offer_role(config: &Config) -> Option<Capability> {
    let internal = config.remote == RemoteAs::One(config.local_asn);
    config.role.filter(|_| !internal).map(Capability::Role)
}

fn offer_add_path(config: &Config, families: &[Family]) -> Option<Capability> {
    let family = |f: &Family| {
        let options = config.family(*f);
        let mode = AddPathMode::new(options.add_path_receive, options.add_path_send)?;
        let afi_safi = f.afi_safi();
        Some(AddPathFamily { afi_safi, mode })
    };
    let families: Vec<AddPathFamily> = families.iter().filter_map(family).collect();
    (!families.is_empty()).then_some(Capability::AddPath(families))
}

/// Our Graceful Restart capabilities. The F bit is always set: we forward no packets, so our restart interrupts none.
fn offer_restart(
    config: &Config,
    families: &[Family],
    restart_state: bool,
) -> impl Iterator<Item = Capability> + use<> {
    let long_lived = |f: &Family| LongLivedFamily {
        afi_safi: f.afi_safi(),
        forwarding: true,
        stale_time_s: config.family(*f).long_lived_s.min(MAX_STALE_TIME_S),
    };
    let long_lived: Vec<LongLivedFamily> = families
        .iter()
        .map(long_lived)
        .filter(|f| f.stale_time_s > 0)
        .collect();
    let restart = config.graceful_restart.map(|restart| GracefulRestart {
        restart_state,
        notification: restart.notification,
        restart_time_s: restart.restart_time_s.min(MAX_RESTART_TIME_S),
        families: families
            .iter()
            .map(|f| GracefulRestartFamily {
                afi_safi: f.afi_safi(),
                forwarding: true,
            })
            .collect(),
    });
    let long_lived = (restart.is_some() && !long_lived.is_empty())
        .then_some(Capability::LongLivedGracefulRestart(long_lived));
    let restart = restart.map(Capability::GracefulRestart);
    restart.into_iter().chain(long_lived)
}

/// Checks the neighbor's OPEN in the order of RFC 4271 §6.2 and returns the result of the negotiation.
fn negotiate(config: &Config, ours: &Open, theirs: Open) -> Result<Negotiated, Notification> {
    check_as(config, &theirs)?;
    check_bgp_id(config, &theirs)?;
    check_hold_time(config, &theirs)?;
    check_role(config, ours, &theirs)?;
    let negotiated = Negotiated::from_opens(ours, theirs);
    if negotiated.families == PerFamily::both(None) {
        return Err(error::unsupported_capability(encode_families(ours)));
    }
    Ok(negotiated)
}

/// AS 0 is never valid (RFC 7607), and AS_TRANS only where it is configured.
fn check_as(config: &Config, theirs: &Open) -> Result<(), Notification> {
    let reserved = theirs.asn == Asn(0)
        || (theirs.asn == Asn::TRANS && config.remote != RemoteAs::One(Asn::TRANS));
    if reserved || !config.remote.admits(theirs.asn) {
        return Err(error::bad_peer_as());
    }
    Ok(())
}

/// The BGP Identifier must not be zero, and must be unique within an AS (RFC 6286).
fn check_bgp_id(config: &Config, theirs: &Open) -> Result<(), Notification> {
    let same_as_ours = theirs.bgp_id == config.router_id && theirs.asn == config.local_asn;
    if theirs.bgp_id == 0 || same_as_ours {
        return Err(error::bad_bgp_id());
    }
    Ok(())
}

fn check_hold_time(config: &Config, theirs: &Open) -> Result<(), Notification> {
    let acceptable = match theirs.hold_time_s {
        0 => config.accept_hold_time_zero,
        seconds => seconds >= config.min_hold_time_s.max(3),
    };
    acceptable
        .then_some(())
        .ok_or_else(error::unacceptable_hold_time)
}

/// The neighbor's role must match ours (RFC 9234 §4.2).
fn check_role(config: &Config, ours: &Open, theirs: &Open) -> Result<(), Notification> {
    let role = |c: &Capability| match c {
        Capability::Role(role) => Some(*role),
        _ => None,
    };
    let Some(our_role) = ours.capabilities.iter().find_map(role) else {
        return Ok(());
    };
    if theirs.asn == config.local_asn {
        return Ok(());
    }
    let mut roles = theirs
        .capabilities
        .iter()
        .filter(|c| c.code() == code::ROLE)
        .map(role)
        .peekable();
    let missing = roles.peek().is_none() && config.role_strict;
    // An unknown role does not match, nor do two different ones.
    if missing || roles.any(|role| role != Some(our_role.counterpart())) {
        return Err(error::role_mismatch());
    }
    Ok(())
}

/// Our families as capabilities: the data of an Unsupported Capability error.
fn encode_families(ours: &Open) -> Vec<u8> {
    let mut data = Vec::new();
    for capability in &ours.capabilities {
        if matches!(capability, Capability::MultiProtocol(_)) {
            capability.encode(&mut data);
        }
    }
    data
}
