//! Options of commands that read ARouteServer's files.

use std::path::PathBuf;

use clap::Args;

/// Settings that ARouteServer's files do not have.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ARouteServerArgs {
    /// The file `bogons.yml`
    #[arg(long, value_name = "FILE")]
    pub(crate) bogons: Option<PathBuf>,
    /// A dump of PeeringDB's networks as JSON, from its API at /api/net
    #[arg(long, value_name = "FILE")]
    pub(crate) peeringdb: Option<PathBuf>,
    /// A file with the round-trip times of clients: lines of address and milliseconds, or JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) rtt_file: Option<PathBuf>,
    /// A peering LAN; may be repeated [default: taken from the black list and the clients]
    #[arg(long, value_name = "PREFIX")]
    pub(crate) lan: Vec<String>,
    /// An RTR cache, host:port; may be repeated
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) rtr: Vec<String>,
    /// An IRRd server; may be repeated [default: rr.ntt.net]
    #[arg(long, value_name = "HOST")]
    pub(crate) irr_server: Vec<String>,
    /// A database of the IRR server; may be repeated [default: those of the server]
    #[arg(long, value_name = "NAME")]
    pub(crate) irr_source: Vec<String>,
}
