//! The sessions as rows of a table: order, filter, and rates between two samples.

use std::cmp::Reverse;
use std::collections::HashMap;

use rutter_api::{PeerRow, SessionState};

use crate::poll::Sample;

/// A session with what happened since the sample before.
#[derive(Clone, Debug)]
pub struct Member {
    /// The session.
    pub row: PeerRow,
    /// Accepted routes of all families.
    pub accepted: u64,
    /// Rejected routes of all families.
    pub rejected: u64,
    /// UPDATEs received a second.
    pub updates_s: u64,
    /// Bytes received a second.
    pub received_s: u64,
    /// Bytes sent a second.
    pub sent_s: u64,
}

/// The column that orders the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Sessions that are not up first, then by address.
    #[default]
    State,
    /// By name.
    Name,
    /// By accepted routes, the most first.
    Accepted,
    /// By rejected routes, the most first.
    Rejected,
    /// By UPDATEs a second, the most first.
    Updates,
    /// By bytes that wait for the client, the most first.
    Unsent,
}

impl Order {
    /// The next order, for the key that goes through all of them.
    pub fn next(self) -> Order {
        match self {
            Order::State => Order::Name,
            Order::Name => Order::Accepted,
            Order::Accepted => Order::Rejected,
            Order::Rejected => Order::Updates,
            Order::Updates => Order::Unsent,
            Order::Unsent => Order::State,
        }
    }

    /// The heading of its column.
    pub fn heading(self) -> &'static str {
        match self {
            Order::State => "state",
            Order::Name => "name",
            Order::Accepted => "accepted",
            Order::Rejected => "rejected",
            Order::Updates => "upd/s",
            Order::Unsent => "unsent",
        }
    }
}

/// The members of a sample, with rates since the one before.
pub fn members(sample: &Sample, before: Option<&Sample>) -> Vec<Member> {
    let seconds = before.map_or(0.0, |before| (sample.at - before.at).as_secs_f64());
    let old: HashMap<_, _> = before
        .iter()
        .flat_map(|before| &before.peers)
        .map(|row| ((row.session.address, row.session.name.as_str()), row))
        .collect();
    let rate = |now: u64, old: Option<u64>| match old {
        // A session that came up again counts from zero.
        Some(old) if now >= old && seconds > 0.0 => ((now - old) as f64 / seconds) as u64,
        _ => 0,
    };
    let member = |row: &PeerRow| {
        let session = &row.session;
        let old = old.get(&(session.address, session.name.as_str()));
        let old = old.map(|row| &row.session);
        let sum = |of: fn(&rutter_api::FamilyRow) -> u64| row.families.iter().map(of).sum::<u64>();
        Member {
            accepted: sum(|family| family.accepted),
            rejected: sum(|family| family.rejected),
            updates_s: rate(
                session.received.messages.update,
                old.map(|old| old.received.messages.update),
            ),
            received_s: rate(session.received.bytes, old.map(|old| old.received.bytes)),
            sent_s: rate(session.sent.bytes, old.map(|old| old.sent.bytes)),
            row: row.clone(),
        }
    };
    sample.peers.iter().map(member).collect()
}

impl Member {
    /// Returns whether name, address, AS number or description of the state contain a text in lower case.
    pub fn matches(&self, text: &str) -> bool {
        let session = &self.row.session;
        let all = format!(
            "{} {} as{} {}",
            session.name, session.address, session.asn, session.state
        );
        all.to_lowercase().contains(text)
    }

    /// Returns whether the session is up.
    pub fn is_up(&self) -> bool {
        self.row.session.state == SessionState::Established
    }
}

/// Orders members. Equal ones keep their order by address.
pub fn sort(members: &mut [Member], order: Order) {
    match order {
        Order::State => members.sort_by_key(Member::is_up),
        Order::Name => members.sort_by(|a, b| a.row.session.name.cmp(&b.row.session.name)),
        Order::Accepted => members.sort_by_key(|member| Reverse(member.accepted)),
        Order::Rejected => members.sort_by_key(|member| Reverse(member.rejected)),
        Order::Updates => members.sort_by_key(|member| Reverse(member.updates_s)),
        Order::Unsent => members.sort_by_key(|member| Reverse(member.row.session.unsent_bytes)),
    }
}
