//! `[[prefix-list]]`, `[[as-path-list]]`, `[[community-list]]` and `[[filter]]`: the operator's filters.

use std::sync::Arc;

use rutter_net::Asn;
use rutter_policy::{
    AsPathList, COMBINATIONS, CommunityList, CommunityPattern, Filter, FilterChain, FilterDefault,
    PrefixList, RuleSet,
};

use super::filter_rule::{RULE, rule};
use crate::key_rows::{Key, Reload};
use crate::list_file::entries;
use crate::read::Root;
use crate::suggest::nearest;
use crate::toml_values::{Item, Section};
use crate::value_forms::prefix_match;

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
pub(super) struct Lists {
    pub prefixes: Vec<Arc<PrefixList>>,
    pub paths: Vec<Arc<AsPathList>>,
    pub communities: Vec<Arc<CommunityList>>,
}

/// The facts that rules depend on.
pub(super) struct Context<'a> {
    pub lists: &'a Lists,
    pub has_rpki: bool,
    /// Our AS, which is `self` in communities.
    pub local: Asn,
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

pub(super) fn unknown<'a>(
    item: &Item<'_>,
    name: &str,
    kind: &str,
    known: impl Iterator<Item = &'a str>,
) {
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

pub(super) fn pattern(item: &Item<'_>, local: Asn) -> Option<CommunityPattern> {
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

/// A row of this section: a reload judges the routes again.
pub(super) const fn key(
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
