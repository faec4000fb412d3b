//! Hostile input: nothing panics, every offset is in range, and written data read back unchanged.

use proptest::collection::vec;
use proptest::prelude::*;
use rutter_net::{Ipv4Prefix, Ipv6Prefix};
use rutter_wire::attr::{AttrContext, Attributes, Disposition, code};
use rutter_wire::nlri::{parse_ipv4, parse_ipv6, write_ipv4, write_ipv6};
use rutter_wire::update::{is_end_of_rib, split};

use crate::{hex, parse};

fn contexts() -> impl Strategy<Value = AttrContext> {
    any::<[bool; 4]>().prop_map(
        |[as4, external, accept_as_set, has_ipv4_nlri]| AttrContext {
            as4,
            external,
            accept_as_set,
            has_ipv4_nlri,
        },
    )
}

/// A valid attribute, or one with a random code and value.
fn attribute() -> impl Strategy<Value = Vec<u8>> {
    let valid = prop::sample::select(vec![
        "40010100",
        "40020602010000fbf4",
        "4002040201fbf4",
        "40020e 0203 0000fbf4 00030d40 00030d41",
        "400304c0000201",
        "80040400000064",
        "40050400000064",
        "400600",
        "c00708 00030d40 c0000207",
        "c00706 5ba0 c0000207",
        "c00808 fbf40001 ffffff01",
        "800904c0000205",
        "800a08c0000206c0000207",
        "800e1a 0002 01 10 20010db8000000000000000000000001 00 2020010db8",
        "800e0d 0001 01 04 c0000201 00 18cb0071",
        "800f08 0002 01 20 20010db8",
        "c01008 0002fbf400000007",
        "c0110a 0202 00030d40 00030d41",
        "c01208 00030d40 c0000207",
        "c01914 0002 20010db8000000000000000000000001 0007",
        "801a0b 01000b 0000000000000500",
        "c0200c 0000fbf4 00000001 00000002",
        "c02304 0000fbf4",
        "e0c80101",
        "80c90101",
    ])
    .prop_map(hex);
    let wild = (any::<u8>(), 0u8..45, vec(any::<u8>(), 0..40)).prop_map(|(flags, code, value)| {
        let mut out = vec![flags & 0xef, code, value.len() as u8];
        out.extend(value);
        out
    });
    prop_oneof![6 => valid, 1 => wild]
}

/// A block of attributes with some octets overwritten, and cut somewhere.
fn blocks() -> impl Strategy<Value = Vec<u8>> {
    let edits = vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (vec(attribute(), 0..10), edits, 0usize..400, any::<bool>()).prop_map(
        |(attributes, edits, keep, cut)| {
            let mut block = attributes.concat();
            for (index, octet) in edits {
                if !block.is_empty() {
                    let at = index.index(block.len());
                    block[at] = octet;
                }
            }
            if cut {
                block.truncate(keep);
            }
            block
        },
    )
}

/// Asks a view everything.
fn ask(attributes: &Attributes<'_>) -> usize {
    let a = attributes;
    let path = a.as_path();
    let known = [
        a.origin().is_some(),
        a.as4_path().is_some(),
        a.next_hop().is_some(),
        a.multi_exit_disc().is_some(),
        a.local_pref().is_some(),
        a.atomic_aggregate(),
        a.aggregator().is_some(),
        a.as4_aggregator().is_some(),
        a.originator_id().is_some(),
        a.only_to_customer().is_some(),
        a.aigp().is_some(),
        a.mp_reach().is_some(),
        a.mp_unreach().is_some(),
        path.is_some_and(|p| p.first().is_some() || p.origin().is_some() || p.has_set()),
    ];
    known.into_iter().filter(|&is| is).count()
        + path.map_or(0, |p| p.path_len() + p.to_string().len())
        + a.communities().count()
        + a.extended_communities().count()
        + a.ipv6_extended_communities().count()
        + a.large_communities().count()
        + a.cluster_list().count()
        + (0..=255).filter(|&code| a.value(code).is_some()).count()
}

fn check_block(block: &[u8], context: &AttrContext) -> Result<(), TestCaseError> {
    let (attributes, faults) = parse(block, context);
    ask(&attributes);
    for malformed in &faults {
        prop_assert!(malformed.offset <= block.len(), "{malformed}");
        prop_assert!(malformed.rfc().starts_with("RFC "));
        malformed.notification();
    }
    let worst = faults.iter().map(|m| m.disposition()).max();
    let mut canonical = Vec::new();
    attributes.write_canonical(&mut canonical);
    if attributes.is_canonical() {
        prop_assert_eq!(&canonical[..], attributes.block());
    }
    let whole = AttrContext {
        as4: true,
        ..*context
    };
    let (again, new_faults) = parse(&canonical, &whole);
    prop_assert!(again.is_canonical(), "{canonical:02x?} of {block:02x?}");
    prop_assert!(!canonical.is_empty() || block.is_empty() || again.iter().next().is_none());
    if worst.is_none_or(|worst| worst == Disposition::AttributeDiscard) {
        let serious = new_faults.iter().find(|m| {
            m.disposition() > Disposition::AttributeDiscard && m.code != Some(code::NEXT_HOP)
        });
        let both = context.has_ipv4_nlri || attributes.mp_reach().is_none();
        prop_assert!(
            !both || serious.is_none(),
            "{serious:?} in {canonical:02x?}"
        );
    }
    check_two_octet(&canonical)
}

/// A canonical block survives a two-octet neighbor.
fn check_two_octet(canonical: &[u8]) -> Result<(), TestCaseError> {
    let wide = Attributes::from_canonical(canonical);
    let mut narrow = Vec::new();
    wide.write_two_octet(&mut narrow);
    let context = AttrContext {
        as4: false,
        external: false,
        accept_as_set: true,
        has_ipv4_nlri: false,
    };
    let (narrow, _) = parse(&narrow, &context);
    let mut back = Vec::new();
    narrow.write_canonical(&mut back);
    let back = Attributes::from_canonical(&back);
    prop_assert_eq!(back.aggregator(), wide.aggregator());
    let path = |attributes: &Attributes<'_>| attributes.as_path().map(|path| path.to_string());
    // A path that AS4_PATH cannot carry (confederation segments after others, or AS_TRANS itself) stays ambiguous.
    if path(&wide).is_none_or(|text| !text.contains(['(', '[', '{'])) {
        prop_assert_eq!(path(&back), path(&wide));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn any_block_parses(block in vec(any::<u8>(), 0..200), context in contexts()) {
        check_block(&block, &context)?;
    }

    #[test]
    fn mutated_blocks_parse(block in blocks(), context in contexts()) {
        check_block(&block, &context)?;
    }

    #[test]
    fn any_body_splits(body in vec(any::<u8>(), 0..64)) {
        is_end_of_rib(&body);
        if let Ok(sections) = split(&body) {
            let len = sections.withdrawn.len() + sections.attributes.len() + sections.nlri.len();
            prop_assert_eq!(len + 4, body.len());
        }
    }

    #[test]
    fn any_nlri_parses(bytes in vec(prop_oneof![any::<u8>(), 0u8..34], 0..80), add_path: bool) {
        let (mut four, mut six) = (Vec::new(), Vec::new());
        let results = [
            parse_ipv4(&bytes, add_path, &mut four),
            parse_ipv6(&bytes, add_path, &mut six),
        ];
        for malformed in results.into_iter().filter_map(Result::err) {
            prop_assert!(malformed.offset < bytes.len());
        }
    }

    #[test]
    fn nlri_round_trip(
        routes in vec((any::<u32>(), any::<u32>(), any::<u128>(), 0u8..=128), 0..50),
        add_path: bool,
    ) {
        let id = |id: u32| if add_path { id } else { 0 };
        let four: Vec<_> = routes
            .iter()
            .filter_map(|&(i, bits, _, len)| Some((id(i), Ipv4Prefix::new(bits, len % 33)?)))
            .collect();
        let six: Vec<_> = routes
            .iter()
            .filter_map(|&(i, _, bits, len)| Some((id(i), Ipv6Prefix::new(bits, len)?)))
            .collect();
        let (mut bytes, mut back) = (Vec::new(), Vec::new());
        for &(id, prefix) in &four {
            write_ipv4(&mut bytes, add_path.then_some(id), prefix);
        }
        prop_assert_eq!(parse_ipv4(&bytes, add_path, &mut back), Ok(()));
        prop_assert_eq!(back, four);
        let (mut bytes, mut back) = (Vec::new(), Vec::new());
        for &(id, prefix) in &six {
            write_ipv6(&mut bytes, add_path.then_some(id), prefix);
        }
        prop_assert_eq!(parse_ipv6(&bytes, add_path, &mut back), Ok(()));
        prop_assert_eq!(back, six);
    }
}
