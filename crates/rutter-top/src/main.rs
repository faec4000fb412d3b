//! `rutter top`: what a daemon does now, in a terminal.
//!
//! ```text
//! poll (threads) ─► Event ─► Dashboard ─► screen ─► terminal
//! keys ────────────────┘        └─ Question ─► answers (a thread each) ─► Event
//! ```
//! The threads read the management socket, like any other command. The dashboard is plain data: tests press its keys and
//! draw it into memory.

mod answers;
mod dashboard;
mod member_table;
mod poll;
mod screen;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event as Input, KeyEventKind};

use crate::answers::ask;
use crate::dashboard::Dashboard;
use crate::poll::Event;

fn main() -> ExitCode {
    match arguments().and_then(|(socket, interval)| run(socket, interval)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The socket and the interval, as `rutter top` passes them.
fn arguments() -> Result<(PathBuf, Duration), String> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(socket), Some(interval), None) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("this program is a part of Rutter: run `rutter top`".to_owned());
    };
    let seconds = interval.to_str().and_then(|text| text.parse::<f64>().ok());
    let interval = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let interval = interval.filter(|interval| *interval >= SHORTEST);
    let interval = interval.ok_or("--interval is a number of seconds from 0.1")?;
    Ok((socket.into(), interval))
}

fn run(socket: PathBuf, interval: Duration) -> Result<(), String> {
    // A daemon that does not answer is an error before the screen changes. Later the dashboard waits for it.
    poll::sample(&socket).map_err(|why| format!("{}: {why}", socket.display()))?;
    let (sender, events) = mpsc::channel();
    poll::start(&socket, interval, &sender);
    read_keys(&sender);
    let mut terminal = ratatui::try_init().map_err(|why| format!("no terminal: {why}"))?;
    let result = draw(&mut terminal, &events, |question| {
        ask(&socket, question, &sender);
    });
    ratatui::restore();
    result.map_err(|why| why.to_string())
}

/// Draws until the user ends it.
fn draw(
    terminal: &mut DefaultTerminal,
    events: &Receiver<Event>,
    mut ask: impl FnMut(answers::Question),
) -> std::io::Result<()> {
    let mut dashboard = Dashboard::default();
    while !dashboard.is_ended() {
        terminal.draw(|frame| screen::draw(frame, &mut dashboard))?;
        let Ok(first) = events.recv() else {
            break;
        };
        // Everything that waits is one new picture.
        for event in std::iter::once(first).chain(events.try_iter()) {
            dashboard.handle(event).into_iter().for_each(&mut ask);
        }
    }
    Ok(())
}

/// Reads keys in a thread, which ends with the program.
fn read_keys(events: &Sender<Event>) {
    let events = events.clone();
    std::thread::spawn(move || {
        while let Ok(input) = event::read() {
            let event = match input {
                Input::Key(key) if key.kind != KeyEventKind::Release => Event::Key(key),
                Input::Resize(..) => Event::Resize,
                _ => continue,
            };
            if events.send(event).is_err() {
                return;
            }
        }
    });
}

/// The shortest interval between two samples.
const SHORTEST: Duration = Duration::from_millis(100);
