//! `[[prefix-list]]`, `[[as-path-list]]`, `[[community-list]]` and `[[filter]]`: the operator's filters.

use std::sync::Arc;

use rutter_net::{Asn, Family, Prefix};
use rutter_policy::{
    AddedCommunity, AsPathList, COMBINATIONS, CommunityList, CommunityPattern, Conditions, Filter,
    FilterAction, FilterChain, FilterDefault, FilterRule, MAX_PREPEND, MedChange, PathLength,
    PrefixList, RemovedCommunities, RouteChanges, RuleSet,
};
use rutter_rpki::Rov;

use crate::key_rows::{Key, Reload};
use crate::list_file::entries;
use crate::read::Root;
use crate::suggest::nearest;
use crate::toml_values::{Item, Section};
use crate::value_forms::{asns, prefix_match};

/// The operator's filters, in the order of the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filters {
    /// The filters. A reload keeps those that did not change.
    pub list: Vec<Arc<Filter>>,
}

impl Filters {
    /// The filters of these names, in their order.
    pub fn chain(&self, names: &[String]) -> FilterChain {
        let find = |name: &String| self.list.iter().find(|filter| filter.name == *name);
        FilterChain::new(names.iter().filter_map(find).map(Arc::clone).collect())
    }

    /// Keeps the filters of a running configuration that did not change, so that nobody compares their lists again.
    pub(crate) fn keep(&mut self, running: &Filters) {
        for filter in &mut self.list {
            if let Some(held) = running.list.iter().find(|held| *held == filter) {
                *filter = Arc::clone(held);
            }
        }
    }

    /// Reports names in `import-filter` or `export-filter` that no filter has, and filters with too many rules together.
    pub(crate) fn check_names(&self, section: &Section<'_>, key: &str) {
        let Some(names) = section.get(key) else {
            return;
        };
        let (mut rules, mut combined) = (0, 0);
        for item in names.list() {
            let Some(name) = item.as_str() else { continue };
            match self.list.iter().find(|filter| filter.name == name) {
                Some(filter) => {
                    rules += filter.rules.len();
                    combined += filter.combined_changes();
                }
                None => unknown(&item, name, "filter", self.list.iter().map(|f| &*f.name)),
            }
        }
        if 1_usize.checked_shl(combined as u32).unwrap_or(usize::MAX) > COMBINATIONS {
            names.warning(
                format!("{combined} rules with action = \"next\" change routes, in any combination"),
                format!("of these, a neighbor's routes may meet {COMBINATIONS}; others are rejected. Write action = \"accept\" where a rule decides"),
            );
        }
        if rules > RuleSet::MAX {
            names.error(
                format!("these filters have {rules} rules together"),
                format!(
                    "use at most {} rules; a list may have any number of entries",
                    RuleSet::MAX
                ),
            );
        }
    }
}

impl Filters {
    /// Reports filters in `export-filter` that compare validation states: another set of VRPs would have to send routes
    /// again whose verdict stayed.
    pub(crate) fn check_export(&self, section: &Section<'_>) {
        let names = section.get("export-filter");
        for item in names.map_or_else(Vec::new, |item| item.list()) {
            let name = item.as_str().unwrap_or_default();
            let filter = self.list.iter().find(|filter| filter.name == name);
            if filter.is_some_and(|filter| filter.uses_origin_states()) {
                item.error(
                    format!(
                        "`{name}` compares validation states (`rov`), which only import filters can"
                    ),
                    "let an import filter add a community to such routes, and compare that here",
                );
            }
        }
    }
}

/// The lists that rules refer to.
#[derive(Default)]
struct Lists {
    prefixes: Vec<Arc<PrefixList>>,
    paths: Vec<Arc<AsPathList>>,
    communities: Vec<Arc<CommunityList>>,
}

/// The facts that rules depend on.
struct Context<'a> {
    lists: &'a Lists,
    has_rpki: bool,
    /// Our AS, which is `self` in communities.
    local: Asn,
}

/// Reads the lists and filters of the file.
pub(crate) fn filters(root: &Root<'_>, local: Asn, has_rpki: bool) -> Filters {
    let mut lists = Lists::default();
    root.each_of("prefix-list", &[PREFIX_LIST], |section| {
        let known = lists.prefixes.iter().map(|list| list.name());
        let name = own_name(&section, known);
        let found = section
            .require("prefixes", "[\"192.0.2.0/24\"]")
            .map(|item| entries(&item, prefix_match));
        if let Some(name) = name {
            let list = PrefixList::new(name, found.unwrap_or_default());
            lists.prefixes.push(Arc::new(list));
        }
    });
    root.each_of("as-path-list", &[AS_PATH_LIST], |section| {
        let known = lists.paths.iter().map(|list| list.name());
        let name = own_name(&section, known);
        let found = section
            .require("paths", "[\"_65001_\"]")
            .map(|item| (entries(&item, path_pattern), item));
        let (Some(name), Some((found, item))) = (name, found) else {
            return;
        };
        match AsPathList::new(name, found) {
            Ok(list) => lists.paths.push(Arc::new(list)),
            Err(why) => item.error(why.to_string(), "write fewer or shorter expressions"),
        }
    });
    root.each_of("community-list", &[COMMUNITY_LIST], |section| {
        let known = lists.communities.iter().map(|list| list.name());
        let name = own_name(&section, known);
        let found = section
            .require("communities", "[\"65001:*\"]")
            .map(|item| entries(&item, |i| pattern(i, local)));
        if let Some(name) = name {
            let list = CommunityList::new(name, found.unwrap_or_default());
            lists.communities.push(Arc::new(list));
        }
    });
    let mut filters = Filters::default();
    root.each_of("filter", &[FILTER], |section| {
        let known = filters.list.iter().map(|filter| &*filter.name);
        let name = own_name(&section, known);
        let context = Context {
            lists: &lists,
            has_rpki,
            local,
        };
        let filter = filter(&section, name, &context);
        filters.list.extend(filter.map(Arc::new));
    });
    filters
}

/// Reads a name that no other section of its kind has.
fn own_name<'a>(section: &Section<'_>, mut known: impl Iterator<Item = &'a str>) -> Option<String> {
    let item = section.require("name", "\"customers\"")?;
    let name = item.name()?;
    if known.any(|other| other == name) {
        item.error(
            format!("there are two sections with the name `{name}`"),
            "give each its own name",
        );
    }
    Some(name)
}

fn unknown<'a>(item: &Item<'_>, name: &str, kind: &str, known: impl Iterator<Item = &'a str>) {
    let hint = match nearest(name, known) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("write [[{kind}]] with name = \"{name}\""),
    };
    item.error(format!("there is no {kind} `{name}`"), hint);
}

fn path_pattern(item: &Item<'_>) -> Option<String> {
    let text = item.str("_65001_")?;
    match AsPathList::check(text) {
        Ok(()) => Some(text.to_owned()),
        Err(why) => {
            item.error(
                format!("`{text}` is not an expression over AS paths: {why}"),
                "write something like \"_65001_\", \"^65001 \", \"_65001$\" or \"^65001( 65001)*$\"",
            );
            None
        }
    }
}

fn pattern(item: &Item<'_>, local: Asn) -> Option<CommunityPattern> {
    match CommunityPattern::parse(item.str("65001:*")?, local) {
        Ok(pattern) => Some(pattern),
        Err(why) => {
            item.error(
                why.to_string(),
                "write something like \"65001:7\", \"self:100..199\", \"rt:65001:*\" or \"no-export\"",
            );
            None
        }
    }
}

fn filter(section: &Section<'_>, name: Option<String>, context: &Context<'_>) -> Option<Filter> {
    let words = [
        ("accept", FilterDefault::Accept),
        ("reject", FilterDefault::Reject),
    ];
    let default = section
        .require("default", "\"reject\"")
        .and_then(|item| item.word(&words));
    let items = section.get("rule").map_or_else(Vec::new, |i| i.list());
    let mut rules = Vec::new();
    for item in &items {
        item.section(RULE, "[[filter.rule]]", |section| {
            rules.extend(rule(&section, context));
        });
    }
    if items.len() > RuleSet::MAX {
        section.complain(
            "rule",
            format!("the filter has {} rules", items.len()),
            format!(
                "write at most {}; a list may have any number of entries",
                RuleSet::MAX
            ),
        );
    }
    let filter = Filter {
        name: name?,
        rules,
        // A missing default was reported; other sections may name the filter.
        default: default.unwrap_or(FilterDefault::Reject),
    };
    if let Some(last) = filter.last_reached_rule()
        && let Some(item) = items
            .get(last + 1)
            .filter(|_| items.len() == filter.rules.len())
    {
        item.warning(
            format!(
                "no route reaches this rule: rule {} of `{}` decides on every route",
                last + 1,
                filter.name
            ),
            "remove the rule, or give the rule before it a condition",
        );
    }
    Some(filter)
}

fn rule(section: &Section<'_>, context: &Context<'_>) -> Option<FilterRule> {
    let Context {
        lists, has_rpki, ..
    } = *context;
    let words = [
        ("accept", FilterAction::Accept),
        ("reject", FilterAction::Reject),
        ("next", FilterAction::Next),
    ];
    let action = section
        .require("action", "\"accept\"")
        .and_then(|item| item.word(&words));
    let reason = section.get("reason").and_then(|item| item.name());
    if action.is_some_and(|action| action != FilterAction::Reject)
        && let Some(item) = section.get("reason")
    {
        item.warning(
            "a rule that does not reject needs no reason",
            "write a comment (`# …`) instead",
        );
    }
    let mut conditions = Conditions::default();
    named(
        section,
        "prefix-list",
        &lists.prefixes,
        |l| l.name(),
        &mut conditions.prefix_lists,
    );
    named(
        section,
        "as-path-list",
        &lists.paths,
        |l| l.name(),
        &mut conditions.as_path_lists,
    );
    named(
        section,
        "community-list",
        &lists.communities,
        |l| l.name(),
        &mut conditions.community_lists,
    );
    section.set("origin-as", &mut conditions.origin_asns, asns);
    section.set("neighbor-as", &mut conditions.neighbor_asns, asns);
    section.set("next-hop", &mut conditions.next_hops, |item| {
        Some(item.each(network))
    });
    section.set("path-length", &mut conditions.path_length, |item| {
        path_length(item).map(Some)
    });
    section.set("family", &mut conditions.family, |item| {
        let words = [("ipv4", Family::Ipv4Unicast), ("ipv6", Family::Ipv6Unicast)];
        item.word(&words).map(Some)
    });
    section.set("rov", &mut conditions.origin_states, |item| {
        if !has_rpki {
            item.error(
                "[rpki] is missing, so the state of every route is unknown",
                "add [rpki] with rtr = \"127.0.0.1:3323\" or vrps = \"/var/lib/rpki-client/json\", or remove this key",
            );
        }
        Some(item.some(|item| {
            item.word(&[
                ("valid", Rov::Valid),
                ("invalid", Rov::Invalid),
                ("not-found", Rov::NotFound),
            ])
        }))
    });
    let changes = changes(section, context.local);
    let action = action?;
    if action == FilterAction::Reject
        && let Some(item) = CHANGES.iter().find_map(|key| section.get(key))
    {
        item.error(
            "a rule that rejects routes cannot change them",
            "remove the key, or write action = \"accept\" or \"next\"",
        );
    }
    Some(FilterRule {
        conditions,
        action,
        reason,
        changes,
    })
}

/// The keys that change routes.
const CHANGES: [&str; 6] = [
    "local-pref",
    "med",
    "prepend",
    "set-communities",
    "add-communities",
    "remove-communities",
];

/// Reads the changes of a rule.
fn changes(section: &Section<'_>, local: Asn) -> RouteChanges {
    let number = |item: &Item<'_>| item.int(0..=u64::from(u32::MAX)).map(|n| n as u32);
    let mut changes = RouteChanges::default();
    section.set("local-pref", &mut changes.local_pref, |item| {
        number(item).map(Some)
    });
    section.set("med", &mut changes.med, |item| match item.as_str() {
        Some(_) => item.word(&[("remove", Some(MedChange::Remove))]),
        None => number(item).map(|value| Some(MedChange::Set(value))),
    });
    section.set("prepend", &mut changes.prepend, |item| {
        item.int(1..=u64::from(MAX_PREPEND)).map(|n| n as u8)
    });
    section.set("remove-communities", &mut changes.removed, |item| {
        Some(match item.as_str() {
            Some("all") => RemovedCommunities::All,
            _ => RemovedCommunities::Matching(item.some(|item| pattern(item, local))),
        })
    });
    let added = |item: &Item<'_>| Some(item.some(|item| added_community(item, local)));
    section.set("add-communities", &mut changes.added, added);
    if let Some(item) = section.get("set-communities") {
        for other in ["add-communities", "remove-communities"] {
            section.edit(other, |other| {
                other.error(
                    "`set-communities` replaces all communities",
                    "write all communities into `set-communities`, or remove that key",
                );
            });
        }
        changes.removed = RemovedCommunities::All;
        changes.added = item.each(|item| added_community(item, local));
    }
    changes
}

pub(super) fn added_community(item: &Item<'_>, local: Asn) -> Option<AddedCommunity> {
    let pattern = pattern(item, local)?;
    let community = AddedCommunity::new(pattern);
    if community.is_none() {
        item.error(
            format!("`{pattern}` is more than one community"),
            "write a number or `self` in each field",
        );
    }
    community
}

/// Reads the names of lists.
fn named<T>(
    section: &Section<'_>,
    key: &'static str,
    known: &[Arc<T>],
    name_of: impl Fn(&T) -> &str,
    out: &mut Vec<Arc<T>>,
) {
    let Some(item) = section.get(key) else {
        return;
    };
    *out = item.some(|item| {
        let name = item.name()?;
        let found = known.iter().find(|list| name_of(list) == name);
        if found.is_none() {
            unknown(item, &name, key, known.iter().map(|list| name_of(list)));
        }
        found.map(Arc::clone)
    });
}

/// Reads a network or an address.
fn network(item: &Item<'_>) -> Option<Prefix> {
    let text = item.str("192.0.2.0/24")?;
    if let Ok(address) = text.parse::<std::net::IpAddr>() {
        let len = if address.is_ipv4() { 32 } else { 128 };
        return Prefix::from_addr(address, len);
    }
    item.parse("192.0.2.0/24")
}

/// Reads a range of path lengths: `"1-5"` or `3`.
fn path_length(item: &Item<'_>) -> Option<PathLength> {
    if item.as_str().is_none() {
        let number = item.int(0..=65_535)? as u16;
        return Some(PathLength {
            min: number,
            max: number,
        });
    }
    let text = item.str("1-5")?;
    let range = text.split_once('-').and_then(|(min, max)| {
        let (min, max) = (min.trim().parse().ok()?, max.trim().parse().ok()?);
        (min <= max).then_some(PathLength { min, max })
    });
    if range.is_none() {
        item.error(
            format!("`{text}` is not a range of path lengths"),
            "write a number, or shortest-longest like \"1-5\"",
        );
    }
    range
}

const fn key(
    name: &'static str,
    form: &'static str,
    default: &'static str,
    text: &'static str,
) -> Key {
    Key::new(name, form, default, text, Reload::Reevaluates)
}

const NAME: Key = key(
    "name",
    "text",
    "required",
    "The name, which other sections refer to.",
);

/// `[[prefix-list]]`
pub const PREFIX_LIST: &[Key] = &[
    NAME,
    key(
        "prefixes",
        "prefixes",
        "required",
        "The entries, as in `checks.black-list`: `\"192.0.2.0/24\"` with all subnets, `\"192.0.2.0/24 exact\"`, `\"192.0.2.0/24 25-28\"`, or `{ file = \"list.txt\" }`.",
    ),
];

/// `[[as-path-list]]`
pub const AS_PATH_LIST: &[Key] = &[
    NAME,
    key(
        "paths",
        "expressions",
        "required",
        "Regular expressions over the text of the path, such as `65001 65002 {65003,65004}`. `_` is the beginning, the end, a space, a comma or a brace. `{ file = \"list.txt\" }` is possible too.",
    ),
];

/// `[[community-list]]`
pub const COMMUNITY_LIST: &[Key] = &[
    NAME,
    key(
        "communities",
        "patterns",
        "required",
        "Standard (`\"65001:7\"`), extended (`\"rt:65001:7\"`, `\"ro:65001:7\"`) and large communities (`\"65001:7:1\"`), or well-known names (`\"no-export\"`). A field may be a number, `self` (our AS), `*`, or a range like `100..199`. `{ file = \"list.txt\" }` is possible too.",
    ),
];

/// `[[filter]]`
pub const FILTER: &[Key] = &[
    NAME,
    key(
        "default",
        "`\"accept\"`, `\"reject\"`",
        "required",
        "The decision on a route that no rule decides.",
    ),
    key(
        "rule",
        "tables",
        "none",
        "The rules in their order, each as `[[filter.rule]]`. For the keys, see below.",
    ),
];

/// `[[filter.rule]]`
pub const RULE: &[Key] = &[
    key(
        "action",
        "`\"accept\"`, `\"reject\"`, `\"next\"`",
        "required",
        "The decision on routes that satisfy all conditions of the rule. `next` leaves it to the next rule.",
    ),
    key(
        "reason",
        "text",
        "none",
        "Why the rule rejects a route, for `rutter explain` and the looking glass.",
    ),
    key(
        "local-pref",
        "number",
        "as received",
        "Change: LOCAL_PREF, which the decision process compares and internal neighbors receive. A route with GRACEFUL_SHUTDOWN stays least preferred.",
    ),
    key(
        "med",
        "number, or `\"remove\"`",
        "as received",
        "Change: MULTI_EXIT_DISC.",
    ),
    key(
        "prepend",
        "number",
        "none",
        "Change: repeat the first AS of the path this many times, at most 20. In an export filter of a router it is our own AS.",
    ),
    key(
        "set-communities",
        "communities",
        "as received",
        "Change: these communities in place of all others. `[]` removes all.",
    ),
    key(
        "add-communities",
        "communities",
        "none",
        "Change: add these communities, such as `\"self:100\"`, `\"rt:65001:7\"`, `\"self:1:2\"` or `\"no-export\"`.",
    ),
    key(
        "remove-communities",
        "patterns, or `\"all\"`",
        "none",
        "Change: remove the communities that match, as in `[[community-list]]`. They are removed before others are added.",
    ),
    key(
        "prefix-list",
        "names",
        "any prefix",
        "Condition: one of these lists has the prefix.",
    ),
    key(
        "as-path-list",
        "names",
        "any path",
        "Condition: an expression in one of these lists matches the AS path.",
    ),
    key(
        "community-list",
        "names",
        "any communities",
        "Condition: one of these lists has one of the route's communities.",
    ),
    key(
        "origin-as",
        "AS numbers",
        "any origin",
        "Condition: the last AS of the path is one of these.",
    ),
    key(
        "neighbor-as",
        "AS numbers",
        "any neighbor",
        "Condition: the neighbor that announced the route has one of these AS numbers.",
    ),
    key(
        "next-hop",
        "networks or addresses",
        "any next hop",
        "Condition: the next hop is in one of these networks.",
    ),
    key(
        "path-length",
        "number, or `\"1-5\"`",
        "any length",
        "Condition: the AS path has this many numbers. A set counts as one.",
    ),
    key(
        "family",
        "`\"ipv4\"`, `\"ipv6\"`",
        "both",
        "Condition: the family of the prefix.",
    ),
    key(
        "rov",
        "`\"valid\"`, `\"invalid\"`, `\"not-found\"`, or several",
        "any state",
        "Condition: the validation state of the origin (RFC 6811). It needs `[rpki]`; without its data no route satisfies it.",
    ),
];
