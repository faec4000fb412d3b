//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use rutter_config::access::Role;

/// Answer gRPC from the sockets of a daemon
///
/// Serves sessions, routes, explanations, look-ups and the stream of changes, with server reflection, so that grpcurl and
/// generated clients work. It is a process of its own, which asks a daemon on the same machine. It reads only, unless
/// --control-socket is given.
#[derive(Parser, Debug)]
#[command(
    name = "rutter grpc",
    bin_name = "rutter grpc",
    version,
    max_term_width = 100
)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// Serve clients at this address
    ///
    /// An address that other machines can reach needs a certificate, or --insecure-listen.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = DEFAULT_LISTEN)]
    pub(crate) listen: SocketAddr,
    /// Ask the daemon on this socket
    ///
    /// The read-only socket is enough: write `read-only-socket` in the section `daemon` of the daemon's configuration.
    #[arg(long, value_name = "PATH", default_value = "/run/rutter/read.sock")]
    pub(crate) socket: PathBuf,
    /// Also serve the methods that change the daemon, on this socket
    ///
    /// It is the daemon's control-socket, /run/rutter/rutter.sock by default. Only clients with the role control may call
    /// these methods, so --token-file is needed too.
    #[arg(long, value_name = "PATH", requires = "token_file")]
    pub(crate) control_socket: Option<PathBuf>,
    /// A file with tokens: a line each, with a role and the SHA-256 of the token
    ///
    /// The roles are monitor, read and control. The hash of a client's certificate (DER) may stand in the place of that of a
    /// token. The file is read again on SIGHUP.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The role of clients without a token [default: read; with --token-file nothing]
    #[arg(long, value_name = "ROLE")]
    pub(crate) anonymous: Option<Anonymous>,
    /// The certificate chain of this server (PEM): clients connect with TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Accept only clients with a certificate of these authorities (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) client_ca: Option<PathBuf>,
    /// Serve other machines without TLS
    ///
    /// Tokens and routes then cross the network as plain text.
    #[arg(long)]
    pub(crate) insecure_listen: bool,
    /// The requests a second of one address (IPv6: of a /64); after a pause five times as many at once
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) requests_per_second: u32,
}

/// The role of clients without a token.
#[derive(Clone, Copy, ValueEnum, Debug)]
pub(crate) enum Anonymous {
    /// Everything but control
    Read,
    /// Status, sessions and sources, and no routes
    Monitor,
    /// Nothing
    Nothing,
}

impl Anonymous {
    /// The role as the rules have it.
    pub(crate) fn role(self) -> Role {
        match self {
            Anonymous::Read => Role::Read,
            Anonymous::Monitor => Role::Monitor,
            Anonymous::Nothing => Role::Nobody,
        }
    }
}

/// The address without `--listen`. IANA has assigned the port to nobody.
const DEFAULT_LISTEN: &str = "127.0.0.1:17901";

const EXAMPLES: &str = "\
Examples:
  rutter grpc
  rutter grpc --socket /run/rutter/rutter.sock
  rutter grpc --token-file tokens --control-socket /run/rutter/rutter.sock
  rutter grpc --listen 192.0.2.1:17901 --tls-cert grpc.crt --tls-key grpc.key --token-file tokens

  grpcurl -plaintext 127.0.0.1:17901 list
  grpcurl -plaintext 127.0.0.1:17901 rutter.v1.Reader/ListPeers
  grpcurl -plaintext -d '{\"target\": \"192.0.2.1\"}' 127.0.0.1:17901 rutter.v1.Reader/Explain
  grpcurl -plaintext -d '{\"kinds\": [\"best\"]}' 127.0.0.1:17901 rutter.v1.Reader/WatchChanges

Make a token with 64 digits. The file has its hash, and the client sends the token:
  token=$(openssl rand -hex 32)
  echo \"read $(printf %s \"$token\" | sha256sum | cut -d' ' -f1)   # the portal\" >> tokens
  grpcurl -plaintext -H \"authorization: Bearer $token\" 127.0.0.1:17901 rutter.v1.Reader/GetStatus

A renewed certificate is in use after a restart, which no session of the daemon notices. Streams of
changes continue where they were if clients connect again with the number of the last change.";
