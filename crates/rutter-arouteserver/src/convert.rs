//! The conversion of all files.

use std::net::IpAddr;

use rutter_irr::PeeringDb;
use rutter_net::Prefix;

use crate::clients::{Clients, Inherited};
use crate::filtering;
use crate::irrdb::{self, IrrSettings};
use crate::max_prefix::MaxPrefix;
use crate::prefix_entry::{PrefixEntry, notations};
use crate::session::SessionSettings;
use crate::toml_writer::{Keys, TomlWriter};
use crate::yaml::{self, Report, Section, Value};
use crate::{Finding, blackhole, communities, rpki};

/// A file that was read.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// The name, for messages.
    pub name: String,
    /// The content.
    pub text: String,
}

impl SourceText {
    /// A file with its name and content.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        SourceText {
            name: name.into(),
            text: text.into(),
        }
    }
}

/// The files of ARouteServer.
#[derive(Clone, Debug)]
pub struct Documents {
    /// `general.yml`.
    pub general: SourceText,
    /// `clients.yml`.
    pub clients: SourceText,
    /// `bogons.yml`; `None`: Rutter's own list of bogons.
    pub bogons: Option<SourceText>,
    /// A dump of PeeringDB's networks (`/api/net`) as JSON.
    pub peering_db: Option<SourceText>,
}

/// What ARouteServer's files do not have, because other programs know it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The peering LANs. Without them, the entries of the black list that contain clients, or the clients' addresses.
    pub lan: Vec<Prefix>,
    /// RTR caches, `host:port`.
    pub rtr: Vec<String>,
    /// IRRd servers.
    pub irr_servers: Vec<String>,
    /// Databases of the IRR servers.
    pub irr_sources: Vec<String>,
    /// The path of a file with the round-trip times of clients, for `communities.rtt-file`.
    pub rtt_file: Option<String>,
    /// The path of the dump of PeeringDB's networks, for `irr.peeringdb`.
    pub peering_db: Option<String>,
}

/// A converted configuration.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// The configuration in TOML.
    pub toml: String,
    /// Notes: keys without effect, and assumptions.
    pub notes: Vec<Finding>,
}

/// Converts the files.
///
/// # Errors
/// All errors: invalid YAML, unknown keys, and keys that Rutter cannot honour. Each names file, line and key.
pub fn convert(documents: &Documents, options: &Options) -> Result<Conversion, Vec<Finding>> {
    let report = Report::default();
    let toml = convert_all(documents, options, &report);
    let (errors, notes) = report.finish();
    match (toml, errors.is_empty()) {
        (Some(toml), true) => Ok(Conversion { toml, notes }),
        _ => Err(errors),
    }
}

fn convert_all(documents: &Documents, options: &Options, report: &Report) -> Option<String> {
    let general = yaml::parse(&documents.general.name, &documents.general.text, report);
    let clients = yaml::parse(&documents.clients.name, &documents.clients.text, report);
    let bogons = match &documents.bogons {
        Some(file) => Some(yaml::parse(&file.name, &file.text, report)?),
        None => None,
    };
    let (general, clients) = (general?, clients?);
    let peering_db = read_peering_db(documents.peering_db.as_ref(), report)?;
    let general = Value::root(&documents.general.name, &general, report);
    let clients = Value::root(&documents.clients.name, &clients, report);
    let root = general.section();
    let of_clients = clients.section();
    let is_empty = |section: &Section<'_>, key| section.get(key).is_none_or(|one| one.is_null());
    if is_empty(&root, "cfg") {
        report.error(lacks(&documents.general, "cfg", "settings"));
        return None;
    }
    // A file that was cut off must not remove all members.
    if is_empty(&of_clients, "clients") {
        report.error(lacks(&documents.clients, "clients", "clients"));
        return None;
    }
    let cfg = root.section("cfg");
    let mut converted = General::read(&cfg, &of_clients, options, &peering_db);
    let mut files = vec![general, clients];
    if let (Some(file), Some(node)) = (&documents.bogons, &bogons) {
        let root = Value::root(&file.name, node, report);
        let list = PrefixEntry::read_list(root.section().get("bogons"));
        converted.bogons = notations(&list);
        files.push(root);
    }
    let toml = converted.write(&cfg, options);
    for file in &files {
        file.report_unread_keys();
    }
    Some(toml)
}

/// A file without its main key.
fn lacks(file: &SourceText, key: &str, what: &str) -> Finding {
    Finding {
        file: file.name.clone(),
        line: 1,
        column: 1,
        key: key.to_owned(),
        message: format!("the file has no {what}: write them below `{key}`"),
    }
}

fn read_peering_db(file: Option<&SourceText>, report: &Report) -> Option<PeeringDb> {
    let Some(file) = file else {
        return Some(PeeringDb::default());
    };
    match PeeringDb::parse(file.text.as_bytes(), usize::MAX) {
        Ok(networks) => Some(networks),
        Err(error) => {
            report.error(Finding {
                file: file.name.clone(),
                line: error.line,
                column: error.column,
                key: String::new(),
                message: format!("not a dump of PeeringDB's networks: {}", error.why),
            });
            None
        }
    }
}

/// What `general.yml` and `clients.yml` make of the configuration.
struct General<'a> {
    exchange: Keys,
    defaults: Keys,
    checks: Keys,
    irr: Keys,
    clients: Clients,
    /// The first key that needs RPKI data.
    rpki_user: Option<Value<'a>>,
    well_known: Option<&'static str>,
    black_list: Vec<PrefixEntry>,
    bogons: Vec<String>,
}

impl<'a> General<'a> {
    fn read(
        cfg: &Section<'a>,
        clients: &Section<'_>,
        options: &Options,
        peering_db: &PeeringDb,
    ) -> Self {
        let mut exchange = Keys::default();
        identity(cfg, &mut exchange);
        if let Some(path_hiding) = cfg.get("path_hiding")
            && path_hiding.bool() == Some(false)
        {
            path_hiding.note("Rutter selects the best path for each client, so no path is hidden");
        }
        let (mut session_keys, mut session) = SessionSettings::default().read(cfg);
        if cfg.get("passive").is_none() {
            session_keys.plain("passive", true);
            session.passive = true;
        }
        let filters = cfg.section("filtering");
        let irrdb = filters.section("irrdb");
        let defaults = (IrrSettings::default(), &MaxPrefix::default());
        let read = filtering::read(&filters, &irrdb, defaults);
        let mut checks = read.checks;
        filtering::read_general(&filters, peering_db, &mut checks);
        let black_list = PrefixEntry::read_list(filters.get("global_black_list_pref"));
        read.irr.keys(&mut checks);
        let irr = irrdb::convert(&irrdb, options);
        let roas = irrdb.section("use_rpki_roas_as_route_objects");
        let roas = roas
            .get("enabled")
            .filter(|value| value.bool() == Some(true));
        // Old files have `rpki`.
        let former = filters.get("rpki");
        let now = filters.section("rpki_bgp_origin_validation");
        let validation = match former {
            Some(former) if !now.is_present() => former.section(),
            _ => now,
        };
        let validated = validation
            .get("enabled")
            .filter(|value| value.bool() == Some(true));
        origin_validation(&validation, validated.is_some(), &mut checks);
        let roles = filters.section("roles");
        if roles.bool("enabled") == Some(true) {
            exchange.plain("roles", true);
        }
        if let Some(role) = roles.get("local_role") {
            role.error("only a client has a role: write it in clients.yml");
        }
        let has_dump = options.peering_db.is_some();
        if has_dump {
            session_keys.extend(read.max_prefix.default_key());
        }
        if read.max_prefix.uses_peering_db() && options.peering_db.is_none() {
            let limits = filters.section("max_prefix");
            if let Some(action) = limits.get("action") {
                action.note("PeeringDB's limits are not used; name a dump of its networks with --peeringdb FILE");
            }
        }
        blackhole::read(cfg.section("blackhole_filtering"), &mut checks);
        graceful_shutdown(cfg, &mut checks);
        let inherited = Inherited {
            session,
            irr: read.irr,
            max_prefix: read.max_prefix,
            validates_origins: validated.is_some(),
            has_dump,
        };
        General {
            exchange,
            defaults: session_keys,
            checks,
            irr,
            clients: Clients::read(clients, &inherited, peering_db),
            rpki_user: validated.or(roas),
            well_known: well_known(cfg),
            black_list,
            bogons: Vec::new(),
        }
    }

    fn write(mut self, cfg: &Section<'_>, options: &Options) -> String {
        let mut out = TomlWriter::default();
        self.lan(cfg, options);
        out.section("[exchange]");
        out.keys(&self.exchange);
        if !self.defaults.is_empty() {
            out.section("[defaults]");
            out.keys(&self.defaults);
        }
        rpki::convert(
            cfg.section("rpki_roas"),
            self.rpki_user.as_ref(),
            options,
            &mut out,
        );
        let irr = self.irr_keys(options);
        if !irr.is_empty() || self.clients.uses_irr {
            irrdb::write(&irr, &mut out);
        }
        out.section("[checks]");
        let mut black_list = notations(&self.black_list);
        black_list.extend(std::mem::take(&mut self.bogons));
        out.keys(&self.checks);
        let mut lists = Keys::default();
        lists.strings("black-list", &black_list);
        out.keys(&lists);
        communities::convert(
            cfg.section("communities"),
            &self.clients.aliases,
            self.well_known,
            more_communities(cfg, options),
            &mut out,
        );
        self.clients.write(&mut out);
        out.finish()
    }

    /// Returns the keys of `[irr]`. Limits that follow PeeringDB need its dump, whose AS-SETs ARouteServer may not use.
    fn irr_keys(&mut self, options: &Options) -> Keys {
        let mut keys = match self.clients.uses_irr {
            true => std::mem::take(&mut self.irr),
            false => Keys::default(),
        };
        if let (Some(path), true, None) = (
            &options.peering_db,
            self.clients.follows_peering_db,
            keys.value("peeringdb"),
        ) {
            keys.string("peeringdb", path);
            if self.clients.uses_irr {
                self.clients.need_no_as_sets_of_peering_db();
            }
        }
        keys
    }

    /// ARouteServer does not know the LAN.
    fn lan(&mut self, cfg: &Section<'_>, options: &Options) {
        let mut lan: Vec<String> = options.lan.iter().map(Prefix::to_string).collect();
        if lan.is_empty() {
            let lists = self.black_list.iter().map(|entry| entry.prefix);
            let lists: Vec<Prefix> = lists.collect();
            for address in &self.clients.addresses {
                let listed = lists.iter().find(|prefix| contains(**prefix, *address));
                let found = match listed {
                    Some(prefix) => prefix.to_string(),
                    None if address.is_ipv4() => format!("{address}/32"),
                    None => format!("{address}/128"),
                };
                if !lan.contains(&found) {
                    lan.push(found);
                }
            }
            cfg.note("the peering LAN is not in these files; it was taken from the black list and the clients. Name it with --lan PREFIX");
        }
        self.exchange.strings("lan", &lan);
    }
}

fn contains(prefix: Prefix, address: IpAddr) -> bool {
    match (prefix, address) {
        (Prefix::V4(prefix), IpAddr::V4(address)) => prefix.contains(address),
        (Prefix::V6(prefix), IpAddr::V6(address)) => prefix.contains(address),
        _ => false,
    }
}

fn identity(cfg: &Section<'_>, exchange: &mut Keys) {
    match cfg.number("rs_as") {
        Some(asn) => exchange.plain("asn", asn),
        None => cfg.error("`rs_as` is missing: the AS number of the route server"),
    }
    let Some(router_id) = cfg.get("router_id") else {
        return cfg.error("`router_id` is missing");
    };
    match router_id.list().as_slice() {
        [one] => {
            if let Some(text) = one.text() {
                exchange.string("router-id", &text);
            }
        }
        _ => router_id.error("write one router ID: each route server has its own configuration"),
    }
}

fn origin_validation(section: &Section<'_>, enabled: bool, checks: &mut Keys) {
    checks.string("rpki-invalid", if enabled { "reject" } else { "off" });
    if let Some(reject) = section.get("reject_invalid")
        && enabled
        && reject.bool() == Some(false)
    {
        reject.note("invalid routes are advertised to nobody, as with ARouteServer; `rutter show rejected` lists them");
    }
}

fn graceful_shutdown(cfg: &Section<'_>, checks: &mut Keys) {
    let section = cfg.section("graceful_shutdown");
    checks.plain(
        "graceful-shutdown",
        section.bool("enabled").unwrap_or(false),
    );
    if let Some(local_pref) = section.get("local_pref")
        && let Some(value) = local_pref.parse::<u32>("a number")
        && value >= 100
    {
        local_pref.error("Rutter makes these routes the least preferred; write a number below 100");
    }
}

fn well_known(cfg: &Section<'_>) -> Option<&'static str> {
    let section = cfg.section("rfc1997_wellknown_communities");
    let policy = section.get("policy");
    policy
        .as_ref()
        .and_then(|policy| match policy.text()?.as_str() {
            "pass" => Some("pass"),
            "rfc1997" => Some("honour"),
            _ => {
                policy.error("write pass or rfc1997");
                None
            }
        })
}

/// The keys of round-trip times and custom communities.
fn more_communities(cfg: &Section<'_>, options: &Options) -> Keys {
    let mut keys = Keys::default();
    if let Some(thresholds) = cfg.get("rtt_thresholds") {
        keys.numbers("rtt-thresholds", &thresholds.asns());
    }
    communities::custom(&cfg.section("custom_communities"), &mut keys);
    if let Some(path) = &options.rtt_file {
        keys.string("rtt-file", path);
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_an_error() {
        for text in ["", "# nothing\n", "cfg:\n"] {
            let documents = Documents {
                general: SourceText::new("general.yml", text),
                clients: SourceText::new("clients.yml", "clients: []\n"),
                bogons: None,
                peering_db: None,
            };
            let errors = convert(&documents, &Options::default()).unwrap_err();
            assert!(errors[0].message.contains("no settings"), "{errors:?}");
        }
    }

    /// Such a file would remove all members. An empty list is meant so.
    #[test]
    fn a_file_without_clients_is_an_error() {
        let read = |text: &str| {
            let documents = Documents {
                general: SourceText::new(
                    "general.yml",
                    "cfg: { rs_as: 64500, router_id: 192.0.2.1 }\n",
                ),
                clients: SourceText::new("clients.yml", text),
                bogons: None,
                peering_db: None,
            };
            let errors = convert(&documents, &Options::default());
            let errors = errors.err().unwrap_or_default();
            errors
                .into_iter()
                .map(|one| one.message)
                .collect::<String>()
        };
        for text in ["", "# nothing\n", "clients:\n"] {
            assert!(read(text).contains("no clients"), "{text:?}");
        }
        assert!(!read("clients: []\n").contains("no clients"));
    }
}
