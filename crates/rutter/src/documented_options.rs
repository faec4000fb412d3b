//! The options of commands whose arguments another program parses, for the completion scripts. They are read from the help
//! pages in `docs/cli`, which tests of those programs hold true.

use std::fs;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, ValueHint};

use crate::other_program;

/// Returns the command with the options of such commands, and without those of this program, which they do not know.
pub(crate) fn with_documented_options(command: Command) -> Command {
    let is_global = |arg: &&Arg| arg.is_global_set();
    let globals: Vec<Arg> = command.get_arguments().filter(is_global).cloned().collect();
    let ids = globals.iter().map(|arg| arg.get_id().clone());
    let command = ids.fold(command, |command, id| {
        command.mut_arg(id, |arg| arg.global(false))
    });
    let own: Vec<Arg> = globals
        .iter()
        .map(|arg| arg.clone().global(false))
        .collect();
    command.mut_subcommands(|sub| {
        let name = sub.get_name().to_owned();
        match other_program::command(name.as_ref()) {
            Some(name) => documented(name, &help_page(name)),
            // The bench has workloads with options of their own.
            None if name == "bench" => sub,
            None => with_options(sub, &own),
        }
    })
}

fn with_options(command: Command, options: &[Arg]) -> Command {
    command
        .args(options)
        .mut_subcommands(|sub| with_options(sub, options))
}

fn help_page(name: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(format!("docs/cli/rutter-{name}.txt"));
    fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// Makes a command of its help page.
fn documented(name: &'static str, page: &str) -> Command {
    let about = page.lines().next().unwrap_or_default();
    // Every page lists --help and --version too.
    let mut command = Command::new(name)
        .about(about.to_owned())
        .disable_help_flag(true)
        .disable_version_flag(true);
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let (head, about) = (line.trim(), lines.peek().copied().unwrap_or_default());
        let is_head = line.starts_with("  ") && about.starts_with("          ");
        if !is_head || line.starts_with("          ") {
            continue;
        }
        if let Some(arg) = option(head).or_else(|| argument(head)) {
            command = command.arg(arg.help(about.trim().to_owned()));
        }
    }
    command
}

/// An option: `-h, --help`, `--socket <PATH>`.
fn option(head: &str) -> Option<Arg> {
    let (names, value) = match head.split_once(" <") {
        Some((names, value)) => (names, Some(value)),
        None => (head, None),
    };
    let (before, long) = names.split_once("--")?;
    let long: &'static str = long.to_owned().leak();
    let arg = Arg::new(long).long(long);
    let arg = match before.chars().nth(1) {
        Some(short) => arg.short(short),
        None => arg,
    };
    Some(match value {
        Some(value) => arg.action(ArgAction::Set).value_hint(hint(value)),
        None => arg.action(ArgAction::SetTrue),
    })
}

/// A positional argument: `[FILE]`, `<FILE>...`.
fn argument(head: &str) -> Option<Arg> {
    let name = head.trim_end_matches("...");
    let name = name.strip_prefix(['<', '['])?;
    let name = name.strip_suffix(['>', ']'])?;
    let arg = Arg::new(name.to_owned().leak() as &str).value_hint(hint(name));
    Some(match head.ends_with("...") {
        true => arg.num_args(1..),
        false => arg,
    })
}

fn hint(value: &str) -> ValueHint {
    match ["FILE", "PATH", "FOLDER"]
        .iter()
        .any(|one| value.starts_with(one))
    {
        true => ValueHint::AnyPath,
        false => ValueHint::Unknown,
    }
}

#[test]
fn a_help_page_becomes_a_command() {
    let page = "Do it\n\nArguments:\n  [FILE]\n          The file\n\nOptions:\n      --listen <ADDRESS>\n          \
                Listen here\n          \n          More of it\n\n  -h, --help\n          Print help\n";
    let command = documented("grpc", page);
    let names: Vec<_> = command
        .get_arguments()
        .map(|arg| arg.get_id().as_str())
        .collect();
    assert_eq!(names, ["FILE", "listen", "help"]);
    let listen = command.get_arguments().find(|arg| arg.get_id() == "listen");
    let about = listen
        .and_then(|arg| arg.get_help())
        .map(ToString::to_string);
    assert_eq!(about.as_deref(), Some("Listen here"));
}
