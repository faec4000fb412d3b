//! The management protocol: requests, answers and their JSON form over a local socket.
//!
//! ```text
//! rutter show routes ─► Client::call ─► one JSON line ─► serve_connection ─► Backend (the daemon), Snapshot
//!                       rows, one by one ◄── JSON lines ◄──┘      the last line has the outcome
//! other transports ─► answer ─► RowSink
//! ```
//! Answers are streamed: no list is held in memory, and an answer ends when its client disconnects. See
//! `docs/management.md` for the protocol.

mod access;
mod answer;
mod backend;
mod change_reader;
mod client;
mod convert;
mod line;
pub mod prometheus;
mod request;
mod rows;
mod server;
mod socket;
mod string_form;
mod table_counts;
mod turn_times;
pub mod units;

pub use access::{Access, AuditEntry, Caller};
pub use answer::{Failure, PeerSelector, RowSink, answer};
pub use backend::{Applied, Backend, CollectorServices, DynamicMembers, LogReader, ReloadError};
pub use change_reader::{CHANGES, ChangeFilter, ChangeReader, end_unread_changes};
pub use client::{Answer, Client, RawLine};
pub use line::{Done, ErrorReason, Line};
pub use request::{
    AdvertisedList, AdvertisedQuery, ApplyOrder, ChangesQuery, ClearHow, DiffText, Envelope,
    FamilyFilter, LookupQuery, MAX_CONFIGURATION, MAX_REQUEST, Request, RouteFilter, RouteSelector,
    VERSION, WhatIf,
};
pub use rows::*;
pub use server::serve_connection;
pub use socket::{listen, listen_for_everybody};
pub use table_counts::TableCounts;
pub use turn_times::TurnTimes;
