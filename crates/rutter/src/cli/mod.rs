//! The command line and its help. The modules named after the commands carry them out.

mod apply;
mod arouteserver;
mod demo;
mod filter;
mod init;
mod lookup;
mod shadow;
mod show;

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use apply::ApplyArgs;
pub(crate) use arouteserver::ARouteServerArgs;
pub(crate) use demo::DemoArgs;
pub(crate) use filter::FilterArgs;
pub(crate) use init::InitArgs;
pub(crate) use lookup::{
    ColumnArg, EnrichArgs, Export, ExportArgs, FormatArg, LookupArgs, MmdbArgs, TableArgs,
};
pub(crate) use shadow::ShadowArgs;
pub(crate) use show::{Show, ShowArgs};

/// A BGP route server, route collector and look-up engine.
#[derive(Parser, Debug)]
#[command(name = "rutter", version, max_term_width = 100, after_help = EXAMPLES)]
#[command(disable_help_subcommand = true, propagate_version = true)]
pub(crate) struct Cli {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Options of every command.
    #[command(flatten)]
    pub(crate) options: CommonOptions,
}

/// Options of every command: the daemon's socket and the output format.
#[derive(Args, Clone, Debug)]
pub(crate) struct CommonOptions {
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
    /// Use colors: auto, always or never. NO_COLOR in the environment turns them off
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) color: ColorChoice,
}

/// When output has colors.
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
        /// Run an exchange from the files general.yml and clients.yml of ARouteServer
        #[arg(
            long,
            num_args = 2,
            value_names = ["GENERAL", "CLIENTS"],
            conflicts_with = "file"
        )]
        arouteserver: Vec<PathBuf>,
        /// Settings that these files do not have
        #[command(flatten)]
        more: ARouteServerArgs,
        /// End when standard input is closed: for programs that start a daemon of their own
        #[arg(long, hide = true)]
        end_with_stdin: bool,
        /// Take over from the daemon at standard input, which started this process: see `rutter upgrade`
        #[arg(long, hide = true, conflicts_with = "end_with_stdin")]
        take_over: bool,
    },
    /// Write the first configuration of an exchange, from options and questions
    #[command(after_help = init::INIT)]
    Init(InitArgs),
    /// Check a configuration and report every error in it
    #[command(after_help = CHECK)]
    Check {
        /// The configuration; - is standard input
        #[arg(value_name = "FILE", default_value = DEFAULT_CONFIG)]
        file: PathBuf,
    },
    /// Convert the files of another program to a configuration
    #[command(after_help = IMPORT)]
    Import {
        /// The program whose files they are
        #[command(subcommand)]
        from: ImportFrom,
    },
    /// Compare two configurations: the changes, and the sessions that they reset
    #[command(after_help = DIFF)]
    Diff {
        /// The new configuration; - is standard input
        #[arg(value_name = "FILE", default_value = DEFAULT_CONFIG)]
        file: PathBuf,
        /// The old configuration: a file, or `running` for the one in force in the daemon
        #[arg(long, value_name = "FILE", default_value = "running")]
        against: PathBuf,
        /// Also count the routes that would be accepted and rejected, by neighbor
        #[arg(long, group = "counted")]
        routes: bool,
        /// Count the routes that would change if you accepted the data which a source refused
        #[arg(long, group = "counted", conflicts_with_all = ["file", "against", "routes"])]
        sources: bool,
        /// List this many of these routes, with --routes or --sources
        #[arg(long, value_name = "N", requires = "counted")]
        limit: Option<u64>,
    },
    /// Compare what another route server advertises with what Rutter would
    #[command(after_help = shadow::SHADOW)]
    Shadow(ShadowArgs),
    /// Reload the daemon's configuration, all or nothing
    #[command(after_help = RELOAD)]
    Reload,
    /// Let the installed version take over from the running daemon; no session ends
    #[command(after_help = UPGRADE)]
    Upgrade,
    /// Put another configuration in force, and go back by itself if nobody confirms it
    #[command(after_help = apply::APPLY)]
    Apply(ApplyArgs),
    /// Keep the configuration that `rutter apply --confirm` put in force
    #[command(after_help = apply::CONFIRM)]
    Confirm,
    /// Go back to an earlier configuration
    #[command(after_help = apply::ROLLBACK)]
    Rollback {
        /// Its number in `rutter history` [default: the one before that in force]
        #[arg(value_name = "N")]
        number: Option<u64>,
    },
    /// List the last configurations that ran: when, and who put them in force
    #[command(after_help = apply::HISTORY)]
    History,
    /// Show sessions, routes, attributes, memory, sinks
    #[command(after_help = SHOW)]
    Show(ShowArgs),
    /// Explain a destination: all candidates, the deciding step, the clients that receive each route
    #[command(after_help = EXPLAIN)]
    Explain {
        /// A prefix, or an address, which finds the longest match
        #[arg(value_name = "PREFIX")]
        target: String,
        /// Assume that this neighbor announces the prefix: name, address or AS number
        #[arg(long, value_name = "PEER")]
        from: Option<String>,
        /// The AS_PATH of the assumed route [default: the AS of the neighbor]
        #[arg(
            long,
            value_name = "AS NUMBERS",
            requires = "from",
            value_delimiter = ' '
        )]
        path: Vec<u32>,
        /// The communities of the assumed route, standard or large
        #[arg(long, value_name = "COMMUNITY", requires = "from")]
        community: Vec<String>,
        /// The next hop of the assumed route [default: the address of the neighbor]
        #[arg(long, value_name = "ADDRESS", requires = "from")]
        next_hop: Option<IpAddr>,
    },
    /// Look up addresses: the longest match, its origin, AS path and next hop
    #[command(after_help = lookup::LOOKUP)]
    Lookup(LookupArgs),
    /// Add columns to CSV or JSON lines: origin AS, prefix, AS path and next hop of an address
    #[command(after_help = lookup::ENRICH)]
    Enrich(EnrichArgs),
    /// Write the table as a file for other programs
    Export(ExportArgs),
    /// Reset a session, or evaluate or advertise its routes again
    #[command(after_help = CLEAR)]
    Clear(ClearArgs),
    /// Ask a source of outside data for new data, or accept data that it refused
    #[command(after_help = SOURCE)]
    Source {
        /// `refresh` or `accept`
        #[arg(value_name = "ACTION")]
        action: SourceActionArg,
        /// The name of the source, as `rutter show sources` prints it
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Print the latest log lines of the daemon
    #[command(after_help = LOG)]
    Log {
        /// Wait for new lines and print them
        #[arg(long, short)]
        follow: bool,
    },
    /// Stop the daemon; every session ends with a Cease
    #[command(after_help = STOP)]
    Stop {
        /// Text for the neighbors (RFC 9003)
        #[arg(long, value_name = "TEXT")]
        text: Option<String>,
    },
    /// Show sessions, sources, memory and the log in the terminal, always up to date
    ///
    /// Run by the program `rutter-top` beside this one. The key ? explains all keys.
    #[command(after_help = TOP)]
    Top {
        /// Seconds between two pictures, from 0.1
        #[arg(long, value_name = "SECONDS", default_value = "1")]
        interval: String,
    },
    /// Print a script with which a shell completes commands and options
    #[command(after_help = COMPLETION)]
    Completion {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// Start a route server and built-in speakers that announce a full table
    #[command(after_help = demo::EXAMPLES)]
    Demo(DemoArgs),
    /// Collect routes by BGP, BMP and MRT; serve SQL, archives, databases and streams
    ///
    /// Run by the program `rutter-collect` beside this one: see `rutter collect --help`.
    #[command(disable_help_flag = true)]
    Collect {
        /// Arguments of the collector
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENTS"
        )]
        arguments: Vec<OsString>,
    },
    /// Answer gRPC: sessions, routes, explanations, look-ups, changes, and control
    ///
    /// Run by the program `rutter-grpc` beside this one: see `rutter grpc --help`.
    #[command(disable_help_flag = true)]
    Grpc {
        /// Arguments of the gRPC server
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENTS"
        )]
        arguments: Vec<OsString>,
    },
    /// Print the routes of MRT files
    ///
    /// Run by the program `rutter-collect` beside this one: see `rutter mrt --help`.
    #[command(disable_help_flag = true)]
    Mrt {
        /// Arguments of `rutter mrt`
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENTS"
        )]
        arguments: Vec<OsString>,
    },
    /// Answer one SQL query, over the live table or over files
    ///
    /// Run by the program `rutter-collect` beside this one: see `rutter sql --help`.
    #[command(disable_help_flag = true)]
    Sql {
        /// Arguments of `rutter sql`
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENTS"
        )]
        arguments: Vec<OsString>,
    },
    /// Play MRT files to a BGP daemon
    ///
    /// Run by the program `rutter-collect` beside this one: see `rutter replay --help`.
    #[command(disable_help_flag = true)]
    Replay {
        /// Arguments of `rutter replay`
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENTS"
        )]
        arguments: Vec<OsString>,
    },
    /// Measure this program or another BGP daemon under load
    ///
    /// The bench reads its own options: see `rutter bench --help`.
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

/// Arguments of `rutter clear`.
#[derive(Args, Debug)]
pub(crate) struct ClearArgs {
    /// Name, address or AS number of the neighbor, or `all`
    #[arg(value_name = "PEER")]
    pub(crate) peer: String,
    /// Keep the session and re-evaluate the import policy for the received routes
    #[arg(long, conflicts_with = "soft_out")]
    pub(crate) soft_in: bool,
    /// Keep the session and advertise all routes to the neighbor again
    #[arg(long)]
    pub(crate) soft_out: bool,
}

/// A shell that can complete commands.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shell {
    /// Bash.
    Bash,
    /// Z shell.
    Zsh,
    /// fish.
    Fish,
}

/// An action on a source of outside data.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SourceActionArg {
    /// Ask for new data now.
    Refresh,
    /// Accept the data that were refused because they shrank too much.
    Accept,
}

/// The programs whose files can be converted.
#[derive(Subcommand, Debug)]
pub(crate) enum ImportFrom {
    /// Print the files of ARouteServer as TOML
    Arouteserver {
        /// The policy: general.yml
        #[arg(value_name = "GENERAL")]
        general: PathBuf,
        /// The members: clients.yml
        #[arg(value_name = "CLIENTS")]
        clients: PathBuf,
        /// Settings that these files do not have
        #[command(flatten)]
        more: ARouteServerArgs,
    },
}

/// The configuration file of a packaged installation.
pub(crate) const DEFAULT_CONFIG: &str = "/etc/rutter/rutter.toml";

const TOP: &str = "Examples:
  rutter top
  rutter top --interval 5 --socket /run/rutter/rutter.sock";

const EXAMPLES: &str = "\
Examples:
  rutter demo                        a route server with a full table, on this machine
  rutter check /etc/rutter/rutter.toml
  rutter run /etc/rutter/rutter.toml
  rutter show peers
  rutter explain 192.0.2.0/24        its routes, the deciding step, the clients

Exit status: 0 success, 1 failure, 2 wrong command line.
The configuration is described in rutter.toml(5) and docs/config.md.";

const RUN: &str = "\
Log lines go to standard error. SIGHUP reloads the configuration, as `rutter reload` does.
Ctrl-C and `rutter stop` end every session with a Cease. After SIGTERM, members with Graceful
Restart keep the routes until the daemon is back (docs/operating.md).

Examples:
  rutter run /etc/rutter/rutter.toml
  rutter check my.toml && rutter run my.toml
  rutter run --arouteserver general.yml clients.yml --lan 192.0.2.0/24 --rtr 127.0.0.1:3323";

const COMPLETION: &str = "\
The packages install these scripts already.

Examples:
  rutter completion bash > /etc/bash_completion.d/rutter
  rutter completion zsh > /usr/local/share/zsh/site-functions/_rutter
  rutter completion fish > ~/.config/fish/completions/rutter.fish";

const IMPORT: &str = "\
Prints TOML on standard output, and notes on keys without effect on standard error. A key that
Rutter cannot honour is an error, with the reason.

Examples:
  rutter import arouteserver general.yml clients.yml --lan 192.0.2.0/24 > rutter.toml
  rutter check rutter.toml";

const CHECK: &str = "\
Prints every error with file, line, column, key and a correction. Also checks the files and folders
that the configuration names: certificates and keys, passwords, VRPs, archives, spools.
Starts and changes nothing. The exit status is 1 for errors, and 0 for warnings alone.

Examples:
  rutter check my.toml
  ./generate-configuration | rutter check -
  rutter check my.toml --json | jq -r .message";

const DIFF: &str = "\
Examples:
  rutter diff new.toml                     what `rutter reload` would change with this file
  rutter diff new.toml --routes            the routes that it would accept and reject, by neighbor
  rutter diff new.toml --routes --limit 100
  rutter diff new.toml --against old.toml  without a daemon
  ./generate-configuration | rutter diff -";

const RELOAD: &str = "\
The daemon reads the file that it was started with. If the file has errors, they are printed and
nothing changes. Unchanged sessions continue. A changed policy is applied to the received routes,
and only differences are advertised.

Examples:
  rutter diff && rutter reload";

const UPGRADE: &str = "\
The daemon starts the program that is installed now, with its own options. The new process takes
its sockets, sessions and routes, and the neighbors notice nothing. If it cannot, the old process
goes on, and this command says why. If the configuration file has changed, run `rutter reload` first.

The BMP routers of a collector stay connected, too. Its archive and its sinks miss no row.

Examples:
  cp rutter-new /usr/local/bin/rutter && rutter upgrade";

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
  rutter explain 2001:db8::/32 --json
  rutter explain 203.0.113.0/24 --from AS64511 --path '64511 64496'
                                     what would happen to a route that is not there";

const CLEAR: &str = "\
Without --soft-in or --soft-out the session is reset (Cease, Administrative Reset).

Examples:
  rutter clear 192.0.2.11
  rutter clear AS64511 --soft-out
  rutter clear all --soft-in";

const SOURCE: &str = "\
A source refuses data that shrank by more than `refuse-shrink`. The former data stay in force until
an operator accepts the new ones, or until the source has enough entries again.

Examples:
  rutter show sources
  rutter source refresh irr
  rutter source accept rpki";

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
