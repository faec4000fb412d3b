//! The rutter command.

mod ask;
mod check;
mod cli;
mod command;
mod demo;
mod failure;
#[cfg(test)]
mod golden;
mod paint;
mod render;
mod run;
mod table;
mod units;

use std::process::ExitCode;

use clap::Parser as _;

use crate::failure::Failure;
use crate::paint::{Paint, Tone};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let paint = Paint::stderr(cli.ask.color);
    match command::perform(cli.command, &cli.ask) {
        Ok(()) | Err(Failure::NobodyReads) => ExitCode::SUCCESS,
        Err(Failure::Said) => ExitCode::FAILURE,
        Err(Failure::Text(text)) => {
            eprintln!("{} {text}", paint.tone(Tone::Bad, "error:"));
            ExitCode::FAILURE
        }
    }
}
