//! Who may hear a route and how, as its action communities say.

use rutter_net::Asn;

/// Who may hear a route and how. Equal specifications compare and hash equal, so that the table can keep one
/// audience for all attribute sets that say the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AudienceSpec {
    /// Whether a client that `except` does not name hears the route.
    pub default_allow: bool,
    /// Clients for which the opposite of `default_allow` holds; sorted, no duplicates.
    pub except: Vec<Asn>,
    /// How often our AS... of the sender is prepended for clients that `prepend` does not name.
    pub prepend_all: u8,
    /// Prepends per client; sorted by AS, no duplicates, no entry equal to `prepend_all`.
    pub prepend: Vec<(Asn, u8)>,
    /// Add NO_EXPORT for clients; `add_no_export_to` is then empty.
    pub add_no_export: bool,
    /// Add NO_EXPORT for these clients; sorted.
    pub add_no_export_to: Vec<Asn>,
    /// Add NO_ADVERTISE for all clients; `add_no_advertise_to` is then empty.
    pub add_no_advertise: bool,
    /// Add NO_ADVERTISE for these clients; sorted.
    pub add_no_advertise_to: Vec<Asn>,
    /// NO_EXPORT was received and is honoured: no external neighbor hears the route, whatever else is said.
    pub no_export: bool,
    /// NO_ADVERTISE was received and is honoured: nobody hears the route.
    pub no_advertise: bool,
}

impl AudienceSpec {
    /// All clients, nothing changed.
    pub const EVERYONE: AudienceSpec = AudienceSpec {
        default_allow: true,
        except: Vec::new(),
        prepend_all: 0,
        prepend: Vec::new(),
        add_no_export: false,
        add_no_export_to: Vec::new(),
        add_no_advertise: false,
        add_no_advertise_to: Vec::new(),
        no_export: false,
        no_advertise: false,
    };

    /// Whether all clients hear the route unchanged.
    pub fn is_everyone(&self) -> bool {
        *self == Self::EVERYONE
    }

    /// Whether a client with this AS may hear the route. [`Self::no_export`] is the caller's to apply, because it
    /// depends on the kind of neighbor.
    pub fn allows(&self, asn: Asn) -> bool {
        !self.no_advertise && self.default_allow != self.except.binary_search(&asn).is_ok()
    }

    /// How often to prepend for a client with this AS.
    pub fn prepends_for(&self, asn: Asn) -> u8 {
        match self.prepend.binary_search_by_key(&asn, |(asn, _)| *asn) {
            Ok(index) => self.prepend[index].1,
            Err(_) => self.prepend_all,
        }
    }

    /// Whether NO_EXPORT is added for a client with this AS.
    pub fn adds_no_export_for(&self, asn: Asn) -> bool {
        self.add_no_export || self.add_no_export_to.binary_search(&asn).is_ok()
    }

    /// Whether NO_ADVERTISE is added for a client with this AS.
    pub fn adds_no_advertise_for(&self, asn: Asn) -> bool {
        self.add_no_advertise || self.add_no_advertise_to.binary_search(&asn).is_ok()
    }

    /// Whether the route reads differently for some client (prepends, added communities).
    pub fn transforms(&self) -> bool {
        self.prepend_all > 0
            || !self.prepend.is_empty()
            || self.add_no_export
            || !self.add_no_export_to.is_empty()
            || self.add_no_advertise
            || !self.add_no_advertise_to.is_empty()
    }
}

impl Default for AudienceSpec {
    fn default() -> Self {
        Self::EVERYONE
    }
}
