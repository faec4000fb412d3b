//! An immutable set of ASPAs.

use rutter_lpm::Directory;
use rutter_net::Asn;

use crate::Authorization;

/// An immutable set of ASPAs (draft-ietf-sidrops-aspa-profile): the providers of each customer AS that has one. Several
/// ASPAs of one customer count as one with all their providers.
#[derive(Debug)]
pub struct Aspas {
    /// In ascending order.
    customers: Vec<Asn>,
    /// The position of each customer's first provider, and the number of all providers at the end.
    starts: Vec<u32>,
    /// The providers of each customer, in ascending order.
    providers: Vec<Asn>,
    directory: Directory,
}

impl Aspas {
    /// Builds a set from pairs of customer and provider, in ascending order and distinct.
    pub(crate) fn from_sorted(pairs: &[(Asn, Asn)]) -> Self {
        let (mut customers, mut starts) = (Vec::new(), Vec::new());
        let mut at = 0;
        for of_customer in pairs.chunk_by(|one, next| one.0 == next.0) {
            customers.push(of_customer[0].0);
            starts.push(at);
            at += of_customer.len() as u32;
        }
        starts.push(at);
        Aspas {
            directory: Directory::new(customers.len(), |at| customers[at].0),
            customers,
            starts,
            providers: pairs.iter().map(|(_, provider)| *provider).collect(),
        }
    }

    /// Returns the number of customers with ASPAs.
    pub fn len(&self) -> usize {
        self.customers.len()
    }

    /// Returns whether no customer has an ASPA.
    pub fn is_empty(&self) -> bool {
        self.customers.is_empty()
    }

    /// The memory of the set in bytes.
    pub fn memory(&self) -> usize {
        (self.customers.capacity() + self.starts.capacity() + self.providers.capacity())
            * size_of::<u32>()
            + self.directory.memory()
    }

    /// The providers of a customer in ascending order; `None` if it has no ASPA. Only AS 0 means no provider.
    #[inline]
    pub fn providers(&self, customer: Asn) -> Option<&[Asn]> {
        let (from, to) = self.directory.bucket(customer.0);
        let found = self.customers[from..to].binary_search(&customer).ok()?;
        Some(self.providers_at(from + found))
    }

    /// Returns whether the ASPAs of `customer` list `provider` (draft-ietf-sidrops-aspa-verification-28 §5.3).
    #[inline]
    pub fn authorization(&self, customer: Asn, provider: Asn) -> Authorization {
        match self.providers(customer) {
            None => Authorization::NoAttestation,
            Some(providers) => match providers.binary_search(&provider) {
                Ok(_) => Authorization::Provider,
                Err(_) => Authorization::NotProvider,
            },
        }
    }

    /// All customers in ascending order with their providers.
    pub fn iter(&self) -> impl Iterator<Item = (Asn, &[Asn])> {
        let customers = self.customers.iter().enumerate();
        customers.map(|(at, customer)| (*customer, self.providers_at(at)))
    }

    /// The customers whose providers differ between two sets, in ascending order. Only paths that contain one of them
    /// can have another state.
    pub fn changed_customers(old: &Aspas, new: &Aspas) -> Vec<Asn> {
        let differs = |(customer, providers): &(Asn, &[Asn])| {
            let now = new.providers(*customer);
            now != Some(providers)
        };
        let is_new = |(customer, _): &(Asn, &[Asn])| old.providers(*customer).is_none();
        let changed = old.iter().filter(differs).chain(new.iter().filter(is_new));
        let mut changed: Vec<Asn> = changed.map(|(customer, _)| customer).collect();
        changed.sort_unstable();
        changed
    }

    #[inline]
    fn providers_at(&self, position: usize) -> &[Asn] {
        let (from, to) = (self.starts[position], self.starts[position + 1]);
        &self.providers[from as usize..to as usize]
    }
}

impl Default for Aspas {
    /// The empty set.
    fn default() -> Self {
        Aspas::from_sorted(&[])
    }
}

/// Equal sets verify every path the same.
impl PartialEq for Aspas {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
