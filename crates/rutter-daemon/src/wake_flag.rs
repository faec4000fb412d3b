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
    use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use loom::sync::{Arc, Condvar, Mutex};
    use loom::thread;

    use super::*;

    impl Flag for AtomicBool {
        fn swap(&self, value: bool) -> bool {
            AtomicBool::swap(self, value, Ordering::AcqRel)
        }
    }

    /// A poll that reports wake-ups, as an eventfd that is registered edge-triggered: several before a poll are one.
    #[derive(Default)]
    struct ModelPoll {
        signalled: Mutex<bool>,
        wake: Condvar,
    }

    impl ModelPoll {
        fn signal(&self) {
            *self.signalled.lock().unwrap() = true;
            self.wake.notify_one();
        }

        /// Returns whether there was a wake-up. With `sleeps` waits for one.
        fn poll(&self, sleeps: bool) -> bool {
            let mut signalled = self.signalled.lock().unwrap();
            while sleeps && !*signalled {
                signalled = self.wake.wait(signalled).unwrap();
            }
            std::mem::take(&mut *signalled)
        }
    }

    /// A mailbox with one kind of message behind a lock, as commands are, and one in an atomic number, as the end of a
    /// group's log is.
    struct Model {
        flag: WakeFlag<AtomicBool>,
        poll: ModelPoll,
        commands: Mutex<usize>,
        log_end: AtomicUsize,
    }

    impl Model {
        fn wake(&self) {
            if self.flag.raise() {
                self.poll.signal();
            }
        }

        /// The turns of an I/O thread, as in `reactor.rs`, until it has seen so many messages. It never polls again if a
        /// wake-up is lost: Loom then reports a deadlock.
        fn run(&self, commands: usize, log_end: usize) {
            let (mut executed, mut sent, mut woken) = (0, 0, false);
            while executed < commands || sent < log_end {
                woken |= self.note(!woken);
                // While it reads sockets, it polls again, but runs no commands.
                let again = self.note(false);
                if std::mem::take(&mut woken) {
                    executed += std::mem::take(&mut *self.commands.lock().unwrap());
                }
                woken = again;
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

    /// Each thread may be interrupted three times. A mere store in `acknowledge` is found.
    #[test]
    fn no_wake_up_is_lost_in_any_interleaving() {
        let mut explored = loom::model::Builder::new();
        explored.preemption_bound = Some(3);
        explored.check(|| {
            let model = Arc::new(Model {
                flag: WakeFlag(AtomicBool::new(false)),
                poll: ModelPoll::default(),
                commands: Mutex::new(0),
                log_end: AtomicUsize::new(0),
            });
            let posting = Arc::clone(&model);
            let poster = thread::spawn(move || {
                *posting.commands.lock().unwrap() += 1;
                posting.wake();
            });
            let publishing = Arc::clone(&model);
            let publisher = thread::spawn(move || {
                for end in 1..=2 {
                    publishing.log_end.store(end, Ordering::Release);
                    publishing.wake();
                }
            });
            model.run(1, 2);
            poster.join().unwrap();
            publisher.join().unwrap();
        });
    }
}
