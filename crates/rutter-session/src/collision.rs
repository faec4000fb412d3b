//! Two connections with one neighbor (RFC 4271 §6.8).

use rutter_wire::notification::cease;

use crate::session::Session;
use crate::{Connection, Negotiated, Note, State};

impl Session {
    /// A valid OPEN came on `newer`: decides whether it goes on, and closes what does not.
    ///
    /// Only connections whose OPENs both came can collide. One in OpenSent goes on even after the other is
    /// established: if the neighbor decided for it at the same moment, it is the one that stays.
    pub(crate) fn survives_collision(&mut self, newer: Connection, agreed: &Negotiated) -> bool {
        let older = newer.other();
        let survives = match self.link_state(older) {
            Some(State::Established) => false,
            Some(State::OpenConfirm) => self.newer_wins(older, agreed),
            _ => return true,
        };
        let loser = if survives { older } else { newer };
        self.note(Note::Collision(loser));
        self.fail(loser, cease::plain(cease::COLLISION));
        survives
    }

    /// The connection of the speaker with the higher BGP Identifier stays; of equal ones (RFC 6286 §2.3) that of the
    /// higher AS. Two of the same direction: the neighbor has forgotten the older.
    fn newer_wins(&self, older: Connection, agreed: &Negotiated) -> bool {
        let older_outgoing = self.links[older.index()].as_ref().map(|l| l.outgoing);
        if older_outgoing == Some(agreed.outgoing) {
            return true;
        }
        let ours = (self.config.router_id, self.config.local_asn);
        let theirs = (agreed.remote_bgp_id, agreed.remote_asn);
        agreed.outgoing == (ours > theirs)
    }
}
