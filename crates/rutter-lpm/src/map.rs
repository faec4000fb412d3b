//! Values of any type by prefix.

use std::fmt;

use crate::net::Net;
use crate::profile::Profile;
use crate::table::{Size, Table};

/// A map from prefixes to values. A look-up by address finds the longest match.
///
/// ```
/// use rutter_lpm::{PrefixMap, Profile};
/// use rutter_net::Ipv6Prefix;
///
/// let mut map = PrefixMap::<Ipv6Prefix, &str>::new(Profile::Fast);
/// map.insert("2001:db8::/32".parse()?, "the documentation");
/// map.insert("2001:db8:1::/48".parse()?, "an example in it");
///
/// let (prefix, text) = map.lookup_prefix("2001:db8:1::1".parse()?).unwrap();
/// assert_eq!((prefix.to_string().as_str(), *text), ("2001:db8:1::/48", "an example in it"));
/// assert_eq!(map.lookup("2001:db8:2::1".parse()?), Some(&"the documentation"));
/// assert_eq!(map.lookup("2001:db9::1".parse()?), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PrefixMap<N: Net, V> {
    table: Table<N>,
    /// By the table's numbers.
    values: Vec<Option<V>>,
    free: Vec<u32>,
}

impl<N: Net, V> PrefixMap<N, V> {
    /// An empty map.
    pub fn new(profile: Profile) -> Self {
        PrefixMap {
            table: Table::new(profile),
            values: Vec::new(),
            free: Vec::new(),
        }
    }

    /// The division of address bits.
    pub fn profile(&self) -> Profile {
        self.table.profile()
    }

    /// The number of prefixes.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns whether there are no prefixes.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Sets the value of a prefix and returns the previous one.
    pub fn insert(&mut self, prefix: N, value: V) -> Option<V> {
        if let Some(at) = self.table.get(prefix) {
            return self.values[at as usize].replace(value);
        }
        let at = self.free.pop().unwrap_or(self.values.len() as u32);
        if at as usize == self.values.len() {
            self.values.push(Some(value));
        } else {
            self.values[at as usize] = Some(value);
        }
        self.table.insert(prefix, at);
        None
    }

    /// Removes a prefix and returns its value.
    pub fn remove(&mut self, prefix: N) -> Option<V> {
        let at = self.table.remove(prefix)?;
        self.free.push(at);
        self.values[at as usize].take()
    }

    /// The value of exactly this prefix.
    pub fn get(&self, prefix: N) -> Option<&V> {
        self.value(self.table.get(prefix)?)
    }

    /// The value of exactly this prefix, mutable.
    pub fn get_mut(&mut self, prefix: N) -> Option<&mut V> {
        let at = self.table.get(prefix)?;
        self.values[at as usize].as_mut()
    }

    /// The value of the longest prefix that contains the address.
    #[inline]
    pub fn lookup(&self, addr: N::Addr) -> Option<&V> {
        self.value(self.table.lookup(addr)?)
    }

    /// The longest prefix that contains the address, and its value.
    #[inline]
    pub fn lookup_prefix(&self, addr: N::Addr) -> Option<(N, &V)> {
        self.with_value(self.table.lookup_prefix(addr)?)
    }

    /// The longest prefix that covers `prefix` (it may be the same), and its value.
    pub fn lookup_net(&self, prefix: N) -> Option<(N, &V)> {
        self.with_value(self.table.lookup_net(prefix)?)
    }

    /// The prefixes that cover `prefix`, itself included, from the shortest to the longest.
    pub fn covering(&self, prefix: N) -> impl Iterator<Item = (N, &V)> {
        self.table
            .covering(prefix)
            .filter_map(|found| self.with_value(found))
    }

    /// The prefixes inside `prefix`, itself included, in order.
    pub fn covered(&self, prefix: N) -> impl Iterator<Item = (N, &V)> {
        self.table
            .covered(prefix)
            .filter_map(|found| self.with_value(found))
    }

    /// All prefixes with their values, by address, then from short to long.
    pub fn iter(&self) -> impl Iterator<Item = (N, &V)> {
        self.table.iter().filter_map(|found| self.with_value(found))
    }

    /// The addresses that some prefix contains, as the fewest ranges: first and last address of each, in order.
    pub fn ranges(&self) -> impl Iterator<Item = (N::Addr, N::Addr)> + '_ {
        self.table.ranges()
    }

    /// The memory of the prefixes, without the values.
    pub fn size(&self) -> Size {
        self.table.size()
    }

    #[inline]
    fn value(&self, at: u32) -> Option<&V> {
        self.values[at as usize].as_ref()
    }

    #[inline]
    fn with_value(&self, (prefix, at): (N, u32)) -> Option<(N, &V)> {
        Some((prefix, self.value(at)?))
    }
}

impl<N: Net, V: fmt::Debug> fmt::Debug for PrefixMap<N, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
