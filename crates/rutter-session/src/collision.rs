//! Two connections with one neighbor (RFC 4271 §6.8).

use rutter_wire::notification::cease;

use crate::session::Session;
use crate::{ConnectionId, Negotiated, SessionEvent, State};

impl Session {
    /// Handles a valid OPEN on `newer`: returns whether that connection survives, and closes the loser.
    ///
    /// Connections collide only when both have received an OPEN. A connection in OpenSent survives even after the
    /// other is established: the neighbor may have chosen it at the same moment.
    pub(crate) fn survives_collision(
        &mut self,
        newer: ConnectionId,
        negotiated: &Negotiated,
    ) -> bool {
        let older = newer.other();
        let survives = match self.connection_state(older) {
            Some(State::Established) => false,
            Some(State::OpenConfirm) => self.newer_wins(older, negotiated),
            _ => return true,
        };
        let loser = if survives { older } else { newer };
        self.report(SessionEvent::Collision(loser));
        self.fail(loser, cease::plain(cease::COLLISION));
        survives
    }

    /// Returns whether the newer connection wins. The connection of the speaker with the higher BGP Identifier stays.
    /// With equal identifiers the higher AS decides (RFC 6286 §2.3). If both connections have the same direction,
    /// the neighbor has lost the older one.
    fn newer_wins(&self, older: ConnectionId, negotiated: &Negotiated) -> bool {
        let older_outgoing = self.connections[older.index()].as_ref().map(|l| l.outgoing);
        if older_outgoing == Some(negotiated.outgoing) {
            return true;
        }
        let ours = (self.config.router_id, self.config.local_asn);
        let theirs = (negotiated.remote_bgp_id, negotiated.remote_asn);
        negotiated.outgoing == (ours > theirs)
    }
}
