//! The numbers of dynamic neighbors in IRR data.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;

use rutter_config::Config;
use rutter_irr::IrrMember;
use rutter_net::Asn;

const EXCHANGE: &str = r#"
[exchange]
asn = 64500
router-id = "192.0.2.1"
lan = ["192.0.2.0/24"]
[irr]
server = "127.0.0.1:4343"
[[member]]
asn = 64511
address = "192.0.2.11"
as-sets = "AS-FOO"
[[dynamic-neighbor]]
prefix = "198.51.100.0/25"
import = "checks"
asn = [64512, 64513]
[[dynamic-neighbor]]
prefix = "198.51.100.128/25"
import = "checks"
"#;

fn parse(text: &str) -> Config {
    Config::parse(text, Path::new("test.toml")).unwrap().config
}

/// The number of a dynamic neighbor at 198.51.100.`last`.
fn number(config: &Config, last: u8, asn: u32) -> Option<IrrMember> {
    let address = IpAddr::from([198, 51, 100, last]);
    let mut sections = config.dynamic_neighbors.iter();
    let section = sections.find(|section| section.admits(address)).unwrap();
    config.irr_member(&section.neighbor(address, Asn(asn)))
}

fn members(list: &[(u8, u32)]) -> BTreeSet<(IpAddr, Asn)> {
    let member = |(last, asn): &(u8, u32)| (IpAddr::from([198, 51, 100, *last]), Asn(*asn));
    list.iter().map(member).collect()
}

#[test]
fn data_of_named_numbers_are_requested_at_the_start() {
    let config = parse(EXCHANGE);
    let asns: Vec<u32> = config
        .irr_members
        .iter()
        .flatten()
        .map(|m| m.asn.0)
        .collect();
    assert_eq!(asns, [64_511, 64_512, 64_513]);
    assert_eq!(number(&config, 1, 64_512), Some(IrrMember(1)));
    assert_eq!(number(&config, 2, 64_512), Some(IrrMember(1)));
    assert!(config.admits_unknown_members());
}

#[test]
fn a_neighbor_of_any_as_has_no_data_until_it_is_connected() {
    let config = parse(EXCHANGE);
    assert_eq!(number(&config, 129, 64_520), Some(IrrMember::WITHOUT_DATA));

    let two = config.with_dynamic_members(members(&[(129, 64_520), (130, 64_521)]));
    assert_eq!(number(&two, 129, 64_520), Some(IrrMember(3)));
    assert_eq!(number(&two, 130, 64_521), Some(IrrMember(4)));
    assert_eq!(number(&two, 1, 64_512), Some(IrrMember(1)));

    // The others keep their numbers, and a number without a member is free.
    let one = two.with_dynamic_members(members(&[(130, 64_521)]));
    assert_eq!(number(&one, 130, 64_521), Some(IrrMember(4)));
    assert_eq!(number(&one, 129, 64_520), Some(IrrMember::WITHOUT_DATA));
    assert_eq!(one.irr_members[3], None);
}

/// Anybody may claim a number, so the AS-SETs of strangers are not looked up.
#[test]
fn a_neighbor_of_any_as_has_its_own_route_objects_alone() {
    let config = parse(EXCHANGE).with_dynamic_members(members(&[(129, 64_512)]));
    let sets = |at: usize| {
        let member = config.irr_members[at].clone().unwrap();
        (member.asn.0, member.is_unnamed, member.as_sets)
    };
    assert_eq!(sets(1), (64_512, false, vec![]), "a section names it");
    assert_eq!(sets(3), (64_512, true, vec!["AS64512".to_owned()]));
    let import = |last: u8| {
        let address = IpAddr::from([198, 51, 100, last]);
        let mut sections = config.dynamic_neighbors.iter();
        let section = sections.find(|section| section.admits(address)).unwrap();
        config.import_settings(&section.neighbor(address, Asn(64_512)))
    };
    assert!(import(129).irr_required && !import(1).irr_required);
}

#[test]
fn a_reload_keeps_the_numbers_of_connected_neighbors() {
    let running = parse(EXCHANGE).with_dynamic_members(members(&[(129, 64_520)]));
    let more = "[[member]]\nasn = 64514\naddress = \"192.0.2.14\"\nas-sets = \"AS-BAR\"\n";
    let new = parse(&format!("{EXCHANGE}{more}")).replacing(&running);
    assert_eq!(number(&new, 129, 64_520), Some(IrrMember(3)));

    // A section that names other AS numbers admits the neighbor no more.
    let named = EXCHANGE.replace(
        "prefix = \"198.51.100.128/25\"",
        "prefix = \"198.51.100.128/25\"\nasn = 64530",
    );
    let new = parse(&named).replacing(&running);
    let asns: Vec<u32> = new.irr_members.iter().flatten().map(|m| m.asn.0).collect();
    assert_eq!(asns, [64_511, 64_512, 64_513, 64_530]);
}

#[test]
fn without_the_check_a_neighbor_has_no_number() {
    let config = parse(&EXCHANGE.replace("import = \"checks\"", "import = \"all\""));
    assert_eq!(number(&config, 1, 64_512), None);
    assert!(!config.admits_unknown_members());
    let off = "[checks]\nirr = \"off\"\n";
    assert!(!parse(&format!("{EXCHANGE}{off}")).admits_unknown_members());
    let irr = "[irr]\nserver = \"127.0.0.1:4343\"\n";
    let config = parse(&EXCHANGE.replace(irr, ""));
    assert!(!config.admits_unknown_members());
    assert!(!config.admits_unknown_member(IpAddr::from([198, 51, 100, 129])));
}

#[test]
fn lists_of_neighbors_that_may_connect_are_used() {
    let unused = |text: &str| -> Vec<String> {
        let files =
            "files = { \"AS64512\" = \"a.txt\", \"AS64520\" = \"b.txt\", \"AS-BAR\" = \"c.txt\" }";
        let server = "server = \"127.0.0.1:4343\"";
        let text = text.replace(server, &format!("{server}\n{files}"));
        let loaded = Config::parse(&text, Path::new("test.toml")).unwrap();
        let warnings = loaded.warnings.into_iter();
        let about = warnings.filter(|warning| warning.key == "irr.files");
        about.map(|warning| warning.message).collect()
    };
    assert_eq!(
        unused(EXCHANGE),
        ["no member has `AS-BAR`, so its list is not used"]
    );
    let named = EXCHANGE.replace("128/25\"", "128/25\"\nasn = 64530");
    assert_eq!(unused(&named).len(), 2);
}
