//! The canonical block, AS number widths, prepending.

use rutter_net::Asn;
use rutter_wire::attr::{
    AsPath, AttrContext, Attributes, write_as_path_prepended, write_as_path_two_octet,
};

use crate::{EXTERNAL, INTERNAL, NO_NLRI, TWO_OCTET, hex, parse};

/// Returns the canonical form of a block, and checks that canonicalizing it again changes nothing.
fn canonical(block: &str, context: &AttrContext) -> Vec<u8> {
    let block = hex(block);
    let (attributes, _) = parse(&block, context);
    let mut out = Vec::new();
    attributes.write_canonical(&mut out);
    assert_eq!(attributes.is_canonical(), out == block);
    if let Some(slice) = attributes.canonical_slice() {
        assert_eq!(slice, out);
    }
    let again = Attributes::from_canonical(&out);
    assert!(again.is_canonical());
    assert_eq!(again.block(), out);
    out
}

#[track_caller]
fn becomes(block: &str, context: &AttrContext, expected: &str) {
    let out = canonical(block, context);
    assert_eq!(out, hex(expected), "{out:02x?}");
}

const BASE: &str = "40010100 40020602010000fbf4 400304c0000201";
const REACH: &str = "800e1a 0002 01 10 20010db8000000000000000000000001 00 2020010db8";

#[test]
fn a_clean_block_is_its_own() {
    becomes(BASE, &EXTERNAL, BASE);
    let partial = format!("{BASE} e00804fbf40001 e0c80101");
    becomes(&partial, &EXTERNAL, &partial);
    becomes("", &NO_NLRI, "");
}

#[test]
fn multiprotocol_attributes_go() {
    let rest = "40010100 40020602010000fbf4";
    becomes(&format!("{REACH} {rest}"), &NO_NLRI, rest);
    becomes(&format!("{rest} {REACH}"), &NO_NLRI, rest);
    becomes(
        &format!("40010100 {REACH} 40020602010000fbf4"),
        &NO_NLRI,
        rest,
    );
    becomes(&format!("{rest} 400304c0000201 {REACH}"), &NO_NLRI, rest);
    becomes(&format!("{BASE} {REACH}"), &EXTERNAL, BASE);
    let block = hex(&format!("{REACH} {rest}"));
    assert!(parse(&block, &NO_NLRI).0.canonical_slice().is_some());
}

#[test]
fn discarded_repeated_and_unknown_ones() {
    becomes(&format!("{BASE} 40050400000064"), &EXTERNAL, BASE);
    becomes(&format!("40050400000064 {BASE}"), &EXTERNAL, BASE);
    becomes(
        &format!("40010100 40050400000064 {}", &BASE[8..]),
        &EXTERNAL,
        BASE,
    );
    becomes(&format!("{BASE} 40010101"), &EXTERNAL, BASE);
    becomes(&format!("{BASE} 80c80101"), &EXTERNAL, BASE);
    becomes(
        &format!("{BASE} c0c80101"),
        &EXTERNAL,
        &format!("{BASE} e0c80101"),
    );
    becomes(
        &format!("{BASE} c0c80101 e0c80102"),
        &EXTERNAL,
        &format!("{BASE} e0c80101"),
    );
    becomes("4f010100", &NO_NLRI, "40010100");
    becomes(&format!("{BASE} c01106 020100030d40"), &EXTERNAL, BASE);
}

#[test]
fn two_octet_numbers_are_widened() {
    let base = |path: &str, more: &str| format!("40010100 {path} 400304c0000201 {more}");
    becomes(&base("4002040201fbf4", ""), &TWO_OCTET, BASE);
    // RFC 6793 §4.2.3: the leading part that AS4_PATH lacks, joined into one sequence.
    becomes(
        &base(
            "400208 0203 fbf4 5ba0 5ba0",
            "c0110a 0202 00030d40 00030d41",
        ),
        &TWO_OCTET,
        &base("40020e 0203 0000fbf4 00030d40 00030d41", ""),
    );
    // AS4_PATH longer than AS_PATH is ignored.
    becomes(
        &base("400204 0201 5ba0", "c0110a 0202 00030d40 00030d41"),
        &TWO_OCTET,
        &base("400206 0201 00005ba0", ""),
    );
    // AGGREGATOR of AS_TRANS makes AS4_AGGREGATOR valid.
    becomes(
        &base(
            "400204 0201 5ba0",
            "c00706 5ba0 c0000209 c01106 0201 00030d40 c01208 00030d40 c0000207",
        ),
        &TWO_OCTET,
        &base("400206 0201 00030d40", "c00708 00030d40 c0000207"),
    );
    // Any other AGGREGATOR makes both AS4 attributes stale.
    becomes(
        &base(
            "400204 0201 5ba0",
            "c00706 fbf5 c0000209 c01106 0201 00030d40 c01208 00030d40 c0000207",
        ),
        &TWO_OCTET,
        &base("400206 0201 00005ba0", "c00708 0000fbf5 c0000209"),
    );
    // Confederation segments: kept from AS_PATH, left out of AS4_PATH.
    let inside = AttrContext {
        as4: false,
        ..INTERNAL
    };
    becomes(
        &base(
            "40020a 0301 fde8 0202 fbf4 5ba0",
            "c0110c 0301 0000fde9 0201 00030d40",
        ),
        &inside,
        &base("400210 0301 0000fde8 0202 0000fbf4 00030d40", ""),
    );
    // A set counts as one.
    let lenient = AttrContext {
        accept_as_set: true,
        ..TWO_OCTET
    };
    becomes(
        &base(
            "40020a 0201 fbf4 0102 5ba0 fbf5",
            "c0110a 0102 00030d40 0000fbf5",
        ),
        &lenient,
        &base("400210 0201 0000fbf4 0102 00030d40 0000fbf5", ""),
    );
}

#[test]
fn the_two_octet_form_keeps_the_path() {
    let wide = "40010100 40020e 0203 0000fbf4 00030d40 00030d41 400304c0000201
                c00708 00030d40 c0000207 c00804fbf40001 c0200c 0000fbf4 00000001 00000002";
    let narrow = "40010100 400208 0203 fbf4 5ba0 5ba0 400304c0000201
                  c00706 5ba0 c0000207 c00804fbf40001
                  c0110e 0203 0000fbf4 00030d40 00030d41 c01208 00030d40 c0000207
                  c0200c 0000fbf4 00000001 00000002";
    let block = hex(wide);
    let mut out = Vec::new();
    Attributes::from_canonical(&block).write_two_octet(&mut out);
    assert_eq!(out, hex(narrow), "{out:02x?}");
    becomes(narrow, &TWO_OCTET, wide);

    let block = hex(BASE);
    out.clear();
    Attributes::from_canonical(&block).write_two_octet(&mut out);
    assert_eq!(out, hex("40010100 4002040201fbf4 400304c0000201"));

    out.clear();
    let path = hex("0201 00030d40");
    write_as_path_two_octet(&mut out, AsPath::new(&path, true));
    assert_eq!(out, hex("4002040201 5ba0 c011060201 00030d40"));
}

#[test]
fn prepending() {
    let prepended = |path: &[u8], times| {
        let mut out = Vec::new();
        write_as_path_prepended(&mut out, Some(AsPath::new(path, true)), Asn(9), times);
        out
    };
    let path = hex("0201 00000001");
    assert_eq!(prepended(&path, 0), hex("400206 0201 00000001"));
    assert_eq!(prepended(&path, 1), hex("40020a 0202 00000009 00000001"));
    assert_eq!(prepended(&[], 1), hex("400206 0201 00000009"));
    let set = hex("0101 00000001");
    assert_eq!(
        prepended(&set, 1),
        hex("40020c 0201 00000009 0101 00000001")
    );
    let two_octet = hex("0201 0001");
    let mut out = Vec::new();
    write_as_path_prepended(&mut out, Some(AsPath::new(&two_octet, false)), Asn(9), 1);
    assert_eq!(out, hex("40020a 0202 00000009 00000001"));

    // A full segment stays unchanged, and the attribute's length takes two octets.
    let full = [&[2, 255][..], &[0, 0, 0, 1].repeat(255)].concat();
    let long = prepended(&full, 2);
    let header = 4 + 10;
    assert_eq!(long[..header], hex("5002 0408 0202 00000009 00000009"));
    assert_eq!(long[header..], full);
    let many = prepended(&path, 300);
    let path = AsPath::new(&many[4..], true);
    assert_eq!(path.path_len(), 301);
    assert_eq!(
        path.segments().map(|s| s.count()).collect::<Vec<_>>(),
        [45, 255, 1]
    );
}

#[test]
fn properties_of_a_path() {
    let bytes = hex("0301 0000fde8 0202 00000001 00000002 0102 00000003 00000004");
    let path = AsPath::new(&bytes, true);
    assert_eq!(path.to_string(), "(65000) 1 2 {3,4}");
    assert_eq!(path.path_len(), 3);
    assert_eq!(path.first(), Some(Asn(1)));
    assert_eq!(path.origin(), None);
    assert!(path.has_set());
    assert!(path.contains(Asn(4)) && !path.contains(Asn(5)));
    assert_eq!(path.asns().count(), 5);
    assert_eq!(AsPath::EMPTY.first(), None);
    let cut = AsPath::new(&bytes[..bytes.len() - 1], true);
    assert_eq!(cut.to_string(), "(65000) 1 2 ?");
}
