//! Registered prefixes and origins.

use crate::convert::Options;
use crate::toml_writer::{Keys, TomlWriter};
use crate::yaml::Section;

/// The settings of `filtering.irrdb` that a client inherits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct IrrSettings {
    origin: bool,
    prefix: bool,
    tag: bool,
}

impl Default for IrrSettings {
    /// ARouteServer's defaults.
    fn default() -> Self {
        IrrSettings {
            origin: true,
            prefix: true,
            tag: true,
        }
    }
}

impl IrrSettings {
    /// Reads the switches of `general.yml` or of a client.
    pub(crate) fn read(self, section: &Section<'_>) -> Self {
        IrrSettings {
            origin: section
                .bool("enforce_origin_in_as_set")
                .unwrap_or(self.origin),
            prefix: section
                .bool("enforce_prefix_in_as_set")
                .unwrap_or(self.prefix),
            tag: section.bool("tag_as_set").unwrap_or(self.tag),
        }
    }

    /// Adds the keys of `[checks]`.
    pub(crate) fn keys(self, checks: &mut Keys) {
        let check = match (self.origin, self.prefix, self.tag) {
            (true, true, _) | (false, false, true) => "origin+prefix",
            (true, false, _) => "origin",
            (false, true, _) => "prefix",
            (false, false, false) => "off",
        };
        checks.string("irr", check);
        if !self.origin && !self.prefix && self.tag {
            checks.string("irr-action", "tag");
        }
    }

    /// Returns whether routes are compared with registrations at all.
    pub(crate) fn is_used(self) -> bool {
        self.origin || self.prefix || self.tag
    }
}

/// Reads the sources of `general.yml` and writes `[irr]`.
pub(crate) fn convert(section: &Section<'_>, options: &Options) -> Keys {
    let mut keys = Keys::default();
    keys.strings("server", &options.irr_servers);
    keys.strings("sources", &options.irr_sources);
    if section.bool("allow_longer_prefixes") == Some(true) {
        keys.plain("allow-longer-prefixes", true);
    }
    if let Some(value) = section.get("peering_db")
        && value.bool() == Some(true)
    {
        match &options.peering_db {
            Some(path) => keys.string("peeringdb", path),
            None => value.error("name a dump of PeeringDB's networks with --peeringdb FILE"),
        }
    }
    let roas = section.section("use_rpki_roas_as_route_objects");
    if roas.bool("enabled") == Some(true) {
        keys.plain("roas-as-route-objects", true);
    }
    // Old files have the source of ROAs here.
    for key in ["source", "allowed_trust_anchors"] {
        if let Some(value) = roas.get(key) {
            value.note("not read: cfg.rpki_roas names the source of ROAs");
        }
    }
    let dumps = [
        ("use_arin_bulk_whois_data", "arin-whois"),
        ("use_registrobr_bulk_whois_data", "registro-br"),
    ];
    for (name, key) in dumps {
        let dump = section.section(name);
        let source = dump.get("source");
        if dump.bool("enabled") == Some(true) {
            match source.as_ref().and_then(|source| source.text()) {
                Some(path) if !path.contains("://") && !path.ends_with(".bz2") => {
                    keys.string(key, &path);
                }
                _ => dump.error("Rutter reads a local, unpacked file: write its path in `source`"),
            }
        }
    }
    keys
}

/// Writes `[irr]`, if some check uses it.
pub(crate) fn write(keys: &Keys, out: &mut TomlWriter) {
    out.section("[irr]");
    out.keys(keys);
}
