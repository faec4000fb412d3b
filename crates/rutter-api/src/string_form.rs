//! Serde functions for values that JSON represents by their string form: `"192.0.2.0/24"`.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Writes the string form without an allocation.
pub(crate) fn serialize<T: Display, S: Serializer>(value: &T, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(value)
}

/// Parses the string form.
pub(crate) fn deserialize<'de, T, D>(input: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    String::deserialize(input)?.parse().map_err(Error::custom)
}

/// The same for an optional value.
pub(crate) mod option {
    use super::*;

    /// Writes the string form or `null`.
    pub(crate) fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => out.collect_str(value),
            None => out.serialize_none(),
        }
    }

    /// Parses the string form or `null`.
    pub(crate) fn deserialize<'de, T, D>(input: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        Option::<String>::deserialize(input)?
            .map(|text| text.parse().map_err(Error::custom))
            .transpose()
    }
}
