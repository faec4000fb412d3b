//! The JSON documents of validators: a document in, its data or the error out.

use std::time::Instant;

use rutter_net::Asn;
use rutter_rpki::{RpkiData, Vrps};

fn parse(text: &str) -> RpkiData {
    RpkiData::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn describe(data: &RpkiData) -> String {
    let mut out = String::new();
    for vrp in data.vrps.iter().flat_map(Vrps::iter) {
        out += &format!("{vrp}\n");
    }
    for (customer, providers) in data.aspas.iter().flat_map(|aspas| aspas.iter()) {
        out += &format!("{customer:?} -> {providers:?}\n");
    }
    out
}

/// As rpki-client 9 writes it.
const RPKI_CLIENT: &str = r#"{
	"metadata": {
		"buildmachine": "host.example",
		"buildtime": "2026-01-01T00:00:00Z",
		"roas": 2, "aspas": 2, "vrps": 2, "vaps": 2
	},
	"roas": [
		{ "asn": 64500, "prefix": "192.0.2.0/24", "maxLength": 24, "ta": "ripe", "expires": 1791385200 },
		{ "asn": 64501, "prefix": "2001:db8::/32", "maxLength": 48, "ta": "arin", "expires": 1791385200 }
	],
	"bgpsec_keys": [ { "asn": 64500, "ski": "00", "pubkey": "MA==" } ],
	"aspas": [
		{ "customer_asid": 64500, "expires": 1791385200, "providers": [ 64501, 64502 ] },
		{ "customer_asid": 64505, "expires": 1791417600, "providers": [ 0 ] }
	]
}"#;

/// As Routinator 0.15 writes it with `--format jsonext --enable-aspa`.
const ROUTINATOR: &str = r#"{
  "metadata": { "generated": 1767225600, "generatedTime": "2026-01-01T00:00:00Z" },
  "roas": [
    { "asn": "AS64500", "prefix": "192.0.2.0/24", "maxLength": 24, "source": [ { "type": "roa", "uri": "rsync://x/y.roa" }, { "type": "exception", "path": null } ] },
    { "asn": "AS64501", "prefix": "2001:db8::/32", "maxLength": 48, "ta": "arin" }
  ],
  "routerKeys": [ { "asn": "AS64500", "SKI": "00", "routerPublicKey": "AA" } ],
  "aspas": [
    { "customer": "AS64500", "providers": ["AS64501", "AS64502"], "source": [ { "type": "aspa" } ] },
    { "customer": "AS64505", "providers": ["AS0"], "ta": "ripe" }
  ]
}"#;

#[test]
fn the_documents_of_validators_have_the_same_content() {
    let expected = "\
192.0.2.0/24-24 AS64500
2001:db8::/32-48 AS64501
AS64500 -> [AS64501, AS64502]
AS64505 -> [AS0]
";
    assert_eq!(describe(&parse(RPKI_CLIENT)), expected);
    assert_eq!(describe(&parse(ROUTINATOR)), expected);
}

#[test]
fn a_missing_part_is_no_empty_part() {
    let only_vrps = parse(r#"{"roas":[]}"#);
    assert!(only_vrps.vrps.is_some_and(|vrps| vrps.is_empty()));
    assert!(only_vrps.aspas.is_none());
    let only_aspas = parse(r#"{"aspas":[]}"#);
    assert!(only_aspas.vrps.is_none() && only_aspas.aspas.is_some());
    let error = Vrps::parse(br#"{"aspas":[]}"#).unwrap_err();
    assert!(error.to_string().contains("roas"), "{error}");
}

#[test]
fn documents_are_merged() {
    let one = parse(
        r#"{"roas":[{"asn":1,"prefix":"10.0.0.0/8","maxLength":8}],
            "aspas":[{"customer":"AS7","providers":["AS8"]}]}"#,
    );
    let other = parse(
        r#"{"roas":[{"asn":1,"prefix":"10.0.0.0/8","maxLength":8},
                    {"asn":2,"prefix":"10.0.0.0/8","maxLength":9}],
            "aspas":[{"customer_asid":7,"providers":[9]},{"customer_asid":6,"providers":[5]}]}"#,
    );
    let third = parse(r#"{"roas":[{"asn":3,"prefix":"::/8","maxLength":8}]}"#);
    let expected = "\
10.0.0.0/8-8 AS1
10.0.0.0/8-9 AS2
::/8-8 AS3
AS6 -> [AS5]
AS7 -> [AS8, AS9]
";
    assert_eq!(describe(&RpkiData::merge([one, other, third])), expected);
    assert_eq!(RpkiData::merge([]), RpkiData::default());
}

#[test]
fn bad_documents_are_refused_with_line_and_column() {
    for (text, why) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{}", "missing field `roas` at line 1 column 2"),
        ("[]", "expected an object with `roas` or `aspas`"),
        (r#"{"roas":{}}"#, "expected an array"),
        (
            r#"{"roas":[{"asn":"x"}]}"#,
            "`x` is not an AS number: write 64500, AS64500 or 1.10 at line 1 column 19",
        ),
        (
            r#"{"roas":[{"asn":4294967296,"prefix":"::/0","maxLength":0}]}"#,
            "at most 32 bits",
        ),
        (
            r#"{"roas":[{"asn":-1,"prefix":"::/0","maxLength":0}]}"#,
            "expected an AS number such as 64500",
        ),
        (
            r#"{"roas":[{"asn":1,"maxLength":0}]}"#,
            "missing field `prefix`",
        ),
        (
            r#"{"roas":[{"asn":1,"prefix":"::/0"}]}"#,
            "missing field `maxLength`",
        ),
        (
            r#"{"roas":[{"asn":1,"prefix":"10.0.0.0","maxLength":8}]}"#,
            "10.0.0.0",
        ),
        (
            "{\"roas\":[\n{\"asn\":1,\"prefix\":\"10.0.0.1/8\",\"maxLength\":8}]}",
            "at line 2",
        ),
        (
            "{\"roas\":[\n{\"asn\":1,\"prefix\":\"10.0.0.0/8\",\"maxLength\":7}]}",
            "the maximum length of 10.0.0.0/8 is 7, but must be 8 to 32 at line 2",
        ),
        (
            r#"{"roas":[{"asn":1,"prefix":"10.0.0.0/8","maxLength":300}]}"#,
            "expected u8",
        ),
        (r#"{"roas":[{"asn":1,"prefix":"::/0","maxLength":0}"#, "EOF"),
        (
            r#"{"aspas":[{"customer":1,"providers":[]}]}"#,
            "the ASPA of AS1 has an empty list of providers",
        ),
        (
            r#"{"aspas":[{"customer":0,"providers":[1]}]}"#,
            "customer AS 0",
        ),
        (r#"{"aspas":[{"customer":1}]}"#, "missing field `providers`"),
        (
            r#"{"aspas":[{"customer":1,"providers":["AS1(v4)"]}]}"#,
            "`AS1(v4)` is not an AS number",
        ),
        (
            r#"{"aspas":[{"customer":1,"customer_asid":1,"providers":[1]}]}"#,
            "duplicate field",
        ),
    ] {
        let error = RpkiData::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn changed_customers_are_those_with_other_providers() {
    let aspas = |text: &str| {
        let text = format!(r#"{{"aspas":[{text}]}}"#);
        parse(&text).aspas.unwrap()
    };
    let old = aspas(
        r#"{"customer":1,"providers":[5,4]},{"customer":2,"providers":[4]},{"customer":3,"providers":[4]}"#,
    );
    let new = aspas(
        r#"{"customer":4,"providers":[0]},{"customer":1,"providers":[4,5]},{"customer":2,"providers":[5]}"#,
    );
    let changed = rutter_rpki::Aspas::changed_customers(&old, &new);
    assert_eq!(changed, [Asn(2), Asn(3), Asn(4)]);
    assert_eq!(rutter_rpki::Aspas::changed_customers(&new, &new), []);
}

/// As large as the RPKI in 2026.
#[test]
fn half_a_million_vrps_take_little_time_and_memory() {
    let mut text = String::from(r#"{"roas":["#);
    for n in 0_u32..500_000 {
        let asn = n % 70_000;
        let row = match n % 5 {
            0 => format!(
                "2{:03x}:{:x}:{:x}::/48",
                n / 5 % 0x200,
                (n / 5) >> 9,
                n % 0x1000
            ),
            _ => format!("{}.{}.{}.0/24", 1 + n / 4000, n / 250 % 250, n % 250),
        };
        let max_len = if n % 5 == 0 { 48 } else { 24 };
        let comma = if n == 0 { "" } else { "," };
        text += &format!(
            "{comma}\n\t\t{{ \"asn\": {asn}, \"prefix\": \"{row}\", \"maxLength\": {max_len}, \"ta\": \"ripe\", \"expires\": 1791385200 }}"
        );
    }
    text += "]}";
    let start = Instant::now();
    let vrps = Vrps::parse(text.as_bytes()).unwrap();
    let elapsed = start.elapsed();
    let each = vrps.memory() / vrps.len();
    println!("{} VRPs in {elapsed:?}, {each} bytes each", vrps.len());
    assert!(vrps.len() > 490_000, "{}", vrps.len());
    assert!(each < 40, "{each} bytes");
}
