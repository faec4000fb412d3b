//! `[graceful-restart]`: Graceful Restart (RFC 4724, 8538) and Long-lived Graceful Restart (RFC 9494).

use crate::key_rows::section;
use crate::toml_values::Item;
use crate::value_forms::seconds;

section! {
    /// Graceful Restart.
    #[derive(Copy)]
    pub struct GracefulRestart = "[graceful-restart]" {
        /// Keep the routes of a restarting neighbor, and announce the capability (RFC 4724).
        "enabled": "true, false", default "true", reload AtOnce
            => enabled: bool = true, read Item::bool;
        /// The restart time that we announce; at most 4095 seconds.
        "restart-time": "duration", default "`\"120s\"`", reload AtOnce
            => restart_time_s: u16 = 120, read |i| seconds(i, 1, 4095).map(|s| s as u16);
        /// After a restart of Rutter: the longest time to wait for the routes of the neighbors that were there before. Until then Rutter advertises nothing, and neighbors use the routes that they kept. At most `restart-time`; `0`: do not wait.
        "selection-deferral": "duration", default "`restart-time`", reload AtOnce
            => selection_deferral_s: Option<u16> = None, read |i| seconds(i, 0, 4095).map(|s| Some(s as u16));
        /// Also keep routes when a session ends with a NOTIFICATION (RFC 8538).
        "notification": "true, false", default "true", reload AtOnce
            => notification: bool = true, read Item::bool;
        /// How long stale routes stay after the restart time, least preferred (RFC 9494).
        "long-lived-stale-time": "duration", default "`0`, off", reload AtOnce
            => long_lived_s: u32 = 0, read |i| seconds(i, 0, 0xff_ffff).map(|s| s as u32);
    }
}

impl GracefulRestart {
    /// Returns whether an OPEN offers the same with other settings, apart from times: those are for the next OPEN.
    pub(crate) fn has_same_offer(&self, other: &GracefulRestart) -> bool {
        let offers_long_lived = |one: &GracefulRestart| one.long_lived_s > 0;
        self.enabled == other.enabled
            && self.notification == other.notification
            && offers_long_lived(self) == offers_long_lived(other)
    }

    /// The longest time to wait for the neighbors after our own restart, seconds. Neighbors remove our routes after the
    /// restart time, so a longer wait helps nobody.
    pub fn selection_deferral_s(&self) -> u16 {
        let configured = self.selection_deferral_s.unwrap_or(u16::MAX);
        configured.min(self.restart_time_s)
    }
}

impl Default for GracefulRestart {
    fn default() -> Self {
        GracefulRestart::new()
    }
}
