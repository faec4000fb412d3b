//! `[metrics]`: the Prometheus endpoint.

use std::net::SocketAddr;

use crate::key_rows::section;
use crate::value_forms::socket;

section! {
    /// The Prometheus endpoint. Without this section it is off.
    pub struct Metrics = "[metrics]" {
        /// The address that serves `GET /metrics`.
        "listen": "address and port", default "required", reload AtOnce
            => listen: SocketAddr, require "\"127.0.0.1:9179\"" |i| socket(i, 9179);
    }
}
