//! Settings: what a client can set, and what it is told of those that it cannot.

use std::time::Duration;

/// The zone of `SET [SESSION | LOCAL] {TIME ZONE | TimeZone {TO | =}} zone`, without its first word.
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

/// The time of `SET [SESSION] statement_timeout {TO | =} time`, without its first word.
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

/// A time as PostgreSQL's settings have it: milliseconds, or with a unit. None at all: `0` and `DEFAULT`.
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

/// The value of a setting that drivers ask for.
pub fn setting(name: &str) -> &'static str {
    let name = match name {
        "transaction isolation level" => "transaction_isolation",
        "time zone" => "timezone",
        name => name,
    };
    let found = SETTINGS.iter().find(|(known, _)| *known == name);
    found.map_or("", |(_, value)| value)
}

/// Settings and their values: none can be changed.
pub const SETTINGS: [(&str, &str); 17] = [
    ("application_name", ""),
    ("client_encoding", "UTF8"),
    ("datestyle", "ISO, MDY"),
    ("default_transaction_isolation", "read committed"),
    ("default_transaction_read_only", "on"),
    ("integer_datetimes", "on"),
    ("intervalstyle", "postgres"),
    ("max_identifier_length", "63"),
    ("max_index_keys", "32"),
    ("search_path", "public"),
    ("server_encoding", "UTF8"),
    ("server_version", "16.0 (Rutter)"),
    ("server_version_num", "160000"),
    ("standard_conforming_strings", "on"),
    ("timezone", "UTC"),
    ("transaction_isolation", "read committed"),
    ("transaction_read_only", "on"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let seconds = |count| Some(Some(Duration::from_secs(count)));
        assert_eq!(
            [time("1500s"), time("2000"), time("1 min")],
            [seconds(1500), seconds(2), seconds(60)]
        );
        assert_eq!([time("0"), time("x"), time("1y")], [Some(None), None, None]);
    }
}
