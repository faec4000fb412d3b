//! The measured tables, ours and those of other crates, behind one interface.

use std::net::{Ipv4Addr, Ipv6Addr};

use ip_network_table_deps_treebitmap::IpLookupTable;
use iptrie::IpPrefix;
use iptrie::map::{LCTrieMap, RTrieMap};
use prefix_trie::PrefixMap;
use rutter_lpm::{Net, Profile, Table};
use rutter_net::{Ipv4Prefix, Ipv6Prefix};

/// A table that was built from prefixes.
pub trait Contender<N: Net> {
    /// The sum of the numbers found, so that the compiler cannot remove look-ups.
    fn sum(&self, addrs: &[N::Addr]) -> u32;
    /// The bytes by its own account, if it has one.
    fn own_size(&self) -> Option<usize> {
        None
    }
}

/// All names that [`build`] knows.
pub const NAMES: [&str; 7] = [
    "rutter compact",
    "rutter balanced",
    "rutter fast",
    "rutter fastest",
    "treebitmap",
    "prefix-trie",
    "iptrie LC",
];

/// The families in the types of the other crates.
pub trait Foreign: Net {
    /// The prefix type of iptrie.
    type Iptrie: IpPrefix<Addr = Self::Addr>;
    fn iptrie(self) -> Self::Iptrie;
    fn build_foreign(name: &str, prefixes: &[Self]) -> Box<dyn Contender<Self>>;
}

/// Builds a table with the prefixes' positions as numbers.
pub fn build<N: Foreign>(name: &str, prefixes: &[N]) -> Box<dyn Contender<N>> {
    match name.strip_prefix("rutter ") {
        Some(profile) => Box::new(table(profile.parse().expect("a profile"), prefixes)),
        None => N::build_foreign(name, prefixes),
    }
}

/// Our table.
pub fn table<N: Net>(profile: Profile, prefixes: &[N]) -> Table<N> {
    let mut table = Table::new(profile);
    for (number, prefix) in prefixes.iter().enumerate() {
        table.insert(*prefix, number as u32);
    }
    table
}

impl<N: Net> Contender<N> for Table<N> {
    fn sum(&self, addrs: &[N::Addr]) -> u32 {
        let found = addrs.iter().map(|addr| self.lookup(*addr).unwrap_or(0));
        found.fold(0, u32::wrapping_add)
    }

    fn own_size(&self) -> Option<usize> {
        Some(self.size().taken)
    }
}

macro_rules! foreign {
    ($net:ty, $addr:ty, $bits:ty, $iptrie:ty) => {
        impl Foreign for $net {
            type Iptrie = $iptrie;

            fn iptrie(self) -> $iptrie {
                <$iptrie>::new(self.addr(), self.len()).expect("a length in range")
            }

            fn build_foreign(name: &str, prefixes: &[Self]) -> Box<dyn Contender<Self>> {
                let numbered = prefixes.iter().zip(0_u32..);
                match name {
                    "treebitmap" => {
                        let mut table = IpLookupTable::new();
                        for (prefix, number) in numbered {
                            table.insert(prefix.addr(), u32::from(prefix.len()), number);
                        }
                        Box::new(table)
                    }
                    "prefix-trie" => {
                        let numbered = numbered.map(|(p, number)| ((p.bits(), p.len()), number));
                        Box::new(numbered.collect::<PrefixMap<($bits, u8), u32>>())
                    }
                    "iptrie LC" => {
                        let mut map = RTrieMap::new();
                        for (prefix, number) in numbered {
                            map.insert(prefix.iptrie(), number);
                        }
                        Box::new(map.compress())
                    }
                    other => unreachable!("no table named {other}"),
                }
            }
        }

        impl Contender<$net> for IpLookupTable<$addr, u32> {
            fn sum(&self, addrs: &[$addr]) -> u32 {
                let found = addrs
                    .iter()
                    .map(|addr| self.longest_match(*addr).map_or(0, |(_, _, n)| *n));
                found.fold(0, u32::wrapping_add)
            }
        }

        impl Contender<$net> for PrefixMap<($bits, u8), u32> {
            fn sum(&self, addrs: &[$addr]) -> u32 {
                let host = |addr: &$addr| (addr.to_bits(), <$net>::MAX_LEN);
                let found = addrs
                    .iter()
                    .map(|addr| self.get_lpm(&host(addr)).map_or(0, |(_, n)| *n));
                found.fold(0, u32::wrapping_add)
            }
        }

        impl Contender<$net> for LCTrieMap<$iptrie, u32> {
            fn sum(&self, addrs: &[$addr]) -> u32 {
                let found = addrs.iter().map(|addr| *self.lookup(addr).1);
                found.fold(0, u32::wrapping_add)
            }
        }
    };
}

foreign!(Ipv4Prefix, Ipv4Addr, u32, iptrie::Ipv4Prefix);
foreign!(Ipv6Prefix, Ipv6Addr, u128, iptrie::Ipv6Prefix);
