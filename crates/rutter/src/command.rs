//! From what was typed to what is done.

use std::ffi::OsString;

use rutter_api::{ClearHow, Request, RouteFilter};

use crate::ask::ask;
use crate::cli::{Ask, ClearArgs, Command, Show};
use crate::failure::Failure;
use crate::{check, collector, demo, enrich, export, lookup, run};

/// Does what was typed.
pub(crate) fn perform(command: Command, how: &Ask) -> Result<(), Failure> {
    match command {
        Command::Run {
            file,
            end_with_stdin,
        } => run::run(&file, end_with_stdin, how),
        Command::Check { file } => check::check(&file, how),
        Command::Diff { file, against } => check::diff(file, against, how),
        Command::Reload => ask(how, Request::Reload),
        Command::Show(show) => ask(how, show_request(show.what)),
        Command::Explain { target } => ask(how, Request::Explain { target }),
        Command::Lookup(args) => lookup::lookup(how, &args),
        Command::Enrich(args) => enrich::enrich(how, &args),
        Command::Export(args) => export::export(how, args.what),
        Command::Clear(args) => ask(how, clear_request(args)),
        Command::Log { follow } => ask(how, Request::Log { follow }),
        Command::Stop { text } => ask(how, Request::Shutdown { text }),
        Command::Demo(args) => demo::demo(&args, how),
        Command::Collect { arguments } => collector::run("collect", arguments),
        Command::Mrt { arguments } => collector::run("mrt", arguments),
        Command::Sql { arguments } => collector::run("sql", arguments),
        Command::Replay { arguments } => collector::run("replay", arguments),
        Command::Bench { arguments } => bench(arguments),
    }
}

/// Measures; the bench reads its own arguments.
pub(crate) fn bench(arguments: Vec<OsString>) -> Result<(), Failure> {
    rutter_bench::daemons::set_own_kind(rutter_bench::daemons::Kind::Rutter);
    match rutter_bench::cli::main(arguments) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::Said),
        Err(text) => Err(Failure::Text(text)),
    }
}

fn show_request(what: Show) -> Request {
    match what {
        Show::Status => Request::Status,
        Show::Peers => Request::Peers,
        Show::Peer { peer } => Request::Peer { peer },
        Show::Routes {
            rejected,
            best,
            filter,
        } => Request::Routes(RouteFilter {
            rejected,
            best,
            ..filter.into()
        }),
        Show::Route { target } => Request::Route { target },
        Show::Rejected { reason, filter } => Request::Rejected(RouteFilter {
            reason,
            ..filter.into()
        }),
        Show::Attributes { limit } => Request::Attributes { limit },
        Show::Memory => Request::Memory,
        Show::Sinks => Request::Sinks,
        Show::Routers => Request::Routers,
    }
}

fn clear_request(args: ClearArgs) -> Request {
    let how = match (args.soft_in, args.soft_out) {
        (true, _) => ClearHow::SoftIn,
        (_, true) => ClearHow::SoftOut,
        _ => ClearHow::Hard,
    };
    Request::Clear {
        peer: args.peer,
        how,
    }
}
