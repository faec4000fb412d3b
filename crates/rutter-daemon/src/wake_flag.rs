//! The flag of a pending wake-up: other threads wake an I/O thread once, whatever the number of their messages.
//!
//! The protocol: a thread with a message publishes it, then raises the flag, and wakes the poll if it was down. The I/O
//! thread acknowledges a wake-up first, and looks for messages afterwards.

use std::sync::atomic::{AtomicBool, Ordering};

/// An atomic flag; the model of the tests has its own.
pub(crate) trait Flag {
    /// Exchanges the value. Orders everything before it in this thread before everything after the exchange that reads it.
    fn swap(&self, value: bool) -> bool;
}

impl Flag for AtomicBool {
    fn swap(&self, value: bool) -> bool {
        AtomicBool::swap(self, value, Ordering::AcqRel)
    }
}

/// The flag of a thread.
#[derive(Default)]
pub(crate) struct WakeFlag<F = AtomicBool>(F);

impl<F: Flag> WakeFlag<F> {
    /// Announces a message. Returns whether the caller must wake the poll.
    pub(crate) fn raise(&self) -> bool {
        !self.0.swap(true)
    }

    /// Acknowledges a wake-up. A message of a thread that need not wake the poll is visible from here on.
    pub(crate) fn acknowledge(&self) {
        // Not a mere store: the messages are read afterwards, and a load may pass a store.
        self.0.swap(false);
    }
}

#[cfg(test)]
mod tests {
    // Loom's own `Arc` and locks cannot be dropped once Loom has found a deadlock, so the model has none.
    use std::sync::Arc;

    use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use loom::thread::{self, Thread};

    use super::*;

    impl Flag for AtomicBool {
        fn swap(&self, value: bool) -> bool {
            AtomicBool::swap(self, value, Ordering::AcqRel)
        }
    }

    /// A wrong flag: [`WakeFlag::acknowledge`] is a mere store.
    struct MereStore(AtomicBool);

    impl Flag for MereStore {
        fn swap(&self, value: bool) -> bool {
            if value {
                return self.0.swap(true, Ordering::AcqRel);
            }
            self.0.store(false, Ordering::Release);
            true
        }
    }

    /// What a thread does with a wake-up that it takes after it has run the commands.
    #[derive(Clone, Copy, PartialEq)]
    enum LateWakeUp {
        /// It does not sleep before it has run the commands again, as `Reactor::timeout` decides.
        Remembered,
        /// Wrong: it sleeps nevertheless.
        Forgotten,
    }

    /// A poll that reports wake-ups, as an eventfd that is registered edge-triggered: several before a poll are one.
    struct ModelPoll(AtomicBool);

    impl ModelPoll {
        fn signal(&self, sleeper: &Thread) {
            self.0.swap(true, Ordering::AcqRel);
            sleeper.unpark();
        }

        /// Returns whether there was a wake-up. With `sleeps` waits for one.
        fn poll(&self, sleeps: bool) -> bool {
            loop {
                let signalled = self.0.swap(false, Ordering::AcqRel);
                if signalled || !sleeps {
                    return signalled;
                }
                thread::park();
            }
        }
    }

    /// A mailbox with one kind of message that is taken, as commands are, and one that is only read, as the end of a group's
    /// log is.
    struct Model<F> {
        flag: WakeFlag<F>,
        poll: ModelPoll,
        commands: AtomicUsize,
        log_end: AtomicUsize,
    }

    impl<F: Flag> Model<F> {
        fn wake(&self, sleeper: &Thread) {
            if self.flag.raise() {
                self.poll.signal(sleeper);
            }
        }

        /// The turns of an I/O thread, as in `reactor.rs`, until it has seen so many messages. It never polls again if a
        /// wake-up is lost: Loom then reports a deadlock.
        fn run(&self, commands: usize, log_end: usize, late: LateWakeUp) {
            let (mut executed, mut sent, mut woken) = (0, 0, false);
            while executed < commands || sent < log_end {
                let sleeps = !woken || late == LateWakeUp::Forgotten;
                woken |= self.note(sleeps);
                if std::mem::take(&mut woken) {
                    executed += self.commands.swap(0, Ordering::AcqRel);
                }
                // After the commands it looks for more input.
                woken = self.note(false);
                sent = self.log_end.load(Ordering::Acquire);
            }
        }

        fn note(&self, sleeps: bool) -> bool {
            let is_woken = self.poll.poll(sleeps);
            if is_woken {
                self.flag.acknowledge();
            }
            is_woken
        }
    }

    /// Explores a thread that is posted a command while another thread appends to a log twice. Each thread may be
    /// interrupted three times.
    fn explore<F: Flag + Send + Sync + 'static>(
        new_flag: impl Fn(AtomicBool) -> F + Send + Sync + 'static,
        late: LateWakeUp,
    ) {
        let mut explored = loom::model::Builder::new();
        explored.preemption_bound = Some(3);
        explored.check(move || {
            let model = Arc::new(Model {
                flag: WakeFlag(new_flag(AtomicBool::new(false))),
                poll: ModelPoll(AtomicBool::new(false)),
                commands: AtomicUsize::new(0),
                log_end: AtomicUsize::new(0),
            });
            let running = Arc::clone(&model);
            let io = thread::spawn(move || running.run(1, 2, late));
            let (posting, io_thread) = (Arc::clone(&model), io.thread().clone());
            let poster = thread::spawn(move || {
                posting.commands.fetch_add(1, Ordering::AcqRel);
                posting.wake(&io_thread);
            });
            for end in 1..=2 {
                model.log_end.store(end, Ordering::Release);
                model.wake(io.thread());
            }
            poster.join().unwrap();
            io.join().unwrap();
        });
    }

    #[test]
    fn no_wake_up_is_lost_in_any_interleaving() {
        explore(|flag| flag, LateWakeUp::Remembered);
    }

    /// Once a neighbor got our OPEN only after half a minute.
    #[test]
    #[should_panic(expected = "deadlock")]
    fn the_model_finds_a_wake_up_that_is_forgotten() {
        explore(|flag| flag, LateWakeUp::Forgotten);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn the_model_finds_messages_that_are_read_before_the_acknowledgement() {
        explore(MereStore, LateWakeUp::Remembered);
    }
}
