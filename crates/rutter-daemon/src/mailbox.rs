//! The commands of other threads to an I/O thread, and its wake-up.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;

use mio::{Registry, Token, Waker};
use parking_lot::Mutex;
use rutter_config::MaxPrefix;
use rutter_net::Family;
use rutter_session::StopReason;

use crate::wake_flag::WakeFlag;

/// A command to the thread that owns a neighbor.
pub(crate) enum Command {
    /// Carry out the order that waits for a neighbor in the [`crate::peer_table::PeerTable`].
    Settle(IpAddr),
    /// Give an accepted connection to the neighbor's session.
    Accepted { remote: IpAddr, stream: TcpStream },
    /// Carry out an operator's action on one session.
    Clear { neighbor: IpAddr, action: Clear },
    /// More prefixes are advertised to a neighbor than `max-prefix-out` allows: end its session.
    OutLimitExceeded {
        neighbor: IpAddr,
        family: Family,
        limit: MaxPrefix,
    },
    /// The table takes more memory than it may, and the routes of this neighbor's AS take the most: end its session.
    OutOfMemory { neighbor: IpAddr },
    /// The table takes more memory than it may: remove this neighbor's stale routes.
    RemoveStale { neighbor: IpAddr },
    /// Request all routes of a family from a neighbor, because some are missing that have room now.
    RequestRefresh { neighbor: IpAddr, family: Family },
    /// Free the working memory of a burst of UPDATEs.
    ReleaseBuffers,
    /// The restart time since our start is over: new OPENs do not say any more that we restarted.
    RestartIsOver,
    /// End all sessions, then the thread.
    Shutdown { reason: StopReason, text: Arc<str> },
}

/// An operator's action on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clear {
    /// Reset the session with Cease/Administrative Reset.
    Hard,
    /// Re-advertise all routes of a family.
    SoftOut(Family),
}

/// The queue of commands to one I/O thread. At most one wake-up is pending at a time.
pub(crate) struct Mailbox {
    commands: Mutex<VecDeque<Command>>,
    woken: WakeFlag,
    waker: Waker,
}

/// The largest number of waiting commands besides [`Command::Settle`]. A thread takes all of them in each turn.
const CAPACITY: usize = 16_384;

impl Mailbox {
    pub(crate) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        Ok(Mailbox {
            commands: Mutex::default(),
            woken: WakeFlag::default(),
            waker: Waker::new(registry, token)?,
        })
    }

    /// Queues a command, or returns it if the queue is full.
    pub(crate) fn post(&self, command: Command) -> Result<(), Command> {
        let mut commands = self.commands.lock();
        if commands.len() >= CAPACITY {
            return Err(command);
        }
        commands.push_back(command);
        drop(commands);
        self.wake();
        Ok(())
    }

    /// Queues that an order waits for a neighbor. The queue has room for it always: each neighbor has one at a time.
    pub(crate) fn post_order(&self, address: IpAddr) {
        self.commands.lock().push_back(Command::Settle(address));
        self.wake();
    }

    /// Makes the thread's poll return. Further calls have no effect until [`Mailbox::acknowledge`].
    pub(crate) fn wake(&self) {
        if self.woken.raise()
            && let Err(error) = self.waker.wake()
        {
            tracing::error!(%error, "cannot wake an I/O thread");
        }
    }

    /// Acknowledges a wake-up: the next [`Mailbox::wake`] wakes the thread again. The thread must call this before it
    /// takes the commands.
    pub(crate) fn acknowledge(&self) {
        self.woken.acknowledge();
    }

    /// Returns whether no command waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.commands.lock().is_empty()
    }

    /// Takes all waiting commands.
    pub(crate) fn take(&self) -> VecDeque<Command> {
        std::mem::take(&mut *self.commands.lock())
    }
}
