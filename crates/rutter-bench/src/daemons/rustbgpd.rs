//! rustbgpd: it accepts inbound sessions only from dynamic neighbors.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::daemons::{ROUTER_ID, Site, in_folder, local_asn};

pub(super) fn command(program: &Path, site: &Site<'_>) -> io::Result<Command> {
    fs::write(site.file("c"), config(site))?;
    let mut command = in_folder(program);
    command.arg(site.file("c"));
    Ok(command)
}

fn config(site: &Site<'_>) -> String {
    format!(
        "[global]\nasn = {}\nrouter_id = \"{ROUTER_ID}\"\nlisten_port = {}\ndynamic_neighbor_limit = 5000\nruntime_state_dir = \"{}\"\n\
         [global.telemetry]\nlog_format = \"json\"\n\
         [peer_groups.clients]\nfamilies = [\"ipv4_unicast\", \"ipv6_unicast\"]\nroute_server_client = true\nhold_time = 180\n\
         [[dynamic_neighbors]]\nprefix = \"127.1.0.0/16\"\npeer_group = \"clients\"\n",
        local_asn(),
        site.listen.port(),
        site.folder.display()
    )
}
