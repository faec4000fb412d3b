//! The clients, as members.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rutter_irr::PeeringDb;

use crate::filtering;
use crate::irrdb::IrrSettings;
use crate::max_prefix::{Form, MaxPrefix};
use crate::prefix_entry::{PrefixEntry, notations};
use crate::session::SessionSettings;
use crate::toml_writer::{Keys, TomlWriter};
use crate::yaml::{Section, Value};

/// The settings that clients inherit from `general.yml`.
pub(crate) struct Inherited {
    pub(crate) session: SessionSettings,
    pub(crate) irr: IrrSettings,
    pub(crate) max_prefix: MaxPrefix,
    pub(crate) validates_origins: bool,
    /// A dump of PeeringDB's networks is named.
    pub(crate) has_dump: bool,
}

/// The data from other places that clients need.
struct Context<'a> {
    inherited: &'a Inherited,
    peering_db: &'a PeeringDb,
    /// The AS-SETs of AS numbers.
    as_sets: BTreeMap<u32, Vec<String>>,
}

/// All clients.
#[derive(Default)]
pub(crate) struct Clients {
    /// The sections `[[member]]`.
    sections: Vec<Keys>,
    /// The addresses of all clients.
    pub(crate) addresses: Vec<IpAddr>,
    /// The 16-bit AS numbers that stand for AS numbers of 32 bits.
    pub(crate) aliases: BTreeMap<u32, u32>,
    /// Whether some client's routes are compared with registrations.
    pub(crate) uses_irr: bool,
    /// Whether some client's prefix limits follow PeeringDB.
    pub(crate) follows_peering_db: bool,
}

impl Clients {
    /// Reads `clients.yml`.
    pub(crate) fn read(root: &Section<'_>, inherited: &Inherited, peering_db: &PeeringDb) -> Self {
        let mut as_sets = BTreeMap::new();
        for (name, value) in root.section("asns").entries() {
            let section = value.section();
            let asn = name.strip_prefix("AS").and_then(|n| n.parse::<u32>().ok());
            let sets = strings(section.get("as_sets"));
            match asn {
                Some(asn) => drop(as_sets.insert(asn, sets)),
                None => value.error("write the AS as AS64500"),
            }
        }
        let mut clients = Clients::default();
        let list = root
            .get("clients")
            .map_or_else(Vec::new, |list| list.list());
        let context = Context {
            inherited,
            peering_db,
            as_sets,
        };
        for value in list {
            clients.add(&value, &context);
        }
        clients
    }

    /// Gives clients without AS-SETs their own AS alone: PeeringDB's data are for their limits.
    pub(crate) fn need_no_as_sets_of_peering_db(&mut self) {
        for section in &mut self.sections {
            if let (Some(asn), None) = (section.value("asn"), section.value("as-sets")) {
                let own = format!("AS{asn}");
                section.strings("as-sets", &[own]);
            }
        }
    }

    /// Writes the sections.
    pub(crate) fn write(&self, out: &mut TomlWriter) {
        for keys in &self.sections {
            out.section("[[member]]");
            out.keys(keys);
        }
    }

    fn add(&mut self, value: &Value<'_>, context: &Context<'_>) {
        let client = value.section();
        let (Some(asn), Some(address)) = (client.number("asn"), client.get("ip")) else {
            client.error("a client needs `asn` and `ip`");
            client.skip_other_keys();
            return;
        };
        let addresses: Vec<IpAddr> = address
            .list()
            .iter()
            .filter_map(|item| item.parse("an address"))
            .collect();
        self.addresses.extend(&addresses);
        self.alias(&client, asn);
        let mut keys = Keys::default();
        for (from, to) in [("description", "description"), ("password", "password")] {
            if let Some(text) = client.text(from) {
                keys.string(to, &text);
            }
        }
        let cfg = client.section("cfg");
        let (session_keys, session) = context.inherited.session.read(&cfg);
        keys.extend(session_keys);
        self.filtering(&cfg, asn, context, &mut keys);
        let attached = strings(cfg.get("attach_custom_communities"));
        keys.strings("attach-communities", &attached);
        self.write_sections(asn, &addresses, session, &keys);
    }

    /// A client with RFC 8950 has another section for its IPv6 sessions, which then carry both families.
    fn write_sections(
        &mut self,
        asn: u32,
        addresses: &[IpAddr],
        session: SessionSettings,
        keys: &Keys,
    ) {
        let (ipv6, ipv4): (Vec<IpAddr>, Vec<IpAddr>) =
            addresses.iter().partition(|address| address.is_ipv6());
        let groups = match session.rfc8950 {
            true => vec![(ipv4, false), (ipv6, true)],
            false => vec![(addresses.to_vec(), false)],
        };
        for (addresses, extended) in groups.into_iter().filter(|(list, _)| !list.is_empty()) {
            let mut section = Keys::default();
            section.plain("asn", asn);
            let listed: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
            section.strings("address", &listed);
            if extended {
                section.strings("families", &["ipv4", "ipv6"]);
                section.plain("extended-next-hop", true);
            }
            section.extend(keys.clone());
            self.sections.push(section);
        }
    }

    fn alias(&mut self, client: &Section<'_>, asn: u32) {
        let Some(value) = client.get("16bit_mapped_asn") else {
            return;
        };
        let Some(alias) = value.parse::<u16>("a 16-bit AS number") else {
            return;
        };
        let former = self.aliases.insert(u32::from(alias), asn);
        if let Some(former) = former.filter(|former| *former != asn) {
            value.error(format!("{alias} stands for AS{former} already"));
        }
    }

    fn filtering(&mut self, cfg: &Section<'_>, asn: u32, context: &Context<'_>, keys: &mut Keys) {
        let Context {
            inherited,
            peering_db,
            as_sets,
        } = context;
        let section = cfg.section("filtering");
        let irrdb = section.section("irrdb");
        let read = filtering::read(&section, &irrdb, (inherited.irr, &inherited.max_prefix));
        let mut checks = read.checks;
        let limits = read.max_prefix;
        let form = limits.form(&inherited.max_prefix, inherited.has_dump);
        keys.extend(limits.key(form, asn, peering_db));
        self.follows_peering_db |= !matches!(form, Form::Numbers { .. } | Form::Frozen { .. });
        if matches!(form, Form::Frozen { .. }) {
            let section = section.section("max_prefix");
            let own = section.get("limit_ipv4").or(section.get("limit_ipv6"));
            if let Some(own) = own {
                own.note("the limit of the other family is that of PeeringDB as it is now, because the settings differ from those of general.yml");
            }
        }
        let next_hop = section.section("next_hop");
        let authorized = strings(next_hop.get("authorized_addresses_list"));
        keys.strings("authorized-addresses", &authorized);
        let black_list = PrefixEntry::read_list(section.get("black_list_pref"));
        keys.strings("black-list", &notations(&black_list));
        self.uses_irr |= read.irr.is_used();
        if read.irr != inherited.irr {
            read.irr.keys(&mut checks);
        }
        let own = strings(irrdb.get("as_sets"));
        let sets = match own.is_empty() {
            true => as_sets.get(&asn).cloned().unwrap_or_default(),
            false => own,
        };
        keys.strings("as-sets", &sets);
        keys.table("white-list", &white_list(&irrdb));
        roles(section.section("roles"));
        validation(&section, inherited);
        let blackhole = cfg.section("blackhole_filtering");
        crate::blackhole::read(blackhole, &mut checks);
        let shutdown = cfg.section("graceful_shutdown");
        if let Some(enabled) = shutdown.bool("enabled") {
            checks.plain("graceful-shutdown", enabled);
        }
        keys.table("checks", &checks);
    }
}

/// Reads a client's switch of origin validation.
fn validation(section: &Section<'_>, inherited: &Inherited) {
    for name in ["rpki", "rpki_bgp_origin_validation"] {
        let rpki = section.section(name);
        if let (Some(reject), true) = (rpki.get("reject_invalid"), inherited.validates_origins)
            && reject.bool() == Some(false)
        {
            reject.note("invalid routes are advertised to nobody, as with ARouteServer; `rutter show rejected` lists them");
        }
    }
}

/// Reads the keys of roles that [`SessionSettings`] does not convert for a client.
fn roles(section: Section<'_>) {
    if let Some(enabled) = section.get("enabled")
        && enabled.bool() == Some(true)
        && section.get("local_role").is_none()
    {
        enabled.note("enabled for all members by cfg.filtering.roles.enabled of general.yml; write local_role for this client alone");
    }
}

/// Reads the white lists of a client.
fn white_list(irrdb: &Section<'_>) -> Keys {
    let mut table = Keys::default();
    let prefixes = PrefixEntry::read_list(irrdb.get("white_list_pref"));
    table.strings("prefixes", &notations(&prefixes));
    if let Some(asns) = irrdb.get("white_list_asn") {
        table.numbers("asns", &asns.asns());
    }
    let mut routes = Vec::new();
    let list = irrdb
        .get("white_list_route")
        .map_or_else(Vec::new, |list| list.list());
    for item in list {
        let section = item.section();
        let asn = section.number("asn");
        if let Some(entry) = PrefixEntry::read(&section) {
            routes.push(match asn {
                Some(asn) => format!("{entry} AS{asn}"),
                None => entry.to_string(),
            });
        }
    }
    table.strings("routes", &routes);
    table
}

fn strings(list: Option<Value<'_>>) -> Vec<String> {
    let items = list.map_or_else(Vec::new, |list| list.list());
    items.iter().filter_map(Value::text).collect()
}
