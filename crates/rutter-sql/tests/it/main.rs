//! Queries over a small table: in the process, over the protocol, and from the documentation.

mod clients;
mod documented;
mod endless;
mod guards;
mod hostile;
mod kinds;
mod limits;
mod operators;
mod queries;
mod raw;
mod server;
mod statements;
mod table;
mod times;
mod tls;
mod types;
mod unknown;
mod values;
mod within;
mod words;
mod written;
