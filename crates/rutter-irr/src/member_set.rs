//! Sets of members, each stored once.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use rutter_lpm::prefetch;

use crate::IrrMember;

/// A set of members: a single member inline, or a place in the pool.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct SetRef(pub u32);

impl SetRef {
    /// The bits of a reference. Entries keep their kind in the others.
    pub const BITS: u32 = 29;
    pub const MASK: u32 = (1 << Self::BITS) - 1;
    const INLINE: u32 = 1 << (Self::BITS - 1);

    pub fn single(member: u16) -> Self {
        SetRef(Self::INLINE | u32::from(member))
    }
}

/// The members of all sets that are not single members.
///
/// A set begins with a header. It is the number of members that follow, in order, or with the upper bit set the number
/// of words of a bitset.
#[derive(Clone, Default, Debug)]
pub(crate) struct SetPool {
    words: Vec<u16>,
    /// The words that were in use when the pool was last built as a whole. Sets that are added later can leave others unused.
    used: usize,
}

/// Marks a bitset in its header.
const BITSET: u16 = 1 << 15;
/// Sets of more members are bitsets. A list of this length and its header fit into a cache line.
const LIST_MAX: usize = 24;

impl SetPool {
    #[inline]
    pub fn contains(&self, set: SetRef, member: IrrMember) -> bool {
        if set.0 & SetRef::INLINE != 0 {
            return set == SetRef::single(member.0);
        }
        self.has(set, member)
    }

    /// [`Self::contains`] for a set in the pool. A call costs less than the registers that this takes where it is inlined.
    #[inline(never)]
    fn has(&self, set: SetRef, member: IrrMember) -> bool {
        let (is_bitset, words) = self.words_of(set);
        if is_bitset {
            let word = words.get(member.index() / 16);
            word.is_some_and(|word| word >> (member.0 % 16) & 1 == 1)
        } else {
            words.contains(&member.0)
        }
    }

    /// Prefetches the members of a set.
    #[inline]
    pub fn prefetch(&self, set: SetRef) {
        if set.0 & SetRef::INLINE == 0 {
            self.words
                .get(set.0 as usize)
                .into_iter()
                .for_each(prefetch);
        }
    }

    /// Returns whether a set has the same members as one of another pool.
    pub fn same(&self, set: SetRef, pool: &SetPool, other: SetRef) -> bool {
        if set.0 & SetRef::INLINE != 0 || other.0 & SetRef::INLINE != 0 {
            return set == other;
        }
        self.words_of(set) == pool.words_of(other)
    }

    /// Returns whether a set has these members, which are in order.
    pub fn is(&self, set: SetRef, members: &[u16]) -> bool {
        if set.0 & SetRef::INLINE != 0 {
            return matches!(members, [member] if set == SetRef::single(*member));
        }
        match self.words_of(set) {
            (true, _) => self.members(set) == members,
            (false, words) => words == members,
        }
    }

    /// The members of a set, in order.
    pub fn members(&self, set: SetRef) -> Vec<u16> {
        if set.0 & SetRef::INLINE != 0 {
            return vec![(set.0 & !SetRef::INLINE) as u16];
        }
        let (is_bitset, words) = self.words_of(set);
        if !is_bitset {
            return words.to_vec();
        }
        let of_word = |(at, word): (usize, &u16)| {
            let word = *word;
            let bits = (0..16).filter(move |bit| word >> bit & 1 == 1);
            bits.map(move |bit| (at * 16 + bit) as u16)
        };
        words.iter().enumerate().flat_map(of_word).collect()
    }

    /// The bytes of the pool.
    pub fn memory(&self) -> usize {
        self.words.capacity() * size_of::<u16>()
    }

    #[inline]
    fn words_of(&self, set: SetRef) -> (bool, &[u16]) {
        let at = set.0 as usize;
        let header = self.words[at];
        let len = usize::from(header & !BITSET);
        (header & BITSET != 0, &self.words[at + 1..at + 1 + len])
    }
}

/// A pool that is being filled, and finds equal sets by their hash.
///
/// It may follow another pool, whose sets keep their references. If many of them are no longer in use, [`Self::keep`] copies
/// those that are.
#[derive(Default)]
pub(crate) struct SetInterner<'a> {
    pool: SetPool,
    places: HashTable<u32>,
    hasher: RandomState,
    words: Vec<u16>,
    /// The former pool, if its sets in use are copied.
    copied: Option<&'a SetPool>,
    moved: HashMap<u32, SetRef>,
}

impl<'a> SetInterner<'a> {
    /// A pool that follows another.
    pub fn after(former: &'a SetPool) -> Self {
        let is_loose = former.words.len() - former.used > former.used / 2 + LOOSE;
        SetInterner {
            pool: if is_loose {
                SetPool::default()
            } else {
                former.clone()
            },
            copied: is_loose.then_some(former),
            ..SetInterner::default()
        }
    }

    /// Returns whether the sets of the former pool keep their references.
    pub fn keeps_all(&self) -> bool {
        self.copied.is_none()
    }

    /// The reference of a set of the former pool. `None` if the pool is full.
    pub fn keep(&mut self, set: SetRef) -> Option<SetRef> {
        let former = match self.copied {
            Some(former) if set.0 & SetRef::INLINE == 0 => former,
            _ => return Some(set),
        };
        if let Some(moved) = self.moved.get(&set.0) {
            return Some(*moved);
        }
        let moved = self.intern(&former.members(set))?;
        self.moved.insert(set.0, moved);
        Some(moved)
    }

    /// Returns the reference of a set. `members` are in order, without duplicates, at least one. `None` if the pool is
    /// full.
    pub fn intern(&mut self, members: &[u16]) -> Option<SetRef> {
        if let [member] = members {
            return Some(SetRef::single(*member));
        }
        encode(members, &mut self.words);
        let (pool, words) = (&self.pool, &self.words);
        let hash = self.hasher.hash_one(words);
        let stored = |at: u32| &pool.words[at as usize..];
        let equal = |at: &u32| stored(*at).starts_with(words);
        if let Some(at) = self.places.find(hash, equal) {
            return Some(SetRef(*at));
        }
        let at = u32::try_from(pool.words.len()).ok()?;
        if at >= SetRef::INLINE {
            return None;
        }
        self.pool.words.extend_from_slice(&self.words);
        let (pool, hasher) = (&self.pool, &self.hasher);
        let hash_of = |at: &u32| {
            let len = usize::from(pool.words[*at as usize] & !BITSET) + 1;
            hasher.hash_one(&pool.words[*at as usize..][..len])
        };
        self.places.insert_unique(hash, at, hash_of);
        Some(SetRef(at))
    }

    pub fn finish(mut self) -> SetPool {
        self.pool.words.shrink_to_fit();
        if self.pool.used == 0 {
            self.pool.used = self.pool.words.len();
        }
        self.pool
    }
}

/// Words that may be unused beside half as many as are in use.
const LOOSE: usize = 64;

/// Writes the words of a set with its header.
fn encode(members: &[u16], words: &mut Vec<u16>) {
    words.clear();
    if members.len() <= LIST_MAX {
        words.push(members.len() as u16);
        words.extend_from_slice(members);
        return;
    }
    let last = members.last().map_or(0, |last| usize::from(*last));
    words.resize(last / 16 + 2, 0);
    words[0] = BITSET | (last / 16 + 1) as u16;
    for member in members {
        words[usize::from(member / 16) + 1] |= 1 << (member % 16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_each_size_contain_their_members() {
        let mut interner = SetInterner::default();
        let sets: Vec<Vec<u16>> = [1, 2, 24, 25, 300]
            .map(|len| (0..len).map(|n| n * 7 + 3).collect())
            .into();
        let refs: Vec<SetRef> = sets.iter().map(|s| interner.intern(s).unwrap()).collect();
        let again: Vec<SetRef> = sets.iter().map(|s| interner.intern(s).unwrap()).collect();
        assert_eq!(refs, again);
        let pool = interner.finish();
        for (set, at) in sets.iter().zip(refs) {
            assert_eq!(&pool.members(at), set);
            for member in (0..3000).chain([u16::MAX - 1]) {
                assert_eq!(
                    pool.contains(at, IrrMember(member)),
                    set.contains(&member),
                    "{member} in {set:?}"
                );
            }
        }
    }
}
