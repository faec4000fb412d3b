//! From the feed to the clients' queues.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rutter_events::{Decoder, Now};
use rutter_rib::{FeedEvent, FeedReader, PeerSummary};

use super::client::Client;
use super::message::Update;
use crate::clock::unix_us;
use rutter_service::Context;

/// All clients, and the subscription that began with the first of them.
#[derive(Default)]
pub(super) struct Audience(Mutex<State>);

#[derive(Default)]
struct State {
    clients: Vec<Arc<Client>>,
    /// The feed is read.
    active: bool,
    begun: Option<(FeedReader, Vec<PeerSummary>)>,
}

/// Events that may wait; more are counted as lost.
const QUEUE: usize = 1 << 17;
/// The thread looks this often for clients and whether it is to end.
const PATIENCE: Duration = Duration::from_millis(100);

impl Audience {
    /// Adds a client: what happens from now on is for it too.
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

    /// The subscription to read: the one held, or one that began since; none without clients.
    fn tend(&self, held: Option<Reading>, context: &Context, begun: Instant) -> Option<Reading> {
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

/// Publishes while there are clients; without any the feed is not read.
pub(super) fn run(context: &Context, audience: &Audience) {
    let begun = Instant::now();
    let mut reading: Option<Reading> = None;
    while !context.shutdown.is_triggered() {
        reading = audience.tend(reading, context, begun);
        let Some(Reading { reader, decoder }) = &mut reading else {
            context.shutdown.wait(PATIENCE);
            continue;
        };
        let until = Instant::now() + PATIENCE;
        // Not longer than that, even if there is always more.
        while Instant::now() < until
            && let Some(event) = reader.next(until.saturating_duration_since(Instant::now()))
        {
            publish(&event, decoder, now(begun), &audience.clients());
            if let FeedEvent::Gap { .. } = event {
                // Sessions may have changed unseen: begin anew.
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
        clients.iter().for_each(|client| client.lose(*lost));
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
