//! Formats numbers for reading.

use rutter_net::Date;

/// Formats `1,062,046`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats `512 B`, `1.5 KiB`, `326 MiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{n} B"),
        _ if value < 10.0 => format!("{value:.1} {}", UNITS[unit]),
        _ => format!("{value:.0} {}", UNITS[unit]),
    }
}

/// Formats `42s`, `5m07s`, `3h12m`, `12d04h`.
pub fn duration(seconds: u64) -> String {
    let (d, h, m, s) = (
        seconds / 86_400,
        seconds / 3_600 % 24,
        seconds / 60 % 60,
        seconds % 60,
    );
    match (d, h, m) {
        (0, 0, 0) => format!("{s}s"),
        (0, 0, _) => format!("{m}m{s:02}s"),
        (0, _, _) => format!("{h}h{m:02}m"),
        _ => format!("{d}d{h:02}h"),
    }
}

/// Formats `1 route`, `2 routes`.
pub fn plural(n: u64, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        _ => format!("{} {one}s", grouped(n)),
    }
}

/// Formats microseconds since 1970 as `2025-01-31T12:00:00.123Z`.
pub fn timestamp(unix_us: u64) -> String {
    let (seconds, micros) = (unix_us / 1_000_000, unix_us % 1_000_000);
    let of_day = seconds % 86_400;
    format!(
        "{}T{:02}:{:02}:{:02}.{:03}Z",
        Date::of_second(seconds),
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60,
        micros / 1_000
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_062_046), "1,062,046");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(326 << 20), "326 MiB");
        assert_eq!(duration(59), "59s");
        assert_eq!(duration(307), "5m07s");
        assert_eq!(duration(86_400 * 12 + 4 * 3_600), "12d04h");
        assert_eq!(plural(1, "route"), "1 route");
        assert_eq!(plural(2000, "route"), "2,000 routes");
    }

    #[test]
    fn dates_are_gregorian() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(951_782_400_000_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(timestamp(1_735_689_599_999_999), "2024-12-31T23:59:59.999Z");
    }
}
