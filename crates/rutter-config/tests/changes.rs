//! The differences between configurations, as text.

use std::path::Path;

use rutter_config::{Config, Diff, diff};

const BEFORE: &str = r#"
[exchange]
asn = 64500
router-id = "192.0.2.1"
lan = ["192.0.2.0/24"]

[checks]
allow-asns = [64501, 64502]

[[member]]
asn = 64501
address = ["192.0.2.11", "192.0.2.12"]

[[member]]
asn = 64502
address = "192.0.2.21"
"#;

fn parse(text: &str) -> Config {
    Config::parse(text, Path::new("test.toml")).unwrap().config
}

fn changes(edit: impl Fn(&str) -> String) -> Diff {
    diff(&parse(BEFORE), &parse(&edit(BEFORE)))
}

#[test]
fn the_same_file_changes_nothing() {
    let diff = changes(|text| format!("# a comment\n{text}"));
    assert!(diff.is_empty());
    assert_eq!(diff.to_string(), "nothing changes\n");
}

#[test]
fn a_negotiated_key_resets_its_session_and_no_other() {
    let diff = changes(|text| {
        text.replace(
            "\"192.0.2.21\"",
            "\"192.0.2.21\"\nhold-time = 300\nport = 1179",
        )
    });
    assert_eq!(
        diff.to_string(),
        "~ 192.0.2.21: port, hold-time (the session is reset: hold-time)\n"
    );
}

/// The routes of an established session are sent in another form, or fewer of them.
#[test]
fn keys_that_shape_all_updates_keep_the_session() {
    const ROUTER: &str = "[router]\nasn = 64500\nrouter-id = \"192.0.2.1\"\n\
        [[neighbor]]\nasn = 64501\naddress = \"192.0.2.21\"\nimport = \"all\"\nexport = \"all\"\nadd-path = { send = 2 }\n";
    for (from, to, key) in [
        ("export = \"all\"", "export = \"none\"", "export"),
        ("send = 2", "send = 3", "add-path.send"),
        ("send = 2", "send = true", "add-path.send"),
        ("send = 2", "send = false", "add-path.send"),
        ("import", "next-hop-self = false\nimport", "next-hop-self"),
    ] {
        let diff = diff(&parse(ROUTER), &parse(&ROUTER.replacen(from, to, 1)));
        assert_eq!(diff.to_string(), format!("~ 192.0.2.21: {key}\n"));
    }
    let without = ROUTER.replacen("send = 2", "send = false", 1);
    let diff = diff(&parse(&without), &parse(ROUTER));
    assert_eq!(
        diff.to_string(),
        "~ 192.0.2.21: add-path.send (the session is reset: add-path.send)\n"
    );
}

/// Only what the OPENs must agree on resets a session, and the difference says what it is.
#[test]
fn times_and_keys_of_the_connection_change_while_the_session_goes_on() {
    let member = |text: &str| parse(&format!("{BEFORE}{text}"));
    let changed = |before: &str, after: &str| diff(&member(before), &member(after));
    for (before, after, key) in [
        ("", "hold-time = \"30s\"\n", "hold-time"),
        ("password = \"a\"\n", "password = \"b\"\n", "password"),
        ("", "password = \"a\"\n", "password"),
        ("", "ttl-security = 1\n", "ttl-security"),
        ("role-strict = true\n", "", "role-strict"),
        ("", "description = \"a\"\n", "description"),
    ] {
        let diff = changed(before, after);
        assert_eq!(diff.to_string(), format!("~ 192.0.2.21: {key}\n"));
    }
    for (before, after, key) in [
        ("hold-time = \"30s\"\n", "", "hold-time"),
        ("", "hold-time = 0\n", "hold-time"),
        ("", "graceful-restart = false\n", "graceful-restart"),
        ("", "local-address = \"192.0.2.1\"\n", "local-address"),
        ("", "role-strict = true\n", "role-strict"),
    ] {
        let diff = changed(before, after);
        let expected = format!("~ 192.0.2.21: {key} (the session is reset: {key})\n");
        // Our own address is also no next hop of the others.
        assert!(diff.to_string().ends_with(&expected), "{diff}");
        let last = diff.changed.last().expect("the neighbor");
        assert_eq!(last.reset_by[0].key, key);
    }
}

/// A key of both configurations signs the segments while the others change.
#[test]
fn tcp_ao_keys_change_on_a_session_if_one_of_them_stays() {
    let key = |id: u8, file: &str| {
        format!("{{ send-id = {id}, receive-id = {id}, key-file = \"tests/bad/keys/{file}\" }}")
    };
    let keys = |keys: &[String]| match keys.is_empty() {
        true => parse(BEFORE),
        false => parse(&format!("{BEFORE}tcp-ao = [{}]\n", keys.join(", "))),
    };
    let (one, two) = (key(1, "one"), key(2, "two"));
    let resets = |before: &[String], after: &[String]| {
        let diff = diff(&keys(before), &keys(after));
        assert_eq!(diff.changed[0].keys, ["tcp-ao"], "{diff}");
        diff.changed[0].needs_session_reset
    };
    let both = [two.clone(), one.clone()];
    assert!(!resets(std::slice::from_ref(&one), &both));
    assert!(!resets(&both, std::slice::from_ref(&two)));
    assert!(resets(&[], std::slice::from_ref(&one)));
    assert!(resets(std::slice::from_ref(&one), &[]));
    assert!(resets(
        std::slice::from_ref(&one),
        std::slice::from_ref(&two)
    ));
    // The same ids, another key.
    assert!(resets(
        &[one.clone(), two.clone()],
        &[key(1, "two"), two.clone()]
    ));
}

/// A connection is signed in one way: the section of a neighbor decides.
#[test]
fn tcp_ao_of_a_member_replaces_the_password_of_the_defaults() {
    let keys = "tcp-ao = [{ send-id = 1, receive-id = 1, key-file = \"tests/bad/keys/one\" }]\n";
    let config = parse(&format!(
        "{BEFORE}{keys}[defaults]\npassword = \"sesame\"\n"
    ));
    let signed: Vec<(bool, usize)> = config
        .neighbors
        .iter()
        .map(|n| (n.session.password.is_some(), n.session.tcp_ao.len()))
        .collect();
    assert_eq!(signed, [(true, 0), (true, 0), (false, 1)]);
    assert!(!format!("{config:?}").contains("a key of a neighbor"));
}

#[test]
fn times_of_graceful_restart_are_for_the_next_open() {
    let with = |keys: &str| parse(&format!("{BEFORE}[graceful-restart]\n{keys}"));
    let resets = |before: &str, after: &str| {
        let diff = diff(&with(before), &with(after));
        assert_eq!(diff.changed.len(), 3, "{diff}");
        diff.changed.iter().all(|one| one.needs_session_reset)
    };
    assert!(!resets("", "restart-time = 60\n"));
    assert!(!resets("", "selection-deferral = 60\n"));
    assert!(!resets(
        "long-lived-stale-time = 9\n",
        "long-lived-stale-time = 10\n"
    ));
    assert!(resets("", "long-lived-stale-time = 10\n"));
    assert!(resets("", "notification = false\n"));
}

#[test]
fn policy_is_evaluated_again_without_a_reset() {
    let diff = changes(|text| text.replace("[checks]", "[checks]\nmax-as-path-length = 10"));
    let expected = "~ 192.0.2.11: checks\n~ 192.0.2.12: checks\n~ 192.0.2.21: checks\n~ [checks] max-as-path-length\n";
    assert_eq!(diff.to_string(), expected);
}

#[test]
fn a_sibling_address_changes_the_next_hops_of_the_member() {
    let diff = changes(|text| text.replace("\"192.0.2.12\"", "\"192.0.2.13\""));
    let expected = "+ 192.0.2.13\n- 192.0.2.12\n~ 192.0.2.11: checks\n";
    assert_eq!(diff.to_string(), expected);
}

#[test]
fn limits_do_not_reset_the_session_and_families_do() {
    let diff =
        changes(|text| text.replace("\"192.0.2.21\"", "\"192.0.2.21\"\nmax-prefix = { v4 = 10 }"));
    assert_eq!(diff.to_string(), "~ 192.0.2.21: max-prefix\n");
    let diff = changes(|text| {
        text.replace(
            "\"192.0.2.21\"",
            "\"192.0.2.21\"\nfamilies = [\"ipv4\", \"ipv6\"]\nadd-path = { receive = true }",
        )
    });
    assert_eq!(
        diff.to_string(),
        "~ 192.0.2.21: families, add-path.receive (the session is reset: families, add-path.receive)\n"
    );
}

#[test]
fn other_sections_take_effect_at_once_or_on_the_next_start() {
    let more = "\n[daemon]\nthreads = 4\nlog = \"debug\"\n[metrics]\nlisten = \"127.0.0.1\"\n[rpki]\nvrps = \"vrps.json\"\n[communities]\nscrub = false\n[[dynamic-neighbor]]\nprefix = \"10.0.0.0/8\"\n";
    let diff = changes(|text| text.replace("asn = 64500", "asn = 64510") + more);
    assert!(diff.dynamic_neighbors);
    assert_eq!(diff.communities, ["scrub"]);
    assert_eq!(diff.needs_restart, ["daemon.threads", "asn"]);
    assert_eq!(diff.other, ["daemon.log", "metrics", "rpki"]);
}

#[test]
fn a_station_is_added_changed_and_removed_at_once() {
    let with = |more: &str| {
        let text = format!("{BEFORE}\n[[bmp-station]]\naddress = \"192.0.2.7\"\n{more}");
        parse(&text)
    };
    let (without, plain) = (parse(BEFORE), with(""));
    let changed = with("report = [\"loc-rib\"]\nstatistics-interval = \"1m\"\n");
    for (old, new) in [(&without, &plain), (&plain, &changed), (&plain, &without)] {
        let diff = diff(old, new);
        assert_eq!(diff.other, ["bmp-station"]);
        assert_eq!(diff.needs_restart, [""; 0]);
    }
}

#[test]
fn services_of_a_collector_change_on_the_next_start() {
    const SECTIONS: [(&str, &str, &str, &str); 7] = [
        ("collector", "[collector]\nname = ", "\"a\"", "\"b\""),
        ("bmp", "[bmp]\nlisten = \"::\"\nmax-peers = ", "1", "2"),
        (
            "bmp-target",
            "[[bmp-target]]\naddress = ",
            "\"192.0.2.7\"",
            "\"192.0.2.8\"",
        ),
        ("sql", "[sql]\nthreads = ", "1", "2"),
        ("history", "[history]\npath = ", "\"a\"", "\"b\""),
        (
            "stream",
            "[stream]\nlisten = \"127.0.0.1\"\nqueue = ",
            "1",
            "2",
        ),
        (
            "sink",
            "[[sink]]\ntype = \"postgres\"\nuser = ",
            "\"a\"",
            "\"b\"",
        ),
    ];
    for (name, head, before, after) in SECTIONS {
        let with = |value: &str| parse(&format!("{BEFORE}{head}{value}\n"));
        let without = parse(BEFORE);
        for (old, new) in [
            (with(before), with(after)),
            (with(before), without.clone()),
            (without, with(after)),
        ] {
            let expected = format!("! {name} (takes effect on the next start)\n");
            assert_eq!(diff(&old, &new).to_string(), expected);
        }
    }
}

#[test]
fn options_of_clients_change_without_a_reset() {
    let member = |key: &str| changes(|text| format!("{text}{key}\n"));
    assert_eq!(member("rtt = 12.5").to_string(), "~ 192.0.2.21: rtt\n");
    assert_eq!(
        member("prepend-rs-as = true").to_string(),
        "~ 192.0.2.21: prepend-rs-as\n"
    );
    assert_eq!(
        member("checks = { blackhole = { announce-to-client = false } }").to_string(),
        "~ 192.0.2.21: checks.blackhole\n"
    );
    let shutdown =
        changes(|text| format!("{text}[communities]\nperform-graceful-shutdown = true\n"));
    assert_eq!(
        shutdown.to_string(),
        "~ [communities] perform-graceful-shutdown\n"
    );
}

#[test]
fn a_custom_community_keeps_its_number_over_reloads() {
    let file = |names: &str| {
        format!(
            "{BEFORE}attach-communities = \"m\"\n[communities.custom]\nm = \"self:2000:1\"\n{names}"
        )
    };
    let folder = std::env::temp_dir().join(format!("rutter-custom-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("rutter.toml");
    let running = parse(&file("z = \"self:2000:3\"\n"));
    std::fs::write(&path, file("a = \"self:2000:2\"\n")).unwrap();
    let new = Config::load_to_replace(&path, &running).unwrap().config;
    std::fs::remove_dir_all(&folder).unwrap();
    let numbers = |config: &Config| -> Vec<(String, u8)> {
        let all = config.communities.custom.list.iter();
        all.map(|one| (one.name.clone(), one.number)).collect()
    };
    assert_eq!(numbers(&running), [("m".into(), 0), ("z".into(), 1)]);
    // `z` is gone, but its routes have its number until they are evaluated again.
    assert_eq!(numbers(&new), [("a".into(), 2), ("m".into(), 0)]);
    assert_eq!(diff(&running, &new).to_string(), "~ [communities] custom\n");
}
