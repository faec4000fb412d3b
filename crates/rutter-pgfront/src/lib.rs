//! PostgreSQL's protocol and dialect over DataFusion, for any application's tables.
//!
//! ```text
//! client ─► protocol ─► dialect ─► DataFusion ─► plan, functions, limits ─► rows ─► values ─► protocol ─► client
//! ```
//! [`Database`] holds the tables and plans queries. [`Server`] answers PostgreSQL's clients from it. [`Application`]
//! describes what the application adds: its name, its functions and its operators.
//! `passes.rs` lists every pass over a query in the order in which they run.

/// The example of the README is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

mod application;
mod catalog;
mod database;
mod dialect;
mod error;
mod files;
mod functions;
mod limits;
mod output;
mod passes;
mod plan;
mod protocol;
mod values;

pub use application::{Application, FunctionDescription};
pub use database::{Database, Limits};
pub use error::QueryError;
pub use functions::{Body, is_text, text_function};
pub use limits::memory::octets as batch_bytes;
pub use output::{Format, Printer};
pub use protocol::{Access, ConnectionBounds, Server, ServerError, Settings, listen};
pub use rutter_server::{CertificateFiles, TlsFileError};
