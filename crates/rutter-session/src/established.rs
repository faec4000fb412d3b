//! Established: entering and leaving the state, route refreshes, faults in UPDATEs.

use rutter_net::Family;
use rutter_wire::frame::{Frame, MessageType};
use rutter_wire::notification::{Notification, cease};
use rutter_wire::refresh::{RouteRefresh, Subtype};
use rutter_wire::update;

use crate::connect::NextStep;
use crate::connection::Phase;
use crate::session::Session;
use crate::{ConnectionId, DownReason, Negotiated, Output, SessionEvent, State, Timer};

impl Session {
    /// Event 26 in OpenConfirm.
    pub(crate) fn establish(&mut self, connection: ConnectionId) {
        let Some(confirmed) = &self.connections[connection.index()] else {
            return;
        };
        let Phase::OpenConfirm(negotiated) = &confirmed.phase else {
            return;
        };
        let negotiated = negotiated.clone();
        let other = connection.other();
        if self.connection_state(other) == Some(State::Connect) {
            self.connections[other.index()] = None;
            self.emit(Output::Close { connection: other });
        }
        self.timers.stop(Timer::ConnectRetry);
        self.set_phase(connection, Phase::Established(negotiated.clone()));
        self.restart_hold_timer(connection);
        self.established_at_ms = self.now_ms;
        self.stats.established += 1;
        self.emit(Output::Established {
            connection,
            negotiated: negotiated.clone(),
        });
        self.re_established(&negotiated);
    }

    /// The established connection has ended.
    pub(crate) fn went_down(
        &mut self,
        connection: ConnectionId,
        reason: DownReason,
        negotiated: &Negotiated,
    ) {
        let lasted_ms = self.now_ms - self.established_at_ms;
        if lasted_ms >= self.config.idle_hold.forget_after_ms {
            self.stats.faults_in_a_row = 0;
        }
        self.without_capabilities = false;
        for family in Family::ALL {
            self.refreshing[family] = false;
            self.timers.stop(Timer::RefreshStale(family));
        }
        let keep = self.keeps(&reason, negotiated);
        self.keep_stale(keep, negotiated);
        self.emit(Output::Down {
            connection,
            reason,
            keep,
        });
        self.wait_for_restart(negotiated);
    }

    /// Event 28.
    pub(crate) fn update_error(&mut self, notification: Notification) {
        if let Some(connection) = self.established() {
            self.fail(connection, notification);
        }
    }

    /// Event 8 (RFC 4486 §4). The neighbor's routes are removed: they exceed the limit.
    pub(crate) fn max_prefix_exceeded(
        &mut self,
        family: Family,
        limit: u32,
        restart_after_s: Option<u32>,
    ) {
        let cause = cease::max_prefixes(family.afi_safi(), limit);
        self.limit_exceeded(cause, restart_after_s);
    }

    /// The neighbor's routes are removed: they take too much memory (RFC 4486 §3, Out of Resources).
    pub(crate) fn out_of_memory(&mut self, restart_after_s: Option<u32>) {
        let cause = cease::plain(cease::OUT_OF_RESOURCES);
        self.limit_exceeded(cause, restart_after_s);
    }

    fn limit_exceeded(&mut self, cause: Notification, restart_after_s: Option<u32>) {
        let Some(connection) = self.established() else {
            return;
        };
        let next = match restart_after_s {
            None => NextStep::Stop,
            Some(0) => NextStep::BackOff,
            Some(seconds) => NextStep::IdleHold(u64::from(seconds) * 1_000),
        };
        self.fail_hard(connection, cause, next);
    }

    /// A ROUTE-REFRESH in Established. It does not restart the Hold Timer (in RFC 4271 only KEEPALIVE and UPDATE do).
    pub(crate) fn refresh_received(&mut self, connection: ConnectionId, frame: &Frame<'_>) {
        let refresh = match RouteRefresh::parse(frame) {
            Ok(refresh) => refresh,
            Err(notification) => return self.fail(connection, notification),
        };
        let (Some(family), Some(negotiated)) =
            (self.negotiated_family(&refresh), self.negotiated())
        else {
            return self.report(SessionEvent::RefreshIgnored(refresh.afi_safi));
        };
        let enhanced = negotiated.enhanced_refresh;
        match refresh.subtype {
            Subtype::Request => self.emit(Output::RefreshRequested(family)),
            Subtype::Begin if enhanced => self.refresh_begun(family),
            Subtype::End if enhanced => self.refresh_ended(family),
            _ => self.report(SessionEvent::RefreshIgnored(refresh.afi_safi)),
        }
    }

    fn negotiated_family(&self, refresh: &RouteRefresh) -> Option<Family> {
        let family = refresh.afi_safi.family()?;
        self.negotiated()?.family(family).map(|_| family)
    }

    /// BoRR. It is ignored before the End-of-RIB of a restart (RFC 7313 §4): stale routes stay stale until then.
    fn refresh_begun(&mut self, family: Family) {
        if self.stale()[family] {
            return self.report(SessionEvent::RefreshIgnored(family.afi_safi()));
        }
        if self.config.refresh_stale_s > 0 {
            let after_ms = u64::from(self.config.refresh_stale_s) * 1_000;
            self.start_timer(Timer::RefreshStale(family), after_ms);
        }
        // With a second BoRR before the EoRR the neighbor starts over. Marking again would remove the stale routes
        // that the neighbor has yet to announce.
        if !std::mem::replace(&mut self.refreshing[family], true) {
            self.emit(Output::MarkStale(family));
        }
    }

    /// EoRR, or the wait for it is over. Without a BoRR before, it is ignored.
    pub(crate) fn refresh_ended(&mut self, family: Family) {
        if std::mem::take(&mut self.refreshing[family]) {
            self.timers.stop(Timer::RefreshStale(family));
            self.emit(Output::SweepStale(family));
        }
    }

    pub(crate) fn request_refresh(&mut self, family: Family) {
        let Some(negotiated) = self.negotiated() else {
            return;
        };
        if negotiated.route_refresh && negotiated.family(family).is_some() {
            self.send_refresh(family, Subtype::Request);
        } else {
            self.report(SessionEvent::RefreshUnsupported(family));
        }
    }

    pub(crate) fn send_refresh_marker(&mut self, family: Family, subtype: Subtype) {
        let allowed = |n: &Negotiated| n.enhanced_refresh && n.family(family).is_some();
        let marker = matches!(subtype, Subtype::Begin | Subtype::End);
        if marker && self.negotiated().is_some_and(allowed) {
            self.send_refresh(family, subtype);
        }
    }

    pub(crate) fn send_end_of_rib(&mut self) {
        let (Some(connection), Some(negotiated)) = (self.established(), self.negotiated()) else {
            return;
        };
        let agreed = |family: &Family| negotiated.family(*family).is_some();
        let families: Vec<Family> = Family::ALL.into_iter().filter(agreed).collect();
        for family in families {
            let mut message = Vec::new();
            update::write_end_of_rib(&mut message, family.afi_safi());
            self.send(connection, MessageType::Update, message);
        }
    }

    fn send_refresh(&mut self, family: Family, subtype: Subtype) {
        let Some(connection) = self.established() else {
            return;
        };
        let mut message = Vec::new();
        let afi_safi = family.afi_safi();
        RouteRefresh { afi_safi, subtype }.encode(&mut message);
        self.send(connection, MessageType::RouteRefresh, message);
    }
}
