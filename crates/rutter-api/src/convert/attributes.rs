//! Converts path attributes into a row.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use rutter_rib::{AttrSet, SentRoute};
use rutter_wire::attr::{Attributes, code};

use crate::{AttributesRow, UnknownAttributeRow};

/// Converts an interned attribute set.
pub(crate) fn attributes_row(set: &AttrSet) -> AttributesRow {
    AttributesRow {
        next_hop: set.next_hop(),
        link_local_next_hop: set.link_local_next_hop(),
        ..AttributesRow::of(&set.attributes())
    }
}

/// Converts the attributes of a route as it is sent.
pub(crate) fn sent_attributes_row(route: &SentRoute) -> AttributesRow {
    AttributesRow {
        next_hop: Some(route.next_hop),
        link_local_next_hop: route.link_local_next_hop,
        ..block_row(&route.attributes())
    }
}

impl AttributesRow {
    /// Converts the attributes of a block. The next hop is the NEXT_HOP attribute.
    pub fn of(attrs: &Attributes<'_>) -> Self {
        block_row(attrs)
    }
}

fn block_row(attrs: &Attributes<'_>) -> AttributesRow {
    AttributesRow {
        origin: attrs.origin().map(|o| o.to_string().to_lowercase()),
        as_path: attrs.as_path().map(|path| path.to_string()),
        next_hop: attrs.next_hop().map(Into::into),
        link_local_next_hop: None,
        multi_exit_disc: attrs.multi_exit_disc(),
        local_pref: attrs.local_pref(),
        atomic_aggregate: attrs.atomic_aggregate(),
        aggregator: attrs
            .aggregator()
            .map(|a| format!("{} {}", a.asn, a.router_id)),
        communities: strings(attrs.communities()),
        extended_communities: strings(attrs.extended_communities()),
        large_communities: strings(attrs.large_communities()),
        originator_id: attrs.originator_id().map(Ipv4Addr::from_bits),
        cluster_list: attrs.cluster_list().map(Ipv4Addr::from_bits).collect(),
        only_to_customer: attrs.only_to_customer().map(|asn| asn.0),
        aigp: attrs.aigp(),
        unknown: unknown_rows(attrs),
    }
}

fn strings(values: impl Iterator<Item = impl ToString>) -> Vec<String> {
    values.map(|v| v.to_string()).collect()
}

fn unknown_rows(attrs: &Attributes<'_>) -> Vec<UnknownAttributeRow> {
    attrs
        .iter()
        .filter(|raw| !HAS_FIELD.contains(&raw.code))
        .map(|raw| UnknownAttributeRow {
            code: raw.code,
            flags: raw.flags,
            value: hex(raw.value),
        })
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut out, octet| {
            let _ = write!(out, "{octet:02x}");
            out
        })
}

/// The attributes with a field in [`AttributesRow`].
const HAS_FIELD: &[u8] = &[
    code::ORIGIN,
    code::AS_PATH,
    code::NEXT_HOP,
    code::MULTI_EXIT_DISC,
    code::LOCAL_PREF,
    code::ATOMIC_AGGREGATE,
    code::AGGREGATOR,
    code::COMMUNITIES,
    code::ORIGINATOR_ID,
    code::CLUSTER_LIST,
    code::MP_REACH_NLRI,
    code::MP_UNREACH_NLRI,
    code::EXTENDED_COMMUNITIES,
    code::AIGP,
    code::LARGE_COMMUNITIES,
    code::ONLY_TO_CUSTOMER,
];

#[cfg(test)]
mod tests {
    use super::*;
    use rutter_wire::attr::{AttrContext, parse, write_attr};

    fn row(attrs: &[(u8, u8, &[u8])]) -> AttributesRow {
        let mut block = Vec::new();
        for (flags, code, value) in attrs {
            write_attr(&mut block, *flags, *code, value);
        }
        let context = AttrContext {
            as4: true,
            external: true,
            accept_as_set: true,
            has_ipv4_nlri: true,
        };
        block_row(&parse(&block, &context, &mut Vec::new()))
    }

    #[test]
    fn attributes_are_converted() {
        let row = row(&[
            (0x40, 1, &[0]),
            (
                0x40,
                2,
                &[
                    2, 2, 0, 0, 0xfb, 0xf4, 0, 0, 0xfb, 0xf5, 1, 2, 0, 0, 0, 1, 0, 0, 0, 2,
                ],
            ),
            (0x40, 3, &[192, 0, 2, 1]),
            (0x80, 4, &[0, 0, 0, 50]),
            (0xc0, 8, &[0xff, 0xff, 0xff, 0x01]),
            (0xc0, 32, &[0, 0, 0xfb, 0xf4, 0, 0, 0, 1, 0, 0, 0, 2]),
            (0xe0, 99, &[0xab, 0x01]),
        ]);
        assert_eq!(row.origin.as_deref(), Some("igp"));
        assert_eq!(row.as_path.as_deref(), Some("64500 64501 {1,2}"));
        assert_eq!(row.next_hop, Some([192, 0, 2, 1].into()));
        assert_eq!(row.multi_exit_disc, Some(50));
        assert_eq!(row.communities, ["65535:65281"]);
        assert_eq!(row.large_communities, ["64500:1:2"]);
        assert_eq!(row.unknown.len(), 1);
        assert_eq!(
            (row.unknown[0].code, row.unknown[0].value.as_str()),
            (99, "ab01")
        );
    }
}
