//! The moment at which a thread that follows the table has read everything, and stands still.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The position of a follower: its run, and the number of its next event.
pub type FeedPosition = (u64, u64);

/// Lets a thread that follows the table stand still, while another process may take its position over. Clones share it.
#[derive(Clone, Default, Debug)]
pub struct FeedPause(Arc<Desk>);

#[derive(Default, Debug)]
struct Desk {
    stage: Mutex<Stage>,
    changed: Condvar,
}

#[derive(Clone, Default, Debug)]
enum Stage {
    #[default]
    Runs,
    Requested,
    /// The follower stands still, or it cannot for this reason.
    Stands(Result<FeedPosition, String>),
    /// Another process goes on.
    GivenUp,
}

/// A follower that stands still. Dropping it lets the follower go on.
#[derive(Debug)]
pub struct Paused {
    desk: Arc<Desk>,
    /// Its position.
    pub position: FeedPosition,
}

impl FeedPause {
    /// Asks the follower to stand still, when nobody changes the table. [`FeedPause::wait`] waits until it does.
    pub fn request(&self) {
        *self.0.stage.lock() = Stage::Requested;
    }

    /// Waits until the follower stands still. `None` if that takes too long: it goes on. An error is for the operator.
    pub fn wait(&self, until: Instant) -> Result<Option<Paused>, String> {
        let mut stage = self.0.stage.lock();
        let is_requested = |stage: &mut Stage| matches!(stage, Stage::Requested);
        let changed = &self.0.changed;
        changed.wait_while_until(&mut stage, is_requested, until);
        match std::mem::take(&mut *stage) {
            Stage::Stands(Ok(position)) => {
                *stage = Stage::Stands(Ok(position));
                let desk = Arc::clone(&self.0);
                Ok(Some(Paused { desk, position }))
            }
            Stage::Stands(Err(why)) => {
                changed.notify_all();
                Err(why)
            }
            _ => Ok(None),
        }
    }

    /// Returns whether the follower is to read everything and to call [`FeedPause::stand`].
    pub fn is_requested(&self) -> bool {
        matches!(*self.0.stage.lock(), Stage::Requested)
    }

    /// Stands still at a position until another decides. Returns whether to go on; otherwise another process does, and this
    /// one must write nothing more.
    pub fn stand(&self, position: Result<FeedPosition, String>) -> bool {
        let mut stage = self.0.stage.lock();
        // The request may have been withdrawn by now.
        if matches!(*stage, Stage::Requested) {
            *stage = Stage::Stands(position);
            self.0.changed.notify_all();
        }
        let stands = |stage: &mut Stage| matches!(stage, Stage::Stands(_));
        self.0.changed.wait_while(&mut stage, stands);
        !matches!(*stage, Stage::GivenUp)
    }
}

impl Paused {
    /// Ends the follower: another process goes on.
    pub fn give_up(self) {
        *self.desk.stage.lock() = Stage::GivenUp;
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        let mut stage = self.desk.stage.lock();
        if !matches!(*stage, Stage::GivenUp) {
            *stage = Stage::Runs;
        }
        self.desk.changed.notify_all();
    }
}

/// The time within which a follower has read everything, if it is not far behind.
pub const FEED_PATIENCE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(600)
    }

    #[test]
    fn a_follower_stands_still_until_somebody_decides() {
        let pause = FeedPause::default();
        let follower = pause.clone();
        let thread = thread::spawn(move || {
            let mut stood = 0;
            loop {
                if follower.is_requested() {
                    stood += 1;
                    if !follower.stand(Ok((7, stood))) {
                        return stood;
                    }
                }
                thread::yield_now();
            }
        });
        for stood in 1..3 {
            pause.request();
            let paused = pause.wait(soon()).expect("no error").expect("in time");
            assert_eq!(paused.position, (7, stood));
        }
        pause.request();
        pause
            .wait(soon())
            .expect("no error")
            .expect("in time")
            .give_up();
        assert_eq!(thread.join().expect("no panic"), 3);
    }

    #[test]
    fn a_follower_that_cannot_says_why_and_goes_on() {
        let pause = FeedPause::default();
        pause.request();
        assert!(pause.wait(Instant::now()).expect("no error").is_none());
        assert!(!pause.is_requested());
        pause.request();
        let follower = pause.clone();
        let thread = thread::spawn(move || follower.stand(Err("the disk is full".into())));
        assert_eq!(
            pause.wait(soon()).map(|_| ()),
            Err("the disk is full".into())
        );
        assert!(thread.join().expect("no panic"));
    }
}
