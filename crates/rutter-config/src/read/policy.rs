//! `[checks]` and `[communities]`.

use rutter_net::{Asn, Family, PerFamily};
use rutter_policy::{
    Action, ActionCommunity, LengthRange, NextHopRule, Notation, TRANSIT_FREE, WellKnown,
};
use toml::de::DeValue;

use super::Root;
use crate::config::{Checks, Communities};
use crate::forms;
use crate::item::{Item, Section};
use crate::schema::{self, PER_FAMILY};

/// The values of `next-hop`.
pub(super) const NEXT_HOP: &[(&str, NextHopRule)] = &[
    ("strict", NextHopRule::Strict),
    ("same-as", NextHopRule::SameAs),
    ("authorized", NextHopRule::Authorized),
    ("any", NextHopRule::Any),
];

impl Default for Checks {
    fn default() -> Self {
        let safe = rutter_policy::ImportSettings::default();
        Checks {
            prefix_length: safe.prefix_length,
            next_hop: safe.next_hop,
            first_as: safe.enforce_first_as,
            max_as_path_len: safe.max_as_path_len,
            bogons: safe.reject_bogons,
            ipv6_global_unicast: safe.require_global_unicast,
            invalid_asns: safe.reject_invalid_asns,
            allowed_bogon_asns: Vec::new(),
            transit_free_asns: Vec::new(),
            never_via_route_servers: Vec::new(),
            reject_as_set: safe.reject_as_set,
            black_list: Vec::new(),
            blackhole: safe.blackhole,
            graceful_shutdown: safe.graceful_shutdown,
        }
    }
}

pub(super) fn checks(root: &Root<'_>) -> Checks {
    root.section("checks", &[schema::CHECKS], |section| {
        let mut checks = Checks::default();
        section.set("next-hop", &mut checks.next_hop, |i| i.word(NEXT_HOP));
        section.set("first-as", &mut checks.first_as, Item::bool);
        section.set("max-as-path-length", &mut checks.max_as_path_len, |i| {
            i.int(1..=65535).map(|n| n as u16)
        });
        section.set("bogons", &mut checks.bogons, Item::bool);
        section.set(
            "ipv6-global-unicast",
            &mut checks.ipv6_global_unicast,
            Item::bool,
        );
        section.set("invalid-asns", &mut checks.invalid_asns, Item::bool);
        section.set("allow-asns", &mut checks.allowed_bogon_asns, asns);
        section.set("transit-free", &mut checks.transit_free_asns, transit_free);
        section.set(
            "never-via-route-servers",
            &mut checks.never_via_route_servers,
            asns,
        );
        section.set("as-set", &mut checks.reject_as_set, |i| {
            i.word(&[("reject", true), ("accept", false)])
        });
        section.set("black-list", &mut checks.black_list, |i| {
            Some(i.each(forms::prefix_match))
        });
        section.set(
            "graceful-shutdown",
            &mut checks.graceful_shutdown,
            Item::bool,
        );
        if let Some(item) = section.get("prefix-length") {
            prefix_length(&item, &mut checks.prefix_length);
        }
        if let Some(item) = section.get("blackhole") {
            blackhole(&item, &mut checks.blackhole);
        }
        not_yet(&section, "rpki-invalid");
        not_yet(&section, "irr");
        checks
    })
}

pub(super) fn asns(item: &Item<'_>) -> Option<Vec<Asn>> {
    Some(item.each(forms::asn))
}

fn transit_free(item: &Item<'_>) -> Option<Vec<Asn>> {
    match item.value.get_ref() {
        DeValue::Boolean(true) => Some(TRANSIT_FREE.to_vec()),
        DeValue::Boolean(false) => Some(Vec::new()),
        _ => asns(item),
    }
}

fn prefix_length(item: &Item<'_>, out: &mut PerFamily<LengthRange>) {
    item.section(PER_FAMILY, "{ v4 = \"8-24\", v6 = \"12-48\" }", |section| {
        section.set("v4", &mut out[Family::Ipv4Unicast], |i| {
            forms::lengths(i, 32)
        });
        section.set("v6", &mut out[Family::Ipv6Unicast], |i| {
            forms::lengths(i, 128)
        });
    });
}

fn blackhole(item: &Item<'_>, out: &mut PerFamily<bool>) {
    if let DeValue::Boolean(both) = item.value.get_ref() {
        *out = PerFamily::both(*both);
        return;
    }
    item.section(
        PER_FAMILY,
        "true, false or { v4 = true, v6 = false }",
        |section| {
            section.set("v4", &mut out[Family::Ipv4Unicast], Item::bool);
            section.set("v6", &mut out[Family::Ipv6Unicast], Item::bool);
        },
    );
}

/// Refuses a check that this version does not support.
fn not_yet(section: &Section<'_>, name: &str) {
    if let Some(item) = section.get(name)
        && item.str("off").is_some_and(|text| text != "off")
    {
        item.error(
            "this version does not support this check",
            "write \"off\", or remove the key; see allow-prefixes and allow-origins for static filters",
        );
    }
}

pub(super) fn communities(root: &Root<'_>, local: Asn, exchange: bool) -> Communities {
    let own = if exchange {
        WellKnown::Pass
    } else {
        WellKnown::Honour
    };
    let mut communities = Communities {
        actions: Vec::new(),
        rfc1997: own,
        scrub: true,
        aliases: Vec::new(),
    };
    root.section("communities", &[schema::COMMUNITIES], |section| {
        for (action, key) in Action::ALL {
            if let Some(item) = section.get(key) {
                actions(&item, action, local, &mut communities.actions);
            }
        }
        section.set("rfc1997", &mut communities.rfc1997, |i| {
            i.word(&[("pass", WellKnown::Pass), ("honour", WellKnown::Honour)])
        });
        section.set("scrub", &mut communities.scrub, Item::bool);
        section.set("aliases", &mut communities.aliases, aliases);
    });
    communities
}

fn actions(item: &Item<'_>, action: Action, local: Asn, out: &mut Vec<ActionCommunity>) {
    for item in item.list() {
        let Some(notation) = item.parse::<Notation>("self:0:peer") else {
            continue;
        };
        match ActionCommunity::new(action, notation) {
            Err(why) => item.error(why.to_string(), "see \"Action communities\" in the manual"),
            Ok(_) if never_matches(&notation, local) => item.error(
                format!("`{notation}`: AS{local} does not fit the 16 bits of a standard community"),
                "write a number instead of `self`, or a large community: \"self:0:peer\"",
            ),
            Ok(community) => match out.iter().find(|known| known.notation == notation) {
                Some(known) => item.error(
                    format!("`{notation}` already means {}", known.action.key()),
                    "a notation can have only one meaning",
                ),
                None => out.push(community),
            },
        }
    }
}

fn never_matches(notation: &Notation, local: Asn) -> bool {
    matches!(notation, Notation::Standard(_)) && notation.names_self() && !local.is_two_octet()
}

fn aliases(item: &Item<'_>) -> Option<Vec<(u16, Asn)>> {
    let Some(table) = item.table() else {
        item.error("expected a table", "write { \"64600\" = 4200000001 }");
        return None;
    };
    let mut aliases = Vec::new();
    for (short, value) in table.iter() {
        let key = format!("{}.{}", item.key, short.get_ref());
        let value = Item {
            source: item.source,
            key,
            value,
        };
        match short.get_ref().parse::<u16>() {
            Ok(number) if number > 0 => aliases.extend(forms::asn(&value).map(|asn| (number, asn))),
            _ => value.error(
                "the alias is not a 16-bit number",
                "write { \"64600\" = 4200000001 }",
            ),
        }
    }
    Some(aliases)
}
