//! The command line: what can be typed. What it means is in the modules named after the commands.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// The collector's part of `rutter`; usually run as `rutter collect` and so on.
#[derive(Parser, Debug)]
#[command(name = "rutter", version, max_term_width = 100)]
#[command(disable_help_subcommand = true, propagate_version = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run a collector in the foreground until SIGTERM or Ctrl-C
    #[command(after_help = COLLECT)]
    Collect(CollectArgs),
    /// Print the routes of MRT files
    #[command(after_help = MRT)]
    Mrt(MrtArgs),
}

/// What to print.
#[derive(Args, Debug)]
pub(crate) struct MrtArgs {
    /// Files, folders with all files inside, or - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Print a JSON object a line, for programs
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only how many records and routes there are
    #[arg(long)]
    pub(crate) count: bool,
}

/// What to collect.
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
}

/// Where the configuration of a packaged installation is.
pub(crate) const DEFAULT_CONFIG: &str = "/etc/rutter/rutter.toml";

const COLLECT: &str = "\
A collector is the daemon of `rutter run` with what only collectors have: the sections of the same
file that `rutter run` reads past. All other commands (`rutter show`, `reload`, `stop`) work as usual.

Examples:
  rutter check collector.toml && rutter collect collector.toml";

const MRT: &str = "\
Reads TABLE_DUMP, TABLE_DUMP_V2, BGP4MP and BGP4MP_ET (RFC 6396), with Add-Path (RFC 8050), plain or
packed by gzip, bzip2 or zstd. A line has the fields of `bgpdump -m`.

Examples:
  rutter mrt rib.20250101.0000.bz2 | grep '|203.0.113.0/24|'
  rutter mrt updates/ --json | jq -r 'select(.kind == \"withdraw\").prefix'
  curl -s https://data.ris.ripe.net/rrc00/latest-bview.gz | rutter mrt - --count";

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_sound() {
        super::Cli::command().debug_assert();
    }
}
