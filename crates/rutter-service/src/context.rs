//! The interface between the collector and its services.

use std::sync::Arc;

use rutter_rib::Rib;

use crate::{ShutdownSignal, StatusRegistry};

/// The things that every service receives when it starts.
#[derive(Clone)]
pub struct Context {
    /// The table. To follow it, call `Rib::subscribe` first, then `Rib::snapshot`, then apply the events. The last
    /// event wins for each peer, prefix and path identifier.
    pub rib: Arc<Rib>,
    /// The collector's name.
    pub collector: Arc<str>,
    /// Triggered once, when all services shall stop.
    pub shutdown: ShutdownSignal,
    /// The registry in which services report their status.
    pub status: StatusRegistry,
}

/// A running service.
pub trait Service: Send {
    /// The name in the log: `bmp`, `sql`, `history`, `sink NAME`.
    fn name(&self) -> String;

    /// Returns whether the service adds routes to the table. They stop before the services that publish the table.
    fn is_route_source(&self) -> bool {
        false
    }

    /// Waits until the threads have ended and all data is written. [`Context::shutdown`] is already triggered.
    fn stop(self: Box<Self>);

    /// Another process has taken over, and this one ends next. Clients that must connect again receive an error.
    fn leave(self: Box<Self>) {
        std::mem::forget(self);
    }
}
