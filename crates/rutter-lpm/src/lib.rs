//! Longest-prefix tables: stride profiles, one writer, lock-free readers.
//!
//! There are four types. [`PrefixMap`] has values of any type, for one thread. [`FrozenMap`] is immutable and small.
//! [`Table`] has a number per prefix, and [`Reader`]s in other threads that look up while it changes. They take no
//! lock, never wait, and never see half an update. [`Routes`] has several routes per prefix, many writers and many
//! readers. All types are for IPv4 or IPv6, by the prefix type, and those that change use one of four stride
//! [`Profile`]s.
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
//! A root array over the first 8, 16 or 24 address bits leads to nodes of 4 or 8 bits. Nodes are short blocks
//! in an arena. A node of 8 bits has a bitmap of the slots at which the answer changes. Counting bits finds the
//! answer in the same or the next cache line, and consecutive slots with one answer cost nothing. Each node
//! also stores its prefixes, sorted, so that an update can rebuild it from itself. That writes some hundred
//! bytes in about a microsecond, whatever the size of the table.
//!
//! A writer with readers builds the changed node as a new block and publishes it with one store. The store goes
//! to the node above or, after copying the few nodes between, to a root slot. Unlinked blocks are kept until
//! every active reader has announced that it holds no reference (quiescent-state reclamation). Readers announce
//! this in a word of their own every few dozen look-ups. The arena consists of relaxed atomics, so even a fault
//! in this protocol could not become undefined behaviour. The three modules with `unsafe` call code for
//! processors that count bits in one instruction, take zeroed arrays from the system, and give tables parts of
//! huge pages.
//!
//! # How exact a look-up is
//!
//! The prefix that a look-up finds was the longest one at an instant between its call and its return. This
//! holds even while nested prefixes come and go. A look-up reads the root's slot once, and everything below
//! that slot is immutable, except for the numbers of prefixes. Under [`Profile::Compact`] and
//! [`Profile::Balanced`], pointers between nodes change, too. If that can make a difference, the look-up checks
//! again whether all that it saw was so at one instant. The number is read last. It is one that this prefix had
//! at that instant or later, but before the return. By then a longer prefix may exist. Numbers that are
//! constant for the lifetime of their prefix, such as indexes into other data, are as exact as the prefix.
//!
//! In [`Routes`], a removed prefix may leave a gap, with number 0, because most removed prefixes come back
//! soon. A look-up that finds a gap searches the longest other prefix, and searches again if the root's slot
//! has changed. Under [`Profile::Fastest`], all this holds for [`View::lookup`] and
//! [`View::lookup_prefix`] each by itself: `lookup` reads the direct array, which is updated a moment after the
//! nodes.

/// The examples of the guide are compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../GUIDE.md")]
pub struct Guide;

/// So is the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

mod batch_lookup;
mod block_allocator;
mod bulk_update;
mod chunk_allocator;
mod cpu;
mod descent;
mod direct_ipv4;
mod direct_ipv6;
mod directory;
mod epoch;
mod frozen_map;
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

pub use cpu::prefetch;
pub use directory::Directory;
pub use frozen_map::{FrozenMap, Place};
pub use map::PrefixMap;
pub use net::Net;
pub use profile::{ParseProfileError, Profile};
pub use reader::{Reader, View};
pub use routes::{
    Found, RouteChange, Routes, RoutesReader, RoutesSize, RoutesView, TooLong, Value,
};
pub use table::{Size, Table};
