//! Operator filters: lists and rules as a policy, inheritance, and the effect of a reload.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rutter_config::{Config, Neighbor, diff};
use rutter_policy::{FilterAction, FilterChain, MedChange};

const ROUTER: &str = r#"
[router]
asn = 64500
router-id = "192.0.2.1"

[[prefix-list]]
name = "customers"
prefixes = ["198.51.100.0/24 exact", "2001:db8:5::/48"]

[[as-path-list]]
name = "via-transit"
paths = ["_65010_"]

[[community-list]]
name = "blocked"
communities = ["self:666", "no-export"]

[[filter]]
name = "no-transit"
default = "accept"
[[filter.rule]]
action = "reject"
as-path-list = "via-transit"
reason = "AS65010 is reached over another session"

[[filter]]
name = "customers"
default = "reject"
[[filter.rule]]
action = "reject"
community-list = "blocked"
[[filter.rule]]
action = "accept"
prefix-list = "customers"
path-length = "1-3"

[defaults]
import-filter = "no-transit"

[[group]]
name = "customers"
import-filter = ["no-transit", "customers"]

[[neighbor]]
asn = 64501
address = "192.0.2.11"
import = "all"
export = "all"

[[neighbor]]
asn = 64502
address = "192.0.2.12"
group = "customers"
import = "all"
export = "all"

[[neighbor]]
asn = 64503
address = "192.0.2.13"
group = "customers"
import = "all"
export = "all"
import-filter = []
"#;

fn parse(text: &str) -> Config {
    let loaded = Config::parse(text, Path::new("test.toml"));
    loaded.unwrap_or_else(|errors| panic!("{errors:#?}")).config
}

fn neighbor(config: &Config, last: u8) -> &Neighbor {
    let address = IpAddr::from([192, 0, 2, last]);
    let found = config.neighbors.iter().find(|n| n.address == address);
    found.unwrap()
}

fn chain(config: &Config, last: u8) -> FilterChain {
    config.import_settings(neighbor(config, last)).filters
}

fn names(chain: &FilterChain) -> Vec<&str> {
    chain.filters().iter().map(|f| f.name.as_str()).collect()
}

#[test]
fn filters_are_inherited_and_replaced() {
    let config = parse(ROUTER);
    assert_eq!(names(&chain(&config, 11)), ["no-transit"]);
    assert_eq!(names(&chain(&config, 12)), ["no-transit", "customers"]);
    assert!(chain(&config, 13).is_empty());
    let customers = &chain(&config, 12).filters()[1].clone();
    let actions: Vec<FilterAction> = customers.rules.iter().map(|rule| rule.action).collect();
    assert_eq!(actions, [FilterAction::Reject, FilterAction::Accept]);
    let conditions = &customers.rules[1].conditions;
    assert_eq!(conditions.prefix_lists[0].name(), "customers");
    assert!(conditions.prefix_lists[0].matches("198.51.100.0/24".parse().unwrap()));
    assert!(!conditions.prefix_lists[0].matches("198.51.100.0/25".parse().unwrap()));
}

#[test]
fn a_changed_filter_concerns_only_the_neighbors_that_use_it() {
    let old = parse(ROUTER);
    let new = parse(&ROUTER.replace("198.51.100.0/24 exact", "198.51.100.0/24"));
    let diff = diff(&old, &new);
    assert_eq!(diff.changed.len(), 1, "{diff}");
    let changed = &diff.changed[0];
    assert_eq!(changed.neighbor, IpAddr::from([192, 0, 2, 12]));
    assert_eq!(changed.keys, ["import-filter"]);
    assert!(changed.reevaluates && !changed.needs_session_reset);
}

#[test]
fn a_reload_keeps_filters_that_did_not_change() {
    let folder = std::env::temp_dir().join(format!("rutter-filters-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("rutter.toml");
    std::fs::write(&file, ROUTER).unwrap();
    let running = Config::load(&file).unwrap().config;
    std::fs::write(&file, ROUTER.replace("self:666", "self:667")).unwrap();
    let new = Config::load_to_replace(&file, &running).unwrap().config;
    std::fs::remove_dir_all(&folder).unwrap();
    let kept = |at: usize| Arc::ptr_eq(&running.filters.list[at], &new.filters.list[at]);
    assert!(kept(0), "the filter `no-transit` is the same");
    assert!(!kept(1), "the filter `customers` has another list");
    let addresses: Vec<IpAddr> = diff(&running, &new)
        .changed
        .iter()
        .map(|c| c.neighbor)
        .collect();
    assert_eq!(addresses, [IpAddr::from([192, 0, 2, 12])]);
}

const CHANGES: &str = r#"
[[filter]]
name = "marks"
default = "accept"
[[filter.rule]]
action = "next"
origin-as = 65001
local-pref = 90
med = 10
remove-communities = ["64501:*"]
add-communities = ["self:100", "rt:self:1", "self:1:2", "no-export"]
[[filter.rule]]
action = "accept"
path-length = "3-9"
prepend = 2
med = "remove"

[[filter-test]]
filter = "marks"
prefix = "193.0.0.0/21"
path = "64501 65000 65001"
communities = ["64501:7", "64502:7"]
med = 5
expect = "accept"
expect-communities = ["no-export", "64500:100", "64502:7", "rt:64500:1", "64500:1:2"]
expect-path = "64501 64501 64501 65000 65001"
expect-local-pref = 90
expect-med = "none"

[[neighbor]]
asn = 64504
address = "192.0.2.14"
import = "all"
export = "all"
import-filter = "marks"
export-filter = ["no-transit", "marks"]
"#;

#[test]
fn rules_change_routes_and_the_tests_of_the_file_pass() {
    let config = parse(&format!("{ROUTER}{CHANGES}"));
    let chain = chain(&config, 14);
    let rules = &chain.filters()[0].rules;
    assert_eq!(rules[0].changes.local_pref, Some(90));
    assert_eq!(rules[0].changes.med, Some(MedChange::Set(10)));
    assert_eq!(
        rules[0].changes.to_string(),
        "local-pref 90, med 10, remove-communities 64501:*, add-communities 64500:100, \
         add-communities rt:64500:1, add-communities 64500:1:2, add-communities 65535:65281"
    );
    assert_eq!(rules[1].changes.to_string(), "med removed, prepend 2");
    let neighbor = neighbor(&config, 14);
    assert_eq!(neighbor.session.export_filter, ["no-transit", "marks"]);
}

#[test]
fn a_changed_export_filter_concerns_only_the_neighbors_that_use_it() {
    let other = CHANGES.replace("path-length = \"3-9\"", "path-length = \"3-8\"");
    let other = other.replace("import-filter = \"marks\"", "import-filter = []");
    let old = parse(&format!(
        "{ROUTER}{}",
        CHANGES.replace("import-filter = \"marks\"", "import-filter = []")
    ));
    let new = parse(&format!("{ROUTER}{other}"));
    let diff = diff(&old, &new);
    assert_eq!(diff.changed.len(), 1, "{diff}");
    assert_eq!(diff.changed[0].neighbor, IpAddr::from([192, 0, 2, 14]));
    assert_eq!(diff.changed[0].keys, ["export-filter"]);
    assert!(!diff.changed[0].needs_session_reset);
}

/// The received routes keep their verdicts: only the neighbor's own stream changes.
#[test]
fn an_export_filter_evaluates_no_route_again() {
    let old = parse(&format!("{ROUTER}{CHANGES}"));
    let names = "export-filter = [\"no-transit\", \"marks\"]";
    for export in ["export-filter = [\"no-transit\"]", "", "rtt = 12.5"] {
        let new = parse(&format!("{ROUTER}{}", CHANGES.replace(names, export)));
        let diff = diff(&old, &new);
        assert_eq!(diff.changed.len(), 1, "{diff}");
        let changed = &diff.changed[0];
        assert!(!changed.reevaluates, "{export}: {diff}");
        assert!(!changed.needs_session_reset, "{export}: {diff}");
    }
}
