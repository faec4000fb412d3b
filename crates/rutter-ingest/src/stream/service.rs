//! The listening socket of the stream.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rutter_config::Stream;

use super::admission::{Admission, Place};
use super::client::Client;
use super::publisher::{self, Audience};
use crate::listen::listen;
use rutter_server::{START_PATIENCE, once_free};
use rutter_service::{Context, Service};

/// The running server.
pub struct StreamServer {
    address: SocketAddr,
    socket: TcpListener,
    threads: Vec<JoinHandle<()>>,
}

/// The error at which the server does not start.
#[derive(Debug)]
pub struct StreamError {
    address: SocketAddr,
    error: io::Error,
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StreamError { address, error } = self;
        write!(
            f,
            "stream: cannot listen on {address}: {error}; change stream.listen"
        )
    }
}

impl std::error::Error for StreamError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// The interval at which the thread accepts connections and checks for shutdown.
const SHUTDOWN_CHECK: Duration = Duration::from_millis(20);

impl StreamServer {
    /// Listens, and serves each client on its own thread. Another process may free the address first ([`once_free`]).
    pub fn start(context: &Context, settings: &Stream) -> Result<Self, StreamError> {
        let socket = once_free(START_PATIENCE, || Self::listen(settings.listen))?;
        Self::start_on(socket, context, settings)
    }

    /// Opens the socket of a server.
    pub fn listen(address: SocketAddr) -> Result<TcpListener, StreamError> {
        listen(address).map_err(|error| StreamError { address, error })
    }

    /// As [`StreamServer::start`], on this socket.
    pub fn start_on(
        listener: TcpListener,
        context: &Context,
        settings: &Stream,
    ) -> Result<Self, StreamError> {
        let address = settings.listen;
        let failed = |error| StreamError { address, error };
        let address = listener.local_addr().map_err(failed)?;
        let socket = listener.try_clone().map_err(failed)?;
        let audience: Arc<Audience> = Arc::default();
        let publishing = {
            let (context, audience) = (context.clone(), Arc::clone(&audience));
            named("stream", move || publisher::run(&context, &audience)).map_err(failed)?
        };
        let accepting = {
            let acceptor = Acceptor {
                context: context.clone(),
                settings: settings.clone(),
                audience,
                admission: Admission::new(settings.max_clients),
            };
            named("stream-accept", move || acceptor.accept(&listener)).map_err(failed)?
        };
        tracing::info!(listen = %address, "stream started");
        Ok(StreamServer {
            address,
            socket,
            threads: vec![publishing, accepting],
        })
    }

    /// The listening address, with the port that the kernel chose.
    pub fn listen_address(&self) -> SocketAddr {
        self.address
    }

    /// The listening socket, which another process can serve.
    pub fn socket(&self) -> &TcpListener {
        &self.socket
    }
}

impl Service for StreamServer {
    fn name(&self) -> String {
        "stream".into()
    }

    fn stop(self: Box<Self>) {
        for thread in self.threads {
            // A panic was already reported.
            let _ = thread.join();
        }
    }
}

fn named(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.into()).spawn(body)
}

/// State that each connection needs.
struct Acceptor {
    context: Context,
    settings: Stream,
    audience: Arc<Audience>,
    admission: Admission,
}

impl Acceptor {
    fn accept(&self, listener: &TcpListener) {
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        while !self.context.shutdown.wait(SHUTDOWN_CHECK) {
            while let Ok((socket, address)) = listener.accept() {
                threads.retain(|thread| !thread.is_finished());
                let Some(place) = self.admission.admit_handshake(address) else {
                    continue;
                };
                match self.serve(socket, place) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => tracing::error!(%address, %error, "stream client refused"),
                }
            }
        }
        for thread in threads {
            let _ = thread.join();
        }
    }

    fn serve(&self, socket: TcpStream, place: Place) -> io::Result<JoinHandle<()>> {
        let client = Arc::new(Client::new(self.settings.queue, &self.settings.origins));
        let (context, audience) = (self.context.clone(), Arc::clone(&self.audience));
        named("stream-client", move || {
            let admit = || audience.add(Arc::clone(&client), &context);
            client.run(socket, &context.shutdown, place, admit);
        })
    }
}
