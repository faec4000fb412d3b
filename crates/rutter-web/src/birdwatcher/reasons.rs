//! Reasons as large communities.

use rutter_api::RejectRow;
use rutter_net::Prefix;

use super::ReasonNumbers;

/// The second part of the community of a route that is not exported.
const NOT_EXPORTED: u32 = 65_521;
/// Numbers from here on are ours plus this: IXP Manager has no number for such a reason.
const OURS: u32 = 1_000;

/// The name of the reason to withhold a route that is the client's own.
pub(super) const OWN_ROUTE: &str = "own-route";

/// The names of the reasons to withhold a route, in the order of their numbers, from 1 on.
pub(super) const WITHHELD: [&str; 8] = [
    OWN_ROUTE,
    "communities",
    "blackhole",
    "reflection",
    "role",
    "family",
    "path-limit",
    "export-filter",
];

/// Returns the community of a rejected route, after the AS of this server.
pub(super) fn reject_community(
    numbers: ReasonNumbers,
    reason: &RejectRow,
    prefix: Prefix,
) -> (u32, u32) {
    match numbers {
        ReasonNumbers::ARouteServer => (65_520, reason.code.into()),
        ReasonNumbers::IxpManager => (1_101, ixp_manager(reason, prefix)),
    }
}

/// Returns the community of a route that is not exported, after the AS of this server.
pub(super) fn withheld_community(name: &str) -> Option<(u32, u32)> {
    let index = WITHHELD.iter().position(|known| *known == name)?;
    Some((NOT_EXPORTED, index as u32 + 1))
}

fn ixp_manager(reason: &RejectRow, prefix: Prefix) -> u32 {
    // Our reason covers too long and too short prefixes. No exchange accepts prefixes as short as these.
    let shortest = if prefix.addr().is_ipv4() { 16 } else { 32 };
    match reason.name.as_str() {
        "prefix-length" if prefix.len() < shortest => 2,
        "prefix-length" => 1,
        "bogon" | "own-lan" | "not-global-unicast" | "martian" => 3,
        "invalid-asn" => 4,
        "as-path-too-long" => 5,
        "first-as" => 7,
        "next-hop" => 8,
        "prefix-not-in-as-set" | "prefix-not-allowed" => 9,
        "origin-not-in-as-set" | "origin-not-allowed" => 10,
        "rpki-invalid" => 13,
        "transit-free-asn" | "never-via-route-servers" => 14,
        _ => OURS + u32::from(reason.code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(code: u16, name: &str) -> RejectRow {
        RejectRow {
            code,
            name: name.to_owned(),
            explanation: String::new(),
        }
    }

    #[test]
    fn both_numberings_have_a_number_for_each_reason() {
        let of = |numbers, code, name: &str, prefix: &str| {
            reject_community(numbers, &reason(code, name), prefix.parse().unwrap())
        };
        let (ours, theirs) = (ReasonNumbers::ARouteServer, ReasonNumbers::IxpManager);
        assert_eq!(of(ours, 14, "rpki-invalid", "8.8.8.0/24"), (65_520, 14));
        assert_eq!(of(theirs, 14, "rpki-invalid", "8.8.8.0/24"), (1_101, 13));
        assert_eq!(of(theirs, 13, "prefix-length", "8.8.8.0/25"), (1_101, 1));
        assert_eq!(of(theirs, 13, "prefix-length", "2001::/16"), (1_101, 2));
        assert_eq!(of(theirs, 30, "filter", "8.8.8.0/24"), (1_101, 1_030));
    }

    #[test]
    fn each_reason_to_withhold_a_route_has_a_number() {
        for why in rutter_rib::Withheld::ALL {
            assert!(withheld_community(why.name()).is_some(), "{}", why.name());
        }
        assert_eq!(withheld_community("communities"), Some((65_521, 2)));
    }
}
