//! The connected clients of the control socket. There is always a place for the daemon's owner, and clients that make no
//! progress give way to others.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The largest number of clients at a time.
const CLIENTS: usize = 32;
/// The places among them that only the owner takes.
const RESERVED: usize = 4;
/// A client that has made no progress for this time gives way, milliseconds: one that waits for log lines, reads
/// slowly, or has not sent its request.
const PATIENCE_MS: u64 = 1_000;

/// The connected clients.
///
/// Invariant: there are at most [`CLIENTS`], of which at most [`CLIENTS`] - [`RESERVED`] are not the owner.
#[derive(Clone, Default)]
pub(crate) struct ControlClients(Arc<Places>);

#[derive(Default)]
struct Places {
    clients: Mutex<Clients>,
    /// A place became free.
    freed: Condvar,
}

#[derive(Default)]
struct Clients {
    all: Vec<Client>,
    /// The number of the next client.
    next: u64,
}

struct Client {
    number: u64,
    is_owner: bool,
    /// To end the connection.
    stream: UnixStream,
    /// The time of its last progress.
    progress_ms: Arc<AtomicU64>,
}

/// The place of one client. Dropping it frees the place.
pub(crate) struct ControlPlace {
    clients: ControlClients,
    number: u64,
    progress_ms: Arc<AtomicU64>,
}

/// The outcome for a new client.
pub(crate) enum Admission {
    /// It has a place. `closed`: another client had to give way.
    Admitted { place: ControlPlace, closed: bool },
    /// All places are taken by clients that make progress.
    Refused,
}

impl ControlClients {
    /// Takes a place for a client. `is_owner`: it runs as root or as the daemon's user.
    pub(crate) fn admit(&self, stream: UnixStream, is_owner: bool, now_ms: u64) -> Admission {
        let mut clients = self.0.clients.lock();
        let closed = match clients.has_room(is_owner) {
            true => false,
            false if clients.close_slowest(is_owner, now_ms) => true,
            false => return Admission::Refused,
        };
        let number = clients.next;
        clients.next += 1;
        let progress_ms = Arc::new(AtomicU64::new(now_ms));
        clients.all.push(Client {
            number,
            is_owner,
            stream,
            progress_ms: Arc::clone(&progress_ms),
        });
        let clients = self.clone();
        let place = ControlPlace {
            clients,
            number,
            progress_ms,
        };
        Admission::Admitted { place, closed }
    }

    /// Waits until the clients have their answers, at most for this time. Clients that follow something end at once.
    pub(crate) fn finish(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut clients = self.0.clients.lock();
        for client in &clients.all {
            // A request that has arrived can still be read. Beyond it, the thread sees the end.
            let _ = client.stream.shutdown(Shutdown::Read);
        }
        while !clients.all.is_empty() {
            if self.0.freed.wait_until(&mut clients, deadline).timed_out() {
                return;
            }
        }
    }
}

impl Clients {
    fn has_room(&self, is_owner: bool) -> bool {
        let others = self.all.iter().filter(|client| !client.is_owner).count();
        self.all.len() < CLIENTS && (is_owner || others < CLIENTS - RESERVED)
    }

    /// Closes the client that has made no progress for the longest time, to make room. The owner takes the place of others
    /// at once; apart from that a client has [`PATIENCE_MS`]. Returns whether there was one.
    fn close_slowest(&mut self, for_owner: bool, now_ms: u64) -> bool {
        let progress = |client: &Client| client.progress_ms.load(Ordering::Relaxed);
        let may_go = |client: &Client| {
            let is_idle = progress(client) + PATIENCE_MS <= now_ms;
            match client.is_owner {
                true => for_owner && is_idle,
                false => for_owner || is_idle,
            }
        };
        let candidates = self.all.iter().enumerate();
        let slowest = candidates
            .filter(|(_, client)| may_go(client))
            .min_by_key(|(_, client)| (client.is_owner, progress(client)))
            .map(|(index, _)| index);
        let Some(slowest) = slowest else {
            return false;
        };
        // Its thread ends with the next read or write.
        let _ = self.all.remove(slowest).stream.shutdown(Shutdown::Both);
        true
    }
}

impl ControlPlace {
    /// The client took bytes, or sent its request.
    pub(crate) fn has_progress(&self, now_ms: u64) {
        self.progress_ms.store(now_ms, Ordering::Relaxed);
    }
}

impl Drop for ControlPlace {
    fn drop(&mut self) {
        let mut clients = self.clients.0.clients.lock();
        clients.all.retain(|client| client.number != self.number);
        self.clients.0.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// A client's end of a connection, and its place unless it was refused.
    fn admit(
        clients: &ControlClients,
        is_owner: bool,
        now_ms: u64,
    ) -> (UnixStream, Option<ControlPlace>) {
        let (near, far) = UnixStream::pair().expect("a pair of sockets");
        match clients.admit(near, is_owner, now_ms) {
            Admission::Admitted { place, .. } => (far, Some(place)),
            Admission::Refused => (far, None),
        }
    }

    fn is_closed(mut far: &UnixStream) -> bool {
        far.set_nonblocking(true).expect("non-blocking");
        matches!(far.read(&mut [0]), Ok(0))
    }

    #[test]
    fn the_owner_has_a_place_whatever_others_do() {
        let clients = ControlClients::default();
        let others: Vec<_> = (0..100).map(|_| admit(&clients, false, 0)).collect();
        let admitted = others.iter().filter(|(_, place)| place.is_some()).count();
        assert_eq!(admitted, CLIENTS - RESERVED);
        let owner: Vec<_> = (0..RESERVED).map(|_| admit(&clients, true, 0)).collect();
        assert!(owner.iter().all(|(_, place)| place.is_some()));
        // Even when its places are taken, at the cost of another.
        let (one, place) = admit(&clients, true, 0);
        assert!(place.is_some() && !is_closed(&one));
        assert!(is_closed(&others[0].0) && !is_closed(&others[1].0));
        assert!(owner.iter().all(|(far, _)| !is_closed(far)));
        assert_eq!(clients.0.clients.lock().all.len(), CLIENTS);
    }

    #[test]
    fn a_client_with_a_request_receives_its_answer_before_the_end() {
        use std::io::Write;
        let clients = ControlClients::default();
        let (mut far, near) = UnixStream::pair().expect("a pair of sockets");
        let mut served = near.try_clone().expect("a socket");
        let Admission::Admitted { place, .. } = clients.admit(near, true, 0) else {
            panic!("refused");
        };
        far.write_all(b"stop").expect("a request");
        let serving = std::thread::spawn(move || {
            let _place = place;
            std::thread::sleep(Duration::from_millis(20));
            let mut request = String::new();
            // Ends only because the daemon does: the client keeps its side open.
            served.read_to_string(&mut request).expect("a request");
            served.write_all(request.as_bytes()).expect("an answer");
        });
        clients.finish(Duration::from_secs(60));
        let mut answer = [0; 4];
        far.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"stop");
        serving.join().expect("no panic");
    }

    #[test]
    fn a_client_that_does_not_end_holds_nobody_up() {
        let clients = ControlClients::default();
        let _held = admit(&clients, true, 0);
        clients.finish(Duration::from_millis(1));
        assert_eq!(clients.0.clients.lock().all.len(), 1);
    }

    #[test]
    fn the_slowest_gives_way_and_the_busy_stay() {
        let clients = ControlClients::default();
        let held: Vec<_> = (0..CLIENTS - RESERVED)
            .map(|_| admit(&clients, false, 0))
            .collect();
        let busy = |at: usize| held[at].1.as_ref().expect("a place");
        (0..10).for_each(|at| busy(at).has_progress(PATIENCE_MS));
        busy(10).has_progress(1);
        let new: Vec<_> = (0..30)
            .map(|_| admit(&clients, false, PATIENCE_MS))
            .collect();
        // All that were idle from the start gave way, and no other.
        let closed = (0..held.len()).filter(|at| is_closed(&held[*at].0));
        assert!(closed.eq(11..held.len()));
        let admitted = new.iter().filter(|(_, place)| place.is_some()).count();
        assert_eq!(admitted, held.len() - 11);
        drop((held, new));
        assert!(clients.0.clients.lock().all.is_empty());
    }
}
