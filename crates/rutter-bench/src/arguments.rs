//! The arguments of `rutter bench`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::daemons::{Daemon, end_with_parent};
use crate::hostile::HostileArgs;
use crate::oracle::Visibility;
use crate::readme::ReadmeArgs;
use crate::under_load::Scene;
use crate::workload::Named;

/// Measure a BGP daemon under load, and verify what each of its clients receives
#[derive(Debug, Parser)]
#[command(
    name = "rutter bench",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = EXAMPLES
)]
pub struct BenchArgs {
    #[command(subcommand)]
    pub special: Option<Special>,

    #[command(flatten)]
    pub bench: Bench,
}

#[derive(Debug, Subcommand)]
pub enum Special {
    /// Write bytes to sockets and nothing else (started by --baseline).
    #[command(hide = true)]
    BaselineWriter { target: SocketAddr, count: usize },

    /// Become a daemon that ends when the benchmark ends (started for every daemon).
    #[command(hide = true, name = end_with_parent::COMMAND)]
    Hold {
        benchmark: u32,
        program: OsString,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },

    /// Measure the table of the README: S3 to S7 beside other daemons; prints it as Markdown
    Readme(ReadmeArgs),

    /// Measure an exchange's whole policy beside none: like `rutter bench 20x250000/100000 --checks`, with other options
    /// after it
    #[command(disable_help_flag = true)]
    Policy {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },

    /// Let members attack a daemon, and measure the delay of honest members beside them
    Hostile(HostileArgs),
}

#[derive(Debug, Args)]
pub struct Bench {
    /// S1 to S10, S10b, or another size: 10x5000 (unique prefixes), 20x50000/20000 (routes/destinations)
    #[arg(required = true)]
    pub workload: Option<Named>,

    /// The daemon to measure, as NAME or NAME=PROGRAM
    #[arg(long, value_name = "DAEMON", default_value = DEFAULT_DAEMON)]
    pub daemon: Daemon,

    /// Another daemon to measure side by side; may be repeated. Names: rutter, rutter-collect, bird, bird-tables, bird3, gobgp, openbgpd, frr, rustybgp, rustbgpd
    #[arg(long, value_name = "DAEMON")]
    pub vs: Vec<Daemon>,

    /// Measure a daemon that is already running; it must know the clients (see --print-clients)
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["daemon", "vs"])]
    pub attach: Option<SocketAddr>,

    /// The process of --attach, to measure its cost
    #[arg(long, requires = "attach")]
    pub pid: Option<u32>,

    /// Which clients --attach sends the best route to
    #[arg(long, requires = "attach", default_value = "per-client")]
    pub visibility: Visibility,

    /// Repetitions, alternating between the daemons
    #[arg(long, default_value_t = ONE)]
    pub runs: NonZeroUsize,

    /// Threads of the daemon, if it can have several [default: one per core]
    #[arg(long)]
    pub threads: Option<NonZeroUsize>,

    /// Threads of the load
    #[arg(long, default_value_t = ONE)]
    pub load_threads: NonZeroUsize,

    /// Destinations for S4 and S6 (or any workload): one prefix per line, plain or .gz
    #[arg(long, value_name = "FILE")]
    pub prefixes: Option<PathBuf>,

    /// Keep prefixes of --prefixes that an exchange's filters reject
    #[arg(long)]
    pub keep_all_prefixes: bool,

    /// Seed of all random choices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// This many peers share an AS number, so that MED is compared between them
    #[arg(long, default_value_t = ONE, value_name = "N")]
    pub peers_per_asn: NonZeroUsize,

    /// Verify the set of prefixes only, not attributes and best path
    #[arg(long)]
    pub shallow: bool,

    /// After the load, announce one prefix N times and measure the time to the monitor
    #[arg(long, value_name = "N", default_value_t = 0, num_args = 0..=1, default_missing_value = "2000")]
    pub latency: u32,

    /// After the load, measure it while routes are shown, dumped and reloaded, and peers are lost or slow, N times
    /// each; for rutter-collect also during SQL queries
    #[arg(long, value_name = "N", default_value_t = 0, num_args = 0..=1, default_missing_value = "2000")]
    pub under_load: u32,

    /// Run only this scene of --under-load; may be repeated
    #[arg(long, value_name = "SCENE", requires = "under_load")]
    pub scene: Vec<Scene>,

    /// After the load, lose the peer with the most routes, and reconnect it
    #[arg(long)]
    pub lose_biggest: bool,

    /// After the load, lose N random peers at once, and reconnect them
    #[arg(long, value_name = "N")]
    pub kill: Option<usize>,

    /// After the load, lose and reconnect half of the peers until N million routes have been withdrawn and announced
    #[arg(long, value_name = "N")]
    pub churn: Option<u64>,

    /// After the load, let the installed version of Rutter take over N times, and measure the pause, the memory and the
    /// UPDATEs
    // The timed prefix is not registered, so the checks would reject it.
    #[arg(long, value_name = "N", conflicts_with_all = ["attach", "checks"])]
    pub upgrade: Option<usize>,

    /// After the load, set an import policy that rejects longer paths, and restore the old one; then an export policy
    /// that withholds some routes, and restore the old one
    #[arg(long, conflicts_with = "attach")]
    pub reload: bool,

    /// Also measure each daemon with an exchange's whole policy: bogons, lengths, first AS, longest path, origins and
    /// prefixes of an IRR, the RPKI, action communities; then change 0.5 % of the registrations
    #[arg(long, conflicts_with_all = ["attach", "reload", "under_load"])]
    pub checks: bool,

    /// Members of --checks, those that connect included
    #[arg(long, value_name = "N", default_value_t = 320, requires = "checks")]
    pub members: usize,

    /// Registered prefixes of --checks, all members together [default: 1.2 for each route]
    #[arg(long, value_name = "N", requires = "checks")]
    pub entries: Option<usize>,

    /// Validated ROA payloads of --checks
    #[arg(long, value_name = "N", default_value_t = 500_000, requires = "checks")]
    pub vrps: usize,

    /// The monitor connects after all others have their routes
    #[arg(long)]
    pub late_monitor: bool,

    /// N peers read slowly until the others have their routes
    #[arg(long, value_name = "N")]
    pub slow: Option<usize>,

    /// Offer messages of up to 65,535 octets (RFC 8654)
    #[arg(long)]
    pub extended_messages: bool,

    /// Also measure a program that only writes the same bytes to the same number of sockets
    #[arg(long)]
    pub baseline: bool,

    /// Seconds to wait for each phase, the start of the daemon included
    #[arg(long, default_value_t = 900)]
    pub timeout: u64,

    /// Seconds to keep watching after the last change
    #[arg(long, default_value_t = 2)]
    pub settle: u64,

    /// Also write the report as JSON (`-`: to standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Print the clients (address, AS, BGP Identifier) that --attach must know, and exit
    #[arg(long)]
    pub print_clients: bool,
}

const ONE: NonZeroUsize = NonZeroUsize::MIN;
const DEFAULT_DAEMON: &str = "rutter";

const EXAMPLES: &str = "\
All clients speak real BGP over loopback TCP from 127.1.0.1 and on; the daemon gets a folder and a
port of its own. The clock runs from the first UPDATE octet until every client holds exactly what
it must: prefixes, attributes and the best path it may see. Processor seconds are those of the
daemon's whole process tree.

Examples:
  rutter bench S3
  rutter bench S3 --vs bird --runs 3 --json s3.json
  rutter bench S6 --prefixes prefixes.txt.gz --vs bird=/opt/bird-2.19/sbin/bird --runs 3
  rutter bench S5 --baseline
  rutter bench S3 --latency
  rutter bench S6 --under-load
  rutter bench 20x20000 --churn 10
  rutter bench 100x50000/20000 --reload --vs bird
  rutter bench S4 --upgrade 10
  rutter bench policy --vs bird
  rutter bench S4 --checks --prefixes prefixes.txt.gz --vs bird
  rutter bench readme --prefixes prefixes.txt.gz --vs bird --svg chart.svg
  rutter bench hostile --vs bird --attack refresh-sweep
  rutter bench 50x20000/8000 --lose-biggest --kill 5 --late-monitor
  rutter bench S3 --attach 192.0.2.1:179 --pid 4711 --visibility best-only";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        BenchArgs::command().debug_assert();
        let args = BenchArgs::try_parse_from(["bench", "S3", "--vs", "bird", "--latency"]).unwrap();
        assert_eq!(args.bench.latency, 2000);
        assert!(BenchArgs::try_parse_from(["bench"]).is_err());
        let hold = [
            "bench",
            end_with_parent::COMMAND,
            "7",
            "bird",
            "-f",
            "--",
            "-c",
        ];
        let Some(Special::Hold { arguments, .. }) =
            BenchArgs::try_parse_from(hold).unwrap().special
        else {
            panic!("another command");
        };
        assert_eq!(arguments, ["-f", "--", "-c"]);
        assert!(BenchArgs::try_parse_from(["bench", "S3", "--vs", "quagga"]).is_err());
    }
}
