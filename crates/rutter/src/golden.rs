//! Compares the help pages with `docs/`. `UPDATE_GOLDEN=1 cargo test -p rutter golden` updates the files.

use std::fs;
use std::path::PathBuf;

use clap::{Command, CommandFactory as _};

use crate::cli::{Cli, Shell};
use crate::command::completion_script;
use crate::documented_options::with_documented_options;

/// Compares or updates a file of the repository.
fn golden(path: &str, text: &str) -> Result<(), String> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
    }
    match fs::read_to_string(&file) {
        Ok(stored) if stored == text => Ok(()),
        Ok(_) => Err(format!("{path} differs")),
        Err(e) => Err(format!("{path}: {e}")),
    }
}

/// Collects all commands with their help pages.
fn helps(command: &mut Command, name: &str, out: &mut Vec<(String, String)>) {
    out.push((
        name.replace(' ', "-"),
        command.render_long_help().to_string(),
    ));
    for sub in command.get_subcommands_mut() {
        // The bench reads its own options.
        if sub.get_name() == "bench" {
            *sub = bench();
        }
        // Another program has the help of these commands.
        let is_elsewhere = crate::other_program::command(sub.get_name().as_ref()).is_some();
        if is_elsewhere || sub.is_hide_set() || sub.get_name() == "help" {
            continue;
        }
        let name = format!("{name} {}", sub.get_name());
        helps(sub, &name, out);
    }
}

fn command() -> Command {
    let mut command = Cli::command().term_width(100);
    command.build();
    command
}

fn bench() -> Command {
    let command = rutter_bench::cli::command();
    let mut command = command
        .name("bench")
        .bin_name("rutter bench")
        .term_width(100);
    command.build();
    command
}

#[test]
fn help_texts_match_the_documents() {
    let mut all = Vec::new();
    helps(&mut command(), "rutter", &mut all);
    assert!(all.len() > 15);
    let differ: Vec<_> = all
        .iter()
        .filter_map(|(name, help)| golden(&format!("docs/cli/{name}.txt"), help).err())
        .collect();
    assert!(
        differ.is_empty(),
        "{differ:#?}: UPDATE_GOLDEN=1 cargo test -p rutter golden"
    );
}

#[test]
fn the_man_page_matches_the_program() {
    let mut page = Vec::new();
    let command = command();
    let man = clap_mangen::Man::new(command.clone())
        .date("")
        .manual("Rutter");
    man.render_title(&mut page).unwrap();
    man.render_name_section(&mut page).unwrap();
    man.render_synopsis_section(&mut page).unwrap();
    man.render_description_section(&mut page).unwrap();
    man.render_options_section(&mut page).unwrap();
    let mut text = String::from_utf8(page).unwrap();
    text.push_str(".SH COMMANDS\n");
    sections(&command, "rutter", &mut text);
    text.push_str(include_str!("man_tail.roff"));
    golden("docs/man/rutter.1", &text).unwrap();
}

#[test]
fn the_completion_scripts_match_the_program() {
    for (generator, file) in [
        (clap_complete::Shell::Bash, "rutter.bash"),
        (clap_complete::Shell::Zsh, "rutter.zsh"),
        (clap_complete::Shell::Fish, "rutter.fish"),
    ] {
        let mut script = Vec::new();
        let mut command = with_documented_options(Cli::command());
        clap_complete::generate(generator, &mut command, "rutter", &mut script);
        let script = String::from_utf8(script).unwrap();
        golden(&format!("crates/rutter/src/completion/{file}"), &script).unwrap();
    }
}

#[test]
fn each_shell_has_its_own_completion_script() {
    for (shell, sign) in [
        (Shell::Bash, "complete -F _rutter "),
        (Shell::Zsh, "#compdef rutter"),
        (Shell::Fish, "complete -c rutter "),
    ] {
        assert!(completion_script(shell).contains(sign), "{shell:?}");
    }
}

#[test]
fn a_command_of_another_program_is_completed_with_its_own_options() {
    for script in [Shell::Bash, Shell::Zsh, Shell::Fish].map(completion_script) {
        assert!(script.contains("tls-cert"), "an option of rutter grpc");
        assert!(script.contains("mrt-router"), "an option of rutter collect");
    }
    let bash = completion_script(Shell::Bash);
    let grpc = bash.split("rutter__subcmd__grpc)\n").nth(1).unwrap();
    let options = grpc.lines().next().unwrap();
    assert!(options.contains("--token-file"), "{options}");
    assert!(
        !options.contains("--json") && !options.contains("--color"),
        "{options}"
    );
}

/// Writes a subsection for each command.
fn sections(command: &Command, name: &str, out: &mut String) {
    for sub in command.get_subcommands() {
        let name = format!("{name} {}", sub.get_name());
        if sub.get_subcommands().next().is_none() {
            section(sub, &name, out);
        }
        sections(sub, &name, out);
    }
}

fn section(command: &Command, name: &str, out: &mut String) {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    out.push_str(&format!(".SS {}\n{}\n", roff(name), roff(&about(command))));
    out.push_str(&format!(".PP\n.B {}\n", roff(usage)));
    for arg in command.get_arguments().filter(|a| !a.is_global_set()) {
        let (name, help) = (argument(arg), arg.get_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        if arg.get_id() != "help" && arg.get_id() != "version" {
            out.push_str(&format!(".TP\n.B {}\n{}\n", roff(&name), roff(&help)));
        }
    }
    if let Some(after) = command.get_after_help() {
        out.push_str(&format!(".PP\n.nf\n{}\n.fi\n", roff(&after.to_string())));
    }
}

fn about(command: &Command) -> String {
    command
        .get_about()
        .map(|about| format!("{about}."))
        .unwrap_or_default()
}

fn argument(arg: &clap::Arg) -> String {
    let value = match arg.get_value_names() {
        Some(names) if arg.get_action().takes_values() => names.join(" "),
        _ => String::new(),
    };
    match arg.get_long() {
        Some(long) => format!("--{long} {value}").trim_end().to_owned(),
        None => value,
    }
}

/// Escapes characters that roff interprets.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('-', "\\-");
    text.lines()
        .map(|line| match line.starts_with(['.', '\'']) {
            true => format!("\\&{line}"),
            false => line.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("\n")
}
