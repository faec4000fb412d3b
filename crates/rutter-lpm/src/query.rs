//! Queries by the owner of a table.

use crate::batch_lookup::LANES;
use crate::net::{Bits, Net};
use crate::node::{Key, Node, Stride4, Stride8};
use crate::ordered_walk::Walk;
use crate::profile::Stride;
use crate::table::Table;

impl<N: Net> Table<N> {
    /// The number of exactly this prefix.
    pub fn get(&self, prefix: N) -> Option<u32> {
        if u32::from(prefix.prefix_len()) <= self.shared.root.bits() {
            let record = self.root_prefixes.get(&prefix)?;
            return Some(self.shared.memory.word(*record));
        }
        let node = self.shared.child_of_root(prefix);
        crate::cpu::location(&self.shared, prefix, node).number
    }

    /// The number of the longest prefix that contains the address.
    #[inline]
    pub fn lookup(&self, addr: N::Addr) -> Option<u32> {
        self.shared.lookup(N::addr_bits(addr))
    }

    /// [`lookup`](Self::lookup) for each of `addrs`, with overlapped cache misses.
    ///
    /// # Panics
    /// If `values` is shorter than `addrs`.
    pub fn lookup_many(&self, addrs: &[N::Addr], values: &mut [Option<u32>]) {
        assert!(values.len() >= addrs.len(), "a place for each answer");
        for (addrs, values) in addrs.chunks(LANES).zip(values.chunks_mut(LANES)) {
            crate::cpu::find_many(&self.shared, addrs, values);
        }
    }

    /// The longest prefix that contains the address, and its number.
    #[inline]
    pub fn lookup_prefix(&self, addr: N::Addr) -> Option<(N, u32)> {
        self.shared.find_prefix(N::addr_bits(addr))
    }

    /// The longest prefix that covers `prefix` (it may be the same), and its number.
    pub fn lookup_net(&self, prefix: N) -> Option<(N, u32)> {
        let nodes = match self.shared.profile.stride() {
            Stride::Stride4 => self.lookup_net_by::<Stride4>(prefix),
            Stride::Stride8 => self.lookup_net_by::<Stride8>(prefix),
        };
        nodes.or_else(|| {
            let longest = prefix.prefix_len().min(self.shared.root.bits() as u8);
            (0..=longest)
                .rev()
                .find_map(|len| self.head(prefix.shortened(len)))
        })
    }

    fn lookup_net_by<S: Node>(&self, prefix: N) -> Option<(N, u32)> {
        let of_node = |(depth, node)| self.covering_in::<S>(prefix, depth, node).next_back();
        self.nodes_towards::<S>(prefix).filter_map(of_node).last()
    }

    /// The prefixes that cover `prefix`, itself included, from the shortest to the longest.
    ///
    /// ```
    /// # use rutter_lpm::{Profile, Table};
    /// # let mut table = Table::<rutter_net::Ipv4Prefix>::new(Profile::Fast);
    /// table.insert("10.0.0.0/8".parse()?, 8);
    /// table.insert("10.2.0.0/16".parse()?, 16);
    /// table.insert("10.2.3.0/24".parse()?, 24);
    /// let lengths: Vec<u32> = table.covering("10.2.0.0/20".parse()?).map(|(_, n)| n).collect();
    /// assert_eq!(lengths, [8, 16]);
    /// # Ok::<(), rutter_net::ParsePrefixError>(())
    /// ```
    pub fn covering(&self, prefix: N) -> impl Iterator<Item = (N, u32)> + '_ {
        let longest = prefix.prefix_len().min(self.shared.root.bits() as u8);
        let root_prefixes = (0..=longest).filter_map(move |len| self.head(prefix.shortened(len)));
        let mut covering: Vec<_> = root_prefixes.collect();
        match self.shared.profile.stride() {
            Stride::Stride4 => self.covering_by::<Stride4>(prefix, &mut covering),
            Stride::Stride8 => self.covering_by::<Stride8>(prefix, &mut covering),
        }
        covering.into_iter()
    }

    fn covering_by<S: Node>(&self, prefix: N, covering: &mut Vec<(N, u32)>) {
        for (depth, node) in self.nodes_towards::<S>(prefix) {
            covering.extend(self.covering_in::<S>(prefix, depth, node));
        }
    }

    /// The prefixes inside `prefix`, itself included, in order.
    ///
    /// ```
    /// # use rutter_lpm::{Profile, Table};
    /// # let mut table = Table::<rutter_net::Ipv4Prefix>::new(Profile::Fast);
    /// for (prefix, n) in [("10.2.3.0/24", 24), ("10.0.0.0/8", 8), ("10.2.0.0/16", 16)] {
    ///     table.insert(prefix.parse()?, n);
    /// }
    /// let numbers: Vec<u32> = table.covered("10.0.0.0/9".parse()?).map(|(_, n)| n).collect();
    /// assert_eq!(numbers, [16, 24]);
    /// # Ok::<(), rutter_net::ParsePrefixError>(())
    /// ```
    pub fn covered(&self, prefix: N) -> impl Iterator<Item = (N, u32)> + '_ {
        Walk::new(self, prefix)
    }

    /// All prefixes with their numbers, by address, then from short to long.
    pub fn iter(&self) -> impl Iterator<Item = (N, u32)> + '_ {
        self.covered(N::from_bits(N::ZERO, 0))
    }

    /// The addresses that some prefix contains, as the fewest ranges: first and last address of each, in order.
    ///
    /// ```
    /// # use rutter_lpm::{Profile, Table};
    /// # let mut table = Table::<rutter_net::Ipv4Prefix>::new(Profile::Compact);
    /// for prefix in ["192.0.2.0/25", "192.0.2.128/25", "192.0.2.7/32", "10.0.0.0/8"] {
    ///     table.insert(prefix.parse()?, 0);
    /// }
    /// let ranges: Vec<String> = table.ranges().map(|(first, last)| format!("{first}-{last}")).collect();
    /// assert_eq!(ranges, ["10.0.0.0-10.255.255.255", "192.0.2.0-192.0.2.255"]);
    /// # Ok::<(), rutter_net::ParsePrefixError>(())
    /// ```
    pub fn ranges(&self) -> impl Iterator<Item = (N::Addr, N::Addr)> + '_ {
        let mut prefixes = self.iter().map(|(prefix, _)| prefix).peekable();
        std::iter::from_fn(move || {
            let first = prefixes.next()?;
            let mut last = first.last_bits();
            while let Some(next) =
                prefixes.next_if(|next| last.next().is_none_or(|end| next.bits() <= end))
            {
                last = last.max(next.last_bits());
            }
            Some((N::addr_from_bits(first.bits()), N::addr_from_bits(last)))
        })
    }

    fn head(&self, prefix: N) -> Option<(N, u32)> {
        let record = self.root_prefixes.get(&prefix)?;
        Some((prefix, self.shared.memory.word(*record)))
    }

    /// The nodes on the path to the node that holds the prefix, itself included, with their depths.
    fn nodes_towards<S: Node>(&self, prefix: N) -> impl Iterator<Item = (u32, u32)> + '_ {
        let root = &self.shared.root;
        let len = u32::from(prefix.prefix_len());
        let slot = root.slot(prefix.bits().head(root.bits()));
        let mut at = (root.bits(), slot.child);
        std::iter::from_fn(move || {
            let (depth, node) = at;
            if node == 0 || depth >= len {
                return None;
            }
            let slot = (prefix.bits() << depth).head(S::BITS);
            let child = S::step(self.shared.memory.block(node), slot).child;
            at = (depth + S::BITS, child);
            Some((depth, node))
        })
    }

    /// The entries of a node that cover a prefix.
    fn covering_in<S: Node>(
        &self,
        prefix: N,
        depth: u32,
        node: u32,
    ) -> impl DoubleEndedIterator<Item = (N, u32)> {
        let block = self.shared.memory.block(node);
        let slot = (prefix.bits() << depth).head(S::BITS);
        let longest = S::BITS.min(u32::from(prefix.prefix_len()) - depth);
        (1..=longest).filter_map(move |len| {
            let rest = S::BITS - len;
            let at = S::entry(block, Key::new(slot >> rest << rest, len))?;
            let covering = prefix.shortened((depth + len) as u8);
            Some((covering, self.shared.memory.word(node + at)))
        })
    }
}
