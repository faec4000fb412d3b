//! Sinks with real databases and brokers that are killed: their rows are compared one by one.

mod collector;
mod feed;
mod kafka;
mod mariadb;
mod peers;
mod postgres;
mod recreated_tables;
mod stage;
mod tls;
#[path = "../../../rutter-sinks/tests/world/mod.rs"]
mod world;
