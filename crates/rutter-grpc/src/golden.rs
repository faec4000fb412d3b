//! Tests that the files in `docs/` match the output of the program. `UPDATE_GOLDEN=1 cargo test -p rutter-grpc golden`
//! updates the files.

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;

use crate::cli::Cli;

/// Compares a file below the repository's root, or writes it.
fn golden(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, text).unwrap();
    }
    let stored = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        stored == text,
        "{name} differs: UPDATE_GOLDEN=1 cargo test -p rutter-grpc golden"
    );
}

#[test]
fn the_help_is_that_of_the_documents() {
    let mut command = Cli::command().term_width(100);
    golden(
        "docs/cli/rutter-grpc.txt",
        &command.render_long_help().to_string(),
    );
}

#[test]
fn the_man_page_is_that_of_the_program() {
    let command = Cli::command()
        .name("rutter-grpc")
        .display_name("rutter-grpc");
    let page = clap_mangen::Man::new(command)
        .title("rutter-grpc")
        .date("")
        .manual("Rutter");
    let mut text = Vec::new();
    page.render(&mut text).unwrap();
    golden("docs/man/rutter-grpc.1", &String::from_utf8(text).unwrap());
}
