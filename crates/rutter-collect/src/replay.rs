//! `rutter replay`: MRT files to a BGP daemon.

use std::time::Duration;

use rutter_collector::Stop;
use rutter_collector::mrt::{Progress, Stream, find};
use rutter_collector::replay::{Player, ReplaySettings};

use crate::bar::Bar;
use crate::cli::ReplayArgs;
use crate::failure::Failure;

/// Plays all files; then keeps the sessions up unless told otherwise.
pub(crate) fn replay(args: &ReplayArgs) -> Result<(), Failure> {
    let inputs = find(&args.files)?;
    let progress = Progress::new();
    let bar = Bar::of_files(&inputs, &progress);
    let settings = ReplaySettings {
        to: args.to,
        asn: args.asn,
        peer: args.peer,
        each_from: args.each_from,
        from: args.from,
        speed: args.speed,
    };
    let mut player = Player::new(settings, Stop::new());
    let failed = |error: &dyn std::error::Error| Failure::text(error.to_string());
    let mut broken = None;
    for input in &inputs {
        let mut stream = Stream::open(input, &progress).map_err(|e| failed(&e))?;
        loop {
            match stream.next_record() {
                Ok(Some(record)) => player.play(&record).map_err(|e| failed(&e))?,
                Ok(None) => break,
                Err(error) => {
                    bar.say(&format!("error: {error}"));
                    broken = Some(failed(&error));
                    break;
                }
            }
        }
    }
    let played = player.finish().map_err(|e| failed(&e))?;
    bar.end();
    eprintln!(
        "{} routes to {} in {} sessions{}",
        played.routes,
        args.to,
        played.sessions,
        match played.too_long {
            0 => String::new(),
            n => format!("; {n} UPDATEs left out, longer than 4,096 octets"),
        }
    );
    if args.end {
        return broken.map_or(Ok(()), Err);
    }
    eprintln!("the sessions stay up; Ctrl-C ends them");
    loop {
        if let Some(why) = player.ended() {
            return Err(Failure::text(why));
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}
