//! Keys of sessions, which a client may override.

use crate::toml_writer::Keys;
use crate::yaml::Section;

/// The session keys in force, with Rutter's defaults.
#[derive(Clone, Copy, Default)]
pub(crate) struct SessionSettings {
    /// IPv4 routes with IPv6 next hops on IPv6 sessions (RFC 8950).
    pub(crate) rfc8950: bool,
    multihop: u32,
    gtsm: bool,
    prepends: bool,
    /// Wait for the client to connect.
    pub(crate) passive: bool,
}

impl SessionSettings {
    /// Reads the session keys of `cfg`, in `general.yml` or of a client. Returns the keys that differ from `self`, and
    /// the settings in force.
    pub(crate) fn read(self, cfg: &Section<'_>) -> (Keys, Self) {
        let mut keys = Keys::default();
        let now = SessionSettings {
            rfc8950: cfg.bool("rfc8950").unwrap_or(self.rfc8950),
            multihop: cfg.number("multihop").unwrap_or(self.multihop),
            gtsm: cfg.bool("gtsm").unwrap_or(self.gtsm),
            prepends: cfg.bool("prepend_rs_as").unwrap_or(self.prepends),
            passive: cfg.bool("passive").unwrap_or(self.passive),
        };
        if cfg.get("passive").is_some() && now.passive != self.passive {
            keys.plain("passive", now.passive);
        }
        let hops = now.multihop.max(1);
        if (now.gtsm, now.multihop) != (self.gtsm, self.multihop) {
            match now.gtsm {
                true => keys.plain("ttl-security", hops),
                false if now.multihop > 0 => keys.plain("multihop", now.multihop),
                false => {}
            }
        }
        if let Some(add_path) = cfg.bool("add_path") {
            keys.plain("add-path", format!("{{ send = {add_path} }}"));
        }
        if now.prepends != self.prepends {
            keys.plain("prepend-rs-as", now.prepends);
        }
        self.roles(&cfg.section("filtering").section("roles"), &mut keys);
        (keys, now)
    }

    fn roles(self, roles: &Section<'_>, keys: &mut Keys) {
        if let Some(strict) = roles.bool("strict_mode") {
            keys.plain("role-strict", strict);
        }
        let Some(role) = roles.get("local_role") else {
            return;
        };
        let Some(text) = role.text() else { return };
        let name = match text.as_str() {
            "rs" => "route-server",
            "rs-client" => "route-server-client",
            "provider" | "customer" | "peer" => &text,
            _ => {
                return role.error("write provider, rs, rs-client, customer or peer");
            }
        };
        keys.string("role", name);
    }
}
