//! Reads prefixes from standard input, one a line, and prints the prefixes that no other one covers.

use std::io::{self, BufRead as _};

use rutter_net::Prefix;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut prefixes = Vec::new();
    for line in io::stdin().lock().lines() {
        prefixes.push(line?.trim().parse::<Prefix>()?);
    }
    // Prefixes sort by address, then by length: a covering prefix comes before the prefixes inside it.
    prefixes.sort_unstable();
    let mut last: Option<Prefix> = None;
    for prefix in prefixes {
        if last.is_none_or(|covering| !covering.covers(prefix)) {
            println!("{prefix}");
            last = Some(prefix);
        }
    }
    Ok(())
}
