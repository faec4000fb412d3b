//! One value for each address family.

use std::ops::{Index, IndexMut};

use crate::Family;

/// One value for each [`Family`], indexed by the family.
///
/// ```
/// use rutter_net::{Family, PerFamily};
///
/// let mut limits = PerFamily::both(1_000);
/// limits[Family::Ipv6Unicast] = 200;
/// assert_eq!(limits, PerFamily::new(1_000, 200));
/// assert_eq!(limits.iter().sum::<i32>(), 1_200);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PerFamily<T>([T; Family::ALL.len()]);

impl<T> PerFamily<T> {
    /// The values of IPv4 unicast and IPv6 unicast.
    pub const fn new(ipv4: T, ipv6: T) -> Self {
        PerFamily([ipv4, ipv6])
    }

    /// Computes the value of each family.
    pub fn from_fn(value: impl FnMut(Family) -> T) -> Self {
        PerFamily(Family::ALL.map(value))
    }

    /// Returns the families with their values, IPv4 first.
    pub fn entries(&self) -> impl Iterator<Item = (Family, &T)> {
        Family::ALL.into_iter().zip(&self.0)
    }

    /// Returns the values, IPv4 first.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    /// Returns the values to change them, IPv4 first.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.0.iter_mut()
    }

    /// Converts each value.
    pub fn map<U>(self, convert: impl FnMut(T) -> U) -> PerFamily<U> {
        PerFamily(self.0.map(convert))
    }
}

impl<T: Copy> PerFamily<T> {
    /// The same value for both families.
    pub const fn both(value: T) -> Self {
        PerFamily([value; Family::ALL.len()])
    }
}

impl PerFamily<bool> {
    /// Returns whether the value of some family is true.
    pub fn any(self) -> bool {
        self.0.contains(&true)
    }
}

impl<T> IntoIterator for PerFamily<T> {
    type Item = T;
    type IntoIter = std::array::IntoIter<T, { Family::ALL.len() }>;

    /// The values, IPv4 first.
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a PerFamily<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    /// References to the values, IPv4 first.
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T> Index<Family> for PerFamily<T> {
    type Output = T;

    #[inline]
    fn index(&self, family: Family) -> &T {
        &self.0[family.index()]
    }
}

impl<T> IndexMut<Family> for PerFamily<T> {
    #[inline]
    fn index_mut(&mut self, family: Family) -> &mut T {
        &mut self.0[family.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_has_its_own_value() {
        let mut names = PerFamily::from_fn(|family| family.to_string());
        names[Family::Ipv6Unicast].push('!');
        assert_eq!(names[Family::Ipv4Unicast], "ipv4-unicast");
        let lengths = names.map(|name| name.len());
        assert_eq!(lengths, PerFamily::new(12, 13));
        let families: Vec<Family> = lengths.entries().map(|(family, _)| family).collect();
        assert_eq!(families, Family::ALL);
        assert!(PerFamily::new(false, true).any() && !PerFamily::both(false).any());
    }
}
