//! The policies of an exchange.

use rutter_irr::IrrMember;
use rutter_net::Asn;
use rutter_policy::{
    CheckAction, ClassTag, ExportSettings, ImportRule, ImportSettings, NextHopRule, PrefixMatch,
    TagState,
};
use rutter_rpki::{PathState, Relation, Rov};

use crate::client::asn;
use crate::configuration::{ClientRules, Configuration};
use crate::world::SERVER_AS;

/// The policies of an exchange.
pub(crate) struct Setup {
    /// The import settings of each client.
    pub imports: Vec<ImportSettings>,
    /// The other rules of each client.
    pub rules: Configuration,
    pub export: ExportSettings,
    /// The size of a log above which lagging clients may leave it, bytes.
    pub log_limit: usize,
    /// Connections are fast: see [`crate::Pipe::fast`].
    pub is_fast: bool,
}

/// The number of ways in which [`checked`] treats a client's routes.
pub(crate) const TREATMENTS: u64 = 7;

impl Setup {
    /// An exchange that accepts all routes, with a short log.
    pub fn without_checks(clients: u16) -> Self {
        let import = |index| ImportSettings {
            rule: ImportRule::All,
            ..base(index)
        };
        Setup {
            imports: (0..clients).map(import).collect(),
            rules: vec![ClientRules::default(); usize::from(clients)],
            export: ExportSettings::default(),
            log_limit: 400,
            is_fast: false,
        }
    }

    /// An exchange with this configuration, with a short log.
    pub fn configured(configuration: &Configuration) -> Self {
        let imports = configuration.iter().zip(0..);
        Setup {
            imports: imports
                .map(|(rules, index)| black_listed(index, rules))
                .collect(),
            rules: configuration.clone(),
            ..Setup::without_checks(0)
        }
    }

    /// An exchange that compares routes with outside data and marks them, with the treatment of each client.
    pub fn with_checks(treatments: &[u64], log_limit: usize) -> Self {
        let imports = treatments.iter().zip(0..);
        Setup {
            imports: imports.map(|(kind, index)| checked(index, *kind)).collect(),
            rules: vec![ClientRules::default(); treatments.len()],
            export: ExportSettings {
                local_asn: Asn(SERVER_AS),
                class_tags: class_tags(),
                ..ExportSettings::default()
            },
            log_limit,
            is_fast: false,
        }
    }
}

fn base(index: u16) -> ImportSettings {
    ImportSettings {
        local_asn: Asn(SERVER_AS),
        peer_asn: Asn(asn(index)),
        ..ImportSettings::default()
    }
}

/// The import settings of a client of which some prefixes are rejected.
pub(crate) fn black_listed(index: u16, rules: &ClientRules) -> ImportSettings {
    let listed = rules.black_list.iter();
    ImportSettings {
        next_hop: NextHopRule::Any,
        reject_bogons: false,
        client_black_list: listed.map(|prefix| PrefixMatch::exact(*prefix)).collect(),
        ..base(index)
    }
}

/// The import settings of a client whose routes are compared with outside data.
fn checked(index: u16, treatment: u64) -> ImportSettings {
    let base = ImportSettings {
        next_hop: NextHopRule::Any,
        reject_bogons: false,
        relation: Some(Relation::RouteServerClient),
        irr_member: Some(IrrMember(index)),
        ..base(index)
    };
    match treatment {
        0 => ImportSettings {
            rpki_invalid: CheckAction::Reject,
            ..base
        },
        1 => ImportSettings {
            rpki_invalid: CheckAction::Tag,
            marked_origins: vec![Rov::Valid, Rov::NotFound, Rov::Invalid],
            ..base
        },
        2 => base,
        3 => ImportSettings {
            rpki_invalid: CheckAction::Tag,
            irr_invalid: CheckAction::Reject,
            ..base
        },
        4 => ImportSettings {
            aspa_invalid: CheckAction::Reject,
            marked_paths: vec![PathState::Valid],
            ..base
        },
        5 => ImportSettings {
            rpki_invalid: CheckAction::LeastPreferred,
            marked_origins: vec![Rov::NotFound],
            irr_invalid: CheckAction::Tag,
            mark_irr_state: true,
            ..base
        },
        _ => ImportSettings {
            rpki_invalid: CheckAction::Reject,
            irr_invalid: CheckAction::Reject,
            aspa_invalid: CheckAction::Tag,
            tag_rejected: true,
            ..base
        },
    }
}

/// The marks of classes. The reference model has the same numbers, see `data_model.rs`.
fn class_tags() -> Vec<ClassTag> {
    let tags = [
        (TagState::OriginValid, "self:1000:1"),
        (TagState::OriginInvalid, "self:1000:2"),
        (TagState::OriginNotFound, "self:1000:3"),
        (TagState::PathValid, "self:1001:1"),
        (TagState::PathInvalid, "self:1001:2"),
        (TagState::IrrOriginPresent, "self:1002:1"),
        (TagState::IrrOriginAbsent, "self:1002:2"),
        (TagState::IrrPrefixPresent, "self:1003:1"),
        (TagState::IrrPrefixByRoa, "self:1003:2"),
        (TagState::IrrPrefixAbsent, "self:1003:3"),
        (TagState::RejectCause, "self:1101:code"),
    ];
    let tag = |(state, notation): (TagState, &str)| {
        let notation = notation.parse().expect("a notation");
        ClassTag::new(state, notation).expect("a notation for this state")
    };
    tags.into_iter().map(tag).collect()
}
