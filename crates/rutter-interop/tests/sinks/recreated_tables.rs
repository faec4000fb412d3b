//! Tables that another collector recreates while this one loads its routes.

use rutter_interop::eventually;
use rutter_sinks::{Batch, Load, Position, Store, StoreProgress};

/// A load during which another collector recreated the tables does not count as complete.
pub fn cuts_no_load_short(store: &mut dyn Store, recreate: impl FnOnce()) {
    store.open().unwrap();
    let end = Position {
        run: 1,
        next_seq: 1,
    };
    store
        .write(&Batch {
            end,
            ..Batch::default()
        })
        .unwrap();
    let load = Load {
        all: true,
        peers: Vec::new(),
        position: end,
        time_us: 0,
    };
    store.begin_load(&load).unwrap();
    store.end_load(&load).unwrap();
    store.begin_load(&load).unwrap();
    recreate();
    let why = store.end_load(&load).map_err(|why| why.to_string());
    assert_eq!(
        why.unwrap_err(),
        "somebody else changed the position of this collector"
    );
    // The server may not have noticed yet that the previous connection is closed.
    let held = eventually("the collector's lock is free", || {
        store.open().map_err(|why| why.to_string())
    });
    assert_eq!(held, StoreProgress::default());
    store.close();
}

/// The last statement of a collector that recreates tables.
pub const FORGET: &str = "UPDATE rutter_collectors SET run = NULL, next_seq = NULL";
