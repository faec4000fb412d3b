//! Times for people.

/// A time in microseconds since 1970: `2026-11-21 05:40:00.000000 UTC`.
pub fn utc(unix_us: u64) -> String {
    let second = unix_us / 1_000_000;
    let (year, month, day) = date(second / 86_400);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{:06} UTC",
        second / 3600 % 24,
        second / 60 % 60,
        second % 60,
        unix_us % 1_000_000
    )
}

/// Year, month and day of a number of days since 1970. Years begin in March here, so the leap day is the last.
pub fn date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
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
