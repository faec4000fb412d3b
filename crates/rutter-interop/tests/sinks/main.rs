//! Sinks into real databases and brokers that are killed: what they hold is compared row by row.

mod collector;
mod feed;
mod kafka;
mod mariadb;
mod peers;
mod postgres;
mod recreated_tables;
mod stage;
#[path = "../../../rutter-sinks/tests/world/mod.rs"]
mod world;
