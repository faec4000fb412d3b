//! Arguments of `rutter lookup`, `rutter export` and `rutter enrich`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use rutter_api::RouteSelector;

/// Arguments of `rutter lookup`.
#[derive(Args, Debug)]
pub(crate) struct LookupArgs {
    /// Addresses; or `-` to read them from standard input, one a line
    #[arg(value_name = "ADDRESS", required = true)]
    pub(crate) addresses: Vec<String>,
    /// The table
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// If none of the selected routes matches, show the best of all routes, marked (not for `-`)
    #[arg(long)]
    pub(crate) or_best: bool,
}

/// The table to look up in, and the selected routes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TableArgs {
    /// Use routes of this neighbor: name, address, AS number or a monitored router; may be repeated
    #[arg(long = "peer", value_name = "PEER")]
    peers: Vec<String>,
    /// Use routes with this next hop; may be repeated
    #[arg(long = "next-hop", value_name = "ADDRESS")]
    next_hops: Vec<IpAddr>,
    /// Use this MRT table dump instead of the daemon's table; plain or compressed, a folder, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) mrt: Option<PathBuf>,
    /// Validate origins with the VRPs in this JSON file (of Routinator, rpki-client, FORT and others)
    #[arg(long, value_name = "FILE")]
    pub(crate) vrps: Option<PathBuf>,
}

impl TableArgs {
    /// The selected routes.
    pub(crate) fn selector(&self) -> RouteSelector {
        RouteSelector {
            peers: self.peers.clone(),
            next_hops: self.next_hops.clone(),
        }
    }
}

/// Arguments of `rutter export`.
#[derive(Args, Debug)]
#[command(disable_help_subcommand = true)]
pub(crate) struct ExportArgs {
    /// The file format.
    #[command(subcommand)]
    pub(crate) what: Export,
}

/// The file formats.
#[derive(Subcommand, Debug)]
pub(crate) enum Export {
    /// Write the table as a MaxMind DB file, for flow and log tools
    #[command(after_help = MMDB)]
    Mmdb(MmdbArgs),
}

/// Arguments of `rutter export mmdb`.
#[derive(Args, Debug)]
pub(crate) struct MmdbArgs {
    /// The file to write, `-` for standard output; an existing file is replaced atomically
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The table
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// The database type in the metadata; some readers refuse unknown types
    #[arg(long, value_name = "NAME", default_value = "GeoLite2-ASN")]
    pub(crate) database_type: String,
}

/// Arguments of `rutter enrich`.
#[derive(Args, Debug)]
pub(crate) struct EnrichArgs {
    /// Input files; `-` or no file means standard input
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The column with the address: its name, or its number from 1 with --no-header
    #[arg(long, short, value_name = "NAME")]
    pub(crate) column: String,
    /// csv, or json for one object a line [default: by the first file's extension, else csv]
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Option<FormatArg>,
    /// The byte between CSV fields; `\t` for a tab
    #[arg(long, value_name = "C", default_value = ",")]
    pub(crate) delimiter: String,
    /// The first CSV row is data, not column names
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
    /// Prefix the names of the new columns with NAME_
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Option<String>,
    /// The table
    #[command(flatten)]
    pub(crate) table: TableArgs,
}

/// The formats of rows.
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
Prints the longest match of each address and its best route. With --peer or --next-hop only the
selected routes count: the answer is the route that this router would use for a packet.

The daemon answers for addresses on the command line. For `-`, --mrt and --vrps this command fetches
the table once and looks up millions of addresses a second in that copy. Its text output has tabs
between address, prefix, origin AS, next hop, neighbor, AS path and, with --vrps, RPKI state.
A line that is not an address gets `no address` instead of a prefix (in JSON a row of the kind
`no-address`). The number of such lines is reported at the end.

Records of a dump that cannot be read are reported as by `rutter mrt`, and make the exit status 1. The
others answer.

Examples:
  rutter lookup 8.8.8.8 2001:4860:4860::8888
  rutter lookup 8.8.8.8 --peer AS64511 --peer AS64512
  rutter lookup 8.8.8.8 --next-hop 192.0.2.11 --or-best
  rutter lookup 8.8.8.8 --json | jq -r .attributes.communities[]
  rutter lookup - < addresses.txt | cut -f1,3
  rutter lookup 8.8.8.8 --mrt rib.20250101.0000.gz --vrps vrps.json";

const MMDB: &str = "\
Each address has a map with autonomous_system_number, as_path, next_hop, communities and prefix;
with --vrps also rov: valid, invalid or not-found. The AS number and the database type have the same
names as in GeoLite2-ASN, so tools for that file can read this one.

Records of a dump that cannot be read are reported as by `rutter mrt`, and make the exit status 1. The
file has the other routes. If the dump ends early, the file is not changed.

Examples:
  rutter export mmdb asn.mmdb                        the best routes of the running daemon
  rutter export mmdb asn.mmdb --peer 192.0.2.11      what this neighbor announces
  rutter export mmdb asn.mmdb --mrt rib.20250101.0000.gz
  mmdblookup --file asn.mmdb --ip 8.8.8.8";

pub(super) const ENRICH: &str = "\
Copies rows from standard input or files to standard output, in order, on all cores. The table is
fetched once, when the command starts. If a row has no address in the column, its new columns are
empty (null in JSON). The number of such rows is reported at the end. A CSV row without the column,
or a line that is not a JSON object, ends the command with its line number. If the input already has
a column with the name of a new one, choose other names with --label. Records of a dump that cannot be
read are reported as by `rutter mrt`, and make the exit status 1.

Examples:
  rutter enrich --column src_ip < flows.csv > enriched.csv
  rutter enrich --column src --label src < f.csv | rutter enrich --column dst --label dst > g.csv
  rutter enrich --column client --add asn,prefix access.jsonl
  zcat flows.tsv.gz | rutter enrich --delimiter '\\t' --no-header --column 3
  rutter enrich --column ip --mrt rib.20250101.0000.gz --vrps vrps.json < hosts.csv";
