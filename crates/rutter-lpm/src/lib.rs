//! Longest-prefix tables: stride profiles, one writer, lock-free readers.
//!
//! Three types: [`PrefixMap`] has values of any type, for one thread. [`Table`] has a number per prefix, and
//! [`Reader`]s in other threads that look up while it changes: they take no lock, wait for nobody and never see half
//! an update. [`Routes`] has several routes per prefix, many writers and many readers. All are for IPv4 or IPv6, by the prefix type, and in one of four stride [`Profile`]s.
//!
//! ```
//! use rutter_lpm::{PrefixMap, Profile};
//! use rutter_net::Ipv4Prefix;
//!
//! let mut map = PrefixMap::<Ipv4Prefix, &str>::new(Profile::Fast);
//! map.insert("10.0.0.0/8".parse()?, "inside");
//! map.insert("0.0.0.0/0".parse()?, "outside");
//! assert_eq!(map.lookup("10.1.2.3".parse()?), Some(&"inside"));
//! assert_eq!(map.lookup("192.0.2.1".parse()?), Some(&"outside"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it works
//!
//! A root array over the first 8, 16 or 24 address bits leads to nodes of 4 or 8 bits. Nodes are short blocks in an
//! arena: a node of 8 bits has a bitmap of the slots where the answer changes, so that counting bits finds the
//! answer, in the same or the next cache line; slots in a row with one answer cost nothing. Each node has its prefixes
//! beside, sorted, so it can be rebuilt from itself when one comes or goes: a block of some hundred octets, in about a
//! microsecond, whatever the size of the table.
//!
//! A writer with readers lays the changed node out anew and publishes it with one store, to the node above it or, after copying the few
//! nodes between, to a root slot. What it unlinked it keeps until every reader at work has said that it holds nothing
//! (quiescent-state reclamation): readers say so in a word of their own every few dozen look-ups. The arena is made of
//! relaxed atomics, so even a fault in this protocol could not become undefined behaviour; the three modules
//! with `unsafe` call code for processors that count bits in one instruction, take arrays of zeros from the system, and
//! give tables parts of huge pages.
//!
//! # How exact a look-up is
//!
//! The prefix that a look-up finds was the longest one at an instant between its call and its return, even while prefixes that nest
//! come and go. It reads the root's slot once, and everything below that slot stays as it is, but for the
//! numbers of prefixes. Under [`Profile::Compact`] and [`Profile::Balanced`] pointers between nodes change, too:
//! where that can make a difference, the look-up asks again whether all that it saw was so at once. The number is read last: it is
//! one that this prefix had at that instant or after it, and before the return, by when a longer prefix may be there. Numbers that
//! stay what they are as long as their prefix is there, such as places of something else, are as exact as the prefix.
//!
//! In [`Routes`] a prefix that goes may leave a gap, its number 0, because most come again soon; who finds one looks for the longest
//! of the others, and again where the root's slot has changed meanwhile. Under [`Profile::Fastest`] all this holds for [`View::lookup`] and
//! [`View::lookup_prefix`] each by itself: the direct array that the first reads follows the nodes by a moment.

/// The guide, whose examples are compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/lpm.md")]
pub struct Guide;

mod batch_lookup;
mod block_allocator;
mod bulk_update;
mod chunk_allocator;
mod cpu;
mod descent;
mod direct_ipv4;
mod direct_ipv6;
mod epoch;
mod map;
mod memory;
mod net;
mod node;
mod ordered_walk;
mod profile;
mod query;
mod reader;
mod retired_nodes;
mod root;
mod routes;
mod shared_table;
mod sync;
mod table;
mod zeroed;

pub use map::PrefixMap;
pub use net::Net;
pub use profile::{ParseProfileError, Profile};
pub use reader::{Reader, View};
pub use routes::{
    Found, RouteChange, Routes, RoutesReader, RoutesSize, RoutesView, TooLong, Value,
};
pub use table::{Size, Table};
