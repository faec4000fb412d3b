//! Limits of the number of prefixes.

use rutter_irr::PeeringDb;

use crate::toml_writer::{Keys, quoted};
use crate::yaml::Section;

/// The settings of `filtering.max_prefix` that a client inherits.
#[derive(Clone)]
pub(crate) struct MaxPrefix {
    action: Option<&'static str>,
    restart_after: Option<u32>,
    from_peering_db: bool,
    absolute: u32,
    relative: u32,
    general: [u32; 2],
    limits: [Option<u32>; 2],
}

impl Default for MaxPrefix {
    /// ARouteServer's defaults.
    fn default() -> Self {
        MaxPrefix {
            action: None,
            restart_after: None,
            from_peering_db: true,
            absolute: 100,
            relative: 15,
            general: [170_000, 12_000],
            limits: [None, None],
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
        let general = ["general_limit_ipv4", "general_limit_ipv6"].map(|key| section.number(key));
        let limits = ["limit_ipv4", "limit_ipv6"].map(|key| section.number(key));
        for family in 0..2 {
            now.general[family] = general[family].unwrap_or(self.general[family]);
            now.limits[family] = limits[family].or(self.limits[family]);
        }
        now
    }

    fn read_peering_db(&mut self, section: &Section<'_>) {
        let peering_db = section.section("peering_db");
        self.from_peering_db = peering_db.bool("enabled").unwrap_or(self.from_peering_db);
        let increment = peering_db.section("increment");
        self.absolute = increment.number("absolute").unwrap_or(self.absolute);
        self.relative = increment.number("relative").unwrap_or(self.relative);
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
        let known = [
            network.and_then(|network| network.info_prefixes4),
            network.and_then(|network| network.info_prefixes6),
        ];
        let mut table = Keys::default();
        for (family, name) in ["v4", "v6"].into_iter().enumerate() {
            let of_peering_db = known[family].map(|limit| self.increased(limit));
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

    /// `(limit + absolute) * (1 + relative / 100)`, as ARouteServer computes it.
    fn increased(&self, limit: u32) -> u32 {
        let sum = u64::from(limit) + u64::from(self.absolute);
        let increased = sum * (100 + u64::from(self.relative)) / 100;
        u32::try_from(increased).unwrap_or(u32::MAX)
    }
}
