//! OpenBGPD as a route server. Must be started as root; `/run/openbgpd` must exist.

use std::fmt::Write;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::daemons::{ROUTER_ID, Site, in_folder, local_asn};

pub(super) fn command(program: &Path, site: &Site<'_>) -> io::Result<Command> {
    fs::create_dir_all("/run/openbgpd")?;
    fs::write(site.file("c"), config(site))?;
    fs::set_permissions(site.file("c"), fs::Permissions::from_mode(0o600))?;
    let mut command = in_folder(program);
    command.args(["-d", "-f"]).arg(site.file("c"));
    Ok(command)
}

fn config(site: &Site<'_>) -> String {
    let mut text = format!(
        "AS {}\nrouter-id {ROUTER_ID}\nlisten on {} port {}\nfib-update no\nholdtime 180\ntransparent-as yes\nsocket \"{}\"\n\
         nexthop qualify via default\n",
        local_asn(),
        site.listen.ip(),
        site.listen.port(),
        site.file("s").display()
    );
    text.push_str("group clients {\n  passive\n  multihop 8\n  announce IPv4 unicast\n  announce IPv6 unicast\n  announce policy no\n  set nexthop no-modify\n");
    for peer in site.peers {
        let _ = writeln!(
            text,
            "  neighbor {} {{ remote-as {} }}",
            peer.address, peer.asn
        );
    }
    text.push_str("}\nallow from any\nallow to any\n");
    text
}
