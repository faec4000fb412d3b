//! The command line. The modules named after the commands implement it.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use rutter_ingest::replay::Speed;
use rutter_net::{Asn, Prefix};
use rutter_sql::Format;

use crate::failure::Failure;

/// The collector's part of `rutter`; usually run as `rutter collect` and so on.
#[derive(Parser, Debug)]
#[command(name = "rutter", version, max_term_width = 100)]
#[command(disable_help_subcommand = true, propagate_version = true)]
pub(crate) struct Cli {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a process has one or two of them"
)]
pub(crate) enum Command {
    /// Run a collector in the foreground until SIGTERM or Ctrl-C
    #[command(after_help = COLLECT)]
    Collect(CollectArgs),
    /// Print the routes of MRT files
    #[command(after_help = MRT)]
    Mrt(MrtArgs),
    /// Answer one SQL query
    #[command(after_help = SQL)]
    Sql(SqlArgs),
    /// Play MRT files to a BGP daemon
    #[command(after_help = REPLAY)]
    Replay(ReplayArgs),
    /// Check a certificate and its key, for `rutter check`
    #[command(hide = true)]
    CheckTls {
        /// The certificate, PEM
        #[arg(value_name = "CERTIFICATE")]
        certificate: PathBuf,
        /// Its private key, PEM
        #[arg(value_name = "KEY")]
        key: PathBuf,
    },
    /// Measure how fast history is written as Parquet, and how small it is
    #[command(after_help = BENCH_HISTORY)]
    BenchHistory(BenchHistoryArgs),
    /// Measure live SQL: exactness after the last route, response times, and the cost for feeds
    #[command(after_help = BENCH_SQL)]
    BenchSql(BenchSqlArgs),
    /// Measure how fast sinks fill databases, compared with bulk commands and single rows
    #[command(after_help = BENCH_SINKS)]
    BenchSinks(BenchSinksArgs),
}

/// The arguments of `bench-sql`.
#[derive(Args, Debug)]
pub(crate) struct BenchSqlArgs {
    /// One prefix a line, plain or gzip
    #[arg(value_name = "PREFIXES")]
    pub(crate) prefixes: PathBuf,
    /// Feeds: half of them with all IPv4 prefixes, half with all IPv6 prefixes
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u16).range(2..=200))]
    pub(crate) feeds: u16,
    /// Rounds; the medians are reported
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,
    /// Number of longest-match queries
    #[arg(long, default_value_t = 2_000)]
    pub(crate) lookups: usize,
    /// The value of `sql.threads`
    #[arg(long, default_value_t = 2)]
    pub(crate) threads: usize,
    /// Also measure how much the process grows under large queries, with `sql.memory` of 128 to 512 MiB
    #[arg(long)]
    pub(crate) memory: bool,
}

/// The arguments of `bench-history`.
#[derive(Args, Debug)]
pub(crate) struct BenchHistoryArgs {
    /// One prefix a line, plain or gzip
    #[arg(value_name = "PREFIXES")]
    pub(crate) prefixes: PathBuf,
    /// Feeds of each family
    #[arg(long, default_value_t = 6)]
    pub(crate) feeds: usize,
    /// At most so many prefixes of each family
    #[arg(long, value_name = "PREFIXES")]
    pub(crate) most: Option<usize>,
    /// Messages of updates after the full tables
    #[arg(long, value_name = "MESSAGES", default_value_t = 1_000_000)]
    pub(crate) updates: usize,
    /// Level of ZSTD
    #[arg(long, value_name = "LEVEL", default_value_t = 3)]
    pub(crate) compression: i32,
    /// The folder for the archive, which is removed afterwards
    #[arg(long, value_name = "PATH", default_value = "/tmp")]
    pub(crate) folder: PathBuf,
}

/// The arguments of `bench-sinks`.
#[derive(Args, Debug)]
pub(crate) struct BenchSinksArgs {
    /// One prefix a line, plain or gzip
    #[arg(value_name = "PREFIXES")]
    pub(crate) prefixes: PathBuf,
    /// postgres://user:password@host:port/database, or `own` to start a temporary server
    #[arg(long, value_name = "URL")]
    pub(crate) postgres: Option<crate::bench::sinks::Place>,
    /// mariadb://user:password@host:port/database, or `own` [default: `own` for both]
    #[arg(long, value_name = "URL")]
    pub(crate) mariadb: Option<crate::bench::sinks::Place>,
    /// Feeds of each family
    #[arg(long, default_value_t = 6)]
    pub(crate) feeds: usize,
    /// At most so many prefixes of each family
    #[arg(long, value_name = "PREFIXES")]
    pub(crate) most: Option<usize>,
    /// Rounds; the medians are reported
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,
    /// Number of routes to insert one by one
    #[arg(long, default_value_t = 2_000)]
    pub(crate) singles: usize,
    /// The folder for temporary servers, spools and prepared files: about 6 GB for twelve full feeds
    #[arg(long, value_name = "PATH", default_value = "/tmp")]
    pub(crate) folder: PathBuf,
}

/// The arguments of `sql`.
#[derive(Args, Debug)]
pub(crate) struct SqlArgs {
    /// The query, or - for standard input
    #[arg(value_name = "QUERY", required_unless_present = "mrt")]
    query: Option<String>,
    /// The collector to query
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5439")]
    pub(crate) server: SocketAddr,
    /// User name
    #[arg(long, value_name = "NAME", default_value = "rutter")]
    pub(crate) user: String,
    /// The password, if the collector requires one
    #[arg(long, value_name = "TEXT", env = "PGPASSWORD", hide_env_values = true)]
    pub(crate) password: Option<String>,
    /// Use TLS and verify the collector: this PEM file has its certificate, or the authority that signed it
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_root: Option<PathBuf>,
    /// Query these MRT files, folders, or - for standard input: they become the tables `routes`, `best` and `peers`
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) mrt: Vec<PathBuf>,
    /// Query this archive of a collector: its tables are `events` and `snapshots`
    #[arg(long, value_name = "FOLDER", conflicts_with = "mrt")]
    pub(crate) history: Option<PathBuf>,
    /// The table as of this time, UTC: `routes`, and `events` up to then
    #[arg(long, value_name = "TIME", requires = "history", value_parser = time)]
    pub(crate) at: Option<u64>,
    /// Query Parquet files: each file or folder is a table with its name; may be repeated
    #[arg(long, value_name = "PATH", conflicts_with_all = ["mrt", "history"])]
    pub(crate) parquet: Vec<PathBuf>,
    /// Let the query name files as tables: FROM 'events.parquet'
    #[arg(long)]
    pub(crate) files: bool,
    /// Print a JSON object for each row
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,
    /// Print comma-separated values
    #[arg(long)]
    pub(crate) csv: bool,
}

impl SqlArgs {
    /// Takes the query. In `--mrt FILE 'SELECT …'` clap takes the query for a file, so the last file may be the query.
    pub(crate) fn take_query(&mut self) -> Result<String, Failure> {
        let is_query = |last: &mut PathBuf| !last.exists() && last.to_string_lossy().contains(' ');
        let behind = |files: &mut Vec<PathBuf>| {
            let query = match files.len() {
                0 | 1 => None,
                _ => files.pop_if(is_query),
            };
            query?.into_os_string().into_string().ok()
        };
        match self.query.take().or_else(|| behind(&mut self.mrt)) {
            Some(query) if !query.trim().is_empty() => Ok(query),
            _ => Err(Failure::text(
                "there is no query: write one, such as \"SELECT count(*) FROM routes\", or - to read it",
            )),
        }
    }

    /// The format of the answer.
    pub(crate) fn format(&self) -> Format {
        match (self.json, self.csv) {
            (true, _) => Format::Json,
            (_, true) => Format::Csv,
            _ => Format::Table,
        }
    }
}

/// The arguments of `replay`.
#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// Files, folders with all files inside, or - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The BGP daemon; the port is 179 unless given
    #[arg(long, value_name = "ADDRESS", value_parser = bgp_address)]
    pub(crate) to: SocketAddr,
    /// Our AS number [default: that of the peer in the file]
    #[arg(long, value_name = "ASN")]
    pub(crate) asn: Option<Asn>,
    /// Play only the routes of this peer of the files
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) peer: Option<IpAddr>,
    /// Our address: the source of the session
    #[arg(long, value_name = "ADDRESS", conflicts_with = "each_from")]
    pub(crate) from: Option<IpAddr>,
    /// Open a session for each peer of the files, from addresses in this prefix
    #[arg(long, value_name = "PREFIX")]
    pub(crate) each_from: Option<Prefix>,
    /// `recorded`, `full`, or how many times as fast as recorded
    #[arg(long, value_name = "SPEED", default_value = "full", value_parser = speed)]
    pub(crate) speed: Speed,
    /// End the sessions after the last route, instead of keeping them up
    #[arg(long)]
    pub(crate) end: bool,
}

fn bgp_address(text: &str) -> Result<SocketAddr, String> {
    let address = text
        .parse()
        .map(|address: IpAddr| SocketAddr::new(address, 179));
    address
        .or_else(|_| text.parse())
        .map_err(|_| "write an address like 192.0.2.1, 192.0.2.1:1179 or [2001:db8::1]:1179".into())
}

fn time(text: &str) -> Result<u64, String> {
    rutter_history::parse_time(text).ok_or_else(|| {
        "write a time like '2026-11-20 12:00', '2026-11-20 12:00:30.5' or '2026-11-20 14:00+02'; it is UTC without a zone".into()
    })
}

fn speed(text: &str) -> Result<Speed, String> {
    match text {
        "full" => Ok(Speed::Full),
        "recorded" => Ok(Speed::Times(1.0)),
        number => match number.parse::<f64>() {
            Ok(times) if times > 0.0 && times.is_finite() => Ok(Speed::Times(times)),
            _ => Err("write `full`, `recorded` or a number such as 10 or 0.5".into()),
        },
    }
}

/// The arguments of `mrt`.
#[derive(Args, Debug)]
pub(crate) struct MrtArgs {
    /// Files, folders with all files inside, or - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Print a JSON object a line, for programs
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only the number of records and routes
    #[arg(long)]
    pub(crate) count: bool,
}

/// The arguments of `collect`.
#[derive(Args, Debug)]
pub(crate) struct CollectArgs {
    /// The configuration
    #[arg(value_name = "FILE", default_value = DEFAULT_CONFIG)]
    pub(crate) file: PathBuf,
    /// The daemon's management socket, in place of the configured one
    #[arg(
        long,
        value_name = "PATH",
        env = "RUTTER_SOCKET",
        hide_env_values = true
    )]
    pub(crate) socket: Option<PathBuf>,
    /// Load these MRT files into the table first: files, folders, or - for standard input
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) mrt: Vec<PathBuf>,
    /// Name of the collector or router of the MRT files
    #[arg(long, value_name = "NAME", default_value = "mrt", requires = "mrt")]
    pub(crate) mrt_router: String,
    /// Take over from the collector at standard input, which started this process: see `rutter upgrade`
    #[arg(long, hide = true, conflicts_with = "demo")]
    pub(crate) take_over: bool,
    /// Collect from built-in speakers, with a generated configuration
    #[arg(long, conflicts_with_all = ["file", "mrt"])]
    pub(crate) demo: bool,
    /// With --demo: the number of speakers, half of them with all IPv4 prefixes, half with all IPv6 prefixes
    #[arg(long, value_name = "N", default_value_t = 12, requires = "demo", value_parser = clap::value_parser!(u16).range(2..=200))]
    pub(crate) feeds: u16,
    /// With --demo: the number of prefixes of a full feed (15 in 100 are IPv6)
    #[arg(long, value_name = "N", default_value_t = 100_000, requires = "demo")]
    pub(crate) destinations: u32,
    /// With --demo: take the prefixes from this list, one a line, plain or .gz
    #[arg(
        long,
        value_name = "FILE",
        requires = "demo",
        conflicts_with = "destinations"
    )]
    pub(crate) prefixes: Option<PathBuf>,
    /// With --demo: end after the report instead of staying up
    #[arg(long, requires = "demo")]
    pub(crate) once: bool,
}

/// The path of the configuration in a packaged installation.
pub(crate) const DEFAULT_CONFIG: &str = "/etc/rutter/rutter.toml";

const BENCH_HISTORY: &str = "\
All feeds send the full table at once, and updates afterwards. Most updates concern few prefixes.
Only the archive's own thread is measured.

Example:
  rutter-collect bench-history prefixes.txt.gz --most 200000";

const BENCH_SQL: &str = "\
Runs a collector and built-in speakers in one process, and queries SQL over the PostgreSQL protocol.

Example:
  rutter-collect bench-sql prefixes.txt.gz";

const BENCH_SINKS: &str = "\
Compares every stored row with the table. `own` starts a server of the installed programs, with its
own folder and port, and removes it afterwards. In a database that you name, the command drops all
tables of Rutter before and after the measurement.

Examples:
  rutter-collect bench-sinks prefixes.txt.gz
  rutter-collect bench-sinks prefixes.txt.gz --postgres postgres://rutter:sesame@127.0.0.1/rutter";

const COLLECT: &str = "\
Runs the daemon of `rutter run`, and also the sections of the configuration that only a collector
has. All other commands (`rutter show`, `reload`, `upgrade`, `stop`) work as usual.

Examples:
  rutter collect --demo                    twelve feeds of built-in speakers, on this machine
  rutter check collector.toml && rutter collect collector.toml
  rutter collect collector.toml --mrt rib.20250101.0000.bz2";

const MRT: &str = "\
Reads TABLE_DUMP, TABLE_DUMP_V2, BGP4MP and BGP4MP_ET (RFC 6396), with Add-Path (RFC 8050), plain or
packed by gzip, bzip2 or zstd. A line has the fields of `bgpdump -m`.

Malformed records are printed as far as they can be read. Standard error says how many records
have which fault. The exit status is 1 if a part of a file could not be read.

Examples:
  rutter mrt rib.20250101.0000.bz2 | grep '|203.0.113.0/24|'
  rutter mrt updates/ --json | jq -r 'select(.kind == \"withdraw\").prefix'
  curl -s https://data.ris.ripe.net/rrc00/latest-bview.gz | rutter mrt - --count";

const SQL: &str = "\
Tables: peers, routes, best, rejected, events, routers (which report by BMP), and
lookup('192.0.2.1') for the longest match. docs/sql.md has example queries; docs/sql-reference.md
has the operators on prefixes, and docs/schema/sql.csv every column.

A folder of --mrt stands for all files inside, and inside its folders, in the order of their names:
collectors put the time there. Names that begin with a dot, pipes and sockets are left out. Each
file or folder that you name is a `router` of its own. Files of a folder continue each other, so
name a folder that has a table dump and the updates after it.

Examples:
  rutter sql \"SELECT prefix, as_path FROM lookup('203.0.113.9')\"
  rutter sql \"SELECT origin_as, count(*) FROM best GROUP BY 1 ORDER BY 2 DESC LIMIT 10\" --json
  rutter sql \"SELECT * FROM routes WHERE prefix <<= '203.0.113.0/24'\" --mrt rib.20250101.0000.bz2
  rutter sql \"SELECT * FROM routes WHERE prefix >>= '203.0.113.9'\" --history /var/lib/rutter/history --at '2026-11-20 12:00'
  rutter sql \"SELECT kind, count(*) FROM events WHERE day = '2026-11-20' GROUP BY 1\" --parquet /var/lib/rutter/history";

const REPLAY: &str = "\
Announces the routes of table dumps, and repeats the UPDATEs of update files. By default one session
plays all peers of the files, so a later route to a prefix replaces an earlier one. Choose one peer
with --peer, or open a session for each with --each-from. Path identifiers are kept if the daemon
negotiates Add-Path.

Examples:
  rutter replay rib.20250101.0000.bz2 --to 127.0.0.1:1179 --peer 203.0.113.5 --end
  rutter replay updates.20250101.* --to 192.0.2.1 --asn 64500 --speed recorded
  rutter replay rib.20250101.0000.bz2 --to 127.0.0.1:1179 --each-from 127.1.0.0/16";

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::{Cli, Command};

    #[test]
    fn the_query_may_stand_behind_the_files() {
        let query = |arguments: &[&str]| {
            let cli = Cli::try_parse_from([&["rutter", "sql"], arguments].concat()).unwrap();
            let Command::Sql(mut args) = cli.command else {
                panic!("another command");
            };
            let query = args.take_query().map_err(|why| format!("{why:?}"));
            (query, args.mrt.len())
        };
        let asked = Ok("SELECT 1".to_owned());
        assert_eq!(query(&["SELECT 1"]), (asked.clone(), 0));
        assert_eq!(query(&["SELECT 1", "--mrt", "a", "b"]), (asked.clone(), 2));
        assert_eq!(query(&["--mrt", "a", "b", "SELECT 1"]), (asked, 2));
        for wrong in [&["--mrt", "a", "b"][..], &["--mrt", "SELECT 1"], &[" "]] {
            assert!(query(wrong).0.is_err(), "{wrong:?}");
        }
        assert!(Cli::try_parse_from(["rutter", "sql"]).is_err());
    }

    #[test]
    fn the_definition_is_sound() {
        super::Cli::command().debug_assert();
    }
}
