//! Stride profiles: the user's choice between memory and speed.

use std::fmt;
use std::str::FromStr;

/// The number of address bits that each level of a table resolves.
///
/// The root is an array; the levels below are compressed nodes of 4 or 8 bits. `GUIDE.md` has bytes per
/// prefix and nanoseconds per look-up of each on a real table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// 8/4/4/4/…: the least memory.
    Compact,
    /// 8/8/8/8/…: no large root; best for tables of a few thousand prefixes.
    Balanced,
    /// 16/8/8/…, IPv6 24/8/8/…: the best choice for a full table.
    #[default]
    Fast,
    /// As [`Fast`](Self::Fast), with a direct array over the first 24 bits in front. For IPv4, nearly every
    /// look-up is one memory access (64 MiB). For IPv6, direct tables of strides 16/16/8/8 take four accesses
    /// without a branch to mispredict. They use up to 64 MiB; 46 for a full table of 2025.
    Fastest,
}

/// The root bits of the profiles for which [`Profile::is_in_place`] is true.
pub(crate) const ROOT_OF_LONG_WAYS: u32 = 8;

/// The width of the nodes below the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stride {
    Stride4,
    Stride8,
}

impl Stride {
    /// The address bits of a node.
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

    /// The address bits that the root resolves. `Fast` and `Fastest` have a wide, sparse root for IPv6, which
    /// would be repeated in each shard.
    pub(crate) const fn root_bits(self, ipv6: bool, is_shard: bool) -> u32 {
        match self {
            Profile::Compact | Profile::Balanced => ROOT_OF_LONG_WAYS,
            Profile::Fast | Profile::Fastest if ipv6 && !is_shard => 24,
            Profile::Fast | Profile::Fastest => 16,
        }
    }

    /// Returns whether pointers to child nodes change in place, see [`crate::descent`]. Under a wide root the paths are
    /// short. There, copying the path costs readers less than the occasional check whether all words were read
    /// at one instant.
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

/// The string is not the name of a [`Profile`].
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
