//! Options of `rutter init`.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use clap::Args;
use rutter_net::Prefix;

use crate::init::{Member, UsableAsn};

/// Arguments of `rutter init`.
#[derive(Args, Clone, Debug)]
pub(crate) struct InitArgs {
    /// The file to write, which must not exist yet; `-` prints it
    #[arg(value_name = "FILE", default_value = "rutter.toml")]
    pub(crate) file: PathBuf,
    /// The AS number of the route server
    #[arg(long, value_name = "ASN")]
    pub(crate) asn: Option<UsableAsn>,
    /// The BGP Identifier: an IPv4 address of the route server
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) router_id: Option<Ipv4Addr>,
    /// A peering LAN; may be repeated
    #[arg(long, value_name = "PREFIX")]
    pub(crate) lan: Vec<Prefix>,
    /// A member: AS number, addresses and AS-SETs; may be repeated
    #[arg(long, value_name = "ASN,ADDRESS,…")]
    pub(crate) member: Vec<Member>,
    /// A validator that serves RTR; may be repeated
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) rtr: Vec<String>,
    /// An IRRd server for filters by AS-SET
    #[arg(long, value_name = "HOST")]
    pub(crate) irr_server: Option<String>,
}

pub(super) const INIT: &str = "\
Asks for what the options leave out, if standard input is a terminal. The result is checked before
it is written, as `rutter check` does.

Examples:
  rutter init
  rutter init exchange.toml --asn 64500 --router-id 192.0.2.1 --lan 192.0.2.0/24 \\
      --rtr 127.0.0.1:3323 --irr-server rr.ntt.net \\
      --member 3333,192.0.2.11,2001:db8:1:1::11,RIPE::AS-FOO";
