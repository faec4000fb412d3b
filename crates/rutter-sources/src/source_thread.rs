//! The thread of a source, and the signals that wake it.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// A thread that keeps one source up to date. Dropping the handle stops the thread without waiting for it.
#[derive(Debug)]
pub struct SourceThread {
    signals: SourceSignals,
    thread: JoinHandle<()>,
}

impl SourceThread {
    /// Starts a thread with a name, of which Linux shows 15 bytes. `body` returns when [`SourceSignals::wait`] returns
    /// `None`, and looks at [`SourceSignals::is_stopped`] during long work.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn start(
        name: &str,
        body: impl FnOnce(&SourceSignals) + Send + 'static,
    ) -> io::Result<Self> {
        let signals = SourceSignals::default();
        let own = signals.clone();
        let builder = std::thread::Builder::new().name(name.to_owned());
        let thread = builder.spawn(move || body(&own))?;
        Ok(SourceThread { signals, thread })
    }

    /// Asks for new data now.
    pub fn refresh(&self) {
        self.signals.raise(|wake| wake.refresh = true);
    }

    /// Accepts the data that the shrink guard refused.
    pub fn accept(&self) {
        self.signals.raise(|wake| wake.accept = true);
    }

    /// Reports that the settings changed.
    pub fn change_settings(&self) {
        self.signals.raise(|wake| wake.settings = true);
    }

    /// Asks for the last good copy on disk.
    pub fn save(&self) {
        self.signals.raise(|wake| wake.save = true);
    }

    /// Returns whether the thread is running. It ends without [`stop`](Self::stop) only if it panics.
    pub fn is_running(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Asks the thread to end, without waiting for it.
    pub fn signal_stop(&self) {
        self.signals.stop();
    }

    /// Stops the thread and waits for its end, at most for `timeout`. Returns whether it ended. A thread that waits for
    /// a connection or a name server ends when that wait is over.
    pub fn stop(self, timeout: Duration) -> bool {
        self.signals.stop();
        wait_for_end(&self.thread, timeout)
    }
}

impl Drop for SourceThread {
    fn drop(&mut self) {
        self.signals.stop();
    }
}

/// Waits until a thread ends, at most for `timeout`. Returns whether it ended.
pub(crate) fn wait_for_end(thread: &JoinHandle<()>, timeout: Duration) -> bool {
    let start = Instant::now();
    while !thread.is_finished() && start.elapsed() < timeout {
        std::thread::sleep(Duration::from_millis(2));
    }
    thread.is_finished()
}

/// The signals of a source's thread. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct SourceSignals(Arc<Signals>);

#[derive(Debug, Default)]
struct Signals {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    wake: SourceWake,
    stopped: bool,
}

impl SourceSignals {
    /// Waits until a signal is raised or the timeout is over. Returns the signals since the last call, all `false` after
    /// a timeout, or `None` if the thread must end. A signal that is raised several times is returned once.
    pub fn wait(&self, timeout: Duration) -> Option<SourceWake> {
        let end = Instant::now() + timeout.min(LONGEST_WAIT);
        let mut state = self.0.state.lock();
        while !state.stopped && state.wake == SourceWake::default() {
            if self.0.changed.wait_until(&mut state, end).timed_out() {
                break;
            }
        }
        (!state.stopped).then(|| std::mem::take(&mut state.wake))
    }

    /// Returns whether the thread must end.
    pub fn is_stopped(&self) -> bool {
        self.0.state.lock().stopped
    }

    fn raise(&self, set: impl FnOnce(&mut SourceWake)) {
        set(&mut self.0.state.lock().wake);
        self.0.changed.notify_all();
    }

    fn stop(&self) {
        self.0.state.lock().stopped = true;
        self.0.changed.notify_all();
    }
}

/// An `Instant` cannot be arbitrarily far away. Nothing waits a year.
const LONGEST_WAIT: Duration = Duration::from_secs(366 * 86_400);

/// The signals that woke a source's thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SourceWake {
    /// An operator asks for new data now.
    pub refresh: bool,
    /// An operator accepts the data that the shrink guard refused.
    pub accept: bool,
    /// The settings changed.
    pub settings: bool,
    /// The last good copy on disk is needed.
    pub save: bool,
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn signals_wake_the_thread_and_stop_ends_it() {
        let (sender, wakes) = mpsc::channel();
        let thread = SourceThread::start("test", move |signals| {
            while let Some(wake) = signals.wait(Duration::MAX) {
                sender.send(wake).unwrap();
            }
            assert!(signals.is_stopped());
        })
        .unwrap();
        thread.refresh();
        assert!(wakes.recv().unwrap().refresh);
        thread.accept();
        assert!(wakes.recv().unwrap().accept);
        thread.change_settings();
        assert!(wakes.recv().unwrap().settings);
        thread.save();
        assert!(wakes.recv().unwrap().save);
        assert!(thread.is_running() && thread.stop(Duration::MAX));
    }

    #[test]
    fn signals_are_not_lost_during_work() {
        let signals = SourceSignals::default();
        assert_eq!(signals.wait(Duration::ZERO), Some(SourceWake::default()));
        signals.raise(|wake| wake.refresh = true);
        signals.raise(|wake| wake.accept = true);
        let wake = signals.wait(Duration::MAX).unwrap();
        assert!(wake.refresh && wake.accept && !wake.settings);
        assert_eq!(signals.wait(Duration::ZERO), Some(SourceWake::default()));
        signals.stop();
        assert_eq!(signals.wait(Duration::MAX), None);
    }

    #[test]
    fn a_busy_thread_is_left_after_the_timeout() {
        let (release, busy) = mpsc::channel::<()>();
        let body = move |_: &SourceSignals| assert!(busy.recv().is_err());
        let thread = SourceThread::start("test", body).unwrap();
        let start = Instant::now();
        let timeout = Duration::from_millis(100);
        assert!(!thread.stop(timeout));
        assert!(start.elapsed() >= timeout);
        drop(release);
    }
}
