//! The evidence against an invalid path.

use std::fmt;

use rutter_net::Asn;

use crate::{Aspas, Hop, PathFault};

/// Describes in words why a path is invalid, with the providers that the ASPAs list.
///
/// `AS64500 is not a provider of AS64501, whose ASPA lists AS64502, AS64503`
#[derive(Clone, Copy, Debug)]
pub struct PathExplanation<'a> {
    /// The reason.
    pub fault: PathFault,
    /// The ASPAs that the verification used.
    pub aspas: &'a Aspas,
}

/// The most providers that an explanation lists.
const MAX_PROVIDERS: usize = 8;

impl fmt::Display for PathExplanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault {
            PathFault::Empty => f.write_str("the AS_PATH is empty"),
            PathFault::AsSet => f.write_str("the AS_PATH contains an AS_SET"),
            PathFault::FirstAs { found, neighbor } => {
                write!(
                    f,
                    "the AS_PATH starts with AS{found}, the neighbor is AS{neighbor}"
                )
            }
            PathFault::NotUp(hop) => self.hop(f, hop),
            PathFault::Valley { down, up } => {
                self.hop(f, down)?;
                f.write_str("; and beyond it ")?;
                self.hop(f, up)
            }
        }
    }
}

impl PathExplanation<'_> {
    fn hop(&self, f: &mut fmt::Formatter<'_>, hop: Hop) -> fmt::Result {
        let Hop { customer, provider } = hop;
        write!(
            f,
            "AS{provider} is not a provider of AS{customer}, whose ASPA lists "
        )?;
        let providers = self.aspas.providers(customer).unwrap_or_default();
        if let [] | [Asn(0)] = providers {
            return f.write_str("none");
        }
        for (index, listed) in providers.iter().take(MAX_PROVIDERS).enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}AS{listed}")?;
        }
        match providers.len().saturating_sub(MAX_PROVIDERS) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
