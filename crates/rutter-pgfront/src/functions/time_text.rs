//! Times that people write without seconds.

/// Completes `2026-11-20 12:00+02` with seconds. `None`: it needs nothing.
pub fn with_seconds(text: &str) -> Option<String> {
    let end = text.find(':')? + ":00".len();
    let (minutes, rest) = text.split_at_checked(end)?;
    let is_time = minutes.ends_with(|c: char| c.is_ascii_digit());
    let goes_on = rest.starts_with([':', '.']) || rest.starts_with(|c: char| c.is_ascii_digit());
    (is_time && !goes_on).then(|| format!("{minutes}:00{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_missing_seconds_are_added() {
        for (text, expected) in [
            ("2026-11-20 12:00", Some("2026-11-20 12:00:00")),
            ("2026-11-20T12:00Z", Some("2026-11-20T12:00:00Z")),
            ("2026-11-20 12:00+02:30", Some("2026-11-20 12:00:00+02:30")),
            ("12:00", Some("12:00:00")),
            ("2026-11-20 12:00:01.5", None),
            ("2026-11-20", None),
            ("x:y", None),
            ("1:é0", None),
        ] {
            assert_eq!(with_seconds(text).as_deref(), expected, "{text}");
        }
    }
}
