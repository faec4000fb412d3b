//! The latency of one prefix under other load: queries, dumps, reloads, clients that are slow or lost.
//!
//! Each scene is measured three times: before, during and after it. The measurement before it is repeated for each
//! scene, because the speed of shared machines varies.

mod postgres;
mod scene;
mod visitors;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

pub use scene::Scene;
pub use visitors::Answers;

use crate::latency::{self, Latency};
use crate::scenario::Subject;
use crate::speaker::{Fleet, FleetError};

/// One scene, measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The scene that was repeated.
    pub scene: Scene,
    /// How often it was repeated.
    pub times: u64,
    /// The answers that a scene with visitors received.
    pub answers: Option<Answers>,
    /// The latency before the scene.
    pub quiet: Latency,
    /// The latency during the scene.
    pub during: Latency,
    /// The latency after the scene.
    pub after: Latency,
    /// Why the scene failed.
    pub trouble: Option<String>,
}

/// Threads of the fleet that scenes need: one for the timed prefix, one for the disturbed clients.
pub const THREADS: usize = 2;
const BETWEEN: Duration = Duration::from_millis(700);

/// Plays the scenes that work with the daemon, with this many rounds per measurement. Returns the measurements and the
/// error that ended them early, if any.
pub(crate) fn measure(
    fleet: &Fleet,
    subject: &Subject,
    (scenes, rounds): (&[Scene], u32),
    timeout: Duration,
) -> (Vec<Measured>, Option<FleetError>) {
    let mut measured = Vec::new();
    let clients = fleet.bench().workload.peers.len();
    let announcers = fleet.bench().workload.announcers();
    let kind = subject.started().map(|(kind, _)| kind);
    for &scene in scenes {
        if scene.is_known_to(kind, clients) {
            let played = play(fleet, subject, scene, rounds).and_then(|played| {
                measured.extend(played);
                fleet.wait_exact(clients, announcers, timeout, |_| {})
            });
            if let Err(error) = played {
                return (measured, Some(error));
            }
        }
    }
    (measured, None)
}

fn play(
    fleet: &Fleet,
    subject: &Subject,
    scene: Scene,
    rounds: u32,
) -> Result<Option<Measured>, FleetError> {
    let stop = AtomicBool::new(false);
    let quiet = latency::measure(fleet, rounds)?;
    let (during, done) = thread::scope(|threads| {
        let acting = threads.spawn(|| scene.act(fleet, subject, &stop));
        thread::sleep(BETWEEN);
        let during = latency::measure(fleet, rounds);
        stop.store(true, Ordering::Release);
        (during, acting.join())
    });
    let (done, trouble) = match done {
        Ok(Ok(done)) => (done, None),
        Ok(Err(error)) => (Done::default(), Some(error.to_string())),
        Err(_) => (
            Done::default(),
            Some("the scene's thread panicked".to_owned()),
        ),
    };
    thread::sleep(BETWEEN);
    let after = latency::measure(fleet, rounds)?;
    let all = (quiet, during?, after);
    Ok(match all {
        (Some(quiet), Some(during), Some(after)) => Some(Measured {
            scene,
            times: done.times,
            answers: done.answers,
            quiet,
            during,
            after,
            trouble,
        }),
        _ => None,
    })
}

/// What a scene did.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// How often it was repeated.
    times: u64,
    answers: Option<Answers>,
}

impl From<u64> for Done {
    fn from(times: u64) -> Self {
        Done {
            times,
            answers: None,
        }
    }
}

impl From<Answers> for Done {
    fn from(answers: Answers) -> Self {
        Done {
            times: answers.times.map_or(0, |times| times.rounds as u64),
            answers: Some(answers),
        }
    }
}

/// Waits, but not longer than until `stop` is set.
fn pause(stop: &AtomicBool, length: Duration) {
    let until = Instant::now() + length;
    while Instant::now() < until && !stop.load(Ordering::Acquire) {
        thread::sleep(Duration::from_millis(10));
    }
}
