//! The memory that tables take from the system. Each is built in its own process, whose resident memory is
//! compared.

use std::path::Path;
use std::process::Command;

use crate::contenders::{self, Foreign};
use crate::data::Data;

/// The first argument of such a process.
pub const COMMAND: &str = "size-of";

/// The bytes that the table takes, measured in another process.
pub fn ask(path: &Path, name: &str, family: char) -> Option<f64> {
    let this = std::env::current_exe().ok()?;
    let output = Command::new(this)
        .arg(COMMAND)
        .arg(path)
        .arg(name)
        .arg(family.to_string())
        .output()
        .ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// The main function of the other process.
pub fn print_one(arguments: &[String]) {
    let [path, name, family] = arguments else {
        unreachable!("three arguments");
    };
    let data = Data::read(Path::new(path)).expect("the table, read before");
    let size = match family.as_str() {
        "4" => grown(name, &data.ipv4),
        _ => grown(name, &data.ipv6),
    };
    println!("{size}");
}

fn grown<N: Foreign>(name: &str, prefixes: &[N]) -> usize {
    let before = resident();
    let table = contenders::build(name, prefixes);
    let grown = resident() - before;
    // The table lives until here. Memory left over from reading the file may hide a little of it.
    table.own_size().map_or(grown, |own| own.max(grown))
}

/// The resident bytes of this process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
