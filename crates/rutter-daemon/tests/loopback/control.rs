//! The rights on the local sockets, and the record of changes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rutter_api::{ClearHow, Client, Line, Request, SourceAction};
use serde_json::Value;

use crate::support::{Folder, Speaker, member, start_with, text};

fn ask(socket: &Path, request: Request) -> Vec<Line> {
    let client = Client::connect(socket).expect("connect");
    let answer = client.call(request).expect("a request");
    answer.collect::<Result<_, _>>().expect("an answer")
}

fn refusal(lines: &[Line]) -> &str {
    match lines {
        [Line::Error { message, .. }] => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_read_only_socket_changes_nothing_and_the_audit_log_has_the_rest() {
    let folder = Folder::new("control");
    let (reading, audit) = (folder.0.join("read"), folder.0.join("audit"));
    let keys = format!("[daemon]\nread-only-socket = {reading:?}\naudit-log = {audit:?}\n");
    let text = text(&folder, 1, &member(1, 64501, "")).replace("[daemon]\n", &keys);
    let (_daemon, bgp) = start_with(&folder, &text);
    let mut one = Speaker::establish(1, 64501, bgp);
    let control = folder.0.join("ctl");
    let mode = |path: &Path| fs::metadata(path).expect("a socket").permissions().mode() & 0o777;
    assert_eq!((mode(&control), mode(&reading)), (0o660, 0o666));

    assert!(matches!(
        ask(&reading, Request::Peers).as_slice(),
        [Line::Peer(_), Line::Done(_)]
    ));
    let all = || "all".to_owned();
    let file = Some("/etc/shadow".into());
    for request in [
        Request::Clear {
            peer: all(),
            how: ClearHow::Hard,
        },
        Request::Reload,
        Request::Source {
            name: all(),
            action: SourceAction::Accept,
        },
        Request::Shutdown { text: None },
        Request::Diff { file, routes: None },
    ] {
        let lines = ask(&reading, request);
        assert!(refusal(&lines).contains("only reads"), "{lines:?}");
    }
    let own = Request::Diff {
        file: None,
        routes: None,
    };
    assert!(matches!(ask(&reading, own).last(), Some(Line::Done(_))));
    assert!(!audit.exists(), "nothing was changed");

    let clear = |peer: &str| Request::Clear {
        peer: peer.to_owned(),
        how: ClearHow::Hard,
    };
    ask(&control, clear("AS64501"));
    one.expect_notification();
    ask(&control, clear("AS1"));
    ask(&control, Request::Reload);
    let entries = fs::read_to_string(&audit).expect("the audit log");
    let entries: Vec<Value> = entries
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let words = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let actions: Vec<_> = entries
        .iter()
        .map(|entry| (words(entry, "action"), words(entry, "outcome")))
        .collect();
    let expected = [
        ("clear hard AS64501", "done"),
        ("clear hard AS1", "failed"),
        ("reload", "done"),
    ];
    assert_eq!(
        actions,
        expected.map(|(action, outcome)| (action.into(), outcome.into()))
    );
    let me = format!("pid {})", std::process::id());
    for entry in &entries {
        assert!(words(entry, "who").ends_with(&me), "{entry}");
        assert!(words(entry, "time").ends_with('Z'), "{entry}");
    }
}
