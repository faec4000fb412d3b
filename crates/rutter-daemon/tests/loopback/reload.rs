//! Reloads of a running daemon: which sessions continue, and orders of changes that must not lose a neighbor.

use std::fs;

use rutter_api::{Line, Request};

use crate::ask;
use crate::support::{Folder, Speaker, member, start, text};

/// Writes a configuration and reloads it.
fn reload(folder: &Folder, threads: usize, more: &str) {
    let file = folder.0.join("rutter.toml");
    fs::write(file, text(folder, threads, more)).expect("write");
    let answer = ask(folder, Request::Reload);
    assert!(matches!(answer.last(), Some(Line::Done(_))), "{answer:?}");
}

/// A neighbor is removed, added, changed, moved to another AS and covered by a dynamic section, each time before its
/// thread has carried out the change before. Speakers connect meanwhile.
#[test]
fn changes_of_one_address_in_quick_succession_keep_all_threads_running() {
    let folder = Folder::new("succession");
    let dynamic = "[[dynamic-neighbor]]\nprefix = \"127.0.1.0/29\"\nasn = [64501]\nimport = \"all\"\nexport = \"all\"\n";
    let one = member(1, 64501, "");
    let two = member(2, 64502, "");
    let plain = format!("{one}{two}");
    let orders = [
        two.clone(),
        plain.clone(),
        format!("{}{two}", member(1, 64501, "hold-time = \"30s\"")),
        format!("{}{two}", member(1, 64511, "")),
        format!("{two}{dynamic}"),
        format!("{one}{two}{dynamic}"),
        format!("{}{two}", member(1, 64501, "black-list = [\"9.9.9.0/24\"]")),
    ];
    let (_daemon, address) = start(&folder, 2, &plain);
    let mut last = 1;
    for round in 0..40_usize {
        let _connection = (round % 4 == 0).then(|| Speaker::connect(1, 64501, address));
        for step in 0..6 {
            last = (last * 5 + round + step) % orders.len();
            reload(&folder, 2, &orders[last]);
        }
    }
    reload(&folder, 2, &plain);
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["9.9.9.0/24"], &[]);
    two.expect_table(&["9.9.9.0/24"]);
    two.announce(&["8.8.8.0/24"], &[]);
    one.expect_table(&["8.8.8.0/24"]);
}
