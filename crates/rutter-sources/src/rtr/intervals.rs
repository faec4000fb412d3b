//! The intervals of an End of Data PDU.

/// Times between queries, in seconds (RFC 8210 §6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtrIntervals {
    /// Time between queries while the cache answers.
    pub refresh_s: u32,
    /// Time between attempts while the cache fails.
    pub retry_s: u32,
    /// The age at which data are no longer used.
    pub expire_s: u32,
}

impl Default for RtrIntervals {
    /// The defaults of RFC 8210 §6: 1 hour, 10 minutes, 2 hours.
    fn default() -> Self {
        RtrIntervals {
            refresh_s: 3_600,
            retry_s: 600,
            expire_s: 7_200,
        }
    }
}

impl RtrIntervals {
    /// The intervals within the ranges of RFC 8210 §6. Data never expire before they are refreshed.
    pub fn clamped(self) -> Self {
        let expire_s = self.expire_s.clamp(600, 172_800);
        let refresh_s = self.refresh_s.clamp(1, 86_400);
        RtrIntervals {
            refresh_s: if refresh_s < expire_s {
                refresh_s
            } else {
                expire_s / 2
            },
            retry_s: self.retry_s.clamp(1, 7_200).min(expire_s / 2),
            expire_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_stay_in_their_ranges() {
        let of = |refresh_s, retry_s, expire_s| RtrIntervals {
            refresh_s,
            retry_s,
            expire_s,
        };
        for (given, used) in [
            (of(3_600, 600, 7_200), of(3_600, 600, 7_200)),
            (of(0, 0, 0), of(1, 1, 600)),
            (of(u32::MAX, u32::MAX, u32::MAX), of(86_400, 7_200, 172_800)),
            (of(900, 900, 600), of(300, 300, 600)),
        ] {
            assert_eq!(given.clamped(), used);
        }
    }
}
