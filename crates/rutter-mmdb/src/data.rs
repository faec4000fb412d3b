//! The data section: maps, and the strings and lists that they share.

use std::collections::HashMap;

use crate::encode;

/// The offset of a map in the data section.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct At(pub(crate) u32);

/// A string or list that several maps may contain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shared(u32);

/// A value of a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    /// A shared value.
    Shared(Shared),
    /// A string that is stored in this map only.
    Text(&'a str),
    /// A number.
    U32(u32),
}

/// The data section under construction.
///
/// A shared value is stored inside the first map that contains it, and later maps point to it. So the section consists
/// of maps only.
#[derive(Debug, Default)]
pub struct Data {
    pub(crate) octets: Vec<u8>,
    shared: Vec<Place>,
    strings: HashMap<Box<str>, Shared>,
    lists: HashMap<Box<[Shared]>, Shared>,
}

/// A shared value, before and after a map contains it.
#[derive(Debug)]
enum Place {
    Text(Box<str>),
    List(Box<[Shared]>),
    At(u32),
}

impl Data {
    /// Creates an empty section.
    pub fn new() -> Self {
        Data::default()
    }

    /// Returns a shared string, also for use as the key of a map. Equal strings are the same value.
    pub fn text(&mut self, text: &str) -> Shared {
        if let Some(known) = self.strings.get(text) {
            return *known;
        }
        let shared = self.share(Place::Text(text.into()));
        self.strings.insert(text.into(), shared);
        shared
    }

    /// Returns a shared list. Equal lists are the same value.
    pub fn list(&mut self, values: &[Shared]) -> Shared {
        if let Some(known) = self.lists.get(values) {
            return *known;
        }
        let shared = self.share(Place::List(values.into()));
        self.lists.insert(values.into(), shared);
        shared
    }

    fn share(&mut self, place: Place) -> Shared {
        self.shared.push(place);
        Shared(self.shared.len() as u32 - 1)
    }

    /// Adds a map.
    pub fn map(&mut self, entries: &[(Shared, Value<'_>)]) -> At {
        let at = At(self.here());
        encode::control(&mut self.octets, encode::MAP, entries.len());
        for (key, value) in entries {
            self.write(*key);
            match value {
                Value::Shared(shared) => self.write(*shared),
                Value::Text(text) => encode::text(&mut self.octets, text),
                Value::U32(number) => {
                    encode::number(&mut self.octets, encode::U32, u64::from(*number));
                }
            }
        }
        at
    }

    /// Writes a shared value at its first use, and a pointer to it later.
    fn write(&mut self, value: Shared) {
        let here = self.here();
        let place = &mut self.shared[value.0 as usize];
        match std::mem::replace(place, Place::At(here)) {
            Place::At(at) => {
                *place = Place::At(at);
                encode::pointer(&mut self.octets, at);
            }
            Place::Text(text) => encode::text(&mut self.octets, &text),
            Place::List(values) => {
                encode::control(&mut self.octets, encode::ARRAY, values.len());
                values.iter().for_each(|value| self.write(*value));
            }
        }
    }

    /// Returns the size in bytes.
    pub fn len(&self) -> usize {
        self.octets.len()
    }

    /// Returns whether the section is empty.
    pub fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// Returns the offset of the next value. A section above 32 bits is detected when the file is written.
    fn here(&self) -> u32 {
        u32::try_from(self.octets.len()).unwrap_or(u32::MAX)
    }
}
