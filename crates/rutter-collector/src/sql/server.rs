//! A server without tables, for tests of its clients.

use std::net::SocketAddr;

use rutter_sql::{Access, CertificateFiles, ConnectionBounds, Limits, Server, Settings};

/// Starts a server with open access, with or without a certificate. Returns it with its address. The server stops when
/// it is dropped.
pub(super) fn start(tls: Option<CertificateFiles>) -> (Server, SocketAddr) {
    let settings = Settings {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        access: Access::Open,
        tls,
        threads: 1,
        bounds: ConnectionBounds::default(),
        step_back: || {},
        release: || {},
    };
    let database = rutter_sql::database(&Limits::default()).unwrap();
    let server = Server::start(database, settings).unwrap();
    let address = server.addresses()[0];
    (server, address)
}
