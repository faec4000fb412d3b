//! Numbers for values, which keep them while the set of values changes. The work grows with the number of values, not with
//! its square.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::ops::Deref;

/// Values with different numbers: the position is the number. A number without a value is free.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StableNumbers<T: Eq + Hash> {
    values: Vec<Option<T>>,
    numbers: HashMap<T, usize>,
}

impl<T: Eq + Hash> Default for StableNumbers<T> {
    fn default() -> Self {
        StableNumbers {
            values: Vec::new(),
            numbers: HashMap::new(),
        }
    }
}

impl<T: Eq + Hash> Deref for StableNumbers<T> {
    type Target = [Option<T>];

    fn deref(&self) -> &[Option<T>] {
        &self.values
    }
}

impl<T: Clone + Eq + Hash> StableNumbers<T> {
    /// The number of a value.
    pub fn number(&self, value: &T) -> Option<usize> {
        self.numbers.get(value).copied()
    }

    /// Numbers for these values; a value that comes again counts once. A value that has a number keeps it. Then a value
    /// takes the number of one that is gone and has the same `kind`, as far as there are such. The others take the lowest
    /// free numbers.
    pub fn renumbered<K: Eq + Hash>(
        &self,
        wanted: impl IntoIterator<Item = T>,
        kind: impl Fn(&T) -> K,
    ) -> Self {
        let mut known = HashSet::new();
        let mut wanted: Vec<T> = wanted.into_iter().collect();
        wanted.retain(|value| known.insert(value.clone()));
        let mut values: Vec<Option<T>> = vec![None; self.values.len()];
        wanted.retain(|value| {
            let number = self.number(value);
            if let Some(number) = number {
                values[number] = Some(value.clone());
            }
            number.is_none()
        });
        // From the last to the first, so that the first is taken first.
        let mut gone: HashMap<K, Vec<usize>> = HashMap::new();
        for (number, value) in self.values.iter().enumerate().rev() {
            if let (Some(value), None) = (value, &values[number]) {
                gone.entry(kind(value)).or_default().push(number);
            }
        }
        wanted.retain(|value| {
            let number = gone.get_mut(&kind(value)).and_then(Vec::pop);
            if let Some(number) = number {
                values[number] = Some(value.clone());
            }
            number.is_none()
        });
        let mut new = wanted.into_iter();
        let free = values.iter_mut().filter(|value| value.is_none());
        free.zip(&mut new)
            .for_each(|(free, value)| *free = Some(value));
        values.extend(new.map(Some));
        let numbers = values.iter().enumerate();
        let numbers = numbers.filter_map(|(number, value)| Some((value.clone()?, number)));
        StableNumbers {
            numbers: numbers.collect(),
            values,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::Hasher;

    use super::*;

    /// A value that counts how often it is compared with another.
    #[derive(Clone, Eq, Debug)]
    struct Member {
        asn: u32,
        settings: u32,
    }

    thread_local! {
        static COMPARISONS: Cell<usize> = const { Cell::new(0) };
    }

    impl PartialEq for Member {
        fn eq(&self, other: &Self) -> bool {
            COMPARISONS.set(COMPARISONS.get() + 1);
            (self.asn, self.settings) == (other.asn, other.settings)
        }
    }

    impl Hash for Member {
        fn hash<H: Hasher>(&self, state: &mut H) {
            (self.asn, self.settings).hash(state);
        }
    }

    fn member((asn, settings): (u32, u32)) -> Member {
        Member { asn, settings }
    }

    fn pairs(numbers: &StableNumbers<Member>) -> Vec<Option<(u32, u32)>> {
        let pair = |member: &Member| (member.asn, member.settings);
        numbers
            .iter()
            .map(|value| value.as_ref().map(pair))
            .collect()
    }

    fn renumbered(
        before: &StableNumbers<Member>,
        wanted: impl IntoIterator<Item = (u32, u32)>,
    ) -> StableNumbers<Member> {
        let wanted: Vec<Member> = wanted.into_iter().map(member).collect();
        before.renumbered(wanted, |member| member.asn)
    }

    #[test]
    fn numbers_stay_with_equal_values_then_with_the_kind() {
        let first = renumbered(
            &StableNumbers::default(),
            [(1, 0), (2, 0), (1, 0), (2, 1), (3, 0)],
        );
        let expected = [(1, 0), (2, 0), (2, 1), (3, 0)].map(Some);
        assert_eq!(pairs(&first), expected);
        let second = renumbered(&first, [(9, 0), (2, 5), (2, 1), (8, 0), (7, 0)]);
        let expected = [(9, 0), (2, 5), (2, 1), (8, 0), (7, 0)].map(Some);
        assert_eq!(pairs(&second), expected);
        let third = renumbered(&second, [(7, 0)]);
        assert_eq!(pairs(&third), [None, None, None, None, Some((7, 0))]);
        assert_eq!(third.number(&member((7, 0))), Some(4));
        assert_eq!(third.number(&member((9, 0))), None);
    }

    #[test]
    fn ten_thousand_members_are_compared_a_few_times_each() {
        const MEMBERS: u32 = 10_000;
        let all = |settings| (0..MEMBERS).map(move |asn| (asn, settings));
        COMPARISONS.set(0);
        let mut numbers = renumbered(&StableNumbers::default(), all(0).chain(all(0)));
        // A reload without a change, one that changes all, and one AS with many settings.
        for wanted in [all(0), all(1)] {
            numbers = renumbered(&numbers, wanted);
        }
        numbers = renumbered(&numbers, (0..MEMBERS).map(|settings| (1, settings)));
        for settings in 0..MEMBERS {
            assert!(numbers.number(&member((1, settings))).is_some());
        }
        let comparisons = COMPARISONS.get();
        assert!(comparisons < 20 * MEMBERS as usize, "{comparisons}");
    }
}
