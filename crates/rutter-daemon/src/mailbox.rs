//! What other threads ask of an I/O thread, and how it is woken.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mio::{Registry, Token, Waker};
use parking_lot::Mutex;
use rutter_net::Family;

use crate::neighbor::Plan;

/// One request to the thread that owns a neighbor.
pub(crate) enum Command {
    /// A new neighbor; its session starts.
    Add(Box<Plan>),
    /// A neighbor is not configured any more: its session ends and its routes go.
    Remove(IpAddr),
    /// Other settings. With `reset`, the session ends and starts anew with them.
    Replace { plan: Box<Plan>, reset: bool },
    /// A connection from the neighbor was accepted.
    Accepted { remote: IpAddr, stream: TcpStream },
    /// An operator acts on one session.
    Clear { neighbor: IpAddr, what: Clear },
    /// The table has come to rest: working memory of the burst before is not needed.
    ReleaseBuffers,
    /// All sessions end with Cease/Administrative Shutdown, then the thread does.
    Shutdown { text: Arc<str> },
}

/// What an operator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clear {
    /// Cease/Administrative Reset; the session comes back.
    Hard,
    /// Send it everything of a family again.
    SoftOut(Family),
}

/// The letter box of one I/O thread. Wake-ups are coalesced: one at most is on its way.
pub(crate) struct Mailbox {
    letters: Mutex<VecDeque<Command>>,
    woken: AtomicBool,
    waker: Waker,
}

/// Letters that may wait; a thread empties its box every turn.
const CAPACITY: usize = 16_384;

impl Mailbox {
    pub(crate) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        Ok(Mailbox {
            letters: Mutex::default(),
            woken: AtomicBool::new(false),
            waker: Waker::new(registry, token)?,
        })
    }

    /// Leaves a command, or hands it back where the thread is not keeping up.
    pub(crate) fn post(&self, command: Command) -> Result<(), Command> {
        let mut letters = self.letters.lock();
        if letters.len() >= CAPACITY {
            return Err(command);
        }
        letters.push_back(command);
        drop(letters);
        self.wake();
        Ok(())
    }

    /// Makes the thread's poll return, once for any number of calls until it does.
    pub(crate) fn wake(&self) {
        if !self.woken.swap(true, Ordering::AcqRel)
            && let Err(error) = self.waker.wake()
        {
            tracing::error!(%error, "cannot wake an I/O thread");
        }
    }

    /// The thread woke up: later calls of [`Self::wake`] count again. Call before looking at anything that the
    /// wake-up may be about.
    pub(crate) fn awake(&self) {
        self.woken.store(false, Ordering::Release);
    }

    /// Everything that waits.
    pub(crate) fn take(&self) -> VecDeque<Command> {
        std::mem::take(&mut *self.letters.lock())
    }
}
