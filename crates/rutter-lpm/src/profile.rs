//! Stride profiles: memory against speed is the user's choice.

use std::fmt;
use std::str::FromStr;

/// How many address bits each level of a table resolves.
///
/// The root is an array; the levels below are compressed nodes of 4 or 8 bits. `docs/lpm.md` has bytes per
/// prefix and nanoseconds per look-up of each on a real table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// 8/4/4/4/…: the least memory.
    Compact,
    /// 8/8/8/8/…: no large root; best for tables of a few thousand prefixes.
    Balanced,
    /// 16/8/8/…, IPv6 24/8/8/…: the best of both for a full table.
    #[default]
    Fast,
    /// As [`Fast`](Self::Fast) with a direct array over the first 24 bits in front: one memory access a look-up for
    /// nearly all of IPv4 (64 MiB), and for IPv6 direct tables of strides 16/16/8/8: four accesses
    /// and no branch to guess wrong (up to 64 MiB; 46 for a full table of 2025).
    Fastest,
}

/// Bits of the root of profiles of which [`Profile::is_in_place`] is true.
pub(crate) const ROOT_OF_LONG_WAYS: u32 = 8;

/// The width of the nodes below the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stride {
    Stride4,
    Stride8,
}

impl Stride {
    /// Address bits of a node.
    pub(crate) const fn bits(self) -> u32 {
        match self {
            Stride::Stride4 => 4,
            Stride::Stride8 => 8,
        }
    }
}

impl Profile {
    /// All profiles, from small to fast.
    pub const ALL: [Profile; 4] = [
        Profile::Compact,
        Profile::Balanced,
        Profile::Fast,
        Profile::Fastest,
    ];

    /// The name in configuration files: `compact`, `balanced`, `fast` or `fastest`.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Compact => "compact",
            Profile::Balanced => "balanced",
            Profile::Fast => "fast",
            Profile::Fastest => "fastest",
        }
    }

    /// Address bits that the root resolves. `Fast` and `Fastest` have a wide, sparse root for IPv6, of which many shards would
    /// have as many.
    pub(crate) const fn root_bits(self, ipv6: bool, is_shard: bool) -> u32 {
        match self {
            Profile::Compact | Profile::Balanced => ROOT_OF_LONG_WAYS,
            Profile::Fast | Profile::Fastest if ipv6 && !is_shard => 24,
            Profile::Fast | Profile::Fastest => 16,
        }
    }

    /// Whether pointers of nodes to those below change in place, see [`crate::descent`]. From a wide root the ways are short: there a
    /// reader loses less by the copying of what is on them than by asking, now and then, whether all that it found was so at once.
    pub(crate) const fn is_in_place(self) -> bool {
        matches!(self, Profile::Compact | Profile::Balanced)
    }

    pub(crate) const fn stride(self) -> Stride {
        match self {
            Profile::Compact => Stride::Stride4,
            _ => Stride::Stride8,
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text names no [`Profile`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseProfileError(String);

impl fmt::Display for ParseProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.0;
        write!(
            f,
            "`{text}` is no stride profile: write compact, balanced, fast or fastest"
        )
    }
}

impl std::error::Error for ParseProfileError {}

impl FromStr for Profile {
    type Err = ParseProfileError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Profile::ALL.into_iter().find(|p| p.name() == text);
        named.ok_or_else(|| ParseProfileError(text.to_owned()))
    }
}
