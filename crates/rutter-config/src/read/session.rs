//! Reads the keys of sessions.

use std::net::IpAddr;

use rutter_net::{Asn, Family, PerFamily};
use rutter_policy::{ImportRule, NextHopRule, PrefixMatch, Role};
use toml::de::DeValue;

use super::policy::{NEXT_HOP, asns};
use crate::config::Checks;
use crate::forms;
use crate::item::{Item, Section};
use crate::neighbor::{
    ExportRule, FamilyOptions, GracefulRestart, LimitAction, MaxPrefix, Neighbor, NeighborKind,
    TtlSecurity,
};
use crate::schema::{ADD_PATH, MAX_PREFIX};
use crate::secret::Secret;

/// The settings of a session, without its address.
#[derive(Clone, Debug)]
pub(super) struct Session {
    description: Option<String>,
    local_address: Option<IpAddr>,
    port: u16,
    passive: bool,
    shutdown: Option<String>,
    families: Option<PerFamily<bool>>,
    add_path_receive: bool,
    add_path_send: bool,
    add_path_limit: u16,
    extended_next_hop: bool,
    extended_message: bool,
    password: Option<Secret>,
    ttl_security: TtlSecurity,
    hold_time_s: u16,
    connect_retry_s: u16,
    send_hold_time_s: u16,
    idle_hold_time_s: u16,
    graceful_restart: GracefulRestart,
    pub(super) role: Option<Role>,
    role_strict: bool,
    max_prefix: PerFamily<Option<MaxPrefix>>,
    next_hop: NextHopRule,
    authorized_addresses: Vec<IpAddr>,
    allow_transit_free: bool,
    black_list: Vec<PrefixMatch>,
    allow_prefixes: Vec<PrefixMatch>,
    allow_origins: Vec<Asn>,
}

/// The settings that depend on the kind of section.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) kind: NeighborKind,
    pub(super) asn: Asn,
    pub(super) local_asn: Asn,
    pub(super) import: ImportRule,
    pub(super) export: ExportRule,
    pub(super) next_hop_self: bool,
    pub(super) local_pref: u32,
    pub(super) as_sets: Vec<String>,
}

impl Session {
    pub(super) fn new(checks: &Checks, graceful_restart: GracefulRestart) -> Self {
        Session {
            description: None,
            local_address: None,
            port: 179,
            passive: false,
            shutdown: None,
            families: None,
            add_path_receive: false,
            add_path_send: false,
            add_path_limit: 0,
            extended_next_hop: false,
            extended_message: true,
            password: None,
            ttl_security: TtlSecurity::Off,
            hold_time_s: 90,
            connect_retry_s: 30,
            send_hold_time_s: 480,
            idle_hold_time_s: 120,
            graceful_restart,
            role: None,
            role_strict: false,
            max_prefix: PerFamily::both(None),
            next_hop: checks.next_hop,
            authorized_addresses: Vec::new(),
            allow_transit_free: false,
            black_list: Vec::new(),
            allow_prefixes: Vec::new(),
            allow_origins: Vec::new(),
        }
    }

    /// Reads the keys of the section.
    pub(super) fn read(&mut self, section: &Section<'_>) {
        self.read_transport(section);
        self.read_capabilities(section);
        self.read_policy(section);
    }

    fn read_transport(&mut self, section: &Section<'_>) {
        section.set("description", &mut self.description, |i| i.text().map(Some));
        section.set("local-address", &mut self.local_address, |i| {
            i.parse("192.0.2.1").map(Some)
        });
        section.set("port", &mut self.port, |i| {
            i.int(1..=65535).map(|n| n as u16)
        });
        section.set("passive", &mut self.passive, Item::bool);
        section.set("shutdown", &mut self.shutdown, shutdown);
        self.read_password(section);
        self.read_ttl(section);
        section.set("hold-time", &mut self.hold_time_s, hold_time);
        section.set("connect-retry", &mut self.connect_retry_s, |i| {
            forms::seconds(i, 1, 3600).map(|s| s as u16)
        });
        section.set("send-hold-time", &mut self.send_hold_time_s, |i| {
            forms::seconds(i, 0, 65535).map(|s| s as u16)
        });
        section.set("idle-hold-time", &mut self.idle_hold_time_s, |i| {
            forms::seconds(i, 1, 3600).map(|s| s as u16)
        });
    }

    fn read_password(&mut self, section: &Section<'_>) {
        let file = section.get("password-file");
        if let (Some(_), Some(file)) = (section.get("password"), &file) {
            file.error(
                "`password` and `password-file` are both present",
                "keep one of them",
            );
        }
        section.set("password", &mut self.password, |i| {
            secret(i, i.str("text")?.as_bytes()).map(Some)
        });
        if let Some((item, path)) = file.as_ref().and_then(|i| Some((i, i.str("peer.key")?))) {
            let path = item.source.beside(path);
            match std::fs::read(&path) {
                Ok(octets) => self.password = secret(item, octets.trim_ascii_end()),
                Err(why) => item.error(
                    format!("cannot read {}: {why}", path.display()),
                    "write the path of a file that this user can read",
                ),
            }
        }
    }

    fn read_ttl(&mut self, section: &Section<'_>) {
        let hops = |i: &Item<'_>| i.int(1..=254).map(|n| n as u8);
        if let (Some(_), Some(both)) = (section.get("ttl-security"), section.get("multihop")) {
            both.error(
                "`ttl-security` and `multihop` are both present",
                "keep one; `ttl-security` also accepts a number of hops",
            );
        }
        section.set("ttl-security", &mut self.ttl_security, |i| {
            hops(i).map(TtlSecurity::Hops)
        });
        section.set("multihop", &mut self.ttl_security, |i| {
            hops(i).map(TtlSecurity::Multihop)
        });
    }

    fn read_capabilities(&mut self, section: &Section<'_>) {
        section.set("families", &mut self.families, |i| Some(Some(families(i))));
        if let Some(item) = section.get("add-path") {
            item.section(ADD_PATH, "{ receive = true, send = 4 }", |section| {
                section.set("receive", &mut self.add_path_receive, Item::bool);
                if let Some(item) = section.get("send") {
                    self.read_add_path_send(&item);
                }
            });
        }
        section.set("extended-next-hop", &mut self.extended_next_hop, Item::bool);
        section.set("extended-message", &mut self.extended_message, Item::bool);
        section.set(
            "graceful-restart",
            &mut self.graceful_restart.enabled,
            Item::bool,
        );
        section.set("role", &mut self.role, |i| i.word(ROLES).map(Some));
        section.set("role-strict", &mut self.role_strict, Item::bool);
    }

    fn read_add_path_send(&mut self, item: &Item<'_>) {
        match item.value.get_ref() {
            DeValue::Boolean(send) => (self.add_path_send, self.add_path_limit) = (*send, 0),
            _ => {
                if let Some(limit) = item.int(1..=65535) {
                    (self.add_path_send, self.add_path_limit) = (true, limit as u16);
                }
            }
        }
    }

    fn read_policy(&mut self, section: &Section<'_>) {
        if let Some(item) = section.get("max-prefix") {
            max_prefix(&item, &mut self.max_prefix);
        }
        section.set("next-hop", &mut self.next_hop, |i| i.word(NEXT_HOP));
        section.set(
            "authorized-addresses",
            &mut self.authorized_addresses,
            |i| Some(i.each(|i| i.parse("192.0.2.11"))),
        );
        section.set(
            "allow-transit-free",
            &mut self.allow_transit_free,
            Item::bool,
        );
        section.set("black-list", &mut self.black_list, |i| {
            Some(i.each(forms::prefix_match))
        });
        section.set("allow-prefixes", &mut self.allow_prefixes, |i| {
            Some(i.each(forms::prefix_match))
        });
        section.set("allow-origins", &mut self.allow_origins, asns);
        if self.next_hop == NextHopRule::Authorized && self.authorized_addresses.is_empty() {
            section.warn(
                "authorized-addresses",
                "`next-hop = \"authorized\"` without addresses is the same as \"strict\"",
                "write authorized-addresses = [\"192.0.2.11\"]",
            );
        }
    }

    /// Returns the neighbor at an address.
    pub(super) fn neighbor(&self, address: IpAddr, own: &Own) -> Neighbor {
        let name = match &self.description {
            Some(text) => text.clone(),
            None => format!("AS{} {address}", own.asn),
        };
        let collector = own.kind == NeighborKind::Collector;
        let both = PerFamily::new(
            collector || address.is_ipv4(),
            collector || address.is_ipv6(),
        );
        let enabled = self.families.unwrap_or(both);
        let family = |family: Family| FamilyOptions {
            enabled: enabled[family],
            add_path_receive: self.add_path_receive,
            add_path_send: self.add_path_send && !collector,
            extended_next_hop: self.extended_next_hop && family == Family::Ipv4Unicast,
            max_prefix: self.max_prefix[family],
        };
        Neighbor {
            address,
            name,
            kind: own.kind,
            asn: own.asn,
            local_asn: own.local_asn,
            local_address: self.local_address,
            port: self.port,
            passive: self.passive,
            shutdown: self.shutdown.clone(),
            families: PerFamily::from_fn(family),
            add_path_limit: self.add_path_limit,
            password: self.password.clone(),
            ttl_security: self.ttl_security,
            hold_time_s: self.hold_time_s,
            connect_retry_s: self.connect_retry_s,
            send_hold_time_s: self.send_hold_time_s,
            idle_hold_time_s: self.idle_hold_time_s,
            extended_message: self.extended_message,
            graceful_restart: self.graceful_restart,
            role: self.role,
            role_strict: self.role_strict,
            import: own.import,
            export: own.export,
            next_hop: self.next_hop,
            authorized_addresses: self.authorized_addresses.clone(),
            next_hop_self: own.next_hop_self,
            local_pref: own.local_pref,
            allow_transit_free: self.allow_transit_free,
            black_list: self.black_list.clone(),
            allow_prefixes: self.allow_prefixes.clone(),
            allow_origins: self.allow_origins.clone(),
            as_sets: own.as_sets.clone(),
        }
    }
}

const ROLES: &[(&str, Role)] = &[
    ("provider", Role::Provider),
    ("route-server", Role::RouteServer),
    ("route-server-client", Role::RouteServerClient),
    ("customer", Role::Customer),
    ("peer", Role::Peer),
];

fn secret(item: &Item<'_>, octets: &[u8]) -> Option<Secret> {
    if octets.is_empty() || octets.len() > 80 {
        item.error(
            "a TCP MD5 password has 1 to 80 bytes",
            "write the password agreed with the neighbor",
        );
        return None;
    }
    Some(Secret::new(octets))
}

fn shutdown(item: &Item<'_>) -> Option<Option<String>> {
    match item.value.get_ref() {
        DeValue::Boolean(down) => Some(down.then(String::new)),
        _ => {
            let text = item.str("maintenance until 18:00")?;
            if text.len() > 255 {
                item.error(
                    "the message is longer than 255 bytes (RFC 9003)",
                    "write a shorter one",
                );
            }
            Some(Some(text.to_owned()))
        }
    }
}

fn hold_time(item: &Item<'_>) -> Option<u16> {
    let seconds = forms::seconds(item, 0, 65535)?;
    if seconds == 1 || seconds == 2 {
        item.error(
            "1 and 2 seconds are not allowed (RFC 4271 §4.2)",
            "write 0 (never), or at least 3 seconds",
        );
        return None;
    }
    Some(seconds as u16)
}

fn families(item: &Item<'_>) -> PerFamily<bool> {
    let words = [("ipv4", Family::Ipv4Unicast), ("ipv6", Family::Ipv6Unicast)];
    let mut on = PerFamily::both(false);
    for family in item.each(|i| i.word(&words)) {
        on[family] = true;
    }
    if item.list().is_empty() {
        item.error(
            "a session needs at least one family",
            "write [\"ipv4\"], [\"ipv6\"] or both",
        );
    }
    on
}

fn max_prefix(item: &Item<'_>, out: &mut PerFamily<Option<MaxPrefix>>) {
    item.section(
        MAX_PREFIX,
        "{ v4 = 1000, action = \"restart\" }",
        |section| {
            let after = section
                .get("restart-after")
                .and_then(|i| forms::seconds(&i, 1, 604_800));
            let restart = LimitAction::Restart {
                after_s: after.unwrap_or(900) as u32,
            };
            let mut action = LimitAction::Shutdown;
            section.set("action", &mut action, |i| {
                i.word(&[
                    ("shutdown", LimitAction::Shutdown),
                    ("restart", restart),
                    ("block", LimitAction::Block),
                    ("warn", LimitAction::Warn),
                ])
            });
            if let (Some(item), false) = (section.get("restart-after"), action == restart) {
                item.warning(
                    "`restart-after` has no meaning with this action",
                    "write action = \"restart\"",
                );
            }
            for (slot, name) in out.iter_mut().zip(["v4", "v6"]) {
                section.set(name, slot, |i| {
                    i.int(1..=u64::from(u32::MAX)).map(|n| {
                        Some(MaxPrefix {
                            limit: n as u32,
                            action,
                        })
                    })
                });
            }
            if let (None, None) = (section.get("v4"), section.get("v6")) {
                section.warn("v4", "no limit is set", "write v4 = 1000 or v6 = 100");
            }
        },
    );
}
