//! `rutter show …`.

use clap::{Args, Subcommand};
use rutter_policy::RejectReason;

use super::FilterArgs;

/// Arguments of `rutter show`.
#[derive(Args, Debug)]
#[command(disable_help_subcommand = true)]
pub(crate) struct ShowArgs {
    /// The view to print.
    #[command(subcommand)]
    pub(crate) what: Show,
}

/// The views of `rutter show`.
#[derive(Subcommand, Debug)]
pub(crate) enum Show {
    /// The daemon: version, uptime, CPU, memory
    Status,
    /// All sessions: state, time in this state, route counts
    #[command(
        after_help = "Examples:\n  rutter show peers\n  rutter show peers --json | jq 'select(.state != \"Established\") | .name'"
    )]
    Peers,
    /// One session: negotiated capabilities, counters, timers, last error
    #[command(after_help = "Examples:\n  rutter show peer 192.0.2.11\n  rutter show peer AS64511")]
    Peer {
        /// Name, address or AS number
        #[arg(value_name = "NAME")]
        peer: String,
    },
    /// Routes as received or as sent to a client, in no particular order
    #[command(after_help = ROUTES)]
    Routes {
        /// Rejected routes only
        #[arg(long)]
        rejected: bool,
        /// The best route of each destination only
        #[arg(long)]
        best: bool,
        /// As sent to this client: name, address or AS number
        #[arg(long, value_name = "CLIENT", conflicts_with = "rejected")]
        advertised_to: Option<String>,
        /// The better routes that the client is not sent, each with the reason
        #[arg(long, requires = "advertised_to")]
        withheld: bool,
        /// Withheld for this reason: own-route, communities, blackhole, …
        #[arg(long, value_name = "REASON", requires = "withheld")]
        why: Option<String>,
        /// The number of routes that the client is sent and not sent
        #[arg(long, requires = "advertised_to", conflicts_with = "withheld")]
        count: bool,
        /// The filter
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// The routes to one destination, best first, with all attributes
    #[command(
        after_help = "Examples:\n  rutter show route 203.0.113.0/24\n  rutter show route 203.0.113.7      the longest match"
    )]
    Route {
        /// A prefix, or an address, which finds the longest match
        #[arg(value_name = "PREFIX")]
        target: String,
    },
    /// Rejected routes with every reason and the evidence
    #[command(after_help = rejected_help())]
    Rejected {
        /// Routes rejected for this reason: name or number
        #[arg(long, value_name = "REASON")]
        reason: Option<String>,
        /// The filter
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Distinct attribute sets, the most used first
    #[command(after_help = "Examples:\n  rutter show attributes --limit 20")]
    Attributes {
        /// Limit the number of rows
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
    },
    /// Memory by purpose
    Memory,
    /// A collector's databases and brokers: state, delay, pending rows, gaps, last error
    #[command(
        after_help = "Examples:\n  rutter show sinks\n  rutter show sinks --json | jq 'select(.state != \"live\") | .[\"last-error\"]'"
    )]
    Sinks,
    /// Outside data that filters use: RPKI caches, IRR servers, files; with age, size and last error
    #[command(
        after_help = "Examples:\n  rutter show sources\n  rutter show sources --json | jq 'select(.state != \"live\")'"
    )]
    Sources,
    /// BMP stations to which this daemon reports: state, sessions, sent messages, waiting changes, last error
    #[command(
        after_help = "Examples:\n  rutter show stations\n  rutter show stations --json | jq 'select(.state != \"live\")'"
    )]
    Stations,
    /// Routers that report to a collector by BMP: sessions, messages, skipped messages
    Routers,
}

const ROUTES: &str = "\
A route is shown if it meets all conditions; they compare the route as received.
With --advertised-to, the attributes are those that the client is sent. A route that waits for
its socket counts as sent. The list is streamed: a million lines do not slow routing down.

Marks: `>` the best of its destination, `x` rejected, `s` stale, `S` long-lived stale.

Examples:
  rutter show routes --best --limit 20
  rutter show routes --peer 192.0.2.11
  rutter show routes --within 203.0.113.0/24
  rutter show routes --origin-as 64511 --community 64500:1000
  rutter show routes --advertised-to AS64511
  rutter show routes --advertised-to AS64511 --withheld --why communities
  rutter show routes --advertised-to AS64511 --count
  rutter show routes --advertised-to all --count
  rutter show routes --best --json | jq -r '[.prefix, .peer.asn] | @tsv'";

/// The help of `rutter show rejected`, with all reasons in lines of at most 96 characters.
fn rejected_help() -> String {
    let known = RejectReason::ALL
        .iter()
        .filter(|reason| **reason != RejectReason::Unknown);
    let named: Vec<String> = known
        .map(|reason| format!("{reason} ({})", reason.code()))
        .collect();
    let mut help = String::from("Reasons:");
    let mut width = help.len();
    for (i, reason) in named.iter().enumerate() {
        let end = if i + 1 == named.len() { "." } else { "," };
        if width + reason.len() + 2 > 96 {
            help.push_str("\n ");
            width = 1;
        }
        help.push_str(&format!(" {reason}{end}"));
        width += reason.len() + 2;
    }
    help + "\n\nExamples:\n  rutter show rejected --peer AS64511\n  rutter show rejected --reason bogon"
}
