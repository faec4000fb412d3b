//! `rutter lookup`, and whose routes are looked up.

use std::net::IpAddr;

use clap::Args;
use rutter_api::Whose;

/// Which addresses, and in whose routes.
#[derive(Args, Debug)]
pub(crate) struct LookupArgs {
    /// Addresses
    #[arg(value_name = "ADDRESS", required = true)]
    pub(crate) addresses: Vec<IpAddr>,
    /// Whose routes
    #[command(flatten)]
    pub(crate) whose: WhoseArgs,
    /// Where none of these has a route, show the best of all
    #[arg(long)]
    pub(crate) or_best: bool,
}

/// Whose routes are looked up.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct WhoseArgs {
    /// In the routes of this neighbor: name, address, AS number, or a monitored router; may be repeated
    #[arg(long = "peer", value_name = "PEER")]
    peers: Vec<String>,
    /// In the routes with this next hop; may be repeated
    #[arg(long = "next-hop", value_name = "ADDRESS")]
    next_hops: Vec<IpAddr>,
}

impl From<WhoseArgs> for Whose {
    fn from(args: WhoseArgs) -> Self {
        Whose {
            peers: args.peers,
            next_hops: args.next_hops,
        }
    }
}

pub(super) const LOOKUP: &str = "\
The longest match of each address and its best route. With --peer or --next-hop: the longest
match among the routes of any of these, which is what that router would do with a packet.

Examples:
  rutter lookup 8.8.8.8 2001:4860:4860::8888
  rutter lookup 8.8.8.8 --peer AS64511 --peer AS64512
  rutter lookup 8.8.8.8 --next-hop 192.0.2.11 --or-best
  rutter lookup 8.8.8.8 --json | jq -r .attributes.communities[]";
