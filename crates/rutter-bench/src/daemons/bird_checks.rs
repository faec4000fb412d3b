//! BIRD's filters for an exchange's whole policy, from the same registry as Rutter's configuration.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use rutter_net::{Asn, Family, Prefix};

use crate::daemons::local_asn;
use crate::registry::{Edition, Registry, write};
use crate::workload::Workload;

/// The name of the file with the sets of all members.
pub(super) const SETS: &str = "sets";

/// Writes the ROAs and the filters of all peers, which the configuration includes.
pub(super) fn write_filters(
    workload: &Workload,
    registry: &Registry,
    folder: &Path,
) -> io::Result<()> {
    write_sets(workload, registry, Edition::First, folder)?;
    write(&folder.join(ROAS), |out| write_roas(registry, out))?;
    write(&folder.join(FILTERS), |out| {
        out.write_all(BOGONS.as_bytes())?;
        for (number, peer) in workload.peers.iter().enumerate() {
            for family in Family::ALL {
                import(out, number, peer.asn, family)?;
            }
            export(out, number, peer.asn)?;
        }
        Ok(())
    })
}

/// The lines that include the files.
pub(super) fn includes() -> String {
    format!("include \"{ROAS}\";\ninclude \"{SETS}\";\ninclude \"{FILTERS}\";\n")
}

/// Writes the sets of origins and prefixes of all members in an edition.
pub(super) fn write_sets(
    workload: &Workload,
    registry: &Registry,
    edition: Edition,
    folder: &Path,
) -> io::Result<()> {
    let new = folder.join("new");
    write(&new, |out| {
        for number in 0..workload.peers.len() {
            let rows: Vec<_> = registry.of_peer(workload, number, edition).collect();
            sets(out, &format!("{number}"), &rows)?;
        }
        for member in &registry.idle {
            let rows: Vec<_> = registry.of_idle(workload, member).collect();
            sets(out, &format!("i{}", member.asn), &rows)?;
        }
        Ok(())
    })?;
    std::fs::rename(new, folder.join(SETS))
}

/// Empty sets have no type in BIRD, so each has an element that no route has.
fn sets(out: &mut dyn Write, name: &str, rows: &[(Prefix, Asn)]) -> io::Result<()> {
    let origins: BTreeSet<Asn> = rows.iter().map(|(_, origin)| *origin).collect();
    write!(out, "define o_{name} = [0")?;
    for origin in origins {
        write!(out, ",{origin}")?;
    }
    for (family, none) in [("4", "0.0.0.0/32"), ("6", "::/128")] {
        write!(out, "];\ndefine p{family}_{name} = [{none}")?;
        let of_family = |prefix: &Prefix| matches!(prefix, Prefix::V4(_)) == (family == "4");
        for (prefix, _) in rows.iter().filter(|(prefix, _)| of_family(prefix)) {
            write!(out, ",{prefix}")?;
        }
    }
    writeln!(out, "];")
}

fn write_roas(registry: &Registry, out: &mut dyn Write) -> io::Result<()> {
    for (family, is_ipv4) in [("4", true), ("6", false)] {
        writeln!(
            out,
            "roa{family} table r{family};\nprotocol static {{ roa{family} {{ table r{family}; }};"
        )?;
        for roa in &registry.roas {
            let prefix = roa.prefix;
            if matches!(prefix, Prefix::V4(_)) == is_ipv4 {
                writeln!(out, "route {prefix} max {} as {};", prefix.len(), roa.asn)?;
            }
        }
        writeln!(out, "}}")?;
    }
    Ok(())
}

/// The order is that of Rutter: cheap checks first.
fn import(out: &mut dyn Write, number: usize, asn: Asn, family: Family) -> io::Result<()> {
    let (digit, longest) = match family {
        Family::Ipv4Unicast => ('4', 24),
        Family::Ipv6Unicast => ('6', 48),
    };
    writeln!(
        out,
        "filter i{digit}_{number} {{\n\
         if bgp_path.len > 32 then reject;\n\
         if bgp_path.first != {asn} then reject;\n\
         if bgp_path ~ BOGON_ASNS then reject;\n\
         if net ~ BOGONS{digit} then reject;\n\
         if net.len < 8 || net.len > {longest} then reject;\n\
         if ! (bgp_path.last ~ o_{number}) then reject;\n\
         if ! (net ~ p{digit}_{number}) then reject;\n\
         if roa_check(r{digit}, net, bgp_path.last) = ROA_INVALID then reject;\n\
         accept;\n}}"
    )
}

fn export(out: &mut dyn Write, number: usize, asn: Asn) -> io::Result<()> {
    let own = local_asn();
    writeln!(
        out,
        "filter e_{number} {{\n\
         if ({own},0,{asn}) ~ bgp_large_community then reject;\n\
         if ({own},0,0) ~ bgp_large_community && ! (({own},1,{asn}) ~ bgp_large_community) then reject;"
    )?;
    for times in 1..=3 {
        let prepends = "bgp_path.prepend(bgp_path.first); ".repeat(times);
        let value = 100 + times;
        writeln!(
            out,
            "if ({own},{value},0) ~ bgp_large_community || ({own},{value},{asn}) ~ bgp_large_community then {{ {prepends}}}"
        )?;
    }
    writeln!(
        out,
        "bgp_large_community.delete([({own},*,*)]);\naccept;\n}}"
    )
}

const ROAS: &str = "roas";
const FILTERS: &str = "filters";

/// Prefixes and AS numbers that no network may announce.
const BOGONS: &str = "\
define BOGON_ASNS = [0, 23456, 64496..131071, 4200000000..4294967295];
define BOGONS4 = [0.0.0.0/0, 0.0.0.0/8+, 10.0.0.0/8+, 100.64.0.0/10+, 127.0.0.0/8+, 169.254.0.0/16+, 172.16.0.0/12+,
  192.0.0.0/24+, 192.0.2.0/24+, 192.168.0.0/16+, 198.18.0.0/15+, 198.51.100.0/24+, 203.0.113.0/24+, 224.0.0.0/3+];
define BOGONS6 = [::/0, ::/8+, 100::/64+, 2001:2::/48+, 2001:10::/28+, 2001:db8::/32+, 2002::/16+, 3ffe::/16+,
  fc00::/7+, fe80::/10+, ff00::/8+];
";
