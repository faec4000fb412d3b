//! The configuration of the demo: an exchange whose members are the speakers.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use rutter_bench::workload::{ROUTE_SERVER_ASN, Workload};

/// The prefixes that the route server accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Checks {
    /// The prefixes that an exchange accepts.
    Exchange,
    /// Any prefix: the user's list is used unchanged.
    AnyPrefix,
}

/// The addresses that the route server listens on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    pub(super) bgp: SocketAddr,
    /// The looking glass.
    pub(super) web: SocketAddr,
}

/// Writes the configuration file.
pub(super) fn text(
    workload: &Workload,
    threads: u16,
    addresses: Addresses,
    socket: &Path,
    checks: Checks,
) -> String {
    let mut out = head(threads, addresses, socket);
    if checks == Checks::AnyPrefix {
        out.push_str(
            "\n[checks]\n\
             prefix-length = { v4 = \"1-32\", v6 = \"1-128\" }\n\
             bogons = false\n\
             ipv6-global-unicast = false\n",
        );
    }
    for (index, peer) in workload.peers.iter().enumerate() {
        let role = match index == workload.monitor() {
            true => "listener".to_owned(),
            false => format!("speaker-{:02}", index + 1),
        };
        let _ = write!(
            out,
            "\n[[member]]\nasn = {}\naddress = \"{}\"\ndescription = \"{role}\"\n\
             next-hop = \"authorized\"\nauthorized-addresses = [\"{}\", \"{}\"]\n",
            peer.asn, peer.address, peer.next_hops.v4, peer.next_hops.v6
        );
    }
    out
}

fn head(threads: u16, addresses: Addresses, socket: &Path) -> String {
    let Addresses { bgp, web } = addresses;
    let threads = match threads {
        0 => String::new(), // one per core
        n => format!("threads = {n}\n"),
    };
    format!(
        "# Written by `rutter demo`: an exchange on the loopback interface.\n\
         [exchange]\n\
         asn = {ROUTE_SERVER_ASN}\n\
         router-id = \"10.99.255.1\"\n\
         lan = [\"127.1.0.0/16\", \"10.99.0.0/16\", \"2001:7f8:99::/64\"]\n\
         \n\
         [daemon]\n\
         {threads}\
         listen = [\"{bgp}\"]\n\
         control-socket = {socket:?}\n\
         log = \"info\"\n\
         \n\
         [web]\n\
         listen = \"{web}\"\n\
         \n\
         [communities]\n\
         not-to-any   = [\"self:0:0\"]\n\
         not-to-peer  = [\"0:peer\", \"self:0:peer\"]\n\
         to-peer      = [\"self:1:peer\"]\n\
         prepend-peer = [\"self:101..103:peer\"]\n\
         \n\
         [defaults]\n\
         families = [\"ipv4\", \"ipv6\"]\n\
         passive = true\n\
         hold-time = 180\n\
         multihop = 64\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rutter_bench::workload::{Settings, Shape};

    #[test]
    fn the_configuration_is_valid() {
        let workload = Workload::generate(Shape::shared(4, 200, 100), None, Settings::default());
        let addresses = Addresses {
            bgp: "127.0.0.1:1790".parse().unwrap(),
            web: "127.0.0.1:8179".parse().unwrap(),
        };
        for checks in [Checks::Exchange, Checks::AnyPrefix] {
            let text = text(&workload, 2, addresses, Path::new("/tmp/a b/s"), checks);
            let loaded = rutter_config::Config::parse(&text, Path::new("demo.toml")).unwrap();
            assert_eq!(loaded.config.neighbors.len(), 5);
            assert_eq!(loaded.config.daemon.control_socket, Path::new("/tmp/a b/s"));
            assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        }
    }
}
