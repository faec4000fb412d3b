//! Outside data: routes that it contradicts are rejected, and accepted again when it changes.

use std::path::Path;

use rutter_api::{Line, LookupQuery, Request, SourceAction, SourceRow};

use super::support::{Folder, Received, Speaker, member, start, text, wait_until};
use super::{ask, two_members};

/// A document with one VRP for 8.8.0.0/16.
fn vrp(asn: u32) -> String {
    format!(r#"{{"roas":[{{"asn":{asn},"prefix":"8.8.0.0/16","maxLength":24}}]}}"#)
}

/// The sections of RPKI data from a file, with a folder for its copy.
fn rpki(folder: &Folder, vrps: &Path) -> String {
    format!("[rpki]\nvrps = \"{}\"\n{}", vrps.display(), state(folder))
}

fn state(folder: &Folder) -> String {
    format!(
        "[sources]\nstate = \"{}\"\n",
        folder.0.join("state").display()
    )
}

/// Waits until a condition holds.
fn refresh(folder: &Folder, name: &str) {
    let request = Request::Source {
        name: name.into(),
        action: SourceAction::Refresh,
    };
    let answer = ask(folder, request).pop();
    assert!(matches!(answer, Some(Line::Done(_))), "{answer:?}");
}

/// The row of a whole source.
fn source(folder: &Folder, name: &str) -> SourceRow {
    let rows = ask(folder, Request::Sources);
    let found = rows.into_iter().find_map(|line| match line {
        Line::Source(row) if row.name == name => Some(row),
        _ => None,
    });
    *found.unwrap_or_else(|| panic!("no source {name}"))
}

/// The origin validation state in a look-up of 8.8.8.8.
fn validity(folder: &Folder) -> Option<String> {
    let query = LookupQuery {
        addresses: vec![[8, 8, 8, 8].into()],
        ..LookupQuery::default()
    };
    let rows = ask(folder, Request::Lookup(query));
    let Some(Line::Lookup(row)) = rows.first() else {
        panic!("{rows:?}");
    };
    assert!(row.prefix.is_some(), "{row:?}");
    row.rov.clone()
}

#[test]
fn look_ups_validate_origins_by_the_last_good_file() {
    let folder = Folder::new("rpki");
    let vrps = folder.0.join("vrps.json");
    let tagged = "checks = { rpki-invalid = \"tag\" }";
    let members = format!("{}{}", member(1, 64501, tagged), member(2, 64502, ""));
    // The file does not exist yet.
    let more = members + &rpki(&folder, &vrps);
    let (_daemon, address) = start(&folder, 1, &more);
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24"]);
    assert_eq!(validity(&folder), None);
    assert!(source(&folder, "rpki").last_error.is_some());

    let is = |wanted: &str| {
        wait_until(wanted, || validity(&folder).as_deref() == Some(wanted));
    };
    std::fs::write(&vrps, vrp(64501)).expect("write");
    refresh(&folder, "rpki");
    is("valid");
    assert_eq!(source(&folder, "rpki").state, "live");
    assert_eq!(source(&folder, "rpki").entries, 1);
    // A damaged file changes nothing, and is reported.
    std::fs::write(&vrps, "{\"roas\": 1}").expect("write");
    refresh(&folder, "rpki");
    let mut rows = Vec::new();
    wait_until("an error of the file", || {
        rows = ask(&folder, Request::Sources);
        format!("{rows:?}").contains("failing")
    });
    assert!(format!("{rows:?}").contains("vrps.json"), "{rows:?}");
    is("valid");
    // A reload reads the files, too.
    std::fs::write(&vrps, vrp(64502)).expect("write");
    ask(&folder, Request::Reload);
    is("invalid");

    let file = folder.0.join("rutter.toml");
    std::fs::write(&file, text(&folder, 1, &two_members())).expect("write");
    ask(&folder, Request::Reload);
    assert_eq!(validity(&folder), None);
}

#[test]
fn an_exchange_rejects_routes_that_the_rpki_contradicts() {
    let folder = Folder::new("rov");
    let vrps = folder.0.join("vrps.json");
    std::fs::write(&vrps, vrp(64502)).expect("write");
    let more = two_members() + &rpki(&folder, &vrps);
    let (daemon, address) = start(&folder, 2, &more);
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[]);
    two.expect_table(&["9.9.9.0/24"]);

    // The change concerns 8.8.8.0/24 alone.
    std::fs::write(&vrps, vrp(64501)).expect("write");
    refresh(&folder, "rpki");
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    std::fs::write(&vrps, vrp(64502)).expect("write");
    refresh(&folder, "rpki");
    two.expect_table(&["9.9.9.0/24"]);

    // The copy on disk is in force after a restart without the file.
    daemon.stop("restart");
    std::fs::remove_file(&vrps).expect("remove");
    let (_daemon, address) = start(&folder, 2, &more);
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[]);
    two.expect_table(&["9.9.9.0/24"]);
}

#[test]
fn an_exchange_rejects_routes_that_are_not_registered() {
    let folder = Folder::new("irr");
    let list = folder.0.join("as-one.txt");
    std::fs::write(&list, "8.8.8.0/24\n").expect("write");
    let more = format!(
        "{}{}[irr]\nfiles = {{ \"AS-ONE\" = \"{}\" }}\n{}[[group]]\nname = \"listed\"\nchecks = {{ irr = \"prefix\" }}\n",
        member(1, 64501, "as-sets = \"AS-ONE\"\ngroup = \"listed\""),
        member(2, 64502, "checks = { irr = \"off\" }"),
        list.display(),
        state(&folder),
    );
    let (_daemon, address) = start(&folder, 1, &more);
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24"]);

    std::fs::write(&list, "8.8.8.0/24\n9.9.9.0/24\n").expect("write");
    refresh(&folder, "irr");
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    let rejected = ask(&folder, Request::Sources);
    assert!(format!("{rejected:?}").contains("irr"), "{rejected:?}");

    // Half of the list is gone: that is refused until an operator accepts it.
    std::fs::write(&list, "9.9.9.0/24\n").expect("write");
    refresh(&folder, "irr");
    wait_until("a refusal", || {
        let rows = ask(&folder, Request::Sources);
        format!("{rows:?}").contains("refused: Some")
    });
    let request = Request::Source {
        name: "irr".into(),
        action: SourceAction::Accept,
    };
    let answer = ask(&folder, request.clone());
    assert!(matches!(answer.last(), Some(Line::Done(_))), "{answer:?}");
    two.expect_table(&["9.9.9.0/24"]);
    let nothing = ask(&folder, request);
    assert!(
        format!("{nothing:?}").contains("nothing waits to be accepted"),
        "{nothing:?}"
    );
}

/// No section names the AS of the neighbor. Its registrations count once it is connected; those of others do not.
#[test]
fn registrations_of_a_dynamic_neighbor_count_while_it_is_connected() {
    let folder = Folder::new("irr-dynamic");
    let list = folder.0.join("as64503.txt");
    std::fs::write(&list, "8.8.8.0/24\n").expect("write");
    let more = format!(
        "{}[irr]\nfiles = {{ \"AS64503\" = \"{}\" }}\n{}[[dynamic-neighbor]]\nprefix = \"127.0.1.128/25\"\n\
         import = \"checks\"\nexport = \"all\"\nnext-hop = \"any\"\n",
        member(2, 64502, "checks = { irr = \"off\" }"),
        list.display(),
        state(&folder),
    );
    let (_daemon, address) = start(&folder, 2, &more);
    let mut two = Speaker::establish(2, 64502, address);
    // The first one has data at once; later ones wait.
    let mut three = Speaker::establish(130, 64503, address);
    three.announce(&["8.8.8.0/24", "8.8.4.0/24"], &[]);
    let mut other = Speaker::establish(131, 64504, address);
    other.announce(&["9.9.9.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24"]);
    // Nothing else follows: a reload has the same result.
    ask(&folder, Request::Reload);
    drop(three);
    two.expect_table(&[]);
    let mut three = Speaker::establish(130, 64503, address);
    three.announce(&["8.8.8.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24"]);
}

/// The files of another configuration are read for the answer, and change nothing.
#[test]
fn the_routes_of_a_difference_are_judged_by_the_files_of_the_new_configuration() {
    let folder = Folder::new("diff-data");
    let (_daemon, address) = start(&folder, 1, &two_members());
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);

    let (vrps, list) = (folder.0.join("vrps.json"), folder.0.join("list.txt"));
    let rejected = |sections: &str| {
        let file = folder.0.join("new.toml");
        let more = format!("{}{}{sections}", two_members(), state(&folder));
        std::fs::write(&file, text(&folder, 1, &more)).expect("write");
        let diff = Request::Diff {
            file: Some(file),
            routes: Some(10),
        };
        let lines = ask(&folder, diff);
        let rejected = lines.iter().filter_map(|line| match line {
            Line::RouteChange(row) => Some(row.prefix.to_string()),
            Line::Error { message, .. } => Some(message.clone()),
            _ => None,
        });
        rejected.collect::<Vec<String>>()
    };
    let rpki = format!("[rpki]\nvrps = \"{}\"\n", vrps.display());
    let missing = rejected(&rpki);
    assert!(missing[0].contains("vrps.json"), "{missing:?}");
    std::fs::write(&vrps, vrp(64_502)).expect("write");
    assert_eq!(rejected(&rpki), ["8.8.8.0/24"]);

    std::fs::write(&list, "8.8.8.0/24\n").expect("write");
    let irr = format!(
        "[irr]\nfiles = {{ \"AS64501\" = \"{}\" }}\n",
        list.display()
    );
    assert_eq!(rejected(&irr), ["9.9.9.0/24"]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
}

/// Two of three VRPs are gone: the difference is known before an operator accepts it.
#[test]
fn the_routes_that_refused_vrps_would_change_are_listed() {
    let folder = Folder::new("diff-refused");
    let vrps = folder.0.join("vrps.json");
    let roa = |prefix: &str| format!(r#"{{"asn":64502,"prefix":"{prefix}","maxLength":24}}"#);
    let document = |prefixes: &[&str]| {
        let roas: Vec<String> = prefixes.iter().map(|prefix| roa(prefix)).collect();
        format!("{{\"roas\":[{}]}}", roas.join(","))
    };
    std::fs::write(&vrps, document(&["8.8.0.0/16", "9.9.0.0/16", "4.4.0.0/16"])).expect("write");
    let (_daemon, address) = start(&folder, 1, &(two_members() + &rpki(&folder, &vrps)));
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24", "1.1.1.0/24"], &[]);
    two.expect_table(&["1.1.1.0/24"]);

    let diff = || ask(&folder, Request::DiffSources { routes: 10 });
    assert!(
        format!("{:?}", diff()).contains("no data wait"),
        "{:?}",
        diff()
    );
    std::fs::write(&vrps, document(&["8.8.0.0/16"])).expect("write");
    refresh(&folder, "rpki");
    wait_until("a refusal", || source(&folder, "rpki").refused.is_some());
    let lines = diff();
    let changed = lines.iter().filter_map(|line| match line {
        Line::RouteChange(row) => Some((row.prefix.to_string(), row.rejected_after.is_none())),
        _ => None,
    });
    let changed: Vec<(String, bool)> = changed.collect();
    assert_eq!(changed, [("9.9.9.0/24".to_owned(), true)]);
    two.expect_table(&["1.1.1.0/24"]);
}

/// The IPv4 limit of a member, and the number in PeeringDB of which it was made.
fn ipv4_limit(folder: &Folder, peer: &str) -> Option<(u32, Option<u32>)> {
    let peer = peer.into();
    let row = match ask(folder, Request::Peer { peer }).into_iter().next() {
        Some(Line::Peer(row)) => row,
        other => panic!("{other:?}"),
    };
    let limit = row.session.prefix_limits.into_iter().next()?;
    assert_eq!((&*limit.family, &*limit.action), ("ipv4-unicast", "block"));
    Some((limit.limit, limit.peeringdb))
}

/// The limit of the first member is that of its network in PeeringDB and one more. It is in force before the first session
/// after a start, and changes with the dump while the session continues.
#[test]
fn prefix_limits_follow_the_data_of_peeringdb() {
    let folder = Folder::new("peeringdb");
    let dump = folder.0.join("net.json");
    let write_all = |numbers: &[(u32, u32)]| {
        let network =
            |(asn, limit): &(u32, u32)| format!(r#"{{"asn": {asn}, "info_prefixes4": {limit}}}"#);
        let networks: Vec<String> = numbers.iter().map(network).collect();
        let text = format!(r#"{{"data": [{}]}}"#, networks.join(", "));
        std::fs::write(&dump, text).expect("write");
    };
    let write = |limit| write_all(&[(64_501, limit), (64_777, 1), (64_778, 1)]);
    write(1);
    let list = folder.0.join("list.txt");
    std::fs::write(&list, "8.8.8.0/24\n").expect("write");
    let irr = format!(
        "[irr]\nfiles = {{ AS64501 = \"{}\" }}\npeeringdb = \"{}\"\n{}",
        list.display(),
        dump.display(),
        state(&folder)
    );
    let limits = "max-prefix = { v4 = 100, v6 = 100, action = \"block\", \
                  peeringdb = { absolute = 1, relative = \"0%\" } }\nchecks = { irr = \"off\" }";
    let more = format!(
        "{}{}{irr}",
        member(1, 64501, limits),
        member(2, 64502, limits)
    );
    let (daemon, _) = start(&folder, 1, &more);
    let copy = folder.0.join("state/irr");
    wait_until("the last good copy", || copy.exists());
    daemon.stop("again");

    let (_daemon, address) = start(&folder, 1, &more);
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24", "7.7.7.0/24"], &[]);
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    assert_eq!(ipv4_limit(&folder, "AS64501"), Some((2, Some(1))));
    assert_eq!(ipv4_limit(&folder, "AS64502"), Some((100, None)));
    write(2);
    refresh(&folder, "irr");
    while !matches!(one.receive(), Received::Refresh) {}
    one.announce(&["8.8.8.0/24", "9.9.9.0/24", "7.7.7.0/24"], &[]);
    two.expect_table(&["7.7.7.0/24", "8.8.8.0/24", "9.9.9.0/24"]);
    assert_eq!(ipv4_limit(&folder, "AS64501"), Some((3, Some(2))));
    // PeeringDB does not have the other network.
    two.announce(
        &["6.6.6.0/24", "5.5.5.0/24", "4.4.4.0/24", "3.3.3.0/24"],
        &[],
    );
    one.expect_table(&["3.3.3.0/24", "4.4.4.0/24", "5.5.5.0/24", "6.6.6.0/24"]);

    // A preview has the limits of the file as it is now.
    write(5);
    let preview = Request::Diff {
        file: None,
        routes: Some(0),
    };
    let of_one = ("AS64501".to_owned(), Some(3), Some(6), Some(5));
    assert_eq!(changed_limits(&folder, preview), [of_one]);
    // Data that lost most networks wait, and a preview has the limits that they would change.
    write_all(&[(64_502, 7)]);
    refresh(&folder, "irr");
    wait_until("a refusal", || source(&folder, "irr").refused.is_some());
    let of_one = ("AS64501".to_owned(), Some(3), Some(100), None);
    let of_two = ("AS64502".to_owned(), Some(100), Some(8), Some(7));
    let preview = Request::DiffSources { routes: 0 };
    assert_eq!(changed_limits(&folder, preview), [of_one, of_two]);
    assert_eq!(ipv4_limit(&folder, "AS64501"), Some((3, Some(2))));
}

/// A member, its limit before and after, and the number in PeeringDB of which the limit is made.
type ChangedLimit = (String, Option<u32>, Option<u32>, Option<u32>);

fn changed_limits(folder: &Folder, request: Request) -> Vec<ChangedLimit> {
    let of = |line| match line {
        Line::LimitChange(row) => {
            assert_eq!(row.family, "ipv4-unicast");
            let member = format!("AS{}", row.peer.asn);
            Some((member, row.before, row.after, row.peeringdb))
        }
        _ => None,
    };
    ask(folder, request).into_iter().filter_map(of).collect()
}
