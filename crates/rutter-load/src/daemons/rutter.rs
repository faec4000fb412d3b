//! Rutter itself.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::daemons::{ROUTER_ID, Site, in_folder, local_asn};

pub(super) fn command(program: &Path, site: &Site<'_>) -> io::Result<Command> {
    fs::write(site.file("c.toml"), config(site))?;
    let mut command = in_folder(program);
    command.arg("run").arg(site.file("c.toml"));
    Ok(command)
}

/// Members with the usual checks, except that next hops need not be the members' own addresses on 127/8.
fn config(site: &Site<'_>) -> String {
    let mut text = format!(
        "[exchange]\nasn = {}\nrouter-id = \"{ROUTER_ID}\"\nlan = [\"127.1.0.0/16\", \"10.99.0.0/16\", \"2001:7f8:99::/64\"]\n\n\
         [daemon]\nthreads = {}\nlisten = [\"{}\"]\ncontrol-socket = \"{}\"\nlog = \"warn\"\n\n\
         [checks]\nnext-hop = \"any\"\n\n\
         [defaults]\nfamilies = [\"ipv4\", \"ipv6\"]\nhold-time = 180\nmultihop = 8\npassive = true\n",
        local_asn(),
        site.threads,
        site.listen,
        site.file("s").display()
    );
    for peer in site.peers {
        let _ = write!(
            text,
            "\n[[member]]\nasn = {}\naddress = \"{}\"\n",
            peer.asn, peer.address
        );
    }
    text
}
