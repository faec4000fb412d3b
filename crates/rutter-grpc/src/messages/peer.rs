//! Sessions.

use rutter_api::{
    Direction, FamilyRow, MessageCounts, NegotiatedRow, PeerRow, PrefixLimitRow, SessionRow,
    TimerRow,
};

use super::string;
use crate::v1;

impl From<PeerRow> for v1::Peer {
    fn from(row: PeerRow) -> Self {
        let PeerRow { session, families } = row;
        let SessionRow {
            peer: _,
            name,
            address,
            asn,
            local_asn,
            role,
            dynamic,
            state,
            state_for_s,
            state_changed_at,
            shutdown,
            established_count,
            last_error,
            last_error_ago_s,
            received,
            sent,
            malformed_updates,
            paths_not_kept,
            blocked_routes,
            prefix_limits,
            out_limit_exceeded,
            memory_bytes,
            memory_limit_exceeded,
            unsent_bytes,
            catching_up,
            negotiated,
            timers,
        } = session;
        v1::Peer {
            name,
            address: string(address),
            asn,
            local_asn,
            role,
            dynamic,
            state: string(state),
            state_for_s,
            state_changed_at,
            shutdown,
            established_count,
            last_error,
            last_error_ago_s,
            received: Some(received.into()),
            sent: Some(sent.into()),
            malformed_updates,
            paths_not_kept,
            blocked_routes,
            out_limit_exceeded,
            memory_bytes,
            memory_limit_exceeded,
            unsent_bytes,
            catching_up,
            negotiated: negotiated.map(Into::into),
            timers: timers.into_iter().map(Into::into).collect(),
            prefix_limits: prefix_limits.into_iter().map(Into::into).collect(),
            families: families.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<PrefixLimitRow> for v1::PrefixLimit {
    fn from(row: PrefixLimitRow) -> Self {
        let PrefixLimitRow {
            family,
            limit,
            action,
            peeringdb,
        } = row;
        v1::PrefixLimit {
            family,
            limit,
            action,
            peeringdb,
        }
    }
}

impl From<Direction> for v1::Direction {
    fn from(row: Direction) -> Self {
        let Direction { bytes, messages } = row;
        v1::Direction {
            bytes,
            messages: Some(messages.into()),
        }
    }
}

impl From<MessageCounts> for v1::MessageCounts {
    fn from(row: MessageCounts) -> Self {
        let MessageCounts {
            open,
            update,
            notification,
            keepalive,
            route_refresh,
        } = row;
        v1::MessageCounts {
            open,
            update,
            notification,
            keepalive,
            route_refresh,
        }
    }
}

impl From<NegotiatedRow> for v1::Negotiated {
    fn from(row: NegotiatedRow) -> Self {
        let NegotiatedRow {
            bgp_id,
            local,
            remote,
            hold_time_s,
            keepalive_s,
            four_octet_as,
            max_message_len,
            route_refresh,
            enhanced_refresh,
            graceful_restart,
            long_lived_graceful_restart,
            role,
            other,
        } = row;
        v1::Negotiated {
            bgp_id: string(bgp_id),
            local: local.map(string),
            remote: remote.map(string),
            hold_time_s: hold_time_s.into(),
            keepalive_s: keepalive_s.into(),
            four_octet_as,
            max_message_len,
            route_refresh,
            enhanced_refresh,
            graceful_restart,
            long_lived_graceful_restart,
            role,
            other,
        }
    }
}

impl From<TimerRow> for v1::Timer {
    fn from(row: TimerRow) -> Self {
        let TimerRow { name, fires_in_ms } = row;
        v1::Timer { name, fires_in_ms }
    }
}

impl From<FamilyRow> for v1::PeerFamily {
    fn from(row: FamilyRow) -> Self {
        let FamilyRow {
            family,
            negotiated,
            received,
            accepted,
            rejected,
            add_path_receive,
            add_path_send,
            extended_next_hop,
        } = row;
        v1::PeerFamily {
            family,
            negotiated,
            received,
            accepted,
            rejected,
            add_path_receive,
            add_path_send,
            extended_next_hop,
        }
    }
}
