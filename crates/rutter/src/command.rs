//! Runs commands.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rutter_api::{
    AdvertisedList, AdvertisedQuery, ApplyOrder, ClearHow, Line, MAX_CONFIGURATION, Request,
    RouteFilter, SourceAction, WhatIf,
};
use rutter_config::ConfigSource;

use crate::cli::{
    ApplyArgs, ClearArgs, Command, CommonOptions, ImportFrom, Shell, Show, SourceActionArg,
};
use crate::failure::Failure;
use crate::request::{self, send};
use crate::{arouteserver, check, demo, enrich, export, init, lookup, other_program, run, shadow};

/// Runs a command.
pub(crate) fn run_command(command: Command, options: &CommonOptions) -> Result<(), Failure> {
    if options.json {
        refuse_json(&command)?;
    }
    match command {
        Command::Run {
            file,
            arouteserver,
            more,
            end_with_stdin,
            take_over,
        } => {
            let source = match arouteserver.as_slice() {
                [general, clients] => arouteserver::source(general, clients, &more)?,
                _ => ConfigSource::File(std::path::absolute(file)?),
            };
            let stdin = match (end_with_stdin, take_over) {
                (true, _) => run::Stdin::EndsDaemon,
                (_, true) => run::Stdin::Predecessor,
                _ => run::Stdin::Unused,
            };
            run::run(source, stdin, options)
        }
        Command::Import { from } => match from {
            ImportFrom::Arouteserver {
                general,
                clients,
                more,
            } => arouteserver::import(&general, &clients, &more, options),
        },
        Command::Init(args) => init::init(args, options),
        Command::Check { file } => check::check(configuration(file)?, options),
        Command::Diff {
            file,
            against,
            routes,
            sources,
            limit,
        } => {
            if sources {
                let routes = limit.unwrap_or(0);
                return send(options, Request::DiffSources { routes });
            }
            let routes = routes.then(|| limit.unwrap_or(0));
            check::diff(file, against, routes, options)
        }
        Command::Reload => send(options, Request::Reload),
        Command::Upgrade => upgrade(options),
        Command::Apply(args) => send(options, Request::Apply(apply_order(args)?)),
        Command::Confirm => send(options, Request::Confirm),
        Command::Rollback { number } => send(options, Request::Rollback { number }),
        Command::History => send(options, Request::History),
        Command::Show(show) => send(options, show_request(show.what)),
        Command::Explain {
            target,
            from,
            path,
            community,
            next_hop,
        } => {
            let what_if = from.map(|from| WhatIf {
                from,
                as_path: path,
                communities: community,
                next_hop,
            });
            send(options, Request::Explain { target, what_if })
        }
        Command::Lookup(args) => lookup::lookup(options, &args),
        Command::Enrich(args) => enrich::enrich(options, &args),
        Command::Export(args) => export::export(options, args.what),
        Command::Clear(args) => send(options, clear_request(args)),
        Command::Source { action, name } => send(options, source_request(action, name)),
        Command::Top { interval } => {
            request::check_answers(options)?;
            let arguments = [request::socket(options).into_os_string(), interval.into()];
            other_program::TOP.run("top", arguments)
        }
        Command::Log { follow } => send(options, Request::Log { follow }),
        Command::Stop { text } => send(options, Request::Shutdown { text }),
        Command::Completion { shell } => {
            let script = completion_script(shell).as_bytes();
            Ok(io::stdout().write_all(script)?)
        }
        Command::Shadow(args) => shadow::shadow(&args, options),
        Command::Demo(args) => demo::demo(&args, options),
        Command::Collect { arguments } => other_program::run("collect", arguments),
        Command::Mrt { arguments } => other_program::run("mrt", arguments),
        Command::Sql { arguments } => other_program::run("sql", arguments),
        Command::Grpc { arguments } => other_program::run("grpc", arguments),
        Command::Replay { arguments } => other_program::run("replay", arguments),
        Command::Bench { arguments } => bench(arguments),
    }
}

/// Refuses `--json` for a command whose output is no rows.
fn refuse_json(command: &Command) -> Result<(), Failure> {
    let (word, other) = match command {
        Command::Top { .. } => ("top", "read `rutter show status --json` instead"),
        Command::Init(_) => ("init", "it writes TOML"),
        Command::Completion { .. } => ("completion", "it prints a script"),
        _ => return Ok(()),
    };
    Err(Failure::Status2(Some(format!(
        "`rutter {word}` has no JSON: {other}"
    ))))
}

/// Hands over to the installed version, and returns when the new process answers.
fn upgrade(options: &CommonOptions) -> Result<(), Failure> {
    let before = pid(options);
    send(options, Request::Upgrade)?;
    for _ in 0..ANSWERS {
        if pid(options).is_some_and(|pid| Some(pid) != before) {
            return Ok(());
        }
        thread::sleep(ANSWER_INTERVAL);
    }
    Err(Failure::text(
        "the new process does not answer on its control socket yet; see its log",
    ))
}

/// The process that answers on the control socket.
fn pid(options: &CommonOptions) -> Option<u32> {
    let client = request::connect(options).ok()?;
    client.set_patience(request::PATIENCE).ok()?;
    let mut answer = client.call(Request::Status).ok()?;
    match answer.next()?.ok()? {
        Line::Status(row) => Some(row.pid),
        _ => None,
    }
}

/// How often the new process is asked for an answer, and the time between.
const ANSWERS: u32 = 150;
const ANSWER_INTERVAL: Duration = Duration::from_millis(100);

/// Returns the script with which a shell completes commands and options. A test makes these files from the commands.
pub(crate) fn completion_script(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => include_str!("completion/rutter.bash"),
        Shell::Zsh => include_str!("completion/rutter.zsh"),
        Shell::Fish => include_str!("completion/rutter.fish"),
    }
}

/// Runs the bench, which parses its own arguments.
pub(crate) fn bench(arguments: Vec<OsString>) -> Result<(), Failure> {
    rutter_bench::daemons::set_own_kind(rutter_bench::daemons::Kind::Rutter);
    match rutter_bench::cli::main(arguments) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::AlreadyReported),
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
            advertised_to: None,
            filter,
            ..
        } => Request::Routes(RouteFilter {
            rejected,
            best,
            ..filter.into()
        }),
        Show::Routes {
            best,
            advertised_to: Some(to),
            withheld,
            why,
            count,
            filter,
            ..
        } => Request::Advertised(AdvertisedQuery {
            to,
            list: match (withheld, count) {
                (true, _) => AdvertisedList::Withheld,
                (_, true) => AdvertisedList::Count,
                _ => AdvertisedList::Routes,
            },
            filter: RouteFilter {
                best,
                reason: why,
                ..filter.into()
            },
        }),
        Show::Route { target } => Request::Route { target },
        Show::Rejected { reason, filter } => Request::Rejected(RouteFilter {
            reason,
            ..filter.into()
        }),
        Show::Attributes { limit } => Request::Attributes { limit },
        Show::Memory => Request::Memory,
        Show::Sinks => Request::Sinks,
        Show::Sources => Request::Sources,
        Show::Stations => Request::Stations,
        Show::Routers => Request::Routers,
    }
}

/// The daemon has another working directory, so the path is absolute. It also has other pipes: those are read here, once
/// and to their end.
fn apply_order(args: ApplyArgs) -> Result<ApplyOrder, Failure> {
    let (file, text) = match configuration(args.file)? {
        ConfigSource::Text { name, text } => (name, Some(text)),
        ConfigSource::File(file) => (std::path::absolute(file)?, None),
    };
    Ok(ApplyOrder {
        file,
        text_bytes: None,
        text,
        confirm_s: args.confirm,
        max_loss: args.max_loss,
    })
}

/// A configuration of the command line: a file, or the text of a pipe or of standard input (`-`), which is read once.
pub(crate) fn configuration(file: PathBuf) -> Result<ConfigSource, Failure> {
    let is_pipe = |path: &Path| std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir());
    let (name, text) = match file.as_os_str() == "-" {
        true => ("standard input".into(), read_once(io::stdin())?),
        false if is_pipe(&file) => {
            let text = read_once(File::open(&file)?)?;
            (file, text)
        }
        false => return Ok(ConfigSource::File(file)),
    };
    Ok(ConfigSource::Text { name, text })
}

/// Reads a configuration from a pipe.
fn read_once(pipe: impl io::Read) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    pipe.take(MAX_CONFIGURATION + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_CONFIGURATION {
        return Err(Failure::text(format!(
            "the configuration is larger than {MAX_CONFIGURATION} bytes"
        )));
    }
    String::from_utf8(bytes).map_err(|_| Failure::text("the configuration is not UTF-8"))
}

fn source_request(action: SourceActionArg, name: String) -> Request {
    let action = match action {
        SourceActionArg::Refresh => SourceAction::Refresh,
        SourceActionArg::Accept => SourceAction::Accept,
    };
    Request::Source { name, action }
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
