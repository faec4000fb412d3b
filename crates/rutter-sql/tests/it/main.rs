//! Queries over a small table: in the process, over the protocol, and from the documentation.

mod clients;
mod dialect;
mod documented;
mod endless_queries;
mod hostile;
mod limits;
mod null_comparisons;
mod operators;
mod queries;
mod raw;
mod result_types;
mod server;
mod statements;
mod string_casts;
mod subqueries;
mod table;
mod times;
mod tls;
mod types;
mod value_strings;
mod values;
