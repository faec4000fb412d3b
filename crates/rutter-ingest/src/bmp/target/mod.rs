//! BMP out: what is collected, to another station.
//!
//! A station tells a router's sessions apart by their addresses, and several routers may have the same ones: so each
//! monitored router gets a connection of its own with its own name, and our own sessions one with the collector's.

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
    /// Connects, and keeps trying; the station hears the whole table, then every change.
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
        // A thread that panicked has said so.
        let _ = self.thread.join();
    }
}
