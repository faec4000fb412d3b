//! `[[filter-test]]`: tests of the operator's filters, which run when the file is read.

use std::fmt::Display;

use rutter_net::{Asn, Prefix};
use rutter_policy::{AddedCommunity, FilterChain, FilterDecision, Trial, TrialRoute};
use rutter_rpki::Rov;

use super::filter::Filters;
use super::filter_rule::added_community;
use crate::key_rows::{Key, Reload};
use crate::read::Root;
use crate::toml_values::{Item, Section};
use crate::value_forms::asn;

/// Runs the tests of the file. Each expectation that is not met is an error of its key.
pub(crate) fn run(root: &Root<'_>, local: Asn, filters: &Filters) {
    root.each_of("filter-test", &[FILTER_TEST], |section| {
        filters.check_names(&section, "filter");
        let names = section.require("filter", "\"customer\"");
        let names: Vec<String> = names.map_or_else(Vec::new, |item| item.each(Item::name));
        let chain = filters.chain(&names);
        let route = route(&section, local);
        let words = [("accept", true), ("reject", false)];
        let expect = section.require("expect", "\"accept\"");
        let accepts = expect.as_ref().and_then(|item| item.word(&words));
        if let (Some(route), Some(item), Some(accepts)) = (route, &expect, accepts)
            && !chain.is_empty()
        {
            let trial = chain.try_route(&route);
            match unexpected(accepts, &chain, &trial) {
                Some(got) => item.error(got, "correct the filter, or this test"),
                None if accepts => compare_attributes(&section, local, &trial.route),
                None => refuse_attributes(&section),
            }
        }
    });
}

/// The decision of the filters, if it is not the expected one.
fn unexpected(accepts: bool, chain: &FilterChain, trial: &Trial) -> Option<String> {
    match trial.decision {
        FilterDecision::Accepted(_) => (!accepts).then(|| "the route is accepted".to_owned()),
        FilterDecision::Rejected { filter, rule } => {
            let why = chain.describe(filter, rule);
            accepts.then(|| format!("the route is rejected: {why}"))
        }
    }
}

fn refuse_attributes(section: &Section<'_>) {
    for key in ATTRIBUTES {
        section.edit(key, |item| {
            item.error(
                "a rejected route has no attributes",
                "remove the key, or write expect = \"accept\"",
            );
        });
    }
}

fn compare_attributes(section: &Section<'_>, local: Asn, route: &TrialRoute) {
    section.edit("expect-communities", |item| {
        let mut wanted = item.each(|item| added_community(item, local));
        let mut got = route.communities.clone();
        let by_text = |list: &mut Vec<AddedCommunity>| list.sort_by_key(ToString::to_string);
        by_text(&mut wanted);
        by_text(&mut got);
        report(item, wanted == got, "communities", &list(&got));
    });
    section.edit("expect-path", |item| {
        if let Some(wanted) = path(item) {
            report(item, wanted == route.path, "path", &list(&route.path));
        }
    });
    for (key, what, got) in [
        ("expect-local-pref", "LOCAL_PREF", route.local_pref),
        ("expect-med", "MULTI_EXIT_DISC", route.med),
    ] {
        section.edit(key, |item| {
            let wanted = match item.as_str() {
                Some(_) => item.word(&[("none", None)]),
                None => number(item).map(Some),
            };
            if let Some(wanted) = wanted {
                let got_text = got.map_or_else(|| "none".to_owned(), |value| value.to_string());
                report(item, wanted == got, what, &got_text);
            }
        });
    }
}

fn report(item: &Item<'_>, is_met: bool, what: &str, got: &str) {
    if !is_met {
        let message = match got {
            "" | "none" => format!("the filters leave the route without {what}"),
            got => format!("the filters leave the route with the {what} {got}"),
        };
        item.error(message, "correct the filter, or this test");
    }
}

fn list<T: Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(" ")
}

/// Reads the route of a test.
fn route(section: &Section<'_>, local: Asn) -> Option<TrialRoute> {
    let example = "193.0.0.0/21";
    let prefix = section.require("prefix", "\"193.0.0.0/21\"")?;
    let prefix: Option<Prefix> = prefix.parse(example);
    let mut route = TrialRoute {
        prefix: prefix?,
        path: Vec::new(),
        communities: Vec::new(),
        local_pref: None,
        med: None,
        next_hop: None,
        neighbor: Asn(0),
        origin_state: None,
    };
    section.set("path", &mut route.path, path);
    route.neighbor = route.path.first().copied().unwrap_or(Asn(0));
    section.set("neighbor-as", &mut route.neighbor, asn);
    section.set("communities", &mut route.communities, |item| {
        Some(item.each(|item| added_community(item, local)))
    });
    section.set("local-pref", &mut route.local_pref, |item| {
        number(item).map(Some)
    });
    section.set("med", &mut route.med, |item| number(item).map(Some));
    section.set("next-hop", &mut route.next_hop, |item| {
        item.parse("192.0.2.11").map(Some)
    });
    section.set("rov", &mut route.origin_state, |item| {
        item.word(&[
            ("valid", Some(Rov::Valid)),
            ("invalid", Some(Rov::Invalid)),
            ("not-found", Some(Rov::NotFound)),
        ])
    });
    Some(route)
}

fn number(item: &Item<'_>) -> Option<u32> {
    item.int(0..=u64::from(u32::MAX)).map(|n| n as u32)
}

/// Reads an AS path: AS numbers with spaces between them.
fn path(item: &Item<'_>) -> Option<Vec<Asn>> {
    let text = item.str("64501 65001")?;
    let numbers = text
        .split_whitespace()
        .map(|asn| asn.parse::<u32>().map(Asn));
    let path = numbers.collect::<Result<Vec<Asn>, _>>().ok();
    let path = path.filter(|path| path.len() <= MAX_PATH);
    if path.is_none() {
        item.error(
            format!("`{text}` is not an AS path"),
            format!("write up to {MAX_PATH} AS numbers, like \"64501 65001\""),
        );
    }
    path
}

/// The most AS numbers of a segment.
const MAX_PATH: usize = 255;

/// The keys that expect attributes.
const ATTRIBUTES: [&str; 4] = [
    "expect-communities",
    "expect-path",
    "expect-local-pref",
    "expect-med",
];

const fn key(
    name: &'static str,
    form: &'static str,
    default: &'static str,
    text: &'static str,
) -> Key {
    Key::new(name, form, default, text, Reload::AtOnce)
}

/// `[[filter-test]]`
pub const FILTER_TEST: &[Key] = &[
    key(
        "filter",
        "names",
        "required",
        "The filters, as in `import-filter`.",
    ),
    key("prefix", "prefix", "required", "The prefix of the route."),
    key(
        "path",
        "AS numbers",
        "an empty path",
        "Its AS path, like `\"64501 65001\"`.",
    ),
    key(
        "communities",
        "communities",
        "none",
        "Its communities, of any kind.",
    ),
    key("local-pref", "number", "none", "Its LOCAL_PREF."),
    key("med", "number", "none", "Its MULTI_EXIT_DISC."),
    key("next-hop", "address", "`0.0.0.0`", "Its next hop."),
    key(
        "neighbor-as",
        "AS number",
        "the first AS of the path",
        "The AS of the neighbor that announces it.",
    ),
    key(
        "rov",
        "`\"valid\"`, `\"invalid\"`, `\"not-found\"`",
        "unknown",
        "The validation state of its origin.",
    ),
    key(
        "expect",
        "`\"accept\"`, `\"reject\"`",
        "required",
        "The decision of the filters.",
    ),
    key(
        "expect-communities",
        "communities",
        "any",
        "All communities that the route has afterwards, in any order.",
    ),
    key(
        "expect-path",
        "AS numbers",
        "any",
        "The AS path that it has afterwards. A prepend repeats the first AS.",
    ),
    key(
        "expect-local-pref",
        "number, or `\"none\"`",
        "any",
        "The LOCAL_PREF that it has afterwards.",
    ),
    key(
        "expect-med",
        "number, or `\"none\"`",
        "any",
        "The MULTI_EXIT_DISC that it has afterwards.",
    ),
];
