//! `[rpki]`: validated ROA payloads (VRPs) and ASPAs.

use std::path::PathBuf;

use crate::PathRole;
use crate::key_rows::section;
use crate::toml_values::{Item, Section};
use crate::value_forms::{host_port, percent, seconds};

section! {
    /// Validated data of the RPKI: from validators over RTR (RFC 8210), from files, or from both. `checks.rpki-invalid` judges routes by it, and `rutter lookup` shows it.
    pub struct Rpki = "[rpki]" {
        /// JSON files of validated ROA payloads, as `rpki-client -j`, `routinator vrps --format json` and others write them. They are read again when they change. The data of an unreadable file stay in force. With `rtr`, they count when no validator has data.
        "vrps": "path, or several", default "none", reload AtOnce
            => vrps: Vec<PathBuf> = Vec::new(), read |i| Some(i.some(|i| i.named(PathRole::Vrps)));
        /// Validators (RTR caches), in order of preference. The default port is 323.
        "rtr": "host:port, or several", default "none", reload AtOnce
            => rtr: Vec<String> = Vec::new(), read |i| Some(i.some(|i| host_port(i, 323)));
        /// Time between queries for new data (RFC 8210 §6).
        "refresh": "duration", default "as the validator says, else `\"1h\"`", reload AtOnce
            => refresh_s: Option<u32> = None, read |i| interval(i, 1, 86_400);
        /// Time between attempts to reach a validator that fails.
        "retry": "duration", default "as the validator says, else `\"10m\"`", reload AtOnce
            => retry_s: Option<u32> = None, read |i| interval(i, 1, 7_200);
        /// The age at which data of a validator that fails is no longer used. Then the next validator or file counts, and without one no route is invalid.
        "expire": "duration", default "as the validator says, else `\"2h\"`", reload AtOnce
            => expire_s: Option<u32> = None, read |i| interval(i, 600, 172_800);
        /// Also use ASPAs: from files that contain ASPAs, and from validators over version 2 of RTR.
        "aspa": "true, false", default "false", reload AtOnce
            => aspa: bool = false, read Item::bool;
        /// Refuse data that shrank by more than this share, until an operator accepts it.
        "refuse-shrink": "`\"20%\"`, or false", default "`\"20%\"`", reload AtOnce
            => refuse_shrink: Option<u8> = Some(20), read percent;
    }
}

impl Rpki {
    /// Reports a section that names no data.
    pub(crate) fn check(&self, section: &Section<'_>) {
        if section.get("vrps").is_none() && section.get("rtr").is_none() {
            section.complain(
                "rtr",
                "neither `rtr` nor `vrps` is present, so there is no data",
                "write rtr = \"127.0.0.1:3323\", or vrps = \"/var/lib/rpki-client/json\"",
            );
        }
        if let (Some(refresh), Some(expire)) = (self.refresh_s, self.expire_s)
            && let (true, Some(item)) = (expire <= refresh, section.get("expire"))
        {
            item.error(
                format!(
                    "data would expire after {expire} seconds, before its refresh after {refresh}"
                ),
                "write a longer `expire`, or a shorter `refresh`",
            );
        }
    }
}

fn interval(item: &Item<'_>, from: u64, to: u64) -> Option<Option<u32>> {
    seconds(item, from, to).map(|s| Some(s as u32))
}
