//! HTTP: the REST interface, the looking glass and the metrics, read only.
//!
//! ```text
//! GET /api/v1/routes?within=… ─► Endpoint ─► rutter_api::Request ─► rutter_api::answer ─► one page of rows as JSON
//! GET /                       ─► the looking glass, which asks the interface
//! GET /api/v1/events          ─► rutter_api::ChangeReader ─► server-sent events
//! GET /api/v1/history         ─► History, which takes a sample each minute
//! GET /birdwatcher/…          ─► Question ─► rutter_api::answer ─► BIRD's names, a page at a time
//! GET /metrics                ─► rutter_api::prometheus
//! ```
//! One thread serves the connections, and a few threads compute answers from snapshots. Routing waits for none of them, and
//! the networks of clients take turns. Clients that ask the same within a moment receive one answer.
//! Everything that a client can use is limited: connections, requests a second, the time of a request, the bytes of an
//! answer, and the bytes that wait for slow readers. See `docs/api.md`.

mod answer_body;
mod answer_threads;
mod basic_password;
mod birdwatcher;
mod byte_budget;
mod endpoint;
mod endpoints;
mod event_stream;
mod history;
mod json_page;
mod looking_glass_files;
mod open_connections;
mod openapi;
mod percent;
mod problem;
mod query;
mod responder;
mod roles;
mod route_pages;
mod row_order;
mod sample_rings;
mod server;
mod shared_answers;

pub use birdwatcher::{BirdwatcherSettings, ReasonNumbers};
pub use rutter_server::CertificateFiles;
pub use server::{Site, WebServer, WebSettings};
