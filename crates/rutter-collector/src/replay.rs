//! `rutter replay`: sends the routes of MRT files to a BGP daemon.

use std::time::Duration;

use rutter_api::units::plural;
use rutter_daemon::{Hangup, Signals};
use rutter_ingest::replay::{Player, ReplayCounts, ReplayError, ReplaySettings};
use rutter_mrt::{Progress, Reader, find_files};

use crate::bar::{Bar, Lines};
use crate::cli::ReplayArgs;
use crate::failure::Failure;

/// Plays all files. Then keeps the sessions up, unless `--end` is given.
pub(crate) fn replay(args: &ReplayArgs) -> Result<(), Failure> {
    let signals = Signals::install(Hangup::Ends)?;
    let to_end = || signals.stop_requested();
    let inputs = find_files(&args.files)?;
    let progress = Progress::new();
    let bar = Bar::of_files(&inputs, &progress, Lines::None);
    let settings = ReplaySettings {
        to: args.to,
        asn: args.asn,
        peer: args.peer,
        each_from: args.each_from,
        from: args.from,
        speed: args.speed,
    };
    let mut player = Player::new(settings, &to_end);
    let report = |line: &str| bar.report(line);
    let mut reader = Reader::new(&progress, &report).until(&to_end);
    let mut play = || -> Result<ReplayCounts, ReplayError> {
        for input in &inputs {
            let mut before = player.played().routes;
            reader.read(input, |record| {
                let outcome = player.play(record)?;
                let now = player.played().routes;
                progress.add_routes(now - before);
                before = now;
                Ok(outcome)
            })?;
        }
        player.finish()
    };
    let played = play();
    let verdict = reader.verdict();
    bar.end();
    let played = played.map_err(|error| Failure::text(error.to_string()))?;
    if to_end() {
        let routes = played.routes;
        return Err(Failure::text(format!("stopped after {routes} routes")));
    }
    print_summary(args, &played, verdict.is_err())?;
    if args.end {
        return verdict.map_err(Failure::text);
    }
    hold_sessions(&player, &to_end)
}

/// Reports the number of routes and sessions. Fails if nothing was played.
fn print_summary(args: &ReplayArgs, played: &ReplayCounts, broken: bool) -> Result<(), Failure> {
    if played.sessions == 0 {
        return Err(Failure::text(match (args.peer, broken) {
            (_, true) => "nothing was played: the files have no route that can be read".into(),
            (Some(peer), _) => format!("nothing was played: the files have no route of {peer}"),
            (None, _) => "nothing was played: the files have no routes".into(),
        }));
    }
    rutter_daemon::eprint_line(format_args!(
        "{} to {} in {}{}",
        plural(played.routes, "route"),
        args.to,
        plural(played.sessions as u64, "session"),
        match played.too_long {
            0 => String::new(),
            n => format!("; {n} UPDATEs left out, longer than 4,096 octets"),
        }
    ));
    Ok(())
}

/// Keeps the sessions up until one of them ends or a signal requests the stop.
fn hold_sessions(player: &Player<'_>, to_end: &dyn Fn() -> bool) -> Result<(), Failure> {
    rutter_daemon::eprint_line("the sessions stay up; Ctrl-C ends them");
    while !to_end() {
        if let Some(why) = player.ended() {
            return Err(Failure::text(why));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
