//! The settings that clients read, and the few that they can set.

use std::time::Duration;

/// Parses `SET [SESSION | LOCAL] {TIME ZONE | TimeZone {TO | =}} zone` without its first word. Returns the zone.
pub fn zone(words: &[&str]) -> Option<String> {
    let text = words.join(" ").replace('=', " = ");
    let mut words = text.split_whitespace().peekable();
    let is = |word: &&str, name: &str| word.eq_ignore_ascii_case(name);
    words.next_if(|word| is(word, "SESSION") || is(word, "LOCAL"));
    match words.next()? {
        word if is(&word, "TIME") && words.next_if(|word| is(word, "ZONE")).is_some() => {}
        word if is(&word, "TimeZone") => {
            words.next_if(|word| is(word, "TO") || *word == "=")?;
        }
        _ => return None,
    }
    let zone = words.collect::<Vec<_>>().join(" ");
    Some(zone.trim_matches(['\'', '"']).to_owned())
}

/// Parses `SET [SESSION] statement_timeout {TO | =} time` without its first word. Returns the time.
pub fn timeout(words: &[&str]) -> Option<String> {
    let text = words.join(" ").replace('=', " = ");
    let mut words = text.split_whitespace().peekable();
    words.next_if(|word| word.eq_ignore_ascii_case("SESSION"));
    let is_it = words.next()?.eq_ignore_ascii_case("statement_timeout");
    let to = words.next()?;
    let time = words.collect::<Vec<_>>().join(" ");
    let is_set = is_it && (to == "=" || to.eq_ignore_ascii_case("TO"));
    is_set.then(|| time.trim_matches('\'').to_owned())
}

/// Parses a duration of PostgreSQL's settings: milliseconds, or with a unit. `0` and `DEFAULT` are no limit.
pub fn time(text: &str) -> Option<Option<Duration>> {
    if text.eq_ignore_ascii_case("DEFAULT") {
        return Some(None);
    }
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: u64 = number.parse().ok()?;
    let milliseconds = match unit.trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let time = Duration::from_millis(number.saturating_mul(milliseconds));
    Some((!time.is_zero()).then_some(time))
}

/// The only setting that each connection has for itself.
pub const STATEMENT_TIMEOUT: &str = "statement_timeout";

/// Writes a duration as PostgreSQL does, in the largest unit without a rest.
pub fn shown(time: Duration) -> String {
    let milliseconds = time.as_millis();
    let units = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "min"),
        (1_000, "s"),
    ];
    let unit = units
        .iter()
        .find(|(unit, _)| milliseconds.is_multiple_of(*unit));
    match unit {
        Some((unit, name)) => format!("{}{name}", milliseconds / unit),
        None => format!("{milliseconds}ms"),
    }
}

/// The settings and their values. The application completes `server_version` and `session_authorization`.
pub const SETTINGS: [(&str, &str); 40] = [
    ("application_name", ""),
    ("array_nulls", "on"),
    ("backslash_quote", "safe_encoding"),
    ("block_size", "8192"),
    ("bytea_output", "hex"),
    ("client_encoding", "UTF8"),
    ("client_min_messages", "notice"),
    ("cluster_name", ""),
    ("datestyle", "ISO, MDY"),
    ("default_transaction_deferrable", "off"),
    ("default_transaction_isolation", "read committed"),
    ("default_transaction_read_only", "on"),
    ("escape_string_warning", "on"),
    ("extra_float_digits", "1"),
    ("idle_in_transaction_session_timeout", "0"),
    ("in_hot_standby", "off"),
    ("integer_datetimes", "on"),
    ("intervalstyle", "postgres"),
    ("is_superuser", "off"),
    ("jit", "off"),
    ("lc_collate", "C"),
    ("lc_ctype", "C"),
    ("lc_messages", "C"),
    ("lc_monetary", "C"),
    ("lc_numeric", "C"),
    ("lc_time", "C"),
    ("lock_timeout", "0"),
    ("max_identifier_length", "63"),
    ("max_index_keys", "32"),
    ("role", "none"),
    ("row_security", "on"),
    ("search_path", "public"),
    ("server_encoding", "UTF8"),
    ("server_version", "16.0"),
    ("server_version_num", "160000"),
    ("session_authorization", ""),
    ("standard_conforming_strings", "on"),
    ("timezone", "UTC"),
    ("transaction_isolation", "read committed"),
    ("transaction_read_only", "on"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout_settings_accept_units() {
        let seconds = |count| Some(Some(Duration::from_secs(count)));
        assert_eq!(
            [time("1500s"), time("2000"), time("1 min")],
            [seconds(1500), seconds(2), seconds(60)]
        );
        assert_eq!([time("0"), time("x"), time("1y")], [Some(None), None, None]);
        let times = [300_000, 90_000, 1_500, 7_200_000].map(Duration::from_millis);
        assert_eq!(times.map(shown), ["5min", "90s", "1500ms", "2h"]);
    }
}
