//! Times as text.

use rutter_net::Date;

/// A time in microseconds since 1970: `2026-11-21 05:40:00.000000 UTC`.
pub fn utc(unix_us: u64) -> String {
    let second = unix_us / 1_000_000;
    format!(
        "{} {:02}:{:02}:{:02}.{:06} UTC",
        Date::of_second(second),
        second / 3600 % 24,
        second / 60 % 60,
        second % 60,
        unix_us % 1_000_000
    )
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn times_are_written_for_people() {
        assert_eq!(utc(0), "1970-01-01 00:00:00.000000 UTC");
        assert_eq!(utc(951_782_400_000_001), "2000-02-29 00:00:00.000001 UTC");
        assert_eq!(utc(1_795_239_600_000_000), "2026-11-21 05:40:00.000000 UTC");
    }
}
