//! Calendar dates.

use std::fmt;

/// The days from 1 March of year 0 to 1970-01-01.
const DAYS_BEFORE_1970: u64 = 719_468;
const DAYS_OF_400_YEARS: u64 = 146_097;

/// A date of the Gregorian calendar from 1970 on, written as `2026-11-22`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// 1970 or later.
    pub year: u64,
    /// 1 to 12.
    pub month: u64,
    /// 1 to 31.
    pub day: u64,
}

impl Date {
    /// Returns the date of a day number, counted from 1970-01-01.
    pub fn of_day(days: u64) -> Self {
        // Years start in March here, so the leap day is the last day.
        let shifted = days + DAYS_BEFORE_1970;
        let (era, of_era) = (shifted / DAYS_OF_400_YEARS, shifted % DAYS_OF_400_YEARS);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * of_year + 2) / 153;
        let month = if march_month < 10 {
            march_month + 3
        } else {
            march_month - 9
        };
        Self {
            year: era * 400 + year_of_era + u64::from(month <= 2),
            month,
            day: of_year - (153 * march_month + 2) / 5 + 1,
        }
    }

    /// Returns the UTC date of a time in seconds since 1970.
    pub fn of_second(unix_s: u64) -> Self {
        Self::of_day(unix_s / 86_400)
    }

    /// Returns the day number, counted from 1970-01-01; `None` for an invalid date.
    pub fn days(self) -> Option<u64> {
        if self.year < 1970 || !(1..=12).contains(&self.month) || !(1..=31).contains(&self.day) {
            return None;
        }
        let (year, march_month) = if self.month > 2 {
            (self.year, self.month - 3)
        } else {
            (self.year - 1, self.month + 9)
        };
        let (era, of_era) = (year / 400, year % 400);
        let of_year = (153 * march_month + 2) / 5 + self.day - 1;
        let of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
        let days = era.checked_mul(DAYS_OF_400_YEARS)?.checked_add(of_era)? - DAYS_BEFORE_1970;
        (Self::of_day(days) == self).then_some(days)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(year: u64, month: u64, day: u64) -> Date {
        Date { year, month, day }
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut before = Date::of_day(0);
        assert_eq!(before, date(1970, 1, 1));
        for days in 1..200_000 {
            let next = Date::of_day(days);
            let is_leap = before.year.is_multiple_of(4)
                && (!before.year.is_multiple_of(100) || before.year.is_multiple_of(400));
            let last = match before.month {
                2 => 28 + u64::from(is_leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            let expected = if before.day < last {
                date(before.year, before.month, before.day + 1)
            } else if before.month < 12 {
                date(before.year, before.month + 1, 1)
            } else {
                date(before.year + 1, 1, 1)
            };
            assert_eq!((next, next.days()), (expected, Some(days)));
            before = next;
        }
    }

    #[test]
    fn invalid_dates_have_no_day_number() {
        for none in [
            date(2026, 2, 29),
            date(2100, 2, 29),
            date(2026, 4, 31),
            date(2026, 13, 1),
            date(2026, 0, 1),
            date(2026, 1, 0),
            date(1969, 12, 31),
            date(u64::MAX, 1, 1),
        ] {
            assert_eq!(none.days(), None, "{none}");
        }
        assert_eq!(Date::of_second(951_782_400), date(2000, 2, 29));
        assert_eq!(Date::of_second(951_782_399).to_string(), "2000-02-28");
    }
}
