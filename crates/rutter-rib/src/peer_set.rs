//! Sets of peers as bits.

use crate::PeerId;
use crate::allocation::allocated;

/// A set of peers: one bit per peer id, as many words as the highest member needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PeerSet {
    words: Vec<u64>,
}

impl PeerSet {
    /// Bytes of heap.
    pub fn heap(&self) -> usize {
        allocated(self.words.capacity() * size_of::<u64>())
    }

    pub fn insert(&mut self, peer: PeerId) {
        let word = peer.index() / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (peer.index() % 64);
    }

    pub fn remove(&mut self, peer: PeerId) {
        if let Some(word) = self.words.get_mut(peer.index() / 64) {
            *word &= !(1 << (peer.index() % 64));
        }
    }

    pub fn contains(&self, peer: PeerId) -> bool {
        self.words
            .get(peer.index() / 64)
            .is_some_and(|word| word >> (peer.index() % 64) & 1 != 0)
    }

    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// A number that is the same for equal sets, rarely for others, and in every run.
    pub fn digest(&self) -> u64 {
        let mix = |sum: u64, word: &u64| {
            (sum ^ word)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        };
        self.words.iter().fold(0, mix)
    }

    /// The members of both.
    pub fn and(mut self, other: &PeerSet) -> Self {
        self.words.truncate(other.words.len());
        for (word, with) in self.words.iter_mut().zip(&other.words) {
            *word &= with;
        }
        self
    }

    /// The members of this set that are not in the other.
    pub fn minus(mut self, other: &PeerSet) -> Self {
        for (word, with) in self.words.iter_mut().zip(&other.words) {
            *word &= !with;
        }
        self
    }

    pub fn extend(&mut self, other: &PeerSet) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, with) in self.words.iter_mut().zip(&other.words) {
            *word |= with;
        }
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = PeerId> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                rest &= rest.checked_sub(1)?;
                Some(PeerId((index * 64) as u16 + bit as u16))
            })
        })
    }
}

impl FromIterator<PeerId> for PeerSet {
    fn from_iter<I: IntoIterator<Item = PeerId>>(peers: I) -> Self {
        let mut set = PeerSet::default();
        peers.into_iter().for_each(|peer| set.insert(peer));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behaves_as_a_set() {
        let peers = [0u16, 1, 63, 64, 700];
        let mut set: PeerSet = peers.into_iter().map(PeerId).collect();
        assert_eq!(set.iter().map(|p| p.0).collect::<Vec<_>>(), peers);
        assert_eq!(set.len(), 5);
        set.remove(PeerId(64));
        set.remove(PeerId(9_000));
        assert!(!set.contains(PeerId(64)) && set.contains(PeerId(700)));
        let small: PeerSet = [PeerId(1), PeerId(5)].into_iter().collect();
        assert_eq!(
            set.clone().and(&small).iter().collect::<Vec<_>>(),
            [PeerId(1)]
        );
        assert_eq!(
            small.clone().minus(&set).iter().collect::<Vec<_>>(),
            [PeerId(5)]
        );
        assert!(small.clone().minus(&small).is_empty());
    }
}
