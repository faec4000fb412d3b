//! `rutter lookup`, `rutter export` and `rutter enrich`: which table, and whose routes.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use rutter_api::Whose;

/// Which addresses, and in whose routes.
#[derive(Args, Debug)]
pub(crate) struct LookupArgs {
    /// Addresses; or `-`: one a line from standard input, in bulk
    #[arg(value_name = "ADDRESS", required = true)]
    pub(crate) addresses: Vec<String>,
    /// Which table
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// Where none of these has a route, show the best of all, marked as such (not in bulk)
    #[arg(long)]
    pub(crate) or_best: bool,
}

/// Which table is looked up in.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TableArgs {
    /// In the routes of this neighbor: name, address, AS number, or a monitored router; may be repeated
    #[arg(long = "peer", value_name = "PEER")]
    peers: Vec<String>,
    /// In the routes with this next hop; may be repeated
    #[arg(long = "next-hop", value_name = "ADDRESS")]
    next_hops: Vec<IpAddr>,
    /// In this MRT table dump instead of the daemon's table; plain or packed, `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) mrt: Option<PathBuf>,
    /// Validate origins with the VRPs in this JSON file (of Routinator, rpki-client, FORT and others)
    #[arg(long, value_name = "FILE")]
    pub(crate) vrps: Option<PathBuf>,
}

impl TableArgs {
    /// Whose routes.
    pub(crate) fn whose(&self) -> Whose {
        Whose {
            peers: self.peers.clone(),
            next_hops: self.next_hops.clone(),
        }
    }
}

/// What to export.
#[derive(Args, Debug)]
#[command(disable_help_subcommand = true)]
pub(crate) struct ExportArgs {
    /// What to export.
    #[command(subcommand)]
    pub(crate) what: Export,
}

/// What can be exported.
#[derive(Subcommand, Debug)]
pub(crate) enum Export {
    /// Write the table as a MaxMind DB file, which flow and log tools look addresses up in
    #[command(after_help = MMDB)]
    Mmdb(MmdbArgs),
}

/// What the file is.
#[derive(Args, Debug)]
pub(crate) struct MmdbArgs {
    /// The file to write, `-` for standard output; a file is replaced whole once all of it is there
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Which table
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// What the file calls itself; some readers refuse types that they do not know
    #[arg(long, value_name = "NAME", default_value = "GeoLite2-ASN")]
    pub(crate) database_type: String,
}

/// Which rows, and which columns.
#[derive(Args, Debug)]
pub(crate) struct EnrichArgs {
    /// Files; without one, or for `-`, standard input
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The column with the address: its name; or its number, from 1, where --no-header is given
    #[arg(long, short, value_name = "NAME")]
    pub(crate) column: String,
    /// csv, or json for one object a line [default: by the end of the first file's name, else csv]
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Option<FormatArg>,
    /// The octet between the fields of CSV; `\\t` for a tab
    #[arg(long, value_name = "C", default_value = ",")]
    pub(crate) delimiter: String,
    /// The first row of CSV is data
    #[arg(long)]
    pub(crate) no_header: bool,
    /// Columns to add: asn, prefix, as_path, next_hop, rov [default: all; rov only with --vrps]
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub(crate) add: Vec<ColumnArg>,
    /// Put this and `_` before the names of the new columns
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Option<String>,
    /// Which table
    #[command(flatten)]
    pub(crate) table: TableArgs,
}

/// How rows are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FormatArg {
    /// Comma-separated values.
    Csv,
    /// An object a line.
    Json,
}

/// A column to add.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
#[value(rename_all = "snake_case")]
pub(crate) enum ColumnArg {
    /// Origin AS.
    Asn,
    /// Prefix.
    Prefix,
    /// AS path.
    AsPath,
    /// Next hop.
    NextHop,
    /// Origin validation.
    Rov,
}

pub(super) const LOOKUP: &str = "\
The longest match of each address and its best route. With --peer or --next-hop: the longest
match among the routes of any of these, which is what that router would do with a packet.

Addresses on the command line are asked of the daemon. For `-` its table is fetched once and looked
up in here, millions of times a second: the answers are those of that moment. --mrt and --vrps work
in the same way. Text in bulk has tabs between address, prefix, origin AS, next hop, neighbor,
AS path and, with --vrps, RPKI state. A line that is no address gets `no address` for a prefix
(a row of the kind `no-address` in JSON), and the number of these is told at the end.

Examples:
  rutter lookup 8.8.8.8 2001:4860:4860::8888
  rutter lookup 8.8.8.8 --peer AS64511 --peer AS64512
  rutter lookup 8.8.8.8 --next-hop 192.0.2.11 --or-best
  rutter lookup 8.8.8.8 --json | jq -r .attributes.communities[]
  rutter lookup - < addresses.txt | cut -f1,3
  rutter lookup 8.8.8.8 --mrt rib.20250101.0000.gz --vrps vrps.json";

const MMDB: &str = "\
Every address leads to a map of autonomous_system_number, as_path, next_hop, communities and
prefix; with --vrps also rov: valid, invalid or not-found. The AS number is named as in
GeoLite2-ASN, and so is the file, so tools that read that one read this one.

Examples:
  rutter export mmdb asn.mmdb                        the best routes of the running daemon
  rutter export mmdb asn.mmdb --peer 192.0.2.11      what this neighbor announces
  rutter export mmdb asn.mmdb --mrt rib.20250101.0000.gz
  mmdblookup --file asn.mmdb --ip 8.8.8.8";

pub(super) const ENRICH: &str = "\
Rows go from standard input or files to standard output, in order, on all cores. The table is
fetched once, when the command starts. A row whose column holds no address gets empty columns
(null in JSON, and so does an object without the member), and the number of these is told at the
end. A row of CSV that lacks the column, or a line that is no JSON object, ends the command with
its line number. Where the input has a column of a new one's name, --label gives others.

Examples:
  rutter enrich --column src_ip < flows.csv > enriched.csv
  rutter enrich --column src --label src < f.csv | rutter enrich --column dst --label dst > g.csv
  rutter enrich --column client --add asn,prefix access.jsonl
  zcat flows.tsv.gz | rutter enrich --delimiter '\\t' --no-header --column 3
  rutter enrich --column ip --mrt rib.20250101.0000.gz --vrps vrps.json < hosts.csv";
