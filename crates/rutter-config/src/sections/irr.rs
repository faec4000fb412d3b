//! `[irr]`: registered prefixes and origins of members.

use std::path::PathBuf;

use rutter_irr::{OriginSet, REGISTRIES, is_registry_name};
use rutter_net::Asn;

use crate::key_rows::section;
use crate::suggest::nearest;
use crate::toml_values::{Item, Section};
use crate::value_forms::{host_port, percent, seconds};
use crate::{DynamicNeighbor, Neighbor, PathRole};

section! {
    /// The Internet Routing Registries (IRRs), from which Rutter learns the prefixes and origins of each member. The members' `as-sets` name them, and `checks.irr` uses them.
    pub struct Irr = "[irr]" {
        /// IRRd servers, in order of preference. The default port is 43.
        "server": "host:port, or several", default "none", reload AtOnce
            => servers: Vec<String> = Vec::new(), read |i| Some(i.some(|i| host_port(i, 43)));
        /// The databases that the server searches, in order of preference: the first with an object wins.
        "sources": "names", default "those of the server", reload AtOnce
            => sources: Vec<String> = Vec::new(), read |i| Some(i.some(source_name));
        /// Time between refreshes. Only differences are applied.
        "refresh": "duration", default "`\"1h\"`", reload AtOnce
            => refresh_s: u32 = 3600, read |i| seconds(i, 60, 7 * 86_400).map(|s| s as u32);
        /// The age at which data of a failing server is reported as `stale`. It stays in force, because an empty filter would reject everything.
        "keep-last-good": "duration", default "`\"7d\"`", reload AtOnce
            => keep_last_good_s: u32 = 7 * 86_400, read |i| seconds(i, 0, 366 * 86_400).map(|s| s as u32);
        /// Refuse data that shrank by more than this share, until an operator accepts it.
        "refuse-shrink": "`\"20%\"`, or false", default "`\"20%\"`", reload AtOnce
            => refuse_shrink: Option<u8> = Some(20), read percent;
        /// Lists in files, in place of a server: JSON of bgpq4, or a prefix on each line. The name is an AS-SET, or an AS number for the list of one member.
        "files": "`{ \"AS-FOO\" = \"as-foo.json\" }`", default "none", reload AtOnce
            => files: Vec<(String, PathBuf)> = Vec::new(), read files;
        /// ARIN's whois dump as JSON; its prefixes count as route objects.
        "arin-whois": "path", default "none", reload AtOnce
            => arin_whois: Option<PathBuf> = None, read |i| i.named(PathRole::ArinDump).map(Some);
        /// The dump of registro.br; its prefixes count as route objects.
        "registro-br": "path", default "none", reload AtOnce
            => registro_br: Option<PathBuf> = None, read |i| i.named(PathRole::RegistroBrDump).map(Some);
        /// A dump of PeeringDB's networks (`/api/net`) as JSON, for the AS-SETs of members without `as-sets`, and for `max-prefix.peeringdb`. Rutter reads it again with each refresh.
        "peeringdb": "path", default "none", reload AtOnce
            => peeringdb: Option<PathBuf> = None, read |i| i.named(PathRole::PeeringDbDump).map(Some);
        /// A valid ROA counts as a route object, if its origin is in the member's AS-SETs. It needs `[rpki]`.
        "roas-as-route-objects": "true, false", default "false", reload AtOnce
            => roas_as_route_objects: bool = false, read Item::bool;
        /// Accept prefixes inside a registered prefix too, up to the length that `checks.prefix-length` accepts.
        "allow-longer-prefixes": "true, false", default "false", reload AtOnce
            => allow_longer_prefixes: bool = false, read Item::bool;
    }
}

impl Irr {
    /// Reports a section that names no data, and keys that need another section.
    pub(crate) fn check(&self, section: &Section<'_>, has_rpki: bool) {
        if self.servers.is_empty() && self.files.is_empty() {
            let failed = ["server", "files"]
                .iter()
                .any(|key| section.get(key).is_some());
            if !failed {
                section.complain(
                    "server",
                    "neither `server` nor `files` is present, so no prefix is registered for anybody",
                    "write server = \"rr.ntt.net\", or the name of another IRRd server",
                );
            }
        }
        if let (Some(item), true, false) = (
            section.get("roas-as-route-objects"),
            self.roas_as_route_objects,
            has_rpki,
        ) {
            item.error(
                "this needs [rpki], which has the ROAs",
                "add [rpki], or remove the key",
            );
        }
    }

    /// Warns of a database in the name of an AS-SET that nobody is known to have.
    pub(crate) fn check_registry(&self, item: &Item<'_>, name: &str) {
        let Some((registry, set)) = name.split_once("::") else {
            return;
        };
        let own = self.sources.iter().map(String::as_str);
        let known = || own.clone().chain(REGISTRIES.iter().copied());
        let has_file = self.files.iter().any(|(other, _)| other == name);
        if has_file || known().any(|known| known == registry) {
            return;
        }
        let own = "if your server has this database, name it in irr.sources";
        let hint = match nearest(registry, known()) {
            Some(near) => format!("write \"{near}::{set}\", or {own}"),
            None => own.to_owned(),
        };
        item.warning(
            format!("`{registry}` is no database that Rutter knows"),
            hint,
        );
    }

    /// Warns of lists that no member uses.
    pub(crate) fn check_lists(
        &self,
        section: &Section<'_>,
        neighbors: &[Neighbor],
        dynamic: &[DynamicNeighbor],
    ) {
        let is_of = |asn: Asn, name: &str| format!("AS{asn}") == name;
        let may_connect = |name: &str| {
            let is_any = name
                .strip_prefix("AS")
                .is_some_and(|n| n.parse::<u32>().is_ok());
            dynamic.iter().any(|section| match section.asns.as_slice() {
                [] => is_any,
                asns => asns.iter().any(|asn| is_of(*asn, name)),
            })
        };
        let is_used = |name: &str| {
            let of_neighbor = |neighbor: &Neighbor| {
                is_of(neighbor.asn, name) || neighbor.as_sets.iter().any(|set| set == name)
            };
            neighbors.iter().any(of_neighbor) || may_connect(name)
        };
        // PeeringDB may name any AS-SET.
        let may_be_named = |name: &str| self.peeringdb.is_some() && name.contains("AS-");
        for (name, _) in &self.files {
            if !is_used(name) && !may_be_named(name) {
                section.complain_softly(
                    "files",
                    format!("no member has `{name}`, so its list is not used"),
                    "write the name as in `as-sets`, with the database before it if it is there",
                );
            }
        }
    }
}

/// Reads the name of an IRR database.
fn source_name(item: &Item<'_>) -> Option<String> {
    let name = item.name()?;
    if !is_registry_name(&name) {
        item.error(
            format!("`{name}` is not the name of a database"),
            "write names like \"RIPE\", \"RADB\" or \"ARIN-NONAUTH\"",
        );
        return None;
    }
    Some(name.to_ascii_uppercase())
}

/// Reads the table of names and files.
fn files(item: &Item<'_>) -> Option<Vec<(String, PathBuf)>> {
    const EXAMPLE: &str = "write { \"AS-FOO\" = \"as-foo.json\" }";
    let Some(table) = item.table() else {
        item.error("expected a table", EXAMPLE);
        return None;
    };
    let mut files = Vec::new();
    for (name, value) in table.iter() {
        let name = name.get_ref();
        let value = Item {
            source: item.source,
            key: format!("{}.{name}", item.key),
            value,
        };
        match as_set_name(name) {
            Some(name) => {
                files.extend(value.named(PathRole::IrrList).map(|path| (name, path)));
            }
            None => value.error(
                format!("`{name}` is neither an AS-SET nor an AS number"),
                EXAMPLE,
            ),
        }
    }
    Some(files)
}

/// Reads the name of an AS-SET, with a database before it if it is not unique: `RIPE::AS-FOO`, `AS64500:AS-FOO`.
pub(crate) fn as_set(item: &Item<'_>) -> Option<String> {
    let text = item.name()?;
    let name = as_set_name(&text);
    if name.is_none() {
        item.error(
            format!("`{text}` is not the name of an AS-SET"),
            "write names like \"AS-FOO\", \"AS64500:AS-FOO\", \"RIPE::AS-FOO\", or an AS number like \"AS64500\"",
        );
    }
    name
}

/// Returns the name in capitals, if it is one.
pub(crate) fn as_set_name(text: &str) -> Option<String> {
    let set = text.parse::<OriginSet>().ok()?;
    Some(set.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_as_sets_have_a_form() {
        for good in [
            "AS-FOO",
            "as-foo",
            "RIPE::AS-FOO",
            "AS64500:AS-FOO",
            "AS64500",
            "AS-A:AS64500",
        ] {
            assert_eq!(as_set_name(good), Some(good.to_ascii_uppercase()));
        }
        for bad in [
            "",
            "FOO",
            "AS-",
            "AS0",
            "RIPE:AS-FOO",
            "::AS-FOO",
            "AS-FOO\r\n!q",
            "AS1:AS2",
            "AS-F O",
        ] {
            assert_eq!(as_set_name(bad), None, "{bad:?}");
        }
    }
}
