//! RustyBGP: reads GoBGP's configuration.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::daemons::{ROUTER_ID, Site, in_folder, local_asn};

pub(super) fn command(program: &Path, site: &Site<'_>) -> io::Result<Command> {
    fs::write(site.file("c"), config(site))?;
    let mut command = in_folder(program);
    command.arg("-f").arg(site.file("c"));
    Ok(command)
}

fn config(site: &Site<'_>) -> String {
    let mut text = format!(
        "[global.config]\nas = {}\nrouter-id = \"{ROUTER_ID}\"\nport = {}\n",
        local_asn(),
        site.listen.port()
    );
    for peer in site.peers {
        let _ = write!(
            text,
            "[[neighbors]]\n[neighbors.config]\nneighbor-address = \"{}\"\npeer-as = {}\n\
             [neighbors.transport.config]\npassive-mode = true\n\
             [neighbors.route-server.config]\nroute-server-client = true\n\
             [[neighbors.afi-safis]]\n[neighbors.afi-safis.config]\nafi-safi-name = \"ipv4-unicast\"\n\
             [[neighbors.afi-safis]]\n[neighbors.afi-safis.config]\nafi-safi-name = \"ipv6-unicast\"\n",
            peer.address, peer.asn
        );
    }
    text
}
