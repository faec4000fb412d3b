//! Limits of the number of prefixes.

use rutter_irr::{PeeringDb, PrefixHeadroom};
use rutter_net::{Family, PerFamily};

use crate::toml_writer::{Keys, quoted};
use crate::yaml::Section;

/// The settings of `filtering.max_prefix` that a client inherits.
#[derive(Clone)]
pub(crate) struct MaxPrefix {
    action: Option<&'static str>,
    restart_after: Option<u32>,
    from_peering_db: bool,
    headroom: PrefixHeadroom,
    general: PerFamily<u32>,
    limits: PerFamily<Option<u32>>,
}

impl Default for MaxPrefix {
    /// ARouteServer's defaults.
    fn default() -> Self {
        MaxPrefix {
            action: None,
            restart_after: None,
            from_peering_db: true,
            headroom: PrefixHeadroom::default(),
            general: PerFamily::new(170_000, 12_000),
            limits: PerFamily::both(None),
        }
    }
}

impl MaxPrefix {
    /// Reads the section of `general.yml` or of a client.
    pub(crate) fn read(&self, section: Section<'_>) -> Self {
        let mut now = self.clone();
        if let Some(action) = section.get("action")
            && let Some(text) = action.text()
        {
            match text.as_str() {
                "shutdown" => now.action = Some("shutdown"),
                "restart" => now.action = Some("restart"),
                "block" => now.action = Some("block"),
                "warning" => now.action = Some("warn"),
                _ => action.error("write shutdown, restart, block or warning"),
            }
        }
        now.restart_after = section.number("restart_after").or(self.restart_after);
        if let Some(count) = section.get("count_rejected_routes")
            && count.bool() == Some(false)
        {
            count
                .error("Rutter counts rejected prefixes too; remove the key, and raise the limits");
        }
        // Old files have a boolean here.
        let switch = section.get("peering_db");
        let switch = switch.filter(|value| value.is_bool());
        now.from_peering_db = switch
            .as_ref()
            .and_then(|value| value.bool())
            .unwrap_or(self.from_peering_db);
        if switch.is_none() {
            now.read_peering_db(&section);
        }
        let general = PerFamily::new("general_limit_ipv4", "general_limit_ipv6");
        let general = general.map(|key| section.number(key));
        let limits = PerFamily::new("limit_ipv4", "limit_ipv6");
        let limits = limits.map(|key| section.number(key));
        for family in Family::ALL {
            now.general[family] = general[family].unwrap_or(self.general[family]);
            now.limits[family] = limits[family].or(self.limits[family]);
        }
        now
    }

    fn read_peering_db(&mut self, section: &Section<'_>) {
        let peering_db = section.section("peering_db");
        self.from_peering_db = peering_db.bool("enabled").unwrap_or(self.from_peering_db);
        let increment = peering_db.section("increment");
        let PrefixHeadroom {
            absolute,
            relative_percent,
        } = &mut self.headroom;
        *absolute = increment.number("absolute").unwrap_or(*absolute);
        *relative_percent = increment.number("relative").unwrap_or(*relative_percent);
    }

    /// Returns whether limits of PeeringDB count.
    pub(crate) fn uses_peering_db(&self) -> bool {
        self.action.is_some() && self.from_peering_db
    }

    /// Returns the key of a client.
    pub(crate) fn key(&self, asn: u32, peering_db: &PeeringDb) -> Keys {
        let mut keys = Keys::default();
        let Some(action) = self.action else {
            return keys;
        };
        let network = peering_db.net(asn).filter(|_| self.from_peering_db);
        let known = network.map_or(PerFamily::both(None), |network| network.prefix_limits);
        let mut table = Keys::default();
        for (family, name) in Family::ALL.into_iter().zip(["v4", "v6"]) {
            let of_peering_db = known[family].map(|limit| self.headroom.above(limit));
            let limit = self.limits[family]
                .or(of_peering_db)
                .unwrap_or(self.general[family]);
            if limit > 0 {
                table.plain(name, limit);
            }
        }
        if table.is_empty() {
            return keys;
        }
        table.string("action", action);
        if let (Some(minutes), "restart") = (self.restart_after, action) {
            table.plain("restart-after", quoted(&format!("{minutes}m")));
        }
        keys.table("max-prefix", &table);
        keys
    }
}
