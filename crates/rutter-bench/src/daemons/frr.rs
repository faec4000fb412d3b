//! FRR's bgpd alone, without zebra.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::daemons::{ROUTER_ID, Site, in_folder, local_asn};

pub(super) fn command(program: &Path, site: &Site<'_>) -> io::Result<Command> {
    fs::write(site.file("c"), config(site))?;
    let mut command = in_folder(program);
    command
        .args(["-S", "-Z", "-n", "-f"])
        .arg(site.file("c"))
        .arg("-i")
        .arg(site.file("p"));
    command
        .arg("-z")
        .arg(site.file("z"))
        .arg("--vty_socket")
        .arg(site.folder);
    command.args([
        "-P",
        "0",
        "-p",
        &site.listen.port().to_string(),
        "-l",
        &site.listen.ip().to_string(),
    ]);
    command.args(["--log", "stdout", "--log-level", "errors"]);
    Ok(command)
}

fn config(site: &Site<'_>) -> String {
    let mut text = format!(
        "log stdout errors\nrouter bgp {}\n bgp router-id {ROUTER_ID}\n no bgp ebgp-requires-policy\n \
         no bgp default ipv4-unicast\n no bgp network import-check\n bgp bestpath compare-routerid\n \
         no bgp enforce-first-as\n timers bgp 60 180\n",
        local_asn()
    );
    for peer in site.peers {
        let _ = write!(
            text,
            " neighbor {0} remote-as {1}\n neighbor {0} passive\n neighbor {0} ebgp-multihop 8\n neighbor {0} disable-connected-check\n",
            peer.address, peer.asn
        );
    }
    for family in ["ipv4", "ipv6"] {
        let _ = writeln!(text, " address-family {family} unicast");
        for peer in site.peers {
            let _ = write!(
                text,
                "  neighbor {0} activate\n  neighbor {0} route-server-client\n  neighbor {0} attribute-unchanged next-hop\n",
                peer.address
            );
        }
        text.push_str(" exit-address-family\n");
    }
    text
}
