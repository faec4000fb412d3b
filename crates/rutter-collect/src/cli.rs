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

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_sound() {
        super::Cli::command().debug_assert();
    }
}
