//! The keys and values of messages.

use std::net::IpAddr;

use rutter_events::{AttrColumns, JsonAttributes, Kind};
use rutter_net::{Family, Prefix};
use rutter_wire::bmp::PeerType;
use serde::Serialize;

use crate::block::Entry;
use crate::peer::{PeerKey, StoredPeer};
use crate::spool::Position;

/// Increases when readers of the previous version would misunderstand a message. New fields alone do not count.
pub const SCHEMA: u32 = 1;

/// The value of a message. The names and meanings of fields are common to all schemas of Rutter.
#[derive(Serialize)]
pub(super) struct Message<'a> {
    schema: u32,
    run: u64,
    seq: u64,
    time: u64,
    collector: &'a str,
    #[serde(flatten)]
    peer: Option<PeerFields<'a>>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    family: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_id: Option<u32>,
    #[serde(flatten)]
    attrs: Option<JsonAttributes<'a>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    detail: &'a str,
}

#[derive(Serialize)]
struct PeerFields<'a> {
    router: &'a str,
    peer_name: &'a str,
    peer_address: IpAddr,
    peer_asn: u32,
    view: &'static str,
    peer_type: String,
    distinguisher: u64,
}

impl<'a> Message<'a> {
    /// A message for an event.
    pub(super) fn event(collector: &'a str, behind: Position, entry: &'a Entry) -> Self {
        Self {
            path_id: entry.prefix.map(|_| entry.path_id),
            prefix: entry.prefix.map(|prefix| prefix.to_string()),
            attrs: entry.attrs.as_deref().map(JsonAttributes::from),
            detail: &entry.detail,
            peer: entry.peer.as_deref().map(PeerFields::from),
            ..Self::bare(collector, before(behind), entry.time_us, entry.kind.name())
        }
    }

    /// A message that removes all earlier routes of a peer and family, or of the whole collector if there is no
    /// peer.
    pub(super) fn clear(
        collector: &'a str,
        at: Position,
        time_us: u64,
        of: Option<(&'a StoredPeer, Family)>,
    ) -> Self {
        Self {
            peer: of.map(|(peer, _)| peer.into()),
            family: of.map(|(_, family)| family_name(family)),
            ..Self::bare(collector, at, time_us, "clear")
        }
    }

    /// A message for a route of a load.
    pub(super) fn state(
        collector: &'a str,
        at: Position,
        time_us: u64,
        peer: &'a StoredPeer,
        (prefix, path_id, attrs): (Prefix, u32, &'a AttrColumns),
    ) -> Self {
        Self {
            peer: Some(peer.into()),
            prefix: Some(prefix.to_string()),
            path_id: Some(path_id),
            attrs: Some(attrs.into()),
            ..Self::bare(collector, at, time_us, Kind::State.name())
        }
    }

    fn bare(collector: &'a str, at: Position, time: u64, kind: &'static str) -> Self {
        Self {
            schema: SCHEMA,
            run: at.run,
            seq: at.next_seq,
            time,
            collector,
            peer: None,
            kind,
            family: None,
            prefix: None,
            path_id: None,
            attrs: None,
            detail: "",
        }
    }

    /// The JSON form.
    pub(super) fn json(&self) -> Vec<u8> {
        // Serialization fails only for maps with keys that are not strings, or failing writers. There are none
        // here.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

fn before(behind: Position) -> Position {
    Position {
        next_seq: behind.next_seq.saturating_sub(1),
        ..behind
    }
}

pub(super) fn family_name(family: Family) -> &'static str {
    match family {
        Family::Ipv4Unicast => "ipv4",
        Family::Ipv6Unicast => "ipv6",
    }
}

impl<'a> From<&'a StoredPeer> for PeerFields<'a> {
    fn from(peer: &'a StoredPeer) -> Self {
        Self {
            router: &peer.key.router,
            peer_name: &peer.name,
            peer_address: peer.key.address,
            peer_asn: peer.asn.0,
            view: peer.key.view,
            peer_type: peer.key.peer_type.to_string(),
            distinguisher: peer.key.distinguisher,
        }
    }
}

/// The key of a peer's messages. It also selects the partition, so that all messages of a peer stay in order.
pub(super) fn peer_key(collector: &str, peer: &PeerKey) -> String {
    let PeerKey {
        router,
        address,
        distinguisher,
        view,
        peer_type,
    } = peer;
    let router = part(router);
    let collector = part(collector);
    let instance = match (peer_type, distinguisher) {
        // A distinguisher that follows from the type is left out. So keys are the same as before types were
        // added.
        (PeerType::Global, 0) | (PeerType::RouteDistinguisher, 1..) | (PeerType::LocRib, _) => {
            distinguisher.to_string()
        }
        _ => format!("{peer_type}:{distinguisher}"),
    };
    format!("{collector}|{router}|{address}|{instance}|{view}")
}

/// A name as part of a key. Escaping keeps the separator unambiguous, whatever the names of routers and
/// collectors are.
pub(super) fn part(name: &str) -> String {
    name.replace('%', "%25").replace('|', "%7C")
}

/// The key of a route. Compaction keeps the last message of each key.
pub(super) fn route_key(peer_key: &str, prefix: Prefix, path_id: u32) -> String {
    format!("{peer_key}|{prefix}|{path_id}")
}

#[cfg(test)]
mod tests {
    use rutter_net::PerFamily;
    use std::sync::Arc;

    use rutter_net::{Asn, Community, LargeCommunity};
    use rutter_wire::attr::Origin;

    use super::*;

    #[test]
    fn keys_of_different_names_are_different() {
        let of = |collector: &str, router: &str| {
            let mut key = peer().key;
            key.router = router.into();
            peer_key(collector, &key)
        };
        assert_eq!(of("a", "b|c%"), "a|b%7Cc%25|192.0.2.11|0|adj-in-pre");
        assert_ne!(of("a", "b|c"), of("a|b", "c"));
    }

    #[test]
    fn keys_of_peers_that_differ_only_in_their_type_are_different() {
        let of = |peer_type, distinguisher| {
            let key = PeerKey {
                peer_type,
                distinguisher,
                ..peer().key
            };
            peer_key("a", &key).replace("a|edge1|192.0.2.11|", "")
        };
        assert_eq!(of(PeerType::Global, 0), "0|adj-in-pre");
        assert_eq!(of(PeerType::RouteDistinguisher, 0), "rd:0|adj-in-pre");
        assert_eq!(of(PeerType::Local, 0), "local:0|adj-in-pre");
        assert_eq!(of(PeerType::Global, 7), "global:7|adj-in-pre");
        assert_eq!(of(PeerType::RouteDistinguisher, 7), "7|adj-in-pre");
        assert_eq!(of(PeerType::Local, 7), "local:7|adj-in-pre");
        assert_eq!(of(PeerType::Other(9), 7), "9:7|adj-in-pre");
    }

    fn peer() -> StoredPeer {
        StoredPeer {
            key: PeerKey {
                router: "edge1".into(),
                address: "192.0.2.11".parse().unwrap(),
                distinguisher: 0,
                view: "adj-in-pre",
                peer_type: PeerType::Global,
            },
            name: "alpha".into(),
            asn: Asn(64_501),
            bgp_id: 7,
            source: "bmp",
        }
    }

    fn attrs() -> AttrColumns {
        AttrColumns {
            origin: Some(Origin::Igp),
            as_path: Some("64501 64502 {64503,64504}".into()),
            origin_as: None,
            path_len: 3,
            next_hop: Some("192.0.2.11".parse().unwrap()),
            med: Some(5),
            local_pref: None,
            atomic_aggregate: false,
            aggregator: None,
            communities: vec![Community(0xfbf4_0001)],
            extended_communities: Vec::new(),
            large_communities: vec![LargeCommunity {
                global: 64_500,
                local1: 1,
                local2: 2,
            }],
        }
    }

    /// Kinds of events that have no peer.
    const COLLECTORS: [&str; 4] = ["start", "stop", "gap", "clock-step"];

    /// One message of each form with its key.
    fn messages() -> String {
        let (peer, attrs, at) = (
            Arc::new(peer()),
            attrs(),
            Position {
                run: 7,
                next_seq: 4,
            },
        );
        let prefix = "203.0.113.0/24".parse().unwrap();
        let of_peer = peer_key("collector1", &peer.key);
        let route = route_key(&of_peer, prefix, 0);
        let entry = |kind, of_route: bool, detail: &str| Entry {
            time_us: 1_700_000_000_250_000,
            kind,
            peer: (!COLLECTORS.contains(&kind.name())).then(|| Arc::clone(&peer)),
            prefix: of_route.then_some(prefix),
            path_id: 0,
            attrs: (kind == Kind::Announce).then(|| Arc::new(attrs.clone())),
            detail: detail.into(),
        };
        let down = Kind::PeerDown {
            retained: PerFamily::both(false),
        };
        let family = Family::Ipv4Unicast;
        let of_collector = |kind: Kind, detail: &str| {
            let key = format!("collector1|{}", kind.name());
            (key, entry(kind, false, detail))
        };
        let mut text = String::new();
        let mut line = |key: &str, message: &Message<'_>| {
            let value = String::from_utf8(message.json()).unwrap();
            text.push_str(&format!("{key}\t{value}\n"));
        };
        for (key, entry) in [
            of_collector(Kind::Start, ""),
            (format!("{of_peer}|peer-up"), entry(Kind::PeerUp, false, "")),
            (route.clone(), entry(Kind::Announce, true, "")),
            (route.clone(), entry(Kind::Withdraw, true, "")),
            (
                format!("{of_peer}|peer-down"),
                entry(down, false, "hold timer expired"),
            ),
            (
                format!("{of_peer}|end-of-rib"),
                entry(Kind::EndOfRib(family), false, "ipv4-unicast"),
            ),
            of_collector(Kind::Gap { lost: 9 }, "9 messages are missing"),
            of_collector(Kind::ClockStep { by_us: -2 }, "the clock was set"),
            of_collector(Kind::Stop, ""),
        ] {
            line(&key, &Message::event("collector1", at, &entry));
        }
        let time = 1_700_000_000_500_000;
        line(
            "collector1|clear",
            &Message::clear("collector1", at, time, None),
        );
        line(
            &format!("{of_peer}|clear|ipv4"),
            &Message::clear("collector1", at, time, Some((&peer, family))),
        );
        line(
            &route,
            &Message::state("collector1", at, time, &peer, (prefix, 0, &attrs)),
        );
        text
    }

    /// `UPDATE_GOLDEN=1` rewrites the sample.
    #[test]
    fn messages_match_the_golden_file() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/kafka.txt");
        let text = messages();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(file, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(file).unwrap_or_default(), text);
    }
}
