//! Questions of the user that take the daemon longer than a sample: routes of a member, the explanation of a prefix.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Sender;
use std::time::Duration;

use rutter_api::{Line, Request, RouteFilter, RouteRow};

use crate::poll::{Event, rows};

/// A question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Question {
    /// The first routes of a member.
    Routes {
        /// The member's name.
        member: String,
        /// Rejected routes only.
        rejected: bool,
    },
    /// A session, as `rutter show peer` prints it.
    Session(String),
    /// A destination, as `rutter explain` prints it.
    Explain(String),
}

/// An answer, with its question.
#[derive(Debug)]
pub struct Answer {
    /// The question.
    pub question: Question,
    /// Its result.
    pub result: Result<Found, String>,
}

/// The result of a question.
#[derive(Debug)]
pub enum Found {
    /// Routes, [`LIMIT`] at most.
    Routes(Vec<RouteRow>),
    /// Lines of text.
    Text(Vec<String>),
}

/// The number of routes of a member that are shown.
pub const LIMIT: u64 = 1_000;

/// The longest wait for routes: the daemon may search its whole table for the first one.
const PATIENCE: Duration = Duration::from_secs(60);

/// Finds the answer in a thread.
pub fn ask(socket: &Path, question: Question, events: &Sender<Event>) {
    let (socket, events) = (socket.to_owned(), events.clone());
    std::thread::spawn(move || {
        let result = find(&socket, &question);
        // After the end of the program nobody waits for it.
        let _ = events.send(Event::Answer(Answer { question, result }));
    });
}

fn find(socket: &Path, question: &Question) -> Result<Found, String> {
    match question {
        Question::Routes { member, rejected } => {
            let filter = RouteFilter {
                peer: Some(member.clone()),
                rejected: *rejected,
                limit: Some(LIMIT),
                ..RouteFilter::default()
            };
            let lines =
                rows(socket, Request::Routes(filter), PATIENCE).map_err(|why| why.to_string())?;
            let routes = lines.into_iter().filter_map(|line| match line {
                Line::Route(row) => Some(*row),
                _ => None,
            });
            let mut routes: Vec<_> = routes.collect();
            routes.sort_by_key(|row| row.prefix);
            Ok(Found::Routes(routes))
        }
        Question::Session(member) => text(socket, &["show", "peer", member]),
        Question::Explain(prefix) => text(socket, &["explain", prefix]),
    }
}

/// The output of a command of `rutter`: the text is made in one place.
fn text(socket: &Path, arguments: &[&str]) -> Result<Found, String> {
    let program: PathBuf = std::env::current_exe()
        .map_err(|why| why.to_string())?
        .with_file_name("rutter");
    let output = Command::new(&program)
        .args(arguments)
        .args(["--color", "never", "--socket"])
        .arg(socket)
        .output()
        .map_err(|why| format!("{}: {why}", program.display()))?;
    let text = match output.status.success() {
        true => output.stdout,
        false => output.stderr,
    };
    let text = String::from_utf8_lossy(&text);
    Ok(Found::Text(text.lines().map(str::to_owned).collect()))
}
