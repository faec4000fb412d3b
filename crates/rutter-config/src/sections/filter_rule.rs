//! `[[filter.rule]]`: the conditions and the changes of one rule of a filter.

use std::sync::Arc;

use rutter_net::{Asn, Family, Prefix};
use rutter_policy::{
    AddedCommunity, Conditions, FilterAction, FilterRule, MAX_PREPEND, MedChange, PathLength,
    RemovedCommunities, RouteChanges,
};
use rutter_rpki::Rov;

use super::filter::{Context, key, pattern, unknown};
use crate::key_rows::Key;
use crate::toml_values::{Item, Section};
use crate::value_forms::asns;

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

/// Reads a rule.
pub(super) fn rule(section: &Section<'_>, context: &Context<'_>) -> Option<FilterRule> {
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
