//! Collects ASPAs for a set.

use std::fmt;

use rutter_net::Asn;

use crate::Aspas;

/// Collects ASPAs in any order and builds an immutable set. Several ASPAs of one customer count as one with all their
/// providers (draft-ietf-sidrops-aspa-verification-28 §5.3).
///
/// ```
/// use rutter_net::Asn;
/// use rutter_rpki::{AspasBuilder, Authorization};
///
/// let mut builder = AspasBuilder::new();
/// builder.add(Asn(64500), [Asn(64501), Asn(64502)])?;
/// let aspas = builder.build();
/// assert_eq!(aspas.authorization(Asn(64500), Asn(64502)), Authorization::Provider);
/// assert_eq!(aspas.authorization(Asn(64500), Asn(64503)), Authorization::NotProvider);
/// assert_eq!(aspas.authorization(Asn(64501), Asn(64502)), Authorization::NoAttestation);
/// # Ok::<(), rutter_rpki::InvalidAspa>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct AspasBuilder {
    pairs: Vec<(Asn, Asn)>,
}

impl AspasBuilder {
    /// A builder without ASPAs.
    pub fn new() -> Self {
        AspasBuilder::default()
    }

    /// Adds an ASPA. A customer without providers lists AS 0.
    pub fn add(
        &mut self,
        customer: Asn,
        providers: impl IntoIterator<Item = Asn>,
    ) -> Result<(), InvalidAspa> {
        if customer == Asn(0) {
            return Err(InvalidAspa::CustomerZero);
        }
        let before = self.pairs.len();
        let pairs = providers.into_iter().map(|provider| (customer, provider));
        self.pairs.extend(pairs);
        if self.pairs.len() == before {
            return Err(InvalidAspa::NoProviders(customer));
        }
        Ok(())
    }

    /// Adds all ASPAs of a set.
    pub fn add_all(&mut self, aspas: &Aspas) {
        for (customer, providers) in aspas.iter() {
            let pairs = providers.iter().map(|provider| (customer, *provider));
            self.pairs.extend(pairs);
        }
    }

    /// Builds the set.
    pub fn build(mut self) -> Aspas {
        self.pairs.sort_unstable();
        self.pairs.dedup();
        Aspas::from_sorted(&self.pairs)
    }
}

/// An ASPA that no validator may pass on (draft-ietf-sidrops-aspa-profile §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvalidAspa {
    /// The customer is AS 0.
    CustomerZero,
    /// The list of providers is empty.
    NoProviders(Asn),
}

impl fmt::Display for InvalidAspa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidAspa::CustomerZero => f.write_str("an ASPA has the customer AS 0"),
            InvalidAspa::NoProviders(customer) => write!(
                f,
                "the ASPA of AS{customer} has an empty list of providers; AS 0 alone would mean none"
            ),
        }
    }
}

impl std::error::Error for InvalidAspa {}
