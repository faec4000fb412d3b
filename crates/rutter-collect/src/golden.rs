//! What stands in `docs/cli` is what the program says. `UPDATE_GOLDEN=1 cargo test -p rutter-collect golden` writes it
//! anew.

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;

use crate::cli::Cli;

#[test]
fn help_texts_are_those_of_the_documents() {
    let mut command = Cli::command().term_width(100);
    command.build();
    let mut differ = Vec::new();
    for sub in command
        .get_subcommands_mut()
        .filter(|sub| !sub.is_hide_set())
    {
        let name = format!("docs/cli/rutter-{}.txt", sub.get_name());
        let help = sub.render_long_help().to_string();
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(&name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&file, &help).unwrap();
        }
        if fs::read_to_string(&file).ok() != Some(help) {
            differ.push(name);
        }
    }
    assert!(
        differ.is_empty(),
        "{differ:?} differ: UPDATE_GOLDEN=1 cargo test -p rutter-collect golden"
    );
}
