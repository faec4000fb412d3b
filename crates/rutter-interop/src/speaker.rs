//! The interface of all daemons to the tests.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;

use rutter_net::Prefix;

use crate::{Lab, Process, Route};

/// The session with the daemon under test, as a client configures it.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The address to connect to.
    pub address: IpAddr,
    /// Its AS.
    pub asn: u32,
    /// IPv4 unicast is offered.
    pub ipv4: bool,
    /// IPv6 unicast is offered.
    pub ipv6: bool,
    /// TCP MD5 key.
    pub password: Option<String>,
    /// Receive several paths per prefix (IPv4 and IPv6).
    pub add_path_receive: bool,
    /// Send several paths per prefix.
    pub add_path_send: bool,
    /// Four-octet AS numbers are offered.
    pub as4: bool,
    /// Offer graceful restart with this many seconds.
    pub graceful_restart_s: Option<u16>,
    /// IPv4 routes may have IPv6 next hops (RFC 8950).
    pub extended_next_hop: bool,
    /// Send with TTL 255 and accept nothing less (RFC 5082).
    pub ttl_security: bool,
    /// Only the other side connects. ExaBGP ignores this.
    pub passive: bool,
}

impl Peer {
    /// A session with both families and default options.
    pub fn new(address: IpAddr, asn: u32) -> Peer {
        Peer {
            address,
            asn,
            ipv4: true,
            ipv6: true,
            password: None,
            add_path_receive: false,
            add_path_send: false,
            as4: true,
            graceful_restart_s: None,
            extended_next_hop: false,
            ttl_security: false,
            passive: false,
        }
    }

    /// The families of the session, as the digits in daemons' names for them.
    pub fn families(&self) -> impl Iterator<Item = u8> {
        [(self.ipv4, 4), (self.ipv6, 6)]
            .into_iter()
            .filter_map(|(on, family)| on.then_some(family))
    }
}

/// The place and the session of one daemon.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its folder.
    pub folder: PathBuf,
    /// Its own address.
    pub address: IpAddr,
    /// The port at which it and its peer listen.
    pub port: u16,
    /// Its AS.
    pub asn: u32,
    /// Its BGP Identifier, dotted.
    pub router_id: String,
    /// Its only session.
    pub peer: Peer,
}

impl Setup {
    /// A daemon as host `host` of the lab, with its own folder, and a plain session with `peer`.
    pub fn new(lab: &Lab, name: &str, host: u8, asn: u32, peer: Peer) -> Setup {
        Setup {
            folder: lab.folder(name),
            address: lab.address(host),
            port: lab.port(),
            asn,
            router_id: format!("10.255.0.{host}"),
            peer,
        }
    }

    /// With the session changed.
    pub fn with(mut self, change: impl FnOnce(&mut Peer)) -> Setup {
        change(&mut self.peer);
        self
    }
}

/// A running daemon with one session.
pub trait Speaker {
    /// Announces more routes. An AS path must begin with the daemon's own AS.
    fn announce(&mut self, routes: &[Route]);

    /// Withdraws all announced routes to these prefixes.
    fn withdraw(&mut self, prefixes: &[Prefix]);

    /// All routes that it holds from its peer, before its own policy.
    fn received(&self) -> Result<BTreeSet<Route>, String>;

    /// Returns whether the session is up.
    fn established(&self) -> bool;

    /// Requests all routes from the peer again (RFC 2918), on the same session.
    fn refresh(&mut self);

    /// Its process.
    fn process(&mut self) -> &mut Process;
}

/// Checks that the first AS of every route is the announcer's, so that no test mixes up its daemons.
pub fn announced_by(asn: u32, routes: &[Route]) {
    for route in routes {
        assert_eq!(
            route.as_path.first(),
            Some(&asn),
            "AS{asn} cannot announce {route:?}"
        );
    }
}
