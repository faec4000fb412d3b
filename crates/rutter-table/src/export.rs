//! Exports the table to a file for other programs.

use std::io::{self, Write};

pub use rutter_mmdb::Metadata;
use rutter_mmdb::{Data, Database, Shared, Value};

use crate::{Set, Table};

/// The keys of a record. Fields that GeoLite2-ASN has use the same names.
struct Keys {
    asn: Shared,
    as_path: Shared,
    next_hop: Shared,
    prefix: Shared,
    communities: Shared,
    rov: Shared,
}

/// Writes a MaxMind DB file. The record of an address has the origin AS, AS path, next hop, communities and prefix of
/// its longest match. It has the route's validity if the table knows it.
pub fn mmdb(table: &Table, metadata: &Metadata, out: &mut dyn Write) -> io::Result<()> {
    let mut data = Data::new();
    let keys = Keys {
        asn: data.text("autonomous_system_number"),
        as_path: data.text("as_path"),
        next_hop: data.text("next_hop"),
        prefix: data.text("prefix"),
        communities: data.text("communities"),
        rov: data.text("rov"),
    };
    let sets = table.sets().iter();
    let sets: Vec<_> = sets.map(|set| entries(set, &keys, &mut data)).collect();
    let mut database = Database::new(data);
    let prefixes: Vec<_> = table.routes().iter().map(|route| route.prefix).collect();
    let reached = Database::reached(&prefixes);
    let routes = table.routes().iter().zip(reached);
    for (route, _) in routes.filter(|(_, is_reached)| *is_reached) {
        let prefix = route.prefix.to_string();
        let mut entries: Vec<(Shared, Value<'_>)> = sets[route.set as usize].clone();
        entries.push((keys.prefix, Value::Text(&prefix)));
        if let Some(rov) = route.rov {
            let rov = database.data().text(rov.name());
            entries.push((keys.rov, Value::Shared(rov)));
        }
        let at = database.data().map(&entries);
        database.insert(route.prefix, at);
    }
    database.write(metadata, &mut { out })
}

fn entries(set: &Set, keys: &Keys, data: &mut Data) -> Vec<(Shared, Value<'static>)> {
    let attributes = &set.attributes;
    let mut entries = Vec::with_capacity(6);
    if let Some(asn) = set.origin_as {
        entries.push((keys.asn, Value::U32(asn)));
    }
    let path = attributes.as_path.as_deref().unwrap_or_default();
    entries.push((keys.as_path, Value::Shared(data.text(path))));
    if let Some(next_hop) = attributes.next_hop {
        entries.push((
            keys.next_hop,
            Value::Shared(data.text(&next_hop.to_string())),
        ));
    }
    let all = [
        &attributes.communities,
        &attributes.extended_communities,
        &attributes.large_communities,
    ];
    let communities: Vec<_> = all.into_iter().flatten().map(|c| data.text(c)).collect();
    if !communities.is_empty() {
        entries.push((keys.communities, Value::Shared(data.list(&communities))));
    }
    entries
}
