//! A queue for work that remote sides cause: their networks take turns.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::network;

/// Limits work that runs at a time, in all and for each [`network`]. Work that waits begins network by network, so the
/// number of requests of one network delays no other. Clones share the same queue.
///
/// Each caller that waits has an entry in the queue: limit their connections.
#[derive(Clone)]
pub struct FairQueue(Arc<Shared>);

struct Shared {
    total: usize,
    of_network: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: usize,
    networks: HashMap<IpAddr, Network>,
    /// The networks with waiting work, in the order of their turns.
    turns: VecDeque<IpAddr>,
}

#[derive(Default)]
struct Network {
    running: usize,
    waiting: VecDeque<oneshot::Sender<WorkPlace>>,
}

/// The place of work that runs. Dropping it lets other work begin.
pub struct WorkPlace {
    queue: FairQueue,
    network: IpAddr,
}

impl FairQueue {
    /// A queue for `total` pieces of work at a time, `of_network` of them for one network.
    pub fn new(total: usize, of_network: usize) -> Self {
        FairQueue(Arc::new(Shared {
            total,
            of_network,
            state: Mutex::default(),
        }))
    }

    /// Waits until work for a client at this address may begin. Work whose caller stops waiting leaves the queue.
    pub async fn acquire(&self, client: IpAddr) -> WorkPlace {
        let (sender, receiver) = oneshot::channel();
        self.0.state.lock().add(network(client), sender);
        self.begin_waiting();
        let place = receiver.await;
        place.expect("the queue drops no sender whose receiver waits")
    }

    /// The number of networks whose work waits.
    pub fn waiting_networks(&self) -> usize {
        self.0.state.lock().turns.len()
    }

    /// Lets as much waiting work begin as the limits permit.
    fn begin_waiting(&self) {
        loop {
            let next = self.0.state.lock().next(self.0.total, self.0.of_network);
            let Some((network, sender)) = next else {
                return;
            };
            let place = WorkPlace {
                queue: self.clone(),
                network,
            };
            // A caller that has just left returns the place.
            drop(sender.send(place));
        }
    }
}

impl State {
    fn add(&mut self, network: IpAddr, sender: oneshot::Sender<WorkPlace>) {
        let one = self.networks.entry(network).or_default();
        if one.waiting.is_empty() {
            self.turns.push_back(network);
        }
        one.waiting.retain(|waiting| !waiting.is_closed());
        one.waiting.push_back(sender);
    }

    /// Counts and returns the work whose turn it is, if any may begin.
    fn next(
        &mut self,
        total: usize,
        of_network: usize,
    ) -> Option<(IpAddr, oneshot::Sender<WorkPlace>)> {
        while self.running < total {
            let may_begin = |network: &IpAddr| self.networks[network].running < of_network;
            let turn = self.turns.iter().position(may_begin)?;
            let network = self.turns.remove(turn)?;
            let one = self.networks.get_mut(&network)?;
            one.waiting.retain(|waiting| !waiting.is_closed());
            let sender = one.waiting.pop_front();
            if !one.waiting.is_empty() {
                self.turns.push_back(network);
            }
            if let Some(sender) = sender {
                one.running += 1;
                self.running += 1;
                return Some((network, sender));
            }
            self.forget(network);
        }
        None
    }

    fn end(&mut self, network: IpAddr) {
        self.running -= 1;
        if let Some(one) = self.networks.get_mut(&network) {
            one.running -= 1;
        }
        self.forget(network);
    }

    /// Forgets a network without work.
    fn forget(&mut self, network: IpAddr) {
        let one = self.networks.get(&network);
        if one.is_some_and(|one| one.running == 0 && one.waiting.is_empty()) {
            self.networks.remove(&network);
        }
    }
}

impl Drop for WorkPlace {
    fn drop(&mut self) {
        self.queue.0.state.lock().end(self.network);
        self.queue.begin_waiting();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Waiting = Pin<Box<dyn Future<Output = WorkPlace>>>;

    fn ask(queue: &FairQueue, client: &str) -> Waiting {
        let (queue, client) = (queue.clone(), client.parse().unwrap());
        let mut waiting: Waiting = Box::pin(async move { queue.acquire(client).await });
        // The first poll puts it into the queue, and a place is sent through a channel.
        let place = place(&mut waiting);
        match place {
            Some(place) => Box::pin(std::future::ready(place)),
            None => waiting,
        }
    }

    fn place(waiting: &mut Waiting) -> Option<WorkPlace> {
        let mut context = Context::from_waker(Waker::noop());
        match waiting.as_mut().poll(&mut context) {
            Poll::Ready(place) => Some(place),
            Poll::Pending => None,
        }
    }

    const BUSY: &str = "192.0.2.1";
    const OTHER: &str = "192.0.2.2";

    #[test]
    fn a_network_with_many_requests_delays_no_other() {
        let queue = FairQueue::new(3, 2);
        let mut busy: Vec<Waiting> = (0..60).map(|_| ask(&queue, BUSY)).collect();
        let running: Vec<WorkPlace> = busy.iter_mut().take(2).filter_map(place).collect();
        assert_eq!((running.len(), queue.waiting_networks()), (2, 1));
        assert!(place(&mut busy[2]).is_none(), "its share is used");
        let first = place(&mut ask(&queue, OTHER)).expect("a place is free");
        let mut second = ask(&queue, OTHER);
        let mut third = ask(&queue, "192.0.2.3");
        drop(running);
        // Two places are free: the networks take turns, and the busy one waits longest.
        assert!(place(&mut busy[2]).is_some());
        assert!(place(&mut second).is_some() && place(&mut third).is_some());
        drop(first);
    }

    #[test]
    fn work_whose_client_has_left_never_begins() {
        let queue = FairQueue::new(1, 1);
        let running = place(&mut ask(&queue, BUSY)).expect("the first");
        drop((0..9).map(|_| ask(&queue, BUSY)).collect::<Vec<_>>());
        let mut last = ask(&queue, OTHER);
        assert!(place(&mut last).is_none());
        drop(running);
        let running = place(&mut last).expect("its turn");
        drop(running);
        let state = queue.0.state.lock();
        assert!(state.running == 0 && state.networks.is_empty() && state.turns.is_empty());
    }
}
