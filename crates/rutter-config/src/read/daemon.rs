//! `[exchange]`, `[router]`, `[daemon]`, `[graceful-restart]`, `[mrt]`, `[metrics]`, `[lookup]`, `[rpki]`.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use rutter_lpm::Profile;
use rutter_net::{Asn, Prefix};

use super::Root;
use crate::config::{Daemon, Exchange, LogFormat, Lookup, Metrics, Mrt, Rpki};
use crate::forms;
use crate::item::{Item, Section};
use crate::neighbor::GracefulRestart;
use crate::{PathRole, schema};

/// The identity of this speaker.
#[derive(Clone, Debug)]
pub(super) struct Local {
    pub(super) asn: Asn,
    pub(super) router_id: Ipv4Addr,
    pub(super) cluster_id: u32,
    pub(super) exchange: Option<Exchange>,
    pub(super) roles: bool,
    /// The files of `exchange.members`, sorted by name.
    pub(super) member_files: Vec<PathBuf>,
}

pub(super) fn local(root: &Root<'_>) -> Local {
    let exchange = root.section("exchange", &[schema::EXCHANGE], |s| Some(read_exchange(s)));
    let router = root.section("router", &[schema::ROUTER], |s| {
        if root.has("exchange") {
            s.complain(
                "asn",
                "[exchange] and [router] are both present",
                "keep one of them",
            );
        }
        Some(read_router(s))
    });
    if exchange.is_none() && router.is_none() && !root.has("exchange") && !root.has("router") {
        root.source.report(
            crate::Severity::Error,
            0..0,
            "exchange",
            "both [exchange] and [router] are missing",
            "write [exchange] for a route server, or [router] otherwise, with asn and router-id",
        );
    }
    exchange.or(router).unwrap_or(Local {
        asn: Asn(0),
        router_id: Ipv4Addr::UNSPECIFIED,
        cluster_id: 0,
        exchange: None,
        roles: false,
        member_files: Vec::new(),
    })
}

fn read_exchange(section: Section<'_>) -> Local {
    let (asn, router_id) = identity(&section);
    let lan = section.require("lan", "[\"192.0.2.0/24\", \"2001:db8:1::/64\"]");
    let lan: Vec<Prefix> = lan
        .map(|l| l.each(|i| i.parse("192.0.2.0/24")))
        .unwrap_or_default();
    Local {
        asn,
        router_id,
        cluster_id: router_id.to_bits(),
        exchange: Some(Exchange { lan }),
        roles: section.get("roles").and_then(|i| i.bool()).unwrap_or(false),
        member_files: section
            .get("members")
            .map(|i| member_files(&i))
            .unwrap_or_default(),
    }
}

fn read_router(section: Section<'_>) -> Local {
    let (asn, router_id) = identity(&section);
    let cluster = section
        .get("cluster-id")
        .and_then(|i| i.parse::<Ipv4Addr>("192.0.2.1"));
    Local {
        asn,
        router_id,
        cluster_id: cluster.unwrap_or(router_id).to_bits(),
        exchange: None,
        roles: false,
        member_files: Vec::new(),
    }
}

fn identity(section: &Section<'_>) -> (Asn, Ipv4Addr) {
    let asn = section.require("asn", "64500").and_then(|i| forms::asn(&i));
    let router_id = section.require("router-id", "\"192.0.2.1\"").and_then(|i| {
        let id = i.parse::<Ipv4Addr>("192.0.2.1")?;
        if id.is_unspecified() {
            i.error(
                "0.0.0.0 is not a BGP Identifier (RFC 6286)",
                "write one of this machine's IPv4 addresses",
            );
        }
        Some(id)
    });
    (
        asn.unwrap_or(Asn(0)),
        router_id.unwrap_or(Ipv4Addr::UNSPECIFIED),
    )
}

fn member_files(patterns: &Item<'_>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    patterns
        .list()
        .iter()
        .for_each(|pattern| expand(pattern, &mut files));
    files
}

fn expand(item: &Item<'_>, files: &mut Vec<PathBuf>) {
    let Some(text) = item.str("members.d/*.toml") else {
        return;
    };
    let pattern = item.source.beside(text);
    let found = match glob::glob(&pattern.to_string_lossy()) {
        Ok(found) => found,
        Err(why) => {
            return item.error(
                format!("`{text}`: {why}"),
                "write a pattern like \"members.d/*.toml\"",
            );
        }
    };
    let before = files.len();
    for entry in found {
        match entry {
            Ok(path) if !files.contains(&path) => files.push(path),
            Ok(_) => {}
            Err(why) => item.error(why.to_string(), "make the folder readable"),
        }
    }
    if files.len() == before {
        item.warning(
            format!("no file matches {}", pattern.display()),
            "create a file, or remove the key",
        );
    }
}

impl Default for Daemon {
    fn default() -> Self {
        Daemon {
            threads: 0,
            listen: listen_everywhere(179),
            control_socket: "/run/rutter/rutter.sock".into(),
            log: "info".into(),
            log_format: LogFormat::Text,
            user: None,
            group: None,
        }
    }
}

fn listen_everywhere(port: u16) -> Vec<std::net::SocketAddr> {
    vec![
        (std::net::Ipv4Addr::UNSPECIFIED, port).into(),
        (std::net::Ipv6Addr::UNSPECIFIED, port).into(),
    ]
}

pub(super) fn daemon(root: &Root<'_>) -> Daemon {
    root.section("daemon", &[schema::DAEMON], |section| {
        let mut daemon = Daemon::default();
        let port = section
            .get("port")
            .and_then(|i| i.int(1..=65535))
            .unwrap_or(179) as u16;
        daemon.listen = listen_everywhere(port);
        section.set("threads", &mut daemon.threads, |i| {
            i.int(1..=1024).map(|n| n as usize)
        });
        section.set("listen", &mut daemon.listen, |i| {
            Some(i.each(|i| forms::socket(i, port)))
        });
        section.set("control-socket", &mut daemon.control_socket, |i| {
            i.named(PathRole::Socket)
        });
        section.set("log", &mut daemon.log, Item::text);
        section.set("log-format", &mut daemon.log_format, |i| {
            i.word(&[("text", LogFormat::Text), ("json", LogFormat::Json)])
        });
        section.set("user", &mut daemon.user, |i| i.text().map(Some));
        section.set("group", &mut daemon.group, |i| i.text().map(Some));
        daemon
    })
}

pub(super) fn graceful_restart(root: &Root<'_>) -> GracefulRestart {
    root.section("graceful-restart", &[schema::GRACEFUL_RESTART], |section| {
        let mut restart = GracefulRestart::default();
        section.set("enabled", &mut restart.enabled, Item::bool);
        section.set("restart-time", &mut restart.restart_time_s, |i| {
            forms::seconds(i, 1, 4095).map(|s| s as u16)
        });
        section.set("notification", &mut restart.notification, Item::bool);
        section.set("long-lived-stale-time", &mut restart.long_lived_s, |i| {
            forms::seconds(i, 0, 0xff_ffff).map(|s| s as u32)
        });
        restart
    })
}

pub(super) fn mrt(root: &Root<'_>) -> Option<Mrt> {
    root.section("mrt", &[schema::MRT], |section| {
        let directory = section.require("directory", "\"/var/lib/rutter/mrt\"")?;
        let mut mrt = Mrt {
            directory: directory.named(PathRole::Folder)?,
            table_interval_s: 7200,
            updates_interval_s: 300,
            gzip: true,
        };
        let interval = |i: &Item<'_>| forms::seconds(i, 0, 31_536_000).map(|s| s as u32);
        section.set("table-interval", &mut mrt.table_interval_s, interval);
        section.set("updates-interval", &mut mrt.updates_interval_s, interval);
        section.set("compress", &mut mrt.gzip, |i| {
            i.word(&[("gzip", true), ("none", false)])
        });
        Some(mrt)
    })
}

pub(super) fn metrics(root: &Root<'_>) -> Option<Metrics> {
    root.section("metrics", &[schema::METRICS], |section| {
        let listen = section.require("listen", "\"127.0.0.1:9179\"")?;
        Some(Metrics {
            listen: forms::socket(&listen, 9179)?,
        })
    })
}

pub(super) fn lookup(root: &Root<'_>) -> Option<Lookup> {
    root.section("lookup", &[schema::LOOKUP], |section| {
        let mut lookup = Lookup::default();
        section.set("profile", &mut lookup.profile, |i| {
            i.word(&Profile::ALL.map(|profile| (profile.name(), profile)))
        });
        Some(lookup)
    })
}

pub(super) fn rpki(root: &Root<'_>) -> Option<Rpki> {
    root.section("rpki", &[schema::RPKI], |section| {
        let vrps = section.require("vrps", "\"/var/lib/rpki-client/json\"")?;
        Some(Rpki {
            vrps: vrps.named(PathRole::Vrps)?,
        })
    })
}
