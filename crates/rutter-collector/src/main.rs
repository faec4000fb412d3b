//! The collector's commands: rutter collect, rutter sql, rutter mrt, rutter replay.

mod bar;
mod bench;
mod cli;
mod collect;
mod demo;
mod failure;
#[cfg(test)]
mod golden;
mod handover;
mod mrt;
mod replay;
mod services;
mod sql;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::{Cli, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Collect(args) if args.demo => demo::demo(&args),
        Command::Collect(args) => collect::collect(&args),
        Command::Mrt(args) => mrt::mrt(&args),
        Command::Replay(args) => replay::replay(&args),
        Command::CheckTls { certificate, key } => sql::check_tls(certificate, key),
        Command::BenchHistory(args) => bench::history(&args),
        Command::BenchSql(args) => bench::sql::run(&args),
        Command::BenchSinks(args) => bench::sinks(&args),
        Command::Sql(args) => sql::sql(args),
    };
    match result {
        Ok(()) | Err(Failure::NobodyReads) => ExitCode::SUCCESS,
        Err(Failure::Text(text)) => {
            rutter_daemon::eprint_line(format_args!("error: {text}"));
            ExitCode::FAILURE
        }
    }
}
