//! `checks.blackhole`: routes that ask to drop traffic (RFC 7999).

use std::net::{Ipv4Addr, Ipv6Addr};

use rutter_net::Family;
use toml::de::DeValue;

use crate::key_rows::{KeyRows, section};
use crate::toml_values::Item;

section! {
    /// Accept longer routes than usual, up to /32 and /128, if they carry BLACKHOLE (RFC 7999).
    pub struct Blackhole = "blackhole" {
        /// IPv4: reject them; propagate them with their next hop (`true` is the same); propagate them with the next hop of this table.
        "v4": "false, `\"propagate\"`, `\"rewrite\"`", default "false", reload Reevaluates
            => v4: BlackholeRule = BlackholeRule::Reject, read rule;
        /// IPv6, as above.
        "v6": "false, `\"propagate\"`, `\"rewrite\"`", default "false", reload Reevaluates
            => v6: BlackholeRule = BlackholeRule::Reject, read rule;
        /// The next hops for `"rewrite"`: addresses on the LAN whose traffic the switches drop.
        "next-hop": "`{ v4 = \"192.0.2.66\", v6 = \"2001:db8:1:1::66\" }`", default "none", reload Reevaluates
            => next_hop: BlackholeNextHop = BlackholeNextHop::new(), table "{ v4 = \"192.0.2.66\" }";
        /// Advertise these routes to this client. A client that cannot drop traffic by BLACKHOLE does not want them.
        "announce-to-client": "true, false", default "true", reload Reevaluates
            => announce_to_client: bool = true, read Item::bool;
        /// Add NO_EXPORT to them.
        "add-no-export": "true, false", default "true", reload Reevaluates
            => add_no_export: bool = true, read Item::bool;
    }
}

section! {
    /// The next hops of rewritten blackhole routes.
    #[derive(Copy)]
    pub struct BlackholeNextHop = "next-hop" {
        /// The next hop of IPv4 routes.
        "v4": "IPv4 address", default "none", reload Reevaluates
            => v4: Option<Ipv4Addr> = None, read |i| i.parse("192.0.2.66").map(Some);
        /// The next hop of IPv6 routes.
        "v6": "IPv6 address", default "none", reload Reevaluates
            => v6: Option<Ipv6Addr> = None, read |i| i.parse("2001:db8:1:1::66").map(Some);
    }
}

/// The treatment of routes with BLACKHOLE.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum BlackholeRule {
    /// They are judged like any other route, so their length rejects them.
    #[default]
    Reject,
    /// They are accepted, and advertised with their next hop.
    Propagate,
    /// They are accepted, and advertised with [`Blackhole::next_hop`].
    Rewrite,
}

impl Blackhole {
    /// Returns the rule of a family.
    pub fn rule(&self, family: Family) -> BlackholeRule {
        match family {
            Family::Ipv4Unicast => self.v4,
            Family::Ipv6Unicast => self.v6,
        }
    }

    /// Returns whether routes with BLACKHOLE are accepted in a family.
    pub fn accepts(&self, family: Family) -> bool {
        self.rule(family) != BlackholeRule::Reject
    }
}

/// Reads `blackhole`: one rule for both families, or a table.
pub(crate) fn blackhole(item: &Item<'_>, out: &mut Blackhole) {
    const FORMS: &str = "true, false or { v4 = true, v6 = false }";
    if let DeValue::Boolean(_) = item.value.get_ref() {
        let both = rule(item).unwrap_or_default();
        (out.v4, out.v6) = (both, both);
        return;
    }
    item.section(Blackhole::KEYS, FORMS, |section| {
        out.update(&section);
        let missing = [
            ("v4", out.v4, out.next_hop.v4.is_none(), "192.0.2.66"),
            ("v6", out.v6, out.next_hop.v6.is_none(), "2001:db8:1:1::66"),
        ];
        for (family, rule, is_missing, example) in missing {
            if rule == BlackholeRule::Rewrite && is_missing {
                section.complain(
                    "next-hop",
                    format!("`{family} = \"rewrite\"` needs a next hop"),
                    format!("write next-hop = {{ {family} = \"{example}\" }}"),
                );
            }
        }
    });
}

fn rule(item: &Item<'_>) -> Option<BlackholeRule> {
    match item.value.get_ref() {
        DeValue::Boolean(true) => Some(BlackholeRule::Propagate),
        DeValue::Boolean(false) => Some(BlackholeRule::Reject),
        DeValue::String(_) => item.word(&[
            ("propagate", BlackholeRule::Propagate),
            ("rewrite", BlackholeRule::Rewrite),
        ]),
        _ => item.bool().map(|_| BlackholeRule::Reject),
    }
}
