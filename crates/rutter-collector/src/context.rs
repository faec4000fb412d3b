//! What services are started with, and how they are ended.

use std::sync::Arc;

use rutter_rib::Rib;

use crate::{Board, Stop};

/// What every service of a collector is started with.
#[derive(Clone)]
pub struct Context {
    /// The table. `Rib::subscribe` first, then `Rib::snapshot`, then apply events: the last writer wins for each
    /// peer, prefix and path identifier.
    pub rib: Arc<Rib>,
    /// What the collector calls itself.
    pub collector: Arc<str>,
    /// Set once, when everything shall end.
    pub stop: Stop,
    /// Where services tell what they do.
    pub board: Board,
}

/// A running service.
pub trait Service: Send {
    /// What it is, for the log: `bmp`, `sql`, `history`, `sink NAME`.
    fn name(&self) -> String;

    /// Whether it brings routes in: then it ends before those that tell of them.
    fn feeds(&self) -> bool {
        false
    }

    /// Waits until its threads have ended and everything is written. [`Context::stop`] is set by then.
    fn stop(self: Box<Self>);
}
