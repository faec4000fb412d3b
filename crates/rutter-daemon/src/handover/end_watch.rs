//! The end of the process before. Until that one can have sent Go, this one ends with it at once: it has copies of the
//! listening sockets, and the next start needs their addresses.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

/// Watches for the end of the process before.
pub(super) struct EndWatch {
    may_have_go: Arc<AtomicBool>,
}

impl EndWatch {
    /// Calls `end` when the other process closes the connection, unless [`EndWatch::stop`] was called.
    pub(super) fn start(
        connection: &impl AsFd,
        end: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let connection = connection.as_fd().try_clone_to_owned()?;
        let may_have_go = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&may_have_go);
        let watch = move || {
            if wait_for_close(&connection).is_ok() && !is_stopped.load(Ordering::Acquire) {
                end();
            }
        };
        let thread = thread::Builder::new().name("predecessor".into());
        thread.spawn(watch)?;
        Ok(EndWatch { may_have_go })
    }

    /// From now on Go may have arrived, also if the other process ends. Its reader finds that out.
    pub(super) fn stop(&self) {
        self.may_have_go.store(true, Ordering::Release);
    }
}

/// Waits until the other end is closed, also while there are unread bytes.
fn wait_for_close(connection: &OwnedFd) -> io::Result<()> {
    let mut poll = Poll::new()?;
    let file = connection.as_raw_fd();
    // The close is always an event. Arriving bytes are none without READABLE.
    let interest = Interest::WRITABLE;
    poll.registry()
        .register(&mut SourceFd(&file), Token(0), interest)?;
    let mut events = Events::with_capacity(1);
    loop {
        match poll.poll(&mut events, None) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            polled => polled?,
        }
        if events.iter().any(Event::is_read_closed) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_end_is_noticed_behind_unread_bytes() {
        let (mut other, own) = UnixStream::pair().expect("a pair");
        let (sender, ended) = mpsc::channel();
        let watch = EndWatch::start(&own, move || sender.send(()).expect("a test"));
        let watch = watch.expect("a thread");
        other.write_all(&[7; 1_000]).expect("write");
        assert!(ended.try_recv().is_err());
        drop(other);
        assert_eq!(ended.recv(), Ok(()));
        drop(watch);
    }

    #[test]
    fn a_process_that_may_go_on_does_not_end() {
        let (other, own) = UnixStream::pair().expect("a pair");
        let (sender, ended) = mpsc::channel::<()>();
        let watch = EndWatch::start(&own, move || sender.send(()).expect("a test"));
        watch.expect("a thread").stop();
        drop(other);
        // The thread ends, and drops the sender.
        assert!(ended.recv().is_err());
    }
}
