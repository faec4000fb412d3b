//! Communities of ARouteServer as notations of Rutter.

use std::collections::BTreeMap;

use crate::toml_writer::{Keys, TomlWriter, quoted};
use crate::yaml::{Section, Value};

/// Actions without a count: the name and the key of `[communities]`.
const ACTIONS: [(&str, &str); 12] = [
    ("blackholing", "blackhole"),
    ("do_not_announce_to_any", "not-to-any"),
    ("do_not_announce_to_peer", "not-to-peer"),
    ("announce_to_peer", "to-peer"),
    ("add_noexport_to_any", "no-export-any"),
    ("add_noexport_to_peer", "no-export-peer"),
    ("add_noadvertise_to_any", "no-advertise-any"),
    ("add_noadvertise_to_peer", "no-advertise-peer"),
    (
        "do_not_announce_to_peers_with_rtt_lower_than",
        "not-to-rtt-lower",
    ),
    (
        "do_not_announce_to_peers_with_rtt_higher_than",
        "not-to-rtt-higher",
    ),
    ("announce_to_peers_with_rtt_lower_than", "to-rtt-lower"),
    ("announce_to_peers_with_rtt_higher_than", "to-rtt-higher"),
];

/// Actions that prepend once, twice and thrice, and the key of `[communities]`.
const PREPENDS: [([&str; 3], &str); 4] = [
    (
        [
            "prepend_once_to_any",
            "prepend_twice_to_any",
            "prepend_thrice_to_any",
        ],
        "prepend-any",
    ),
    (
        [
            "prepend_once_to_peer",
            "prepend_twice_to_peer",
            "prepend_thrice_to_peer",
        ],
        "prepend-peer",
    ),
    (
        [
            "prepend_once_to_peers_with_rtt_lower_than",
            "prepend_twice_to_peers_with_rtt_lower_than",
            "prepend_thrice_to_peers_with_rtt_lower_than",
        ],
        "prepend-rtt-lower",
    ),
    (
        [
            "prepend_once_to_peers_with_rtt_higher_than",
            "prepend_twice_to_peers_with_rtt_higher_than",
            "prepend_thrice_to_peers_with_rtt_higher_than",
        ],
        "prepend-rtt-higher",
    ),
];

/// Informational communities and their keys of `[communities.tags]`.
const TAGS: [(&str, &str); 10] = [
    ("prefix_present_in_as_set", "prefix-present-in-as-set"),
    (
        "prefix_not_present_in_as_set",
        "prefix-not-present-in-as-set",
    ),
    ("origin_present_in_as_set", "origin-present-in-as-set"),
    (
        "origin_not_present_in_as_set",
        "origin-not-present-in-as-set",
    ),
    (
        "prefix_validated_via_rpki_roas",
        "prefix-validated-via-rpki-roas",
    ),
    (
        "prefix_validated_via_arin_whois_db_dump",
        "prefix-validated-via-arin-whois",
    ),
    (
        "prefix_validated_via_registrobr_whois_db_dump",
        "prefix-validated-via-registro-br",
    ),
    (
        "route_validated_via_white_list",
        "route-validated-via-white-list",
    ),
    ("reject_cause", "reject-cause"),
    ("rejected_route_announced_by", "rejected-route-announced-by"),
];

/// Communities that ARouteServer keeps inside the route server.
const INTERNAL: [&str; 4] = [
    "rpki_bgp_origin_validation_not_performed",
    "rpki_bgp_origin_validation_valid",
    "rpki_bgp_origin_validation_unknown",
    "rpki_bgp_origin_validation_invalid",
];

/// What a macro stands for in a community.
#[derive(Clone, Copy)]
enum DynamicValue {
    /// A threshold, in actions by round-trip time.
    Rtt,
    Code,
    Peer,
}

/// Reads `communities` and writes `[communities]` with its tags. `aliases` maps 16-bit AS numbers to those of members;
/// `well_known` is the policy of NO_EXPORT and NO_ADVERTISE, `keys`
/// has further keys.
pub(crate) fn convert(
    section: Section<'_>,
    aliases: &BTreeMap<u32, u32>,
    well_known: Option<&str>,
    mut keys: Keys,
    out: &mut TomlWriter,
) {
    for (name, key) in ACTIONS {
        let forms = notations(section.get(name), DynamicValue::Rtt);
        keys.strings(key, &without_forms(&forms));
    }
    for (names, key) in PREPENDS {
        let counts = names.map(|name| {
            let value = section.get(name);
            let forms = notations(value.clone(), DynamicValue::Rtt);
            (value, forms)
        });
        keys.strings(key, &prepends(&counts));
    }
    let mut tags = Keys::default();
    for (name, key) in TAGS {
        let dynamic = match name {
            "reject_cause" => DynamicValue::Code,
            "rejected_route_announced_by" => DynamicValue::Peer,
            _ => DynamicValue::Rtt,
        };
        let forms = notations(section.get(name), dynamic);
        tags.strings(key, &without_forms(&forms));
    }
    for name in INTERNAL {
        if let Some(value) = section.get(name)
            && !notations(Some(value.clone()), DynamicValue::Rtt).is_empty()
        {
            value.note("not needed: `rutter show route` shows the state of each route, and clients never receive this community");
        }
    }
    let mut of_reasons = Keys::default();
    for (code, value) in section.section("reject_cause_map").entries() {
        let forms = notations(Some(value), DynamicValue::Rtt);
        of_reasons.strings(&quoted(&code), &without_forms(&forms));
    }
    tags.table("reject-cause-map", &of_reasons);
    if let Some(policy) = well_known {
        keys.string("rfc1997", policy);
    }
    let mut table = Keys::default();
    for (alias, asn) in aliases {
        table.plain(&format!("\"{alias}\""), asn);
    }
    keys.table("aliases", &table);
    if !keys.is_empty() {
        out.section("[communities]");
        out.keys(&keys);
    }
    if !tags.is_empty() {
        out.section("[communities.tags]");
        out.keys(&tags);
    }
}

/// Reads `custom_communities` and adds the key.
pub(crate) fn custom(section: &Section<'_>, keys: &mut Keys) {
    let mut table = Keys::default();
    for (name, value) in section.entries() {
        let forms = notations(Some(value), DynamicValue::Rtt);
        table.strings(&quoted(&name), &without_forms(&forms));
    }
    keys.table("custom", &table);
}

/// The form of a community.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Standard,
    Extended,
    Large,
}

/// Reads `std`, `ext` and `lrg` of a community.
fn notations(value: Option<Value<'_>>, dynamic: DynamicValue) -> Vec<(Form, String)> {
    let Some(value) = value else {
        return Vec::new();
    };
    let section = value.section();
    let forms = [
        ("std", Form::Standard),
        ("ext", Form::Extended),
        ("lrg", Form::Large),
    ];
    let mut out = Vec::new();
    for (key, form) in forms {
        if let Some(community) = section.get(key) {
            out.extend(notation(&community, form, dynamic).map(|text| (form, text)));
        }
    }
    out
}

/// Converts one community, with its macros.
fn notation(community: &Value<'_>, form: Form, dynamic: DynamicValue) -> Option<String> {
    let text = community.text()?;
    let fields: Vec<&str> = text.split(':').map(str::trim).collect();
    let (kind, fields) = match (form, fields.as_slice()) {
        (Form::Standard, [_, _]) | (Form::Large, [_, _, _]) => ("", fields.as_slice()),
        (Form::Extended, ["rt", rest @ ..]) if rest.len() == 2 => ("rt:", rest),
        (Form::Extended, ["ro", rest @ ..]) if rest.len() == 2 => ("ro:", rest),
        _ => {
            community.error(format!(
                "`{text}` has not the form of this kind of community"
            ));
            return None;
        }
    };
    let mut converted = Vec::new();
    for field in fields {
        converted.push(match (*field, dynamic) {
            ("rs_as", _) => "self".to_owned(),
            ("peer_as", _) | ("dyn_val", DynamicValue::Peer) => "peer".to_owned(),
            ("dyn_val", DynamicValue::Code) => "code".to_owned(),
            ("dyn_val", DynamicValue::Rtt) => "rtt".to_owned(),
            (number, _) if number.parse::<u32>().is_ok() => number.to_owned(),
            (other, _) => {
                community.error(format!(
                    "`{other}` is neither a number nor a macro for this community"
                ));
                return None;
            }
        });
    }
    Some(format!("{kind}{}", converted.join(":")))
}

fn without_forms(forms: &[(Form, String)]) -> Vec<String> {
    forms.iter().map(|(_, text)| text.clone()).collect()
}

/// The communities of one count, with their place in the file.
type Count<'a> = (Option<Value<'a>>, Vec<(Form, String)>);

/// Joins the communities for once, twice and thrice to notations with a range.
fn prepends(counts: &[Count<'_>; 3]) -> Vec<String> {
    let mut out = Vec::new();
    for form in [Form::Standard, Form::Extended, Form::Large] {
        let of = |index: usize| {
            let (_, forms): &Count<'_> = &counts[index];
            let mut forms = forms.iter();
            forms
                .find(|(other, _)| *other == form)
                .map(|(_, text)| text.as_str())
        };
        let all = [of(0), of(1), of(2)];
        if let Some(text) = range(all) {
            out.push(text);
            continue;
        }
        for (text, times) in all.into_iter().zip(1..) {
            let Some(text) = text else { continue };
            match counted(text, times) {
                Some(text) => out.push(text),
                None => {
                    if let Some(value) = &counts[times - 1].0 {
                        value.error("one part of the community must be a number");
                    }
                }
            }
        }
    }
    out
}

/// Gives a count to a number of a notation: `65522=2:65522`.
fn counted(text: &str, times: usize) -> Option<String> {
    let mut fields: Vec<String> = text.split(':').map(str::to_owned).collect();
    let number = fields
        .iter_mut()
        .find(|field| field.parse::<u32>().is_ok())?;
    *number = format!("{number}={times}");
    Some(fields.join(":"))
}

/// Joins notations that differ in one number, which counts up: `65501:peer`, `65502:peer` as `65501..65502:peer`.
fn range(counts: [Option<&str>; 3]) -> Option<String> {
    let given = counts.iter().take_while(|text| text.is_some()).count();
    if given == 0 || counts[given..].iter().any(Option::is_some) {
        return None;
    }
    let rows: Vec<Vec<&str>> = counts[..given]
        .iter()
        .map(|text| text.unwrap_or_default().split(':').collect())
        .collect();
    let first = &rows[0];
    let differing: Vec<usize> = (0..first.len())
        .filter(|field| rows.iter().any(|row| row.get(*field) != first.get(*field)))
        .collect();
    let field = match differing.as_slice() {
        [field] => *field,
        // A single row: its last number is the range.
        [] if given == 1 => (0..first.len())
            .rev()
            .find(|field| first[*field].parse::<u32>().is_ok_and(|n| n > 0))?,
        _ => return None,
    };
    let numbers: Option<Vec<u32>> = rows.iter().map(|row| row[field].parse().ok()).collect();
    let numbers = numbers?;
    let counts_up = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
    if !counts_up {
        return None;
    }
    let mut fields: Vec<String> = first.iter().map(ToString::to_string).collect();
    fields[field] = format!("{}..{}", numbers[0], numbers[given - 1]);
    Some(fields.join(":"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn counts_become_a_range() {
        let range = |texts: &[&str]| {
            let mut counts = [None; 3];
            for (count, text) in counts.iter_mut().zip(texts) {
                *count = Some(*text);
            }
            super::range(counts)
        };
        assert_eq!(
            range(&["65501:peer", "65502:peer", "65503:peer"]).as_deref(),
            Some("65501..65503:peer")
        );
        assert_eq!(
            range(&["self:1:peer", "self:2:peer"]).as_deref(),
            Some("self:1..2:peer")
        );
        assert_eq!(range(&["self:5:0"]).as_deref(), Some("self:5..5:0"));
        assert_eq!(range(&["self:1:peer", "self:3:peer"]), None);
        assert_eq!(range(&["1:1", "2:2"]), None);
        assert_eq!(
            super::counted("rt:65522:65522", 2).as_deref(),
            Some("rt:65522=2:65522")
        );
        assert_eq!(super::counted("self:peer", 2), None);
    }
}
