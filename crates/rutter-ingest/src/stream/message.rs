//! The messages of the stream.

use std::sync::Arc;

use rutter_events::{AttrColumns, Kind, Peer, Row};
use rutter_net::Prefix;
use serde_json::{Value, json};

/// The content of one event of a peer.
#[derive(Debug)]
pub struct Update {
    /// The name of the collector.
    pub host: String,
    /// The peer that sent it.
    pub peer: Arc<Peer>,
    /// The withdrawn prefixes.
    pub withdrawn: Vec<Prefix>,
    /// The announced prefixes, by attribute set.
    pub announced: Vec<(Arc<AttrColumns>, Vec<Prefix>)>,
    time_us: u64,
    id: (u64, u64),
    /// The new state of the peer's session with its reason, if the state changed.
    state: Option<(&'static str, String)>,
}

impl Update {
    /// Creates an update from the first row of an event. Returns `None` for rows that are not streamed.
    pub fn begin(row: &Row<'_>) -> Option<Self> {
        let peer = row.peer?;
        let state = match row.kind {
            Kind::PeerUp => Some(("connected", String::new())),
            Kind::PeerDown { .. } => Some(("down", row.detail.to_owned())),
            Kind::Announce | Kind::Withdraw => None,
            _ => return None,
        };
        let mut update = Update {
            host: row.collector.to_owned(),
            peer: Arc::clone(peer),
            withdrawn: Vec::new(),
            announced: Vec::new(),
            time_us: row.time_us,
            id: (row.run, row.seq),
            state,
        };
        update.add(row);
        Some(update)
    }

    /// Adds a further row of the same event.
    pub fn add(&mut self, row: &Row<'_>) {
        match (row.kind, row.prefix, row.attrs) {
            (Kind::Withdraw, Some(prefix), _) => self.withdrawn.push(prefix),
            (Kind::Announce, Some(prefix), Some(attrs)) => match self.announced.last_mut() {
                Some((last, prefixes)) if Arc::ptr_eq(last, attrs) => prefixes.push(prefix),
                _ => self.announced.push((Arc::clone(attrs), vec![prefix])),
            },
            _ => {}
        }
    }

    /// `UPDATE` or `RIS_PEER_STATE`.
    pub fn kind(&self) -> &'static str {
        match self.state {
            None => "UPDATE",
            Some(_) => "RIS_PEER_STATE",
        }
    }

    /// All AS paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.announced
            .iter()
            .filter_map(|(attrs, _)| attrs.as_path.as_deref())
    }

    /// All prefixes.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = Prefix> {
        let announced = self.announced.iter().flat_map(|(_, prefixes)| prefixes);
        announced.chain(&self.withdrawn).copied()
    }

    /// The JSON messages: one for each attribute set. The first one carries the withdrawals.
    pub fn to_json(&self) -> Vec<String> {
        let mut messages = Vec::new();
        let first = self.announced.first();
        messages.push(self.part(0, first, &self.withdrawn));
        for (number, more) in self.announced.iter().enumerate().skip(1) {
            messages.push(self.part(number, Some(more), &[]));
        }
        messages
    }

    fn part(
        &self,
        number: usize,
        announced: Option<&(Arc<AttrColumns>, Vec<Prefix>)>,
        withdrawn: &[Prefix],
    ) -> String {
        let mut data = json!({
            "timestamp": self.time_us as f64 / 1e6,
            "peer": self.peer.address.to_string(),
            "peer_asn": self.peer.asn.0.to_string(),
            "id": format!("{:x}-{:x}-{number}", self.id.0, self.id.1),
            "host": self.host,
            "router": &*self.peer.router,
            "view": self.peer.view.name(),
            "type": self.kind(),
        });
        match &self.state {
            Some((state, reason)) => {
                data["state"] = (*state).into();
                if !reason.is_empty() {
                    data["reason"] = reason.as_str().into();
                }
            }
            None => {
                data["announcements"] = Value::Array(Vec::new());
                data["withdrawals"] = strings(withdrawn);
            }
        }
        if let Some((attrs, prefixes)) = announced {
            attributes(&mut data, attrs);
            let next_hop = attrs.next_hop.map(|hop| hop.to_string());
            data["announcements"] = json!([{"next_hop": next_hop, "prefixes": strings(prefixes)}]);
        }
        json!({"type": "ris_message", "data": data}).to_string()
    }
}

fn attributes(data: &mut Value, attrs: &AttrColumns) {
    data["path"] = path(attrs.as_path.as_deref().unwrap_or_default());
    let communities = attrs.communities.iter();
    let pairs = communities.map(|community| json!([community.0 >> 16, community.0 & 0xffff]));
    data["community"] = pairs.collect();
    if let Some(origin) = attrs.origin_name() {
        data["origin"] = origin.into();
    }
    if let Some(med) = attrs.med {
        data["med"] = med.into();
    }
    if let Some(aggregator) = &attrs.aggregator {
        data["aggregator"] = aggregator.replace(' ', ":").into();
    }
    if !attrs.large_communities.is_empty() {
        data["large_community"] = strings(&attrs.large_communities);
    }
}

/// AS numbers in order; an AS_SET becomes a nested array.
fn path(text: &str) -> Value {
    let part = |word: &str| match word.parse::<u32>() {
        Ok(asn) => json!(asn),
        Err(_) => word
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|asn| asn.parse::<u32>().ok())
            .map(Value::from)
            .collect(),
    };
    text.split_whitespace().map(part).collect()
}

fn strings(values: &[impl ToString]) -> Value {
    values
        .iter()
        .map(|value| Value::from(value.to_string()))
        .collect()
}

/// The message that reports lost messages to a client.
pub(super) fn gap(lost: u64) -> String {
    json!({"type": "gap", "data": {"lost": lost, "message": "you, or this server, were too slow"}})
        .to_string()
}

/// The message that reports an invalid request to a client.
pub(super) fn error(message: &str) -> String {
    json!({"type": "ris_error", "data": {"message": message}}).to_string()
}
