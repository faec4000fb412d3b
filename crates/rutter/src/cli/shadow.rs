//! The command line of `rutter shadow`.

use std::path::PathBuf;

use clap::Args;

use super::DEFAULT_CONFIG;

/// Arguments of `rutter shadow`.
#[derive(Args, Debug)]
pub(crate) struct ShadowArgs {
    /// The configuration that Rutter would have
    #[arg(value_name = "FILE", default_value = DEFAULT_CONFIG)]
    pub(crate) file: PathBuf,
    /// MRT files or folders with the routes that the other route server receives, in order of time
    #[arg(long, value_name = "PATH", required = true, num_args = 1..)]
    pub(crate) received: Vec<PathBuf>,
    /// MRT files, folders or BIRD's text with the routes that the other route server advertises to a member; without
    /// `MEMBER=`, MRT files with a peer for each member
    #[arg(long, value_name = "MEMBER=PATH", required = true, num_args = 1..)]
    pub(crate) advertised: Vec<String>,
    /// Compare only this member: name, address or AS number
    #[arg(long, value_name = "MEMBER")]
    pub(crate) member: Vec<String>,
    /// List this many differences of each member [default: 10; all with --json]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

pub(crate) const SHADOW: &str = "\
Loads the received routes into Rutter's own table, with the policy of the configuration, and asks
the table what each member would be sent. Compares that with what the other route server sends.
Needs no daemon, opens no session, and changes nothing.

RPKI and IRR data are those of a start: the files and last good copies of the configuration.
A table dump (TABLE_DUMP_V2) may be followed by updates (BGP4MP). Files may be compressed.

A peer of --received belongs to the neighbor with its address, else to the only one with its AS.
A file of --advertised MEMBER=PATH is a dump taken at the member, or of the other route server's
Adj-RIB-Out. Its routes are those of the peer with our AS, or of its only peer. The output of
`birdc show route export PROTOCOL all` is good, too.

missing   the other route server advertises the prefix, and Rutter would not
extra     Rutter would advertise it, and the other route server does not
differs   both advertise it, with other attributes or from another member

Exit status: 0 no difference, 1 differences, 2 an error.

Examples:
  rutter shadow rutter.toml --received received.mrt --advertised AS64511=member.mrt
  birdc show route export AS64511 all > out.txt
  rutter shadow rutter.toml --received received.mrt --advertised AS64511=out.txt
  rutter shadow rutter.toml --received rib.mrt.gz updates/ --advertised adj-rib-out.mrt
  rutter shadow rutter.toml --received rib.mrt --advertised out.mrt --member AS64511 --limit 100
  rutter shadow rutter.toml --received rib.mrt --advertised out.mrt --json |
      jq -r 'select(.kind == \"missing\") | [.member.name, .prefix, .reason] | @tsv'";
