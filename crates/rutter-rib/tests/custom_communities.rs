//! Custom informational communities: a route in, the communities that clients receive out; then other settings.

mod lab;

use std::sync::Arc;

use lab::*;
use rutter_net::Asn;
use rutter_policy::{
    ClassTag, CustomMarks, ExportPolicy, ExportSettings, ImportPolicy, ImportSettings,
    MarkedPrefixes, PrefixMatch, TagState,
};
use rutter_rib::*;
use rutter_wire::attr::code;

/// Mark 0 is 64500:2000:1 and 5:5, mark 1 is 64500:2000:2.
fn export() -> Arc<ExportPolicy> {
    let tag = |(number, notation): (u8, &str)| {
        ClassTag::new(TagState::Custom(number), notation.parse().unwrap()).unwrap()
    };
    Arc::new(ExportPolicy::new(ExportSettings {
        local_asn: Asn(LOCAL),
        class_tags: [(0, "self:2000:1"), (0, "5:5"), (1, "self:2000:2")]
            .map(tag)
            .to_vec(),
        ..ExportSettings::default()
    }))
}

/// A member with this mark on all routes, if any. 203.0.113.0/24 has mark 1, whoever announces it.
fn member(index: u8, mark: Option<u8>) -> Neighbor {
    let listed = PrefixMatch::exact("203.0.113.0/24".parse().unwrap());
    let mut member = neighbor(index, PeerKind::RouteServerClient, u32::from(index));
    member.import = Arc::new(ImportPolicy::new(ImportSettings {
        custom_marks: mark.map_or(CustomMarks::NONE, CustomMarks::of),
        marked_prefixes: Arc::new(MarkedPrefixes::new(vec![(1, vec![listed])])),
        ..member.import.settings().clone()
    }));
    member
}

fn communities(block: &[u8]) -> Vec<String> {
    let all = parse(block, true);
    let standard = all.communities().map(|c| c.to_string());
    standard
        .chain(all.large_communities().map(|c| c.to_string()))
        .collect()
}

#[test]
fn routes_of_a_member_and_of_a_prefix_get_them_and_a_reload_moves_them() {
    let mut lab = Lab::empty();
    lab.rib.replace_export(export(), || {});
    lab.add(member(1, Some(0)), |_| {});
    lab.add(member(2, None), |_| {});
    lab.add(member(3, None), |_| {});
    for (peer, prefix, expected) in [
        (0, "198.51.100.0/24", &["5:5", "64500:2000:1"][..]),
        (
            0,
            "203.0.113.0/24",
            &["5:5", "64500:2000:1", "64500:2000:2"],
        ),
        (1, "192.88.99.0/24", &[]),
        (1, "203.0.113.0/25", &[]),
    ] {
        lab.announce(peer, &Block::new(&[u32::from(peer) + 1]).0, prefix);
        assert_eq!(communities(&lab.block(2).unwrap()), expected, "{prefix}");
    }
    // A member cannot set them.
    let forged: Vec<u8> = [LOCAL, 2000, 1]
        .into_iter()
        .flat_map(u32::to_be_bytes)
        .collect();
    let forged = Block::new(&[2]).with(0xc0, code::LARGE_COMMUNITIES, &forged);
    lab.announce(1, &forged.0, "192.88.99.0/24");
    assert_eq!(communities(&lab.block(2).unwrap()), [""; 0]);
    (0..3).for_each(|peer| drop(lab.received(PeerId(peer))));

    // A reload: the routes of the first member have none any more, those of the second have.
    let changes = vec![
        (PeerId(0), member(1, None)),
        (PeerId(1), member(2, Some(0))),
    ];
    lab.rib.replace_neighbors(changes, || {});
    lab.rib.flush();
    let sent = lab.received(PeerId(2));
    let prefixes = sent.len();
    assert!(
        (3..=4).contains(&prefixes),
        "four routes, two of which may share a message: {sent:?}"
    );
    let explained = lab.rib.explain("203.0.113.0/24".parse().unwrap()).unwrap();
    assert!(explained.candidates[0].class.custom.has(1));
    assert!(!explained.candidates[0].class.custom.has(0));
}
