//! Distributes the feed to the clients' queues.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rutter_events::{Decoder, Now};
use rutter_rib::{FeedEvent, FeedReader, PeerSummary};

use super::client::Client;
use super::message::Update;
use crate::clock::unix_us;
use rutter_service::Context;

/// All clients, and the subscription that started with the first of them.
#[derive(Default)]
pub(super) struct Audience(Mutex<State>);

#[derive(Default)]
struct State {
    clients: Vec<Arc<Client>>,
    /// The feed is being read.
    active: bool,
    begun: Option<(FeedReader, Vec<PeerSummary>)>,
}

/// The number of events that may wait. Further events are counted as lost.
const QUEUE: usize = 1 << 17;
/// The interval at which the thread checks for clients and for shutdown.
const FEED_WAIT: Duration = Duration::from_millis(100);

impl Audience {
    /// Adds a client. It receives all events from now on.
    pub fn add(&self, client: Arc<Client>, context: &Context) {
        let mut state = self.0.lock();
        if !state.active {
            state.active = true;
            state.begun = Some(context.rib.subscribe(QUEUE));
        }
        state.clients.push(client);
    }

    fn clients(&self) -> Vec<Arc<Client>> {
        self.0.lock().clients.clone()
    }

    /// Returns the subscription to read: the current one, or a newer one; `None` without clients.
    fn update_subscription(
        &self,
        held: Option<Reading>,
        context: &Context,
        begun: Instant,
    ) -> Option<Reading> {
        let mut state = self.0.lock();
        state.clients.retain(|client| !client.is_gone());
        state.active = !state.clients.is_empty();
        if !state.active {
            state.begun = None;
            return None;
        }
        let (reader, peers) = match (state.begun.take(), held) {
            (Some(new), _) => new,
            (None, Some(held)) => return Some(held),
            (None, None) => context.rib.subscribe(QUEUE),
        };
        let decoder = Decoder::new(&context.collector, &peers, now(begun));
        Some(Reading { reader, decoder })
    }
}

struct Reading {
    reader: FeedReader,
    decoder: Decoder,
}

/// Publishes events while there are clients. Without clients the feed is not read.
pub(super) fn run(context: &Context, audience: &Audience) {
    let begun = Instant::now();
    let mut reading: Option<Reading> = None;
    while !context.shutdown.is_triggered() {
        reading = audience.update_subscription(reading, context, begun);
        let Some(Reading { reader, decoder }) = &mut reading else {
            context.shutdown.wait(FEED_WAIT);
            continue;
        };
        let until = Instant::now() + FEED_WAIT;
        // A busy feed must not keep the thread from its checks.
        while Instant::now() < until
            && let Some(event) = reader.next(until.saturating_duration_since(Instant::now()))
        {
            publish(&event, decoder, now(begun), &audience.clients());
            if let FeedEvent::Gap { .. } = event {
                // Session changes may have been lost: subscribe again.
                reading = None;
                break;
            }
        }
    }
}

fn now(begun: Instant) -> Now {
    Now {
        unix_us: unix_us(),
        monotonic_us: begun.elapsed().as_micros() as u64,
    }
}

fn publish(event: &FeedEvent, decoder: &mut Decoder, now: Now, clients: &[Arc<Client>]) {
    if let FeedEvent::Gap { lost } = event {
        clients.iter().for_each(|client| client.count_lost(*lost));
    }
    let mut update: Option<Update> = None;
    decoder.decode(event, now, &mut |row| match &mut update {
        Some(update) => update.add(row),
        None => update = Update::begin(row),
    });
    let Some(update) = update else {
        return;
    };
    let mut messages: Option<Vec<Arc<str>>> = None;
    for client in clients.iter().filter(|client| client.wants(&update)) {
        let made = || update.to_json().into_iter().map(Arc::from).collect();
        let messages = messages.get_or_insert_with(made);
        messages.iter().for_each(|message| client.push(message));
    }
}
