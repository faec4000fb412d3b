//! The server: its settings, its services and its end.

use std::fs;
use std::future::pending;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rutter_config::access::{AccessRules, Role, parse_tokens};
use rutter_server::{CertificateFiles, check_authorities};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};
use tower::util::MapResponseLayer;

use crate::admission::Admission;
use crate::cli::{Anonymous, Cli};
use crate::connections::Connections;
use crate::control::ControlService;
use crate::daemon::{Daemon, PATIENCE};
use crate::health;
use crate::reader::ReaderService;
use crate::reflection::CountedAnswers;
use crate::request_size::is_too_long;
use crate::v1;
use crate::v1::control_server::ControlServer;
use crate::v1::reader_server::ReaderServer;

/// The calls of one connection that are answered at a time. Others wait.
const CALLS: usize = 32;
/// The calls that one connection may have open at a time.
const STREAMS: u32 = 64;
/// The longest request, bytes.
pub(crate) const LONGEST_REQUEST: usize = rutter_api::MAX_REQUEST;
/// The longest list of headers, bytes.
const LONGEST_HEADERS: u32 = 16 << 10;
/// The longest time until an answer begins. Where the daemon is late, the reason is sent before.
const ANSWER_TIME: Duration = Duration::from_secs(30);
const _: () = assert!(PATIENCE.as_secs() < ANSWER_TIME.as_secs());
/// The longest TLS handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// The time between pings, and the time to answer one.
const PING: Duration = Duration::from_secs(20);
/// The time in which clients may take their answers when the server stops.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Serves until SIGTERM or Ctrl-C.
pub(crate) async fn run(cli: Cli) -> Result<(), String> {
    check(&cli)?;
    let rules = access(&cli)?;
    warn_without_tokens(&cli, &rules);
    let admission = Admission::new(rules, cli.requests_per_second);
    let mut server = Server::builder()
        .timeout(ANSWER_TIME)
        .concurrency_limit_per_connection(CALLS)
        .max_concurrent_streams(STREAMS)
        .http2_max_header_list_size(LONGEST_HEADERS)
        .http2_keepalive_interval(Some(PING))
        .http2_keepalive_timeout(Some(PING))
        .layer(MapResponseLayer::new(is_too_long));
    if let Some(tls) = tls(&cli)? {
        server = server
            .tls_config(tls)
            .map_err(|why| format!("cannot use TLS: {why}"))?;
    }
    let listen = cli.listen;
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|why| format!("cannot listen at {listen}: {why}"))?;
    let address = listener.local_addr().unwrap_or(listen);

    let daemon = Arc::new(Daemon::for_reading(cli.socket.clone()));
    let changed = cli.control_socket.clone().map(Daemon::for_control);
    let reader =
        ReaderServer::new(ReaderService::new(daemon)).max_decoding_message_size(LONGEST_REQUEST);
    let control = ControlServer::new(ControlService::new(changed.map(Arc::new)))
        .max_decoding_message_size(LONGEST_REQUEST);
    let (reporter, health_service) = tonic_health::server::health_reporter();
    let health_service = health_service.max_decoding_message_size(LONGEST_REQUEST);
    // Older clients know the alpha version alone.
    let wrong = |why| format!("server reflection: {why}");
    let reflection = description()
        .build_v1()
        .map_err(wrong)?
        .max_decoding_message_size(LONGEST_REQUEST);
    let reflection_alpha = description()
        .build_v1alpha()
        .map_err(wrong)?
        .max_decoding_message_size(LONGEST_REQUEST);

    let asked = Daemon::for_health(cli.socket.clone(), health::PATIENCE);
    let reflection = CountedAnswers::new(reflection, admission.clone());
    let reflection_alpha = CountedAnswers::new(reflection_alpha, admission.clone());
    tokio::spawn(health::report(reporter, asked));
    greet(address, &cli);
    let stopped = stop_signal()?;
    let reading = read_tokens_again(&cli, &admission);
    let (stop, is_stopping) = tokio::sync::oneshot::channel::<()>();
    let serving = server
        .add_service(InterceptedService::new(reader, admission.clone()))
        .add_service(InterceptedService::new(control, admission.clone()))
        .add_service(InterceptedService::new(health_service, admission.clone()))
        .add_service(InterceptedService::new(reflection, admission.clone()))
        .add_service(InterceptedService::new(reflection_alpha, admission.clone()))
        .serve_with_incoming_shutdown(Connections::new(listener), async {
            let _ = is_stopping.await;
        });
    let ending = async {
        stopped.await;
        let _ = stop.send(());
        // Streams of changes have no end.
        sleep(LAST_ANSWERS).await;
    };
    tokio::select! {
        result = serving => result.map_err(|why| format!("the server ended: {why}")),
        () = ending => Ok(()),
        result = reading => result,
    }
}

/// The messages and services, for server reflection.
fn description() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(v1::DESCRIPTION)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

/// Refuses settings that would show more than the operator may want.
fn check(cli: &Cli) -> Result<(), String> {
    let is_open = !cli.listen.ip().is_loopback() && cli.tls_cert.is_none();
    if is_open && !cli.insecure_listen {
        return Err(format!(
            "other machines can reach {}: give a certificate with --tls-cert and --tls-key, \
             or write --insecure-listen to serve them without TLS",
            cli.listen
        ));
    }
    Ok(())
}

/// The tokens, and the role of clients without one.
fn access(cli: &Cli) -> Result<AccessRules, String> {
    let Some(path) = &cli.token_file else {
        return Ok(AccessRules {
            anonymous: cli.anonymous.map_or(Role::Read, Anonymous::role),
            ..AccessRules::open()
        });
    };
    let tokens = parse_tokens(&read(path)?).map_err(|lines| {
        format!(
            "{}, {lines}: write a role and a hash, `read 9f86d08…`, where the hash is the output \
             of `sha256sum`",
            path.display()
        )
    })?;
    Ok(AccessRules {
        anonymous: cli.anonymous.map_or(Role::Nobody, Anonymous::role),
        tokens,
    })
}

/// An empty file is no error, because its lines may come later. Until then it closes the server to everybody.
fn warn_without_tokens(cli: &Cli, rules: &AccessRules) {
    if let Some(warning) = without_tokens(cli, rules) {
        eprintln!("warning: {warning}");
    }
}

fn without_tokens(cli: &Cli, rules: &AccessRules) -> Option<String> {
    let path = cli.token_file.as_ref()?;
    let remedy = match rules.anonymous {
        Role::Nobody => {
            "Every call is refused: add a line for each token and send SIGHUP, or leave out --token-file"
        }
        _ => "Add a line for each token and send SIGHUP",
    };
    let is_empty = rules.tokens.is_empty();
    is_empty.then(|| {
        let path = path.display();
        format!("{path} has no token: nobody can send one. {remedy}")
    })
}

fn tls(cli: &Cli) -> Result<Option<ServerTlsConfig>, String> {
    let (Some(certificate), Some(key)) = (&cli.tls_cert, &cli.tls_key) else {
        return Ok(None);
    };
    // The errors of the library name no file.
    let files = CertificateFiles {
        certificate: certificate.clone(),
        key: key.clone(),
    };
    files.check().map_err(|why| why.to_string())?;
    let identity = Identity::from_pem(read(certificate)?, read(key)?);
    let mut tls = ServerTlsConfig::new()
        .identity(identity)
        .timeout(HANDSHAKE_TIME);
    if let Some(authorities) = &cli.client_ca {
        check_authorities(authorities).map_err(|why| why.to_string())?;
        tls = tls.client_ca_root(Certificate::from_pem(read(authorities)?));
    }
    Ok(Some(tls))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|why| format!("cannot read {}: {why}", path.display()))
}

fn greet(address: SocketAddr, cli: &Cli) {
    let tls = match cli.tls_cert {
        Some(_) => "with TLS",
        None => "without TLS",
    };
    let control = match &cli.control_socket {
        Some(path) => format!("control on {}", path.display()),
        None => "read only".to_owned(),
    };
    eprintln!(
        "gRPC at {address} {tls}, from the daemon at {}, {control}",
        cli.socket.display()
    );
}

/// Reads the tokens again on each SIGHUP. If the file is wrong, the tokens before stay in use.
async fn read_tokens_again(cli: &Cli, admission: &Admission) -> Result<(), String> {
    let mut hangups = signal(SignalKind::hangup()).map_err(|why| format!("signals: {why}"))?;
    while hangups.recv().await.is_some() {
        match access(cli) {
            Ok(rules) => {
                eprintln!("tokens: {} are in use", rules.tokens.len());
                warn_without_tokens(cli, &rules);
                admission.set_access(rules);
            }
            Err(why) => eprintln!("tokens: {why}; those before are still used"),
        }
    }
    pending().await
}

/// Returns a future that ends with SIGTERM or Ctrl-C.
fn stop_signal() -> Result<impl Future<Output = ()>, String> {
    let signal = |kind| signal(kind).map_err(|why| format!("signals: {why}"));
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    /// The warning for a file with this text.
    fn warning(name: &str, text: &str, more: &[&str]) -> Option<String> {
        let path = std::env::temp_dir().join(format!("rutter-grpc-{name}-{}", std::process::id()));
        fs::write(&path, text).expect("a file");
        let file = path.to_str().expect("a path");
        let words = ["rutter grpc", "--token-file", file].into_iter();
        let words = words.chain(more.iter().copied());
        let cli = Cli::try_parse_from(words).expect("arguments");
        let rules = access(&cli);
        fs::remove_file(&path).expect("the file");
        without_tokens(&cli, &rules.expect("rules"))
    }

    #[test]
    fn a_file_without_tokens_is_named() {
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(warning("one", &format!("read {hash}\n"), &[]), None);
        let empty = warning("none", "# none yet\n\n", &[]).expect("a warning");
        assert!(empty.contains("rutter-grpc-none"), "{empty}");
        assert!(empty.contains("Every call is refused"), "{empty}");
        let open = warning("open", "", &["--anonymous", "monitor"]).expect("a warning");
        assert!(!open.contains("Every call is refused"), "{open}");
        let cli = Cli::try_parse_from(["rutter grpc"]).expect("arguments");
        assert_eq!(without_tokens(&cli, &access(&cli).expect("rules")), None);
    }
}
