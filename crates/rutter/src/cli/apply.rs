//! The command lines of `rutter apply`, `confirm`, `rollback` and `history`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `rutter apply`.
#[derive(Args, Debug)]
pub(crate) struct ApplyArgs {
    /// The new configuration, which the daemon must be able to read; - or a pipe is read here
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Go back after this time, unless `rutter confirm` comes first: 90s, 10m, 1h
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) confirm: Option<u64>,
    /// Go back if a neighbor loses more than this part of its routes: 2%
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "confirm")]
    pub(crate) max_loss: Option<f64>,
}

/// Reads a time such as `10m`, in seconds.
fn seconds(text: &str) -> Result<u64, String> {
    let number = text.trim_end_matches(['s', 'm', 'h']);
    let factor = match &text[number.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => 0,
    };
    let seconds = number
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(factor));
    match seconds {
        Some(seconds @ 10..=86_400) => Ok(seconds),
        _ => Err("write a time from 10s to 24h, such as 90s or 10m".to_owned()),
    }
}

/// Reads a part such as `2%`, in percent.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>();
    match number {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("write a part from 0% to 100%, such as 2%".to_owned()),
    }
}

pub(crate) const APPLY: &str = "\
Prints what changes, puts the configuration in force, and makes it the file that a start reads.
Relative paths in FILE mean the same as in the daemon's own file.
If there are errors, nothing changes.

With --confirm the daemon's own file stays as it is until `rutter confirm`. The daemon goes back to
the configuration before
  - when the time is over
  - when an established session stays down for a minute, or for half of the time if that is shorter
  - with --max-loss, when fewer routes of a neighbor are accepted or advertised than it allows
  - when it is started again before the confirmation

Examples:
  rutter diff new.toml --routes
  rutter apply new.toml --confirm 10m --max-loss 2%
  rutter confirm
  ./generate-configuration | rutter apply - --confirm 10m";

pub(crate) const CONFIRM: &str = "\
Examples:
  rutter apply new.toml --confirm 10m
  rutter show peers && rutter confirm";

pub(crate) const ROLLBACK: &str = "\
Without N this ends a change that waits for its confirmation. If there is none, it goes back to the
configuration before the one in force, so a second rollback undoes the first. The daemon's own file
changes too. Member files are not kept: they are read as they are now.

Examples:
  rutter history
  rutter rollback
  rutter rollback 12";

pub(crate) const HISTORY: &str = "\
The daemon keeps the last 20 configurations that ran in the folder `daemon.state`. The latest is in
force. The user is that of the process which connected to the management socket.

Examples:
  rutter history
  rutter history --json | jq -r 'select(.running) | .number'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_parts_have_units() {
        assert_eq!(seconds("10m"), Ok(600));
        assert_eq!(seconds("90"), Ok(90));
        assert_eq!(seconds("1h"), Ok(3_600));
        assert!(
            ["", "m", "5s", "10x", "25h", "10sm"]
                .iter()
                .all(|text| seconds(text).is_err())
        );
        assert_eq!(percent("2%"), Ok(2.0));
        assert_eq!(percent("0.5"), Ok(0.5));
        assert!(
            ["", "%", "-1%", "101%", "NaN"]
                .iter()
                .all(|text| percent(text).is_err())
        );
    }
}
