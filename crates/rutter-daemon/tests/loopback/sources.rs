//! Outside data: routes that it contradicts are rejected, and accepted again when it changes.

use rutter_api::{Line, Request};

use super::support::{Folder, Speaker, start};
use super::{ask, two_members};

/// A document with one VRP for 8.8.0.0/16.
fn vrp(asn: u32) -> String {
    format!(r#"{{"roas":[{{"asn":{asn},"prefix":"8.8.0.0/16","maxLength":24}}]}}"#)
}

#[test]
fn an_exchange_rejects_routes_that_the_rpki_contradicts() {
    let folder = Folder::new("rov");
    let vrps = folder.0.join("vrps.json");
    std::fs::write(&vrps, vrp(64502)).expect("write");
    let more = format!("{}[rpki]\nvrps = \"{}\"\n", two_members(), vrps.display());
    let (_daemon, address) = start(&folder, 2, &more);
    let mut one = Speaker::establish(1, 64501, address);
    let mut two = Speaker::establish(2, 64502, address);
    one.announce(&["8.8.8.0/24", "9.9.9.0/24"], &[]);
    two.expect_table(&["9.9.9.0/24"]);

    // The change concerns 8.8.8.0/24 alone: no neighbor is asked for its routes again, and only one route is sent.
    std::fs::write(&vrps, vrp(64501)).expect("write");
    let answer = ask(&folder, Request::Reload).pop();
    assert!(matches!(answer, Some(Line::Done(_))), "{answer:?}");
    two.expect_table(&["8.8.8.0/24", "9.9.9.0/24"]);
    std::fs::write(&vrps, vrp(64502)).expect("write");
    ask(&folder, Request::Reload);
    two.expect_table(&["9.9.9.0/24"]);
}
