//! Blackhole filtering.

use crate::toml_writer::Keys;
use crate::yaml::Section;

/// Reads `blackhole_filtering` and adds the key of `[checks]`.
pub(crate) fn read(section: Section<'_>, checks: &mut Keys) {
    let mut table = Keys::default();
    let mut next_hops = Keys::default();
    let families = [
        ("v4", "policy_ipv4", "rewrite_next_hop_ipv4"),
        ("v6", "policy_ipv6", "rewrite_next_hop_ipv6"),
    ];
    for (family, policy, next_hop) in families {
        let address = section.get(next_hop);
        let Some(policy) = section.get(policy) else {
            continue;
        };
        match policy.text().as_deref() {
            Some("propagate-unchanged") => table.string(family, "propagate"),
            Some("rewrite-next-hop") => {
                table.string(family, "rewrite");
                match address.and_then(|address| address.text()) {
                    Some(address) => next_hops.string(family, &address),
                    None => policy.error(format!("write `{next_hop}`, the address to rewrite to")),
                }
            }
            Some(_) => policy.error("write propagate-unchanged or rewrite-next-hop"),
            None => {}
        }
    }
    table.table("next-hop", &next_hops);
    if let Some(announce) = section.bool("announce_to_client") {
        table.plain("announce-to-client", announce);
    }
    if let Some(no_export) = section.bool("add_noexport") {
        table.plain("add-no-export", no_export);
    }
    checks.table("blackhole", &table);
}
