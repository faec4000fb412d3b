//! The rutter command.

mod arouteserver;
mod check;
mod cli;
mod command;
mod demo;
#[cfg(test)]
mod documented_options;
mod enrich;
mod export;
mod failure;
#[cfg(test)]
mod golden;
mod init;
mod lookup;
mod other_program;
mod paint;
mod render;
mod request;
mod run;
mod shadow;
mod text_table;
mod toml_string;
use rutter_api::units;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::ColorChoice;
use crate::failure::Failure;
use crate::paint::{Paint, Tone};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    // The bench and other programs have options with the names of common ones, so they parse their own arguments.
    let first = arguments.next().unwrap_or_default();
    if first == "bench" {
        return exit_code(command::bench(arguments.collect()), ColorChoice::Auto);
    }
    if let Some(word) = other_program::command(&first) {
        return exit_code(other_program::run(word, arguments), ColorChoice::Auto);
    }
    let cli = cli::Cli::parse();
    let color = cli.options.color;
    exit_code(command::run_command(cli.command, &cli.options), color)
}

fn exit_code(result: Result<(), Failure>, color: ColorChoice) -> ExitCode {
    match result {
        Ok(()) | Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(Failure::AlreadyReported) => ExitCode::FAILURE,
        Err(Failure::Text(text)) => {
            print_error(&text, color);
            ExitCode::FAILURE
        }
        Err(Failure::Status2(text)) => {
            if let Some(text) = text {
                print_error(&text, color);
            }
            ExitCode::from(2)
        }
    }
}

fn print_error(text: &str, color: ColorChoice) {
    let paint = Paint::stderr(color);
    rutter_daemon::eprint_line(format_args!("{} {text}", paint.tone(Tone::Bad, "error:")));
}
