//! Sessions as protocols of BIRD.

use rutter_api::{Backend, FamilyRow, Line, PeerRow, Request, SessionRow, SessionState};
use serde_json::{Map, Value, json};

use super::iso_long;
use super::sessions::{PIPE, PROTOCOL, TABLE, base_name};
use crate::json_page::rows;

/// The tables of all accepted routes: both families, IPv4, IPv6.
pub(super) const MAIN_TABLES: [&str; 3] = ["master", "master4", "master6"];

/// The routes of a session, in one family or in both.
#[derive(Clone, Copy, Default)]
struct Counts {
    imported: u64,
    filtered: u64,
}

impl Counts {
    fn json(self) -> Value {
        json!({"imported": self.imported, "filtered": self.filtered})
    }
}

/// All sessions by name, with their route counts; with the pipes to the main tables, if the question includes them.
pub(super) fn full(backend: &dyn Backend, with_pipes: bool) -> Value {
    let mut protocols = Map::new();
    for peer in peers(backend) {
        let name = base_name(peer.session.asn, peer.session.address);
        if with_pipes {
            protocols.insert(format!("{PIPE}{name}"), pipe(&peer, &name));
        }
        protocols.insert(format!("{PROTOCOL}{name}"), protocol(&peer, &name));
    }
    Value::Object(protocols)
}

/// All sessions by name, with their states only.
pub(super) fn short(backend: &dyn Backend) -> Value {
    let row = |session: SessionRow| {
        let name = base_name(session.asn, session.address);
        let short = json!({
            "proto": "BGP",
            "table": format!("{TABLE}{name}"),
            "state": state(&session),
            "since": iso_long(session.state_changed_at),
            "info": session.state.to_string(),
        });
        (format!("{PROTOCOL}{name}"), short)
    };
    Value::Object(backend.sessions().into_iter().map(row).collect())
}

/// The names of tables and protocols, or of one kind of them.
pub(super) fn symbols(backend: &dyn Backend, kind: Option<&str>) -> Value {
    let sessions = backend.sessions();
    let names = |letter: char| {
        let name = move |one: &SessionRow| format!("{letter}{}", base_name(one.asn, one.address));
        sessions.iter().map(name)
    };
    let mut tables: Vec<String> = MAIN_TABLES.map(str::to_owned).into();
    tables.extend(names(TABLE));
    let protocols: Vec<String> = names(PROTOCOL).collect();
    let all = json!({"routing table": tables, "protocol": protocols});
    kind.map_or_else(|| all.clone(), |kind| all[kind].clone())
}

fn peers(backend: &dyn Backend) -> Vec<PeerRow> {
    let lines = rows(&Request::Peers, backend).unwrap_or_default();
    let peer = |line| match line {
        Line::Peer(row) => Some(*row),
        _ => None,
    };
    lines.into_iter().filter_map(peer).collect()
}

fn protocol(peer: &PeerRow, name: &str) -> Value {
    let session = &peer.session;
    let mut protocol = json!({
        "protocol": format!("{PROTOCOL}{name}"),
        "bird_protocol": "BGP",
        "table": format!("{TABLE}{name}"),
        "state": state(session),
        "state_changed": iso_long(session.state_changed_at),
        "connection": session.state.to_string(),
        "bgp_state": session.state.to_string(),
        "description": session.name,
        "neighbor_address": session.address.to_string(),
        "neighbor_as": session.asn,
        "local_as": session.local_asn,
        "last_error": session.last_error.as_deref().unwrap_or_default(),
        "routes": total(peer).json(),
        "channels": channels(&peer.families),
        "route_changes": {},
    });
    if let Some(negotiated) = &session.negotiated {
        protocol["neighbor_id"] = json!(negotiated.bgp_id.to_string());
    }
    protocol
}

/// The pipe that brings a session's routes to the main tables. It filters nothing: rejected routes are not in its table.
fn pipe(peer: &PeerRow, name: &str) -> Value {
    let imported = total(peer).imported;
    json!({
        "protocol": format!("{PIPE}{name}"),
        "bird_protocol": "Pipe",
        "table": format!("{TABLE}{name}"),
        "peer_table": MAIN_TABLES[0],
        "state": "up",
        "state_changed": iso_long(peer.session.state_changed_at),
        "connection": "",
        "routes": {"imported": imported, "exported": imported},
        "channels": {},
        "route_changes": {},
    })
}

fn total(peer: &PeerRow) -> Counts {
    let add = |sum: Counts, family: &FamilyRow| Counts {
        imported: sum.imported + family.accepted,
        filtered: sum.filtered + family.rejected,
    };
    peer.families.iter().fold(Counts::default(), add)
}

fn channels(families: &[FamilyRow]) -> Value {
    let channel = |family: &FamilyRow| {
        let name = family.family.trim_end_matches("-unicast").to_owned();
        let counts = Counts {
            imported: family.accepted,
            filtered: family.rejected,
        };
        let channel = json!({"routes": counts.json(), "routes_count": counts.json()});
        (name, channel)
    };
    Value::Object(families.iter().map(channel).collect())
}

fn state(session: &SessionRow) -> &'static str {
    match (session.state, &session.shutdown) {
        (SessionState::Established, _) => "up",
        (_, Some(_)) => "down",
        _ => "start",
    }
}
