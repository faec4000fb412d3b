//! Tests that the files in `docs/` match the output of the program. `UPDATE_GOLDEN=1 cargo test -p rutter-collector
//! golden` updates the files.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory as _};

use crate::cli::Cli;

/// The commands that the help lists.
fn commands() -> Vec<Command> {
    let mut command = Cli::command().term_width(100);
    command.build();
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    shown.cloned().collect()
}

/// Compares files below the repository's root, or writes them.
fn golden(files: impl Iterator<Item = (String, String)>) {
    let mut differ = Vec::new();
    for (name, text) in files {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(&name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&file, &text).unwrap();
        }
        if fs::read_to_string(&file).ok() != Some(text) {
            differ.push(name);
        }
    }
    assert!(
        differ.is_empty(),
        "{differ:?} differ: UPDATE_GOLDEN=1 cargo test -p rutter-collector golden"
    );
}

#[test]
fn help_texts_are_those_of_the_documents() {
    golden(commands().into_iter().map(|mut command| {
        let name = format!("docs/cli/rutter-{}.txt", command.get_name());
        (name, command.render_long_help().to_string())
    }));
}

/// Each command has a man page, as `man rutter-collect` finds it. Benchmarks have none.
#[test]
fn man_pages_are_those_of_the_program() {
    let commands = commands().into_iter();
    let used = commands.filter(|command| !command.get_name().starts_with("bench"));
    golden(used.map(|command| {
        let name = format!("rutter-{}", command.get_name());
        let page = clap_mangen::Man::new(command.display_name(&name))
            .title(&name)
            .date("")
            .manual("Rutter");
        let mut text = Vec::new();
        page.render(&mut text).unwrap();
        (
            format!("docs/man/{name}.1"),
            String::from_utf8(text).unwrap(),
        )
    }));
}
