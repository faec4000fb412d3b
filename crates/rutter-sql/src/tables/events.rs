//! The table `events`: the latest events.

use super::current::Current;
use super::current::Value::{Number, Text, Time};
use crate::EventLog;
use crate::events::Event;

/// The events that are still in memory.
pub fn events(log: EventLog) -> Current<Event> {
    let columns = vec![
        ("run", Number(|of: &Event| Some(of.run as i64))),
        ("seq", Number(|of| Some(of.seq as i64))),
        ("time", Time(|of| of.time_us)),
        (
            "router",
            Text(|of| Some(of.peer.as_ref()?.router.to_string())),
        ),
        (
            "peer_name",
            Text(|of| Some(of.peer.as_ref()?.name.to_string())),
        ),
        (
            "peer_address",
            Text(|of| Some(of.peer.as_ref()?.address.to_string())),
        ),
        (
            "view",
            Text(|of| Some(of.peer.as_ref()?.view.name().to_owned())),
        ),
        ("kind", Text(|of| Some(of.kind.name().to_owned()))),
        ("prefix", Text(|of| Some(of.prefix?.to_string()))),
        (
            "origin",
            Text(|of| of.attrs.as_ref()?.origin_name().map(str::to_owned)),
        ),
        ("as_path", Text(|of| of.attrs.as_ref()?.as_path.clone())),
        (
            "next_hop",
            Text(|of| Some(of.attrs.as_ref()?.next_hop?.to_string())),
        ),
        (
            "communities",
            Text(|of| Some(of.attrs.as_ref()?.communities_text())),
        ),
        (
            "detail",
            Text(|of| Some(of.detail.to_string()).filter(|text| !text.is_empty())),
        ),
        (
            "peer_asn",
            Number(|of| Some(of.peer.as_ref()?.asn.0.into())),
        ),
        ("path_id", Number(|of| of.prefix.map(|_| of.path_id.into()))),
        (
            "origin_as",
            Number(|of| Some(of.attrs.as_ref()?.origin_as?.0.into())),
        ),
        ("med", Number(|of| of.attrs.as_ref()?.med.map(i64::from))),
        (
            "local_pref",
            Number(|of| of.attrs.as_ref()?.local_pref.map(i64::from)),
        ),
    ];
    // `run` and `seq` are always known.
    Current::new(move || log.events(), 2, columns)
}
