//! Rutter's configuration for an exchange's whole policy.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use crate::daemons::rutter::STATE;
use crate::registry::{Edition, Registry, write};
use crate::workload::Workload;

/// Adds the registry's members, sources, checks and action communities to a configuration, and writes the lists.
pub(super) fn with_checks(
    config: &str,
    workload: &Workload,
    registry: &Registry,
    folder: &Path,
) -> io::Result<String> {
    let mut text = config.replace("[checks]\n", CHECKS);
    let state = folder.join(STATE).display().to_string();
    let roas = folder.join("vrps.json");
    registry.write_roas(&roas)?;
    let _ = write!(
        text,
        "\n[sources]\nstate = \"{state}\"\n\n[rpki]\nvrps = [\"{}\"]\n\n[irr.files]\n",
        roas.display()
    );
    write_lists(workload, registry, Edition::First, folder)?;
    for (number, peer) in workload.peers.iter().enumerate() {
        let path = list(folder, number);
        let _ = writeln!(text, "\"AS{}\" = \"{}\"", peer.asn, path.display());
    }
    for member in &registry.idle {
        let asn = member.asn;
        let path = folder.join(format!("idle{asn}"));
        write(&path, |out| {
            let mut rows = registry.of_idle(workload, member);
            rows.try_for_each(|(prefix, origin)| writeln!(out, "{prefix} AS{origin}"))
        })?;
        let _ = writeln!(text, "\"AS{asn}\" = \"{}\"", path.display());
    }
    for member in &registry.idle {
        let (asn, address) = (member.asn, member.address);
        let _ = write!(text, "\n[[member]]\nasn = {asn}\naddress = \"{address}\"\n");
    }
    Ok(text)
}

/// Writes the lists of the peers in an edition. Each takes the place of the older one at once.
pub(super) fn write_lists(
    workload: &Workload,
    registry: &Registry,
    edition: Edition,
    folder: &Path,
) -> io::Result<()> {
    for number in 0..workload.peers.len() {
        let (new, path) = (folder.join("new"), list(folder, number));
        write(&new, |out| {
            let mut rows = registry.of_peer(workload, number, edition);
            rows.try_for_each(|(prefix, origin)| writeln!(out, "{prefix} AS{origin}"))
        })?;
        std::fs::rename(new, path)?;
    }
    Ok(())
}

fn list(folder: &Path, number: usize) -> std::path::PathBuf {
    folder.join(format!("list{number}"))
}

/// The checks, and the action communities before them. Bogons, lengths, first AS and next hop are checked by default;
/// next hops of the workload are not the members' addresses.
const CHECKS: &str = "\
[communities]
not-to-any = [\"self:0:0\"]
not-to-peer = [\"self:0:peer\"]
to-peer = [\"self:1:peer\"]
prepend-any = [\"self:101..103:0\"]
prepend-peer = [\"self:101..103:peer\"]

[checks]
irr = \"origin+prefix\"
rpki-invalid = \"reject\"
";
