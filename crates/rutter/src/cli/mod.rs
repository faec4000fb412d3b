//! The command line: what can be typed. What it means is in the modules named after the commands.

mod demo;
mod filter;
mod lookup;
mod show;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use demo::DemoArgs;
pub(crate) use filter::FilterArgs;
pub(crate) use lookup::{
    ColumnArg, EnrichArgs, Export, ExportArgs, FormatArg, LookupArgs, MmdbArgs, TableArgs,
};
pub(crate) use show::{Show, ShowArgs};

/// A BGP route server, route collector and look-up engine.
#[derive(Parser, Debug)]
#[command(name = "rutter", version, max_term_width = 100, after_help = EXAMPLES)]
#[command(disable_help_subcommand = true, propagate_version = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// How to reach the daemon and how to print.
    #[command(flatten)]
    pub(crate) ask: Ask,
}

/// How to reach the daemon and how to print.
#[derive(Args, Clone, Debug)]
pub(crate) struct Ask {
    /// The daemon's management socket [default: /run/rutter/rutter.sock, else that of a running demo]
    #[arg(
        long,
        global = true,
        env = "RUTTER_SOCKET",
        value_name = "PATH",
        hide_env_values = true
    )]
    pub(crate) socket: Option<PathBuf>,
    /// Print JSON, one object a line, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to colour: auto, always or never; NO_COLOR in the environment means never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) color: ColorChoice,
}

/// When to colour.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColorChoice {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run the daemon in the foreground until SIGTERM or Ctrl-C
    #[command(after_help = RUN)]
    Run {
        /// The configuration
        #[arg(value_name = "FILE", default_value = DEFAULT_CONFIG)]
        file: PathBuf,
        /// End when standard input is closed: for programs that start a daemon of their own
        #[arg(long, hide = true)]
        end_with_stdin: bool,
    },
    /// Check a configuration and say everything that is wrong with it
    #[command(after_help = CHECK)]
    Check {
        /// The configuration
        #[arg(value_name = "FILE", default_value = DEFAULT_CONFIG)]
        file: PathBuf,
    },
    /// Show what changes between two configurations
    #[command(after_help = DIFF)]
    Diff {
        /// The new configuration
        #[arg(value_name = "FILE", default_value = DEFAULT_CONFIG)]
        file: PathBuf,
        /// The old configuration: a file, or `running` for the one that the daemon has in force
        #[arg(long, value_name = "FILE", default_value = "running")]
        against: PathBuf,
    },
    /// Make the daemon read its configuration anew, all or nothing
    #[command(after_help = RELOAD)]
    Reload,
    /// Show sessions, routes, attributes, memory, sinks
    #[command(after_help = SHOW)]
    Show(ShowArgs),
    /// Explain a destination: all candidates, which step decided, who hears it and who does not
    #[command(after_help = EXPLAIN)]
    Explain {
        /// A prefix, or an address, which finds the longest match
        #[arg(value_name = "PREFIX")]
        target: String,
    },
    /// Look addresses up: the longest match, its origin, AS path and next hop
    #[command(after_help = lookup::LOOKUP)]
    Lookup(LookupArgs),
    /// Add columns to CSV or JSON lines: origin AS, prefix, AS path and next hop of an address
    #[command(after_help = lookup::ENRICH)]
    Enrich(EnrichArgs),
    /// Write the table as a file for other programs
    Export(ExportArgs),
    /// Reset a session, or evaluate or send its routes again
    #[command(after_help = CLEAR)]
    Clear(ClearArgs),
    /// Print the daemon's latest log lines
    #[command(after_help = LOG)]
    Log {
        /// Stay and print new lines as they come
        #[arg(long, short)]
        follow: bool,
    },
    /// End the daemon; every session gets a Cease
    #[command(after_help = STOP)]
    Stop {
        /// Text for the neighbors (RFC 9003)
        #[arg(long, value_name = "TEXT")]
        text: Option<String>,
    },
    /// Start a route server with built-in speakers that announce a full table, and look around
    #[command(after_help = demo::EXAMPLES)]
    Demo(DemoArgs),
    /// Collect: BGP, BMP and MRT in; live SQL, archives, databases and streams out
    ///
    /// Run by the program `rutter-collect` beside this one: `rutter collect --help` tells.
    #[command(disable_help_flag = true)]
    Collect {
        /// What to collect
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENTS"
        )]
        arguments: Vec<OsString>,
    },
    /// Print the routes of MRT files
    ///
    /// Run by the program `rutter-collect` beside this one: `rutter mrt --help` tells.
    #[command(disable_help_flag = true)]
    Mrt {
        /// What to print
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENTS"
        )]
        arguments: Vec<OsString>,
    },
    /// Answer one SQL query, over the live table or over files
    ///
    /// Run by the program `rutter-collect` beside this one: `rutter sql --help` tells.
    #[command(disable_help_flag = true)]
    Sql {
        /// What to ask
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENTS"
        )]
        arguments: Vec<OsString>,
    },
    /// Play MRT files to a BGP daemon
    ///
    /// Run by the program `rutter-collect` beside this one: `rutter replay --help` tells.
    #[command(disable_help_flag = true)]
    Replay {
        /// What to play to whom
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENTS"
        )]
        arguments: Vec<OsString>,
    },
    /// Measure this program or another BGP daemon under load
    ///
    /// Everything after this word is read by the bench itself: `rutter bench --help` tells.
    #[command(disable_help_flag = true)]
    Bench {
        /// A workload and options
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENTS"
        )]
        arguments: Vec<OsString>,
    },
}

/// What to clear and how.
#[derive(Args, Debug)]
pub(crate) struct ClearArgs {
    /// Name, address or AS number of the neighbor, or `all`
    #[arg(value_name = "PEER")]
    pub(crate) peer: String,
    /// Keep the session; run the import policy anew over the kept routes
    #[arg(long, conflicts_with = "soft_out")]
    pub(crate) soft_in: bool,
    /// Keep the session; send everything to the neighbor again
    #[arg(long)]
    pub(crate) soft_out: bool,
}

/// Where the configuration of a packaged installation is.
pub(crate) const DEFAULT_CONFIG: &str = "/etc/rutter/rutter.toml";

const EXAMPLES: &str = "\
Examples:
  rutter demo                        see it work: a route server under a full table, on this machine
  rutter check /etc/rutter/rutter.toml
  rutter run /etc/rutter/rutter.toml
  rutter show peers
  rutter explain 192.0.2.0/24        who announces it, which step decided, who hears it

Exit status: 0 all went well, 1 something failed, 2 the command line is wrong.
The configuration is described in rutter.toml(5) and docs/config.md.";

const RUN: &str = "\
Logs go to standard error. SIGHUP reads the configuration anew, as `rutter reload` does;
SIGTERM and Ctrl-C end every session with a Cease.

Examples:
  rutter run /etc/rutter/rutter.toml
  rutter check my.toml && rutter run my.toml";

const CHECK: &str = "\
Every error is printed with file, line, column, key and what to write instead; also of files and
folders that the configuration names: certificates and their keys, passwords, VRPs, archives, spools.
Nothing is started or changed. Exit status 1 if there are errors; warnings alone give 0.

Examples:
  rutter check my.toml
  rutter check my.toml --json | jq -r .message";

const DIFF: &str = "\
Examples:
  rutter diff new.toml                     what `rutter reload` would change if this file were in force
  rutter diff new.toml --against old.toml  without a daemon";

const RELOAD: &str = "\
The daemon reads the file that it was started with. If it has errors, they are printed and
nothing changes. Sessions that did not change are not touched; changes of policy are applied
to the kept routes, and only differences are sent.

Examples:
  rutter diff && rutter reload";

const SHOW: &str = "\
Examples:
  rutter show peers
  rutter show peer 192.0.2.11
  rutter show routes --peer AS64511 --best
  rutter show route 203.0.113.7      the longest match
  rutter show rejected --reason bogon
  rutter show routes --json | jq -r .prefix";

const EXPLAIN: &str = "\
Examples:
  rutter explain 203.0.113.0/24
  rutter explain 203.0.113.7         the longest match
  rutter explain 2001:db8::/32 --json";

const CLEAR: &str = "\
Without --soft-in or --soft-out the session is reset (Cease, Administrative Reset).

Examples:
  rutter clear 192.0.2.11
  rutter clear AS64511 --soft-out
  rutter clear all --soft-in";

const LOG: &str = "\
Examples:
  rutter log
  rutter log --follow
  rutter log --follow --json | jq 'select(.level == \"warn\")'";

const STOP: &str = "\
Examples:
  rutter stop --text 'back in 10 minutes'";

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_sound() {
        super::Cli::command().debug_assert();
    }
}
