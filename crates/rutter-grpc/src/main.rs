//! `rutter grpc`: a server that answers gRPC from the sockets of a daemon.
//!
//! ```text
//! gRPC client ─► Admission ─► ReaderService, ControlService ─► messages ─► rutter_api::Request ─► the daemon's socket
//!  (rate, role)                        message ◄── messages ◄── rutter_api::Line ◄──┘
//! ```
//! It is a process of its own: HTTP/2 is no part of the route server, and a failure here ends no session. One file in
//! `messages` maps each noun. Everything that a client can use is limited. See `docs/grpc.md`.

mod admission;
mod cli;
mod connections;
mod control;
mod daemon;
#[cfg(test)]
mod golden;
mod health;
mod messages;
mod reader;
mod reflection;
mod request_size;
mod server;
mod watch;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::Cli;

/// The messages and services of `proto/rutter/v1`.
#[allow(missing_docs, clippy::all)]
mod v1 {
    tonic::include_proto!("rutter.v1");

    /// All of them, for server reflection.
    pub(crate) const DESCRIPTION: &[u8] =
        include_bytes!(concat!(env!("OUT_DIR"), "/description.bin"));
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        // Reads, control and health have places of their own.
        .max_blocking_threads(2 * daemon::ANSWERS + 1)
        .enable_all()
        .build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(server::run(cli));
            // A daemon that hangs does not delay the end.
            runtime.shutdown_background();
            result
        }
        Err(error) => Err(format!("cannot start threads: {error}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}
