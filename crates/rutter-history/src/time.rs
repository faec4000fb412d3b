//! Times as people and folders write them, all in UTC.

use rutter_net::Date;

/// Microseconds of an hour.
pub(crate) const HOUR_US: u64 = 3_600_000_000;
const DAY_US: u64 = 24 * HOUR_US;

/// Parses a time. Accepted are `2026-11-20` and `2026-11-20 12:00`, with seconds and a fraction, and `T` for
/// the space. `Z`, `UTC` or a zone (`+00`, `+05:30`) may follow. Also accepted are seconds, milliseconds or
/// microseconds since 1970, distinguished by the number of digits.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    if text.len() >= 9 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let since: u64 = text.parse().ok()?;
        return match text.len() {
            9..=11 => Some(since * 1_000_000),
            12..=14 => Some(since * 1_000),
            // Times in files are signed.
            _ => i64::try_from(since).ok().map(|_| since),
        };
    }
    let text = text
        .trim_end_matches("UTC")
        .trim_end_matches('Z')
        .trim_end();
    let (day, clock) = text.split_once([' ', 'T']).unwrap_or((text, "00:00"));
    let mut of_day = day.splitn(3, '-').map(number);
    let (year, month, day) = (of_day.next()??, of_day.next()??, of_day.next()??);
    let zone = clock.find(['+', '-']).unwrap_or(clock.len());
    let (clock, zone) = clock.split_at(zone);
    let ahead = ahead(zone)?;
    let clock = clock.trim_end();
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut of_clock = clock.splitn(3, ':').map(number);
    let (hour, minute) = (of_clock.next()??, of_clock.next()??);
    let second = of_clock.next().unwrap_or(Some(0))?;
    if year > 9999 || hour > 23 || minute > 59 || second > 60 || fraction.len() > 6 {
        return None;
    }
    let days = Date { year, month, day }.days()?;
    let us = number(fraction)? * 10u64.pow(6 - fraction.len() as u32);
    let time = days * DAY_US + hour * HOUR_US + minute * 60_000_000 + second * 1_000_000 + us;
    time.checked_add_signed(-ahead)
}

/// The offset of a zone from UTC, in microseconds.
fn ahead(zone: &str) -> Option<i64> {
    let (sign, clock) = match zone.split_at_checked(1) {
        None => return Some(0),
        Some(("-", clock)) => (-1, clock),
        Some((_, clock)) => (1, clock),
    };
    let (hours, minutes) = match clock.split_once(':') {
        Some(parts) => parts,
        None if clock.len() == 4 => clock.split_at(2),
        None => (clock, "0"),
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let is_zone = hours < 16 && minutes < 60;
    is_zone.then(|| sign * (hours * HOUR_US + minutes * 60_000_000) as i64)
}

/// The hour of a time, counted since 1970.
pub(crate) fn hour(unix_us: u64) -> u64 {
    unix_us / HOUR_US
}

/// `day=2026-11-20/hour=12`.
pub(crate) fn partition(hour: u64) -> String {
    format!("day={}/hour={:02}", Date::of_day(hour / 24), hour % 24)
}

/// The hour of a pair of folders.
pub(crate) fn of_partition(day: &str, hour: &str) -> Option<u64> {
    let day = parse(day.strip_prefix("day=")?)?;
    let hour = number(hour.strip_prefix("hour=")?)?;
    (hour < 24).then_some(day / HOUR_US + hour)
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use rutter_events::utc;

    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        for us in [
            0,
            951_782_400_000_001,
            1_795_239_600_000_000,
            4_107_542_399_999_999,
        ] {
            assert_eq!(parse(&utc(us)), Some(us));
            assert_eq!(
                parse(&us.to_string()).filter(|_| us > 0),
                Some(us).filter(|_| us > 0)
            );
        }
        let noon = parse("2026-11-20 12:00");
        assert_eq!(noon, Some(1_795_176_000_000_000));
        for same in ["2026-11-20T12:00:00Z", "2026-11-20 12:00:00.000 UTC"] {
            assert_eq!(parse(same), noon, "{same}");
        }
        for same in [
            "2026-11-20 12:00:00+00",
            "2026-11-20 14:00+02",
            "2026-11-20T06:30:00.0-05:30",
            "2026-11-20 17:45 +0545",
        ] {
            assert_eq!(parse(same), noon, "{same}");
        }
        for same in ["1795176000", "1795176000000", "1795176000000000"] {
            assert_eq!(parse(same), noon, "{same}");
        }
        for wrong in [
            "",
            "noon",
            "2026-02-30",
            "2026-11-20 24:00",
            "2026-11-20 12",
            "2026-11-20 12:00+",
            "2026-11-20 12:00+16",
            "2026-11-20 12:00+1:60",
            "1970-01-01 00:00+01",
            "2026-11",
            "9223372036854775808",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn folders_name_hours() {
        let hour = hour(1_795_176_000_000_000);
        let folders = partition(hour);
        assert_eq!(folders, "day=2026-11-20/hour=12");
        let (day, of_day) = folders.split_once('/').unwrap();
        assert_eq!(of_partition(day, of_day), Some(hour));
    }
}
