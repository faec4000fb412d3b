//! The settings that clients read.

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

/// The name of a setting, where SQL has words of its own for it.
pub fn setting_name(name: &str) -> &str {
    match name {
        "transaction isolation level" => "transaction_isolation",
        "time zone" => "timezone",
        "session authorization" => "session_authorization",
        name => name,
    }
}

/// The settings and their values. The application completes `server_version` and `session_authorization`.
pub const SETTINGS: [(&str, &str); 41] = [
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
    ("statement_timeout", "0"),
    ("timezone", "UTC"),
    ("transaction_isolation", "read committed"),
    ("transaction_read_only", "on"),
];
