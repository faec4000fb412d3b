//! The attributes in which two forms of one route differ.

use std::borrow::Cow;

use rutter_rib::{AttrSet, SentRoute};
use rutter_wire::attr::code;

/// Returns the names of the attributes that differ, as JSON rows name them. `external`: LOCAL_PREF is of no session between
/// ASes, so a recorder added it.
pub(super) fn differing(
    ours: &SentRoute,
    theirs: &AttrSet,
    external: bool,
) -> Vec<Cow<'static, str>> {
    let mut names = Vec::new();
    let is_ignored = |code: u8| match code {
        code::NEXT_HOP | code::MP_REACH_NLRI | code::MP_UNREACH_NLRI => true,
        code::LOCAL_PREF => external,
        _ => false,
    };
    let (our_attributes, their_attributes) = (ours.attributes(), theirs.attributes());
    if Some(ours.next_hop) != theirs.next_hop() {
        names.push("next-hop".into());
    }
    let link_local = (ours.link_local_next_hop, theirs.link_local_next_hop());
    if matches!(link_local, (Some(ours), Some(theirs)) if ours != theirs) {
        names.push("link-local-next-hop".into());
    }
    if ours.block() == theirs.block() {
        return names;
    }
    let mut codes: Vec<u8> = our_attributes
        .iter()
        .chain(their_attributes.iter())
        .map(|raw| raw.code)
        .filter(|code| !is_ignored(*code))
        .collect();
    codes.sort_unstable();
    codes.dedup();
    for code in codes {
        let value = |attributes: &rutter_wire::attr::Attributes<'_>| {
            let mut all = attributes.iter();
            let found = all.find(|raw| raw.code == code);
            found.map(|raw| as_set(code, raw.value))
        };
        if value(&our_attributes) != value(&their_attributes) {
            names.push(name(code));
        }
    }
    names
}

/// The value of an attribute. That of communities is sorted, because their order has no meaning.
fn as_set(code: u8, value: &[u8]) -> Vec<Vec<u8>> {
    let size = match code {
        code::COMMUNITIES => 4,
        code::EXTENDED_COMMUNITIES => 8,
        code::LARGE_COMMUNITIES => 12,
        code::IPV6_EXTENDED_COMMUNITIES => 20,
        _ => return vec![value.to_vec()],
    };
    let mut all: Vec<Vec<u8>> = value.chunks(size).map(<[u8]>::to_vec).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn name(code: u8) -> Cow<'static, str> {
    Cow::Borrowed(match code {
        code::ORIGIN => "origin",
        code::AS_PATH => "as-path",
        code::MULTI_EXIT_DISC => "multi-exit-disc",
        code::LOCAL_PREF => "local-pref",
        code::ATOMIC_AGGREGATE => "atomic-aggregate",
        code::AGGREGATOR => "aggregator",
        code::COMMUNITIES => "communities",
        code::ORIGINATOR_ID => "originator-id",
        code::CLUSTER_LIST => "cluster-list",
        code::EXTENDED_COMMUNITIES => "extended-communities",
        code::IPV6_EXTENDED_COMMUNITIES => "ipv6-extended-communities",
        code::AIGP => "aigp",
        code::LARGE_COMMUNITIES => "large-communities",
        code::ONLY_TO_CUSTOMER => "only-to-customer",
        _ => return Cow::Owned(format!("attribute-{code}")),
    })
}
