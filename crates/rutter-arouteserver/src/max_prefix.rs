//! Limits of the number of prefixes.

use rutter_irr::{PeeringDb, PrefixHeadroom};
use rutter_net::{Family, PerFamily};

use crate::toml_writer::{Keys, quoted};
use crate::yaml::Section;

/// The settings of `filtering.max_prefix` that a client inherits.
#[derive(Clone, PartialEq, Eq)]
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

    /// Returns whether limits follow the dump of PeeringDB's networks, which Rutter reads again when it changes. A family
    /// without a general limit has none for networks that PeeringDB does not have, which Rutter cannot express.
    pub(crate) fn follows_peering_db(&self) -> bool {
        let has_limits = self.general.iter().all(|limit| *limit > 0);
        self.uses_peering_db() && has_limits
    }

    /// Returns the key of `[defaults]`, if a dump of PeeringDB's networks is named.
    pub(crate) fn default_key(&self) -> Keys {
        let is_shared = self.follows_peering_db() && self.limits == PerFamily::both(None);
        let mut keys = Keys::default();
        if is_shared {
            keys.table("max-prefix", &self.following());
        }
        keys
    }

    /// Returns the form of the limits of a client that inherits the settings of `general`. `has_dump`: a dump of PeeringDB's
    /// networks is named.
    pub(crate) fn form(&self, general: &MaxPrefix, has_dump: bool) -> Form {
        let inherits = has_dump && !general.default_key().is_empty();
        let without_own = MaxPrefix {
            limits: PerFamily::both(None),
            ..self.clone()
        };
        let own = self.limits.map(|limit| limit.is_some());
        if !has_dump || !self.follows_peering_db() || own == PerFamily::both(true) {
            return Form::Numbers { inherits };
        }
        match (own.any(), inherits) {
            (false, true) if self == general => Form::Inherited,
            (false, _) => Form::Following,
            (true, true) if without_own == *general => Form::Own,
            (true, _) => Form::Frozen { inherits },
        }
    }

    /// Returns the key of a client.
    pub(crate) fn key(&self, form: Form, asn: u32, peering_db: &PeeringDb) -> Keys {
        let table = match form {
            Form::Inherited => Keys::default(),
            Form::Following => self.following(),
            Form::Own => self.fixed(self.limits),
            Form::Numbers { inherits } | Form::Frozen { inherits } => {
                let unlimited = inherits.then_some(u32::MAX);
                let limits = self.numbers(asn, peering_db);
                self.fixed(limits.map(|limit| match limit {
                    0 => unlimited,
                    limit => Some(limit),
                }))
            }
        };
        let mut keys = Keys::default();
        keys.table("max-prefix", &table);
        keys
    }

    /// The limits as numbers: those of the client, or of PeeringDB with headroom, or the general ones.
    fn numbers(&self, asn: u32, peering_db: &PeeringDb) -> PerFamily<u32> {
        let network = peering_db.net(asn).filter(|_| self.from_peering_db);
        let known = network.map_or(PerFamily::both(None), |network| network.prefix_limits);
        PerFamily::from_fn(|family| {
            let of_peering_db = known[family].map(|limit| self.headroom.above(limit));
            let limit = self.limits[family].or(of_peering_db);
            limit.unwrap_or(self.general[family])
        })
    }

    /// The table with limits that follow PeeringDB.
    fn following(&self) -> Keys {
        let mut table = Keys::default();
        for (family, name) in NAMES {
            table.plain(name, self.general[family]);
        }
        let PrefixHeadroom {
            absolute,
            relative_percent,
        } = self.headroom;
        let mut headroom = Keys::default();
        headroom.plain("absolute", absolute);
        headroom.string("relative", &format!("{relative_percent}%"));
        table.table("peeringdb", &headroom);
        self.end(table)
    }

    /// The table with these limits; empty without any.
    fn fixed(&self, limits: PerFamily<Option<u32>>) -> Keys {
        let mut table = Keys::default();
        for (family, name) in NAMES {
            if let Some(limit) = limits[family] {
                table.plain(name, limit);
            }
        }
        match table.is_empty() {
            true => table,
            false => self.end(table),
        }
    }

    /// Adds the action; without one, ARouteServer has no limits.
    fn end(&self, mut table: Keys) -> Keys {
        let Some(action) = self.action else {
            return Keys::default();
        };
        table.string("action", action);
        if let (Some(minutes), "restart") = (self.restart_after, action) {
            table.plain("restart-after", quoted(&format!("{minutes}m")));
        }
        table
    }
}

/// The form of a client's limits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Those of `[defaults]`.
    Inherited,
    /// Both follow PeeringDB.
    Following,
    /// Own limits; a family without one inherits that of `[defaults]`.
    Own,
    /// Numbers for both families.
    Numbers {
        /// A family without a limit would inherit that of `[defaults]`.
        inherits: bool,
    },
    /// The same, though the limit of one family should follow PeeringDB: a table of Rutter cannot have both.
    Frozen {
        /// As above.
        inherits: bool,
    },
}

const NAMES: [(Family, &str); 2] = [(Family::Ipv4Unicast, "v4"), (Family::Ipv6Unicast, "v6")];
