//! The BMP target: sends the collected routes to another BMP station.
//!
//! A station identifies a router's sessions by their addresses, and several routers may have the same ones. So each
//! monitored router gets its own connection under its own name. Our own sessions use one connection under the
//! collector's name.

mod connection;
mod encode;
mod feeder;

use std::io;
use std::net::SocketAddr;
use std::thread::{self, JoinHandle};

use rutter_config::BmpTarget;

use rutter_service::{Context, Service};

/// Feeds one station.
pub struct Target {
    address: SocketAddr,
    thread: JoinHandle<()>,
}

impl Target {
    /// Connects and reconnects. The station receives the whole table, then every change.
    pub fn start(context: &Context, settings: &BmpTarget) -> io::Result<Self> {
        let address = settings.address;
        let context = context.clone();
        let thread = thread::Builder::new()
            .name("bmp-target".into())
            .spawn(move || feeder::run(&context, address))?;
        Ok(Target { address, thread })
    }
}

impl Service for Target {
    fn name(&self) -> String {
        format!("bmp-target {}", self.address)
    }

    fn stop(self: Box<Self>) {
        // A panic was already reported.
        let _ = self.thread.join();
    }
}
