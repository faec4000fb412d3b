//! `[defaults]`, `[[member]]`, `[[neighbor]]` and `[[dynamic-neighbor]]`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use rutter_net::{Asn, PerFamily, Prefix};
use rutter_policy::{ImportRule, NextHopRule, Role};

use super::Root;
use crate::key_rows::KeyRows;
use crate::sections::checks::{Checks, InvalidRoutes, IrrCheck, PresentSections};
use crate::sections::exchange::Local;
use crate::sections::filter::Filters;
use crate::sections::irr::{Irr, as_set};
use crate::sections::neighbor::{
    DYNAMIC, DynamicNeighbor, ExportRule, GROUP, MEMBER, NEIGHBOR, Neighbor, NeighborKind,
};
use crate::sections::session::Session;
use crate::sections::white_list::WhiteList;
use crate::suggest::nearest;
use crate::toml_values::{Item, Section};
use crate::value_forms;

/// The sessions that were read so far.
pub(super) struct Neighbors<'a> {
    local: &'a Local,
    data: PresentSections,
    pub(super) irr: Option<&'a Irr>,
    /// The names in `communities.custom`.
    custom: Vec<String>,
    /// The filters that `import-filter` may name.
    pub(super) filters: Filters,
    defaults: Inherited,
    groups: Vec<(String, Inherited)>,
    found: Vec<Neighbor>,
    /// The position where each address appeared first.
    places: HashMap<IpAddr, String>,
    dynamic: Vec<DynamicNeighbor>,
}

/// The keys that a neighbor has from `[checks]`, `[defaults]` and its group, until it sets them itself.
#[derive(Clone, Debug)]
struct Inherited {
    group: Option<String>,
    session: Session,
    checks: Arc<Checks>,
}

impl Inherited {
    /// Gives members our role (RFC 9234), unless a section has another.
    fn add_role_of(&mut self, local: &Local) {
        if local.roles {
            self.session.role = self.session.role.or(Some(Role::RouteServer));
        }
    }
}

impl<'a> Neighbors<'a> {
    pub(super) fn new(
        local: &'a Local,
        data: PresentSections,
        checks: &Checks,
        session: Session,
        custom: Vec<String>,
    ) -> Self {
        let checks = Arc::new(checks.clone());
        Neighbors {
            local,
            data,
            irr: None,
            custom,
            filters: Filters::default(),
            defaults: Inherited {
                group: None,
                session,
                checks,
            },
            groups: Vec::new(),
            found: Vec::new(),
            places: HashMap::new(),
            dynamic: Vec::new(),
        }
    }

    /// Reads the sections of the main file.
    pub(super) fn read(&mut self, root: &Root<'_>) {
        root.section("defaults", &[Session::KEYS], |section| {
            self.defaults.session.read_from(&section);
            self.check_limits(&section);
            self.check_attached(&section);
        });
        root.each("group", GROUP, |section| self.group(&section));
        self.read_members(root);
        root.each("neighbor", NEIGHBOR, |section| self.neighbor(&section));
        root.each("dynamic-neighbor", DYNAMIC, |section| {
            self.dynamic(&section)
        });
    }

    /// Reads the members in the main file or a member file.
    pub(super) fn read_members(&mut self, root: &Root<'_>) {
        root.each("member", MEMBER, |section| self.member(&section));
    }

    /// Returns the neighbors sorted by address, and the dynamic neighbors with the longest prefix first.
    pub(super) fn finish(mut self) -> (Vec<Neighbor>, Vec<DynamicNeighbor>) {
        self.found.sort_by_key(|n| n.address);
        self.dynamic
            .sort_by_key(|d| (std::cmp::Reverse(d.prefix.len()), d.prefix));
        (self.found, self.dynamic)
    }

    fn member(&mut self, section: &Section<'_>) {
        if self.local.exchange.is_none() {
            section.complain(
                "asn",
                "members need [exchange]",
                "write [exchange], or [[neighbor]] instead of [[member]]",
            );
        }
        let mut inherited = self.inherited(section);
        inherited.add_role_of(self.local);
        let asn = section
            .require("asn", "64511")
            .and_then(|i| self.member_asn(&i, &inherited.checks));
        let as_sets = section
            .get("as-sets")
            .map_or_else(Vec::new, |i| i.each(|i| self.as_set(i)));
        let mut white_list = WhiteList::new();
        section.edit("white-list", |item| {
            item.section(
                WhiteList::KEYS,
                "{ prefixes = [\"192.0.2.0/24\"] }",
                |table| {
                    white_list.update(&table);
                },
            );
        });
        self.check_registration(section, &inherited.checks, asn);
        let member = Neighbor {
            kind: NeighborKind::Member,
            import: ImportRule::Checks,
            export: ExportRule::All,
            as_sets,
            white_list,
            ..self.template(inherited, asn.unwrap_or(Asn(0)))
        };
        for (address, item) in addresses(section) {
            self.expect_on_lan(address, &item);
            self.add(at_address(&member, address), &item);
        }
    }

    fn as_set(&self, item: &Item<'_>) -> Option<String> {
        let name = as_set(item)?;
        if let Some(irr) = self.irr {
            irr.check_registry(item, &name);
        }
        Some(name)
    }

    /// Our own AS.
    pub(super) fn local_asn(&self) -> Asn {
        self.local.asn
    }

    /// Returns whether an address is on the LAN of the exchange.
    pub(super) fn is_on_lan(&self, address: IpAddr) -> bool {
        let exchange = self.local.exchange.as_ref();
        exchange.is_some_and(|exchange| exchange.lan.iter().any(|lan| lan.contains(address)))
    }

    /// A member with the keys of `[defaults]` and `[checks]`.
    pub(super) fn member_template(&self, asn: Asn) -> Neighbor {
        let mut inherited = self.defaults.clone();
        inherited.add_role_of(self.local);
        self.template(inherited, asn)
    }

    /// Adds a neighbor unless another has its address.
    pub(super) fn add_unless_known(&mut self, neighbor: Neighbor, place: String) {
        if let Entry::Vacant(entry) = self.places.entry(neighbor.address) {
            entry.insert(place);
            self.found.push(neighbor);
        }
    }

    fn member_asn(&self, item: &Item<'_>, checks: &Checks) -> Option<Asn> {
        let asn = value_forms::asn(item)?;
        if asn == self.local.asn {
            item.error(
                format!("AS{asn} is the route server's own AS"),
                "write the AS number of the member",
            );
        }
        if checks.invalid_asns && asn.is_bogon() && !checks.allowed_bogon_asns.contains(&asn) {
            item.warning(
                format!(
                    "AS{asn} is reserved, so all routes of this member will be rejected (reason 7)"
                ),
                format!("write checks.allow-asns = [{asn}] if this is intended"),
            );
        }
        Some(asn)
    }

    fn expect_on_lan(&self, address: IpAddr, item: &Item<'_>) {
        let lans = self
            .local
            .exchange
            .as_ref()
            .map(|e| e.lan.as_slice())
            .unwrap_or_default();
        if !lans.is_empty() && !lans.iter().any(|lan| lan.contains(address)) {
            let lans: Vec<String> = lans.iter().map(Prefix::to_string).collect();
            item.warning(
                format!("{address} is not on the LAN ({})", lans.join(", ")),
                "correct the address, or add its network to exchange.lan",
            );
        }
    }

    fn neighbor(&mut self, section: &Section<'_>) {
        let inherited = self.inherited(section);
        let asn = section
            .require("asn", "64511")
            .and_then(|i| value_forms::asn(&i));
        let neighbor = self.read_own(section, self.template(inherited, asn.unwrap_or(Asn(0))));
        if neighbor.kind == NeighborKind::External {
            warn_default_deny(section);
            warn_unverified_paths(section, &neighbor);
        }
        for (address, item) in addresses(section) {
            self.add(at_address(&neighbor, address), &item);
        }
    }

    fn dynamic(&mut self, section: &Section<'_>) {
        let inherited = self.inherited(section);
        let Some(prefix) = section
            .require("prefix", "\"192.0.2.0/24\"")
            .and_then(|i| i.parse::<Prefix>("192.0.2.0/24"))
        else {
            return;
        };
        let asns = section
            .get("asn")
            .map(|i| i.each(value_forms::asn))
            .unwrap_or_default();
        let only_internal = !asns.is_empty() && asns.iter().all(|asn| *asn == self.local.asn);
        let asn = if only_internal {
            self.local.asn
        } else {
            Asn(0)
        };
        let neighbor = self.read_own(section, self.template(inherited, asn));
        if neighbor.kind == NeighborKind::External {
            warn_default_deny(section);
            warn_unverified_paths(section, &neighbor);
        }
        let anybody = match prefix {
            Prefix::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            Prefix::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let mut template = at_address(&neighbor, anybody);
        template.session.passive = true;
        template.name = section
            .get("description")
            .and_then(|i| i.text())
            .unwrap_or_else(|| prefix.to_string());
        let limit = section
            .get("limit")
            .and_then(|i| i.int(1..=65535))
            .unwrap_or(100) as u32;
        self.dynamic.push(DynamicNeighbor {
            prefix,
            asns,
            limit,
            template,
        });
    }

    /// Reads a group. Its keys replace those of `[defaults]` and `[checks]`.
    fn group(&mut self, section: &Section<'_>) {
        let mut group = self.defaults.clone();
        self.read_inherited(&mut group, section);
        let Some(item) = section.require("name", "\"members\"") else {
            return;
        };
        let Some(name) = item.name() else {
            return;
        };
        if self.groups.iter().any(|(other, _)| *other == name) {
            item.error(
                format!("there are two groups `{name}`"),
                "give each its own name",
            );
        }
        group.group = Some(name.clone());
        self.groups.push((name, group));
    }

    /// Returns the keys of the group that a section names, or of `[defaults]`, with those that it sets itself.
    fn inherited(&self, section: &Section<'_>) -> Inherited {
        let group = section.get("group").and_then(|item| self.find_group(&item));
        let mut inherited = group.unwrap_or(&self.defaults).clone();
        self.read_inherited(&mut inherited, section);
        inherited
    }

    fn find_group(&self, item: &Item<'_>) -> Option<&Inherited> {
        let name = item.name()?;
        let found = self.groups.iter().find(|(other, _)| *other == name);
        if found.is_none() {
            let known = self.groups.iter().map(|(name, _)| name.as_str());
            let hint = match nearest(&name, known) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("write [[group]] with name = \"{name}\" in the main file"),
            };
            item.error(format!("there is no group `{name}`"), hint);
        }
        found.map(|(_, group)| group)
    }

    fn read_inherited(&self, inherited: &mut Inherited, section: &Section<'_>) {
        let Inherited {
            session, checks, ..
        } = inherited;
        section.edit("checks", |item| {
            item.section(Checks::KEYS, "{ max-as-path-length = 20 }", |table| {
                Arc::make_mut(checks).read_from(&table, self.data);
                if table.get("next-hop").is_some() {
                    // It takes precedence over `next-hop` of `[defaults]` or of the group.
                    session.next_hop = None;
                }
            });
        });
        session.read_from(section);
        self.check_limits(section);
        self.check_attached(section);
        let next_hop = session.next_hop.unwrap_or(checks.next_hop);
        if next_hop == NextHopRule::Authorized && session.authorized_addresses.is_empty() {
            section.warn(
                "authorized-addresses",
                "`next-hop = \"authorized\"` without addresses is the same as \"strict\"",
                "write authorized-addresses = [\"192.0.2.11\"]",
            );
        }
    }

    /// Reports limits from PeeringDB without its data.
    fn check_limits(&self, section: &Section<'_>) {
        let limits = section.get("max-prefix");
        let Some(item) = limits.and_then(|limits| limits.entry("peeringdb")) else {
            return;
        };
        let is_wanted = item.table().is_some() || item.value.get_ref().as_bool() == Some(true);
        if is_wanted && !self.data.peeringdb {
            item.error(
                "`irr.peeringdb` is missing, which has the limits",
                "write peeringdb = \"/var/lib/peeringdb/net.json\" in [irr]: a dump of https://www.peeringdb.com/api/net",
            );
        }
    }

    /// Reports names that no filter or `communities.custom` has.
    fn check_attached(&self, section: &Section<'_>) {
        self.filters.check_names(section, "import-filter");
        self.filters.check_names(section, "export-filter");
        self.filters.check_export(section);
        let names = section.get("attach-communities");
        for item in names.map_or_else(Vec::new, |item| item.list()) {
            let Some(name) = item.as_str().filter(|name| !name.trim().is_empty()) else {
                continue;
            };
            if !self.custom.iter().any(|known| known == name) {
                let hint = match nearest(name, self.custom.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("write {name} = \"self:2000:1\" in [communities.custom]"),
                };
                item.error(format!("`{name}` is not in communities.custom"), hint);
            }
        }
    }

    /// Warns of a member for which nothing is registered, and of AS-SETs that nothing uses.
    fn check_registration(&self, section: &Section<'_>, checks: &Checks, asn: Option<Asn>) {
        let is_checked = checks.irr != IrrCheck::Off;
        match section.get("as-sets") {
            Some(item) if !is_checked => item.warning(
                "`as-sets` has no effect, because `checks.irr` is off",
                "add [irr] with server = \"rr.ntt.net\", or remove the key",
            ),
            None if is_checked && !self.data.peeringdb => {
                let own = asn.map_or_else(|| "the member".to_owned(), |asn| format!("AS{asn}"));
                let page = asn.map_or_else(String::new, |asn| {
                    format!(", at https://www.peeringdb.com/asn/{asn}")
                });
                section.warn(
                    "as-sets",
                    format!("{own} has no `as-sets`, so only routes with {own} itself as origin are accepted"),
                    format!("write as-sets = [\"AS-FOO\"]; PeeringDB has the name as \"IRR as-set\"{page}"),
                );
            }
            _ => {}
        }
    }

    /// Returns a neighbor with these keys of a session and safe values for the others.
    fn template(&self, inherited: Inherited, asn: Asn) -> Neighbor {
        Neighbor {
            address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            name: String::new(),
            kind: NeighborKind::External,
            asn,
            local_asn: self.local.asn,
            import: ImportRule::None,
            export: ExportRule::None,
            next_hop_self: false,
            local_pref: 100,
            as_sets: Vec::new(),
            white_list: WhiteList::new(),
            is_unnamed: false,
            group: inherited.group,
            checks: inherited.checks,
            session: inherited.session,
        }
    }

    /// Reads the keys of `[[neighbor]]` and `[[dynamic-neighbor]]`. Their defaults depend on the kind of neighbor.
    fn read_own(&self, section: &Section<'_>, template: Neighbor) -> Neighbor {
        let local_asn = section.get("local-asn").and_then(|i| value_forms::asn(&i));
        let local_asn = local_asn.unwrap_or(self.local.asn);
        let kind = kind(section, template.asn == local_asn);
        let mut own = Neighbor {
            kind,
            local_asn,
            import: match kind {
                NeighborKind::Collector => ImportRule::Collect,
                NeighborKind::External => ImportRule::None,
                _ => ImportRule::All,
            },
            export: match kind {
                NeighborKind::Collector | NeighborKind::External => ExportRule::None,
                _ => ExportRule::All,
            },
            next_hop_self: kind == NeighborKind::External,
            ..template
        };
        if kind == NeighborKind::Collector {
            refuse_for_collectors(section);
            return own;
        }
        section.set("import", &mut own.import, |i| i.word(IMPORT));
        section.set("export", &mut own.export, |i| i.word(EXPORT));
        if let (Some(item), true) = (section.get("checks"), own.import != ImportRule::Checks) {
            item.warning(
                "these checks have no effect without import = \"checks\"",
                "write import = \"checks\", or remove the key",
            );
        }
        section.set("next-hop-self", &mut own.next_hop_self, Item::bool);
        section.set("local-pref", &mut own.local_pref, |i| {
            i.int(0..=u64::from(u32::MAX)).map(|n| n as u32)
        });
        own
    }

    fn add(&mut self, neighbor: Neighbor, item: &Item<'_>) {
        let address = neighbor.address;
        if let Some(place) = self.places.get(&address) {
            return item.error(
                format!("{address} is already used by a neighbor, at {place}"),
                "remove one of them",
            );
        }
        self.places.insert(address, item.source.place(item.at()));
        self.found.push(neighbor);
    }
}

/// Returns the neighbor at an address, with its name and families.
pub(super) fn at_address(template: &Neighbor, address: IpAddr) -> Neighbor {
    let mut neighbor = Neighbor {
        address,
        ..template.clone()
    };
    let both = neighbor.kind == NeighborKind::Collector;
    let own = PerFamily::new(both || address.is_ipv4(), both || address.is_ipv6());
    neighbor.session.families.get_or_insert(own);
    neighbor.name = match &neighbor.session.description {
        Some(text) => text.clone(),
        None => format!("AS{} {address}", neighbor.asn),
    };
    neighbor
}

const IMPORT: &[(&str, ImportRule)] = &[
    ("all", ImportRule::All),
    ("none", ImportRule::None),
    ("checks", ImportRule::Checks),
];

const EXPORT: &[(&str, ExportRule)] = &[("all", ExportRule::All), ("none", ExportRule::None)];

#[derive(Clone, Copy)]
enum Mode {
    Router,
    Client,
    Collector,
}

fn kind(section: &Section<'_>, internal: bool) -> NeighborKind {
    let mode = section.get("mode");
    let read = |i: &Item<'_>| {
        i.word(&[
            ("router", Mode::Router),
            ("client", Mode::Client),
            ("collector", Mode::Collector),
        ])
    };
    match (
        mode.as_ref().and_then(read).unwrap_or(Mode::Router),
        internal,
    ) {
        (Mode::Collector, _) => NeighborKind::Collector,
        (Mode::Client, true) => NeighborKind::ReflectorClient,
        (Mode::Client, false) => {
            if let Some(item) = mode {
                item.error(
                    "a client of a route reflector has our own AS (RFC 4456)",
                    "write the same asn, or [[member]] for a client of a route server",
                );
            }
            NeighborKind::External
        }
        (Mode::Router, true) => NeighborKind::Internal,
        (Mode::Router, false) => NeighborKind::External,
    }
}

fn refuse_for_collectors(section: &Section<'_>) {
    for name in ["import", "export", "import-filter", "export-filter"] {
        if let Some(item) = section.get(name) {
            item.error(
                format!("`{name}` has no meaning with mode = \"collector\""),
                "remove the key: a collector accepts all routes and advertises none",
            );
        }
    }
}

fn warn_default_deny(section: &Section<'_>) {
    for (name, what) in [("import", "accepted from"), ("export", "advertised to")] {
        if section.get(name).is_none() {
            section.warn(
                name,
                format!("no route is {what} this neighbor, because `{name}` is not set (RFC 8212)"),
                format!("write {name} = \"all\", or {name} = \"none\" if this is intended"),
            );
        }
    }
}

/// Without a role nobody knows which paths the neighbor may announce.
fn warn_unverified_paths(section: &Section<'_>, neighbor: &Neighbor) {
    let wanted = neighbor.checks.aspa_invalid != InvalidRoutes::Accept;
    if wanted && neighbor.import == ImportRule::Checks && neighbor.session.role.is_none() {
        section.warn(
            "role",
            "its paths are not verified by ASPAs, because `role` is not set",
            "write role = \"customer\" if the neighbor is a provider, or checks = { aspa-invalid = \"off\" }",
        );
    }
}

fn addresses<'a>(section: &Section<'a>) -> Vec<(IpAddr, Item<'a>)> {
    let Some(item) = section.require("address", "\"192.0.2.11\"") else {
        return Vec::new();
    };
    let items = item.list();
    if items.is_empty() {
        item.error(
            "no address is given",
            "write [\"192.0.2.11\", \"2001:db8:1::11\"]",
        );
    }
    let read = |item: Item<'a>| Some((item.parse::<IpAddr>("192.0.2.11")?, item));
    items.into_iter().filter_map(read).collect()
}
