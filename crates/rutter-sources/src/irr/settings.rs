//! The settings of the IRR source.

use std::path::PathBuf;
use std::time::Duration;

use rutter_irr::{IrrMember, MemberTerms};

use super::as_set_limits::AsSetLimits;
use super::irrd_limits::IrrdLimits;
use super::member_settings::IrrMemberSettings;

/// The settings of an [`IrrSource`](super::IrrSource).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IrrSettings {
    /// IRRd servers as `host:port`, in order of preference. The next one is used when one fails.
    pub servers: Vec<String>,
    /// The registries that a server searches, in order of preference. Empty: the choice of the server.
    pub sources: Vec<String>,
    /// Time between refreshes.
    pub refresh: Duration,
    /// Time after which the data of a failing source count as stale. They stay in force.
    pub keep_last_good: Duration,
    /// The largest share of entries, in percent, that new data may lose. `None` refuses nothing.
    pub refuse_shrink: Option<u8>,
    /// Lists in files by the name of an AS-SET or AS number (`AS64500`): JSON of bgpq4, or text with a prefix or an AS
    /// number on each line. Data in a file are not requested from a server.
    pub files: Vec<(String, PathBuf)>,
    /// ARIN's whois dump as JSON.
    pub arin_whois: Option<PathBuf>,
    /// The dump of registro.br.
    pub registro_br: Option<PathBuf>,
    /// A dump of PeeringDB's networks as JSON, for the AS-SETs of members without any, and for prefix limits.
    pub peeringdb: Option<PathBuf>,
    /// The members by number ([`IrrMember`](rutter_irr::IrrMember)). `None`: the number is free.
    pub members: Vec<Option<IrrMemberSettings>>,
    /// The limits on a connection.
    pub irrd_limits: IrrdLimits,
    /// The limits on an AS-SET.
    pub as_set_limits: AsSetLimits,
    /// Time to the next attempt after a failure. It doubles with each further failure, up to `refresh`.
    pub retry: Duration,
}

impl IrrSettings {
    /// The rules and white lists of the members.
    pub(crate) fn terms(&self) -> impl Iterator<Item = MemberTerms> + '_ {
        let members = (0..).map(IrrMember).zip(&self.members);
        members.filter_map(|(number, member)| {
            let member = member.as_ref()?;
            Some(MemberTerms {
                member: number,
                asn: member.asn,
                rules: member.rules,
                white_origins: member.white_asns.clone(),
                white_prefixes: member.white_prefixes.clone(),
                white_routes: member.white_routes.clone(),
            })
        })
    }

    /// Returns whether nothing but unnamed members differs.
    pub(crate) fn differs_in_unnamed_alone(&self, other: &IrrSettings) -> bool {
        let named = |settings: &IrrSettings| {
            let mut settings = settings.clone();
            let members = settings.members.iter_mut();
            for member in members.filter(|m| m.as_ref().is_some_and(|m| m.is_unnamed)) {
                *member = None;
            }
            let last = settings.members.iter().rposition(Option::is_some);
            settings.members.truncate(last.map_or(0, |last| last + 1));
            settings
        };
        self != other && named(self) == named(other)
    }
}

impl Default for IrrSettings {
    /// No servers, files and members, and the configuration's defaults.
    fn default() -> Self {
        IrrSettings {
            servers: Vec::new(),
            sources: Vec::new(),
            refresh: Duration::from_secs(3600),
            keep_last_good: Duration::from_secs(7 * 86_400),
            refuse_shrink: Some(20),
            files: Vec::new(),
            arin_whois: None,
            registro_br: None,
            peeringdb: None,
            members: Vec::new(),
            irrd_limits: IrrdLimits::default(),
            as_set_limits: AsSetLimits::default(),
            retry: Duration::from_secs(30),
        }
    }
}
