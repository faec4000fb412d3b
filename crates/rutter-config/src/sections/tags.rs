//! `[communities.tags]`: informational communities, which Rutter adds to the routes that it advertises.

use std::collections::BTreeMap;

use rutter_net::Asn;
use rutter_policy::{ActionCommunity, Field, Notation, RejectReason};

use crate::key_rows::{KeyRows, section};
use crate::toml_values::{Item, Section};

section! {
    /// Informational communities, which Rutter adds to the routes that it advertises. It removes them from received routes. The words are those of ARouteServer.
    pub struct Tags = "communities.tags" {
        /// Origin validation (RFC 6811): valid.
        "rpki-valid": "notations", default "none", reload Reevaluates
            => rpki_valid: Vec<Notation> = Vec::new(), read plain;
        /// Origin validation: invalid.
        "rpki-invalid": "notations", default "none", reload Reevaluates
            => rpki_invalid: Vec<Notation> = Vec::new(), read plain;
        /// Origin validation: not found (ARouteServer: unknown).
        "rpki-not-found": "notations", default "none", reload Reevaluates
            => rpki_not_found: Vec<Notation> = Vec::new(), read plain;
        /// Path verification by ASPAs: valid.
        "aspa-valid": "notations", default "none", reload Reevaluates
            => aspa_valid: Vec<Notation> = Vec::new(), read plain;
        /// Path verification by ASPAs: invalid.
        "aspa-invalid": "notations", default "none", reload Reevaluates
            => aspa_invalid: Vec<Notation> = Vec::new(), read plain;
        /// Path verification by ASPAs: unknown.
        "aspa-unknown": "notations", default "none", reload Reevaluates
            => aspa_unknown: Vec<Notation> = Vec::new(), read plain;
        /// The origin is in the member's AS-SETs.
        "origin-present-in-as-set": "notations", default "none", reload Reevaluates
            => origin_present_in_as_set: Vec<Notation> = Vec::new(), read plain;
        /// The origin is not in the member's AS-SETs.
        "origin-not-present-in-as-set": "notations", default "none", reload Reevaluates
            => origin_not_present_in_as_set: Vec<Notation> = Vec::new(), read plain;
        /// The prefix is registered by a network in the member's AS-SETs.
        "prefix-present-in-as-set": "notations", default "none", reload Reevaluates
            => prefix_present_in_as_set: Vec<Notation> = Vec::new(), read plain;
        /// The prefix is not registered by a network in the member's AS-SETs.
        "prefix-not-present-in-as-set": "notations", default "none", reload Reevaluates
            => prefix_not_present_in_as_set: Vec<Notation> = Vec::new(), read plain;
        /// The prefix is accepted because of a ROA (`irr.roas-as-route-objects`).
        "prefix-validated-via-rpki-roas": "notations", default "none", reload Reevaluates
            => prefix_validated_via_rpki_roas: Vec<Notation> = Vec::new(), read plain;
        /// The prefix is accepted because of ARIN's whois dump.
        "prefix-validated-via-arin-whois": "notations", default "none", reload Reevaluates
            => prefix_validated_via_arin_whois: Vec<Notation> = Vec::new(), read plain;
        /// The prefix is accepted because of registro.br's dump.
        "prefix-validated-via-registro-br": "notations", default "none", reload Reevaluates
            => prefix_validated_via_registro_br: Vec<Notation> = Vec::new(), read plain;
        /// The route is accepted because of the member's white list.
        "route-validated-via-white-list": "notations", default "none", reload Reevaluates
            => route_validated_via_white_list: Vec<Notation> = Vec::new(), read plain;
        /// The reason against the route, for `checks.reject-policy`: `code` is the number of the reason.
        "reject-cause": "notations with `code`", default "none", reload Reevaluates
            => reject_cause: Vec<Notation> = Vec::new(), read |i| with_field(i, Field::Code);
        /// The AS of the member that announced a route with `reject-cause`.
        "rejected-route-announced-by": "notations with `peer`", default "none", reload Reevaluates
            => rejected_route_announced_by: Vec<Notation> = Vec::new(), read |i| with_field(i, Field::Peer);
        /// Communities for single reasons, by their numbers, beside `reject-cause`.
        "reject-cause-map": "`{ \"7\" = \"self:1102:7\" }`", default "none", reload Reevaluates
            => reject_cause_map: BTreeMap<u16, Vec<Notation>> = BTreeMap::new(), read reject_cause_map;
    }
}

impl Tags {
    /// Reports tags that are equal to another tag, or that an action community means.
    pub(crate) fn check(
        section: &Section<'_>,
        local: Asn,
        actions: &[ActionCommunity],
        known: &mut Vec<(Notation, String)>,
    ) {
        for key in Tags::KEYS {
            let items = section.get(key.name).map_or_else(Vec::new, |item| {
                let entries = entries(&item).into_iter().flatten();
                let inner: Vec<Item<'_>> = entries.flat_map(|(_, item)| item.list()).collect();
                if inner.is_empty() { item.list() } else { inner }
            });
            for item in items {
                let Some(tag) = item.as_str().and_then(|text| text.parse().ok()) else {
                    continue;
                };
                check_tag(&item, &tag, local, actions, known);
                known.push((tag, key.name.to_owned()));
            }
        }
    }
}

pub(crate) fn check_tag(
    item: &Item<'_>,
    tag: &Notation,
    local: Asn,
    actions: &[ActionCommunity],
    known: &[(Notation, String)],
) {
    if tag.is_standard() && tag.names_self() && !local.is_two_octet() {
        item.error(
            format!("`{tag}`: AS{local} does not fit the 16 bits of a standard community"),
            "write a number instead of `self`, or a large community like \"self:1000:1\"",
        );
    }
    if let Some((_, key)) = known.iter().find(|(other, _)| other.overlaps(tag, local)) {
        item.error(
            format!("`{tag}` already means {key}"),
            "a community can have only one meaning",
        );
    }
    if let Some(action) = actions
        .iter()
        .find(|action| tag.overlaps(&action.notation, local))
    {
        item.error(
            format!(
                "`{tag}` already means {}, as `{}`",
                action.action.key(),
                action.notation
            ),
            "write another number, or a large community that no action uses",
        );
    }
}

/// Reads communities by the numbers of reasons.
fn reject_cause_map(item: &Item<'_>) -> Option<BTreeMap<u16, Vec<Notation>>> {
    let example = "{ \"7\" = \"self:1102:7\" }";
    let Some(entries) = entries(item) else {
        item.error("expected a table", format!("write {example}"));
        return None;
    };
    let mut map = BTreeMap::new();
    for (number, item) in entries {
        let is_code = |code: &u16| RejectReason::ALL.iter().any(|one| one.code() == *code);
        // `07` would be a second entry of the reason 7.
        let code = number.parse().ok().filter(is_code);
        match code.filter(|code| number == code.to_string()) {
            Some(code) => drop(map.insert(code, plain(&item).unwrap_or_default())),
            None => item.error(
                format!("`{number}` is not the number of a reason"),
                format!("write {example}; the reasons are in docs/config.md"),
            ),
        }
    }
    Some(map)
}

/// The entries of a table; `None` for another value.
fn entries<'a>(item: &Item<'a>) -> Option<Vec<(&'a str, Item<'a>)>> {
    let entry = |(name, value): (&'a toml::Spanned<toml::de::DeString<'a>>, _)| {
        let name = name.get_ref().as_ref();
        let item = Item {
            source: item.source,
            key: format!("{}.{name}", item.key),
            value,
        };
        (name, item)
    };
    Some(item.table()?.iter().map(entry).collect())
}

/// Reads communities without a variable field.
fn plain(item: &Item<'_>) -> Option<Vec<Notation>> {
    read(item, None, "self:1000:1")
}

/// Reads communities with one variable field.
fn with_field(item: &Item<'_>, field: Field) -> Option<Vec<Notation>> {
    let example = match field {
        Field::Peer => "self:1101:peer",
        _ => "self:1100:code",
    };
    read(item, Some(field), example)
}

fn read(item: &Item<'_>, variable: Option<Field>, example: &str) -> Option<Vec<Notation>> {
    Some(item.each(|item| {
        let tag = item.parse::<Notation>(example)?;
        if !tag.variables().eq(variable) {
            let wanted = match variable {
                Some(field) => format!("`{tag}` needs exactly one field `{field}`"),
                None => format!("`{tag}` has a variable field, which this tag does not fill"),
            };
            item.error(wanted, format!("write something like \"{example}\""));
            return None;
        }
        Some(tag)
    }))
}
