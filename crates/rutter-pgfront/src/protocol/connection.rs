//! A connection, with or without TLS, from its first message to its end.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use pgwire::api::{ClientInfo as _, DefaultClient, NoopHandler, PgWireConnectionState};
use pgwire::error::PgWireError;
use pgwire::messages::PgWireFrontendMessage;
use pgwire::tokio::server::{PgWireMessageServerCodec, process_error, process_message};
use rutter_server::ServerCertificate;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::codec::Framed;

use super::framing::Frames;
use super::handler::ConnectionHandler;
use super::prepared::Prepared;
use super::session::fatal;
use super::{LOGINS, LOGINS_OF_NETWORK};

/// Serves a connection until its client ends it. With a certificate, clients on other machines must use TLS.
pub async fn serve(
    mut stream: TcpStream,
    peer: SocketAddr,
    certificate: Option<&ServerCertificate>,
    connection_handler: Arc<ConnectionHandler>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        // Every first message has this length. No further byte is read before encryption begins, so that plain bytes are
        // never taken for encrypted ones.
        let mut head = [0; 8];
        stream.read_exact(&mut head).await?;
        match (head, certificate) {
            (TLS_REQUEST, Some(certificate)) => {
                stream.write_all(b"S").await?;
                let stream = certificate.acceptor().accept(stream).await?;
                let socket = framed(stream, peer, true);
                let frames = Frames::new(&[], &connection_handler.memory());
                return match connection_handler.session().is_refused() {
                    true => refuse(socket, frames, too_many()).await,
                    false => converse(socket, frames, connection_handler).await,
                };
            }
            (TLS_REQUEST, None) | (GSS_REQUEST, _) => stream.write_all(b"N").await?,
            (head, certificate) => {
                let socket = framed(stream, peer, false);
                let frames = Frames::new(&head, &connection_handler.memory());
                let from_outside = !peer.ip().to_canonical().is_loopback();
                return match certificate {
                    _ if head == CANCEL => converse(socket, frames, connection_handler).await,
                    Some(_) if from_outside => refuse(socket, frames, unencrypted()).await,
                    _ if connection_handler.session().is_refused() => {
                        refuse(socket, frames, too_many()).await
                    }
                    _ => converse(socket, frames, connection_handler).await,
                };
            }
        }
    }
}

/// Waits until the client has closed the connection. Never returns on systems that do not report this.
pub fn left(stream: &TcpStream) -> impl Future<Output = ()> + use<> {
    let copy = stream.as_fd().try_clone_to_owned();
    let copy = copy.and_then(|copy| TcpStream::from_std(copy.into()));
    async move {
        let Ok(stream) = copy else {
            return std::future::pending().await;
        };
        loop {
            match stream.peek(&mut [0]).await {
                Ok(0) | Err(_) => return,
                // The client has sent its next query already. It is read after the current answer.
                Ok(_) => tokio::time::sleep(READ_TIMEOUT).await,
            }
        }
    }
}

/// The socket of a connection.
pub type Socket<S> = Framed<S, PgWireMessageServerCodec<Prepared>>;

fn framed<S: AsyncRead + AsyncWrite>(stream: S, peer: SocketAddr, secure: bool) -> Socket<S> {
    let mut codec = PgWireMessageServerCodec::new(DefaultClient::new(peer, secure));
    codec.client_info.state = PgWireConnectionState::AwaitingStartup;
    Framed::new(stream, codec)
}

/// Sends a client the reason of its rejection, after its startup message. Clients take an earlier answer for an attack.
async fn refuse<S>(mut socket: Socket<S>, mut frames: Frames, why: PgWireError) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static,
{
    if let Ok(Some(_)) = frames.next(&mut socket).await {
        process_error(&mut socket, why, LAST).await?;
    }
    Ok(())
}

/// Reports a malformed message and reads on for a moment. If the connection closed while the client still sends, the
/// report would be lost.
async fn reject_malformed<S>(mut socket: Socket<S>, why: PgWireError) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static,
{
    process_error(&mut socket, why, LAST).await?;
    let stream = socket.get_mut();
    let drained = async {
        let mut octets = [0; 4096];
        while stream.read(&mut octets).await.is_ok_and(|read| read > 0) {}
    };
    let _ = tokio::time::timeout(REJECT_TIMEOUT, drained).await;
    Ok(())
}

/// Sends a client between two queries, or after its startup message, the error that the server stops.
async fn end_idle<S>(mut socket: Socket<S>, frames: Frames) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static,
{
    match socket.state() {
        PgWireConnectionState::AwaitingStartup => refuse(socket, frames, server_stops()).await,
        _ => process_error(&mut socket, server_stops(), LAST).await,
    }
}

/// As PostgreSQL: `admin_shutdown`, at which clients connect again.
fn server_stops() -> PgWireError {
    let why = "the server stops, or a new version of it takes over: connect again";
    fatal("57P01", why.into())
}

fn unencrypted() -> PgWireError {
    let why = "other machines must use TLS: set sslmode=require";
    fatal("28000", why.into())
}

fn too_many() -> PgWireError {
    fatal(
        "53300",
        format!(
            "too many connections wait for their login: at most {LOGINS_OF_NETWORK} of an address and {LOGINS} of all; \
             try again in a moment"
        ),
    )
}

/// Reads messages and answers them.
async fn converse<S>(
    mut socket: Socket<S>,
    mut frames: Frames,
    connection_handler: Arc<ConnectionHandler>,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static,
{
    let login = Arc::new(connection_handler.login());
    loop {
        let next = tokio::select! {
            next = frames.next(&mut socket) => next,
            () = connection_handler.stopped() => return end_idle(socket, frames).await,
        };
        let message = match next {
            Ok(Some(message)) => message,
            Ok(None) | Err(PgWireError::IoError(_)) => break,
            Err(wrong) => return reject_malformed(socket, wrong).await,
        };
        if matches!(message, PgWireFrontendMessage::Terminate(_)) {
            break;
        }
        let cancels = matches!(message, PgWireFrontendMessage::CancelRequest(_));
        let extended = message.is_extended_query();
        let answered = process_message(
            message,
            &mut socket,
            Arc::clone(&login),
            Arc::clone(&connection_handler),
            Arc::clone(&connection_handler),
            Arc::new(NoopHandler),
            Arc::clone(connection_handler.running()),
        );
        let answered = tokio::select! {
            answered = answered => answered,
            // Between two messages of the answer: each is written as a whole.
            () = connection_handler.stopped() => Err(server_stops()),
        };
        if let Err(error) = answered {
            let ends = error.is_fatal();
            process_error(&mut socket, error, extended || ends).await?;
            if ends {
                break;
            }
        }
        if cancels {
            break;
        }
    }
    Ok(())
}

/// After a fatal error, no ReadyForQuery follows.
const LAST: bool = true;
/// The time for which input is still read after a malformed message.
const REJECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The interval of checks whether a client with unread input has closed its connection.
const READ_TIMEOUT: Duration = Duration::from_millis(500);
/// `SSLRequest`.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// `GSSENCRequest`.
const GSS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 48];
/// `CancelRequest`: it carries a secret, and most clients send it without TLS.
const CANCEL: [u8; 8] = [0, 0, 0, 16, 4, 210, 22, 46];
