//! The data section: maps, and the texts and lists that they share.

use std::collections::HashMap;

use crate::encode;

/// Where in the data section a map lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct At(pub(crate) u32);

/// A text or list that several maps may have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shared(u32);

/// A value of a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    /// A value that others have too.
    Shared(Shared),
    /// A text that is worth no place of its own: few have it.
    Text(&'a str),
    /// A number.
    U32(u32),
}

/// The data section as it grows.
///
/// A shared value lies inside of the first map that has it, and the others point there: the section is maps and nothing
/// between them.
#[derive(Debug, Default)]
pub struct Data {
    pub(crate) octets: Vec<u8>,
    shared: Vec<Place>,
    texts: HashMap<Box<str>, Shared>,
    lists: HashMap<Box<[Shared]>, Shared>,
}

/// A shared value, before and after a map has it.
#[derive(Debug)]
enum Place {
    Text(Box<str>),
    List(Box<[Shared]>),
    At(u32),
}

impl Data {
    /// An empty section.
    pub fn new() -> Self {
        Data::default()
    }

    /// A text; the same text is the same value, however often it is asked for. Keys of maps are texts.
    pub fn text(&mut self, text: &str) -> Shared {
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        let shared = self.share(Place::Text(text.into()));
        self.texts.insert(text.into(), shared);
        shared
    }

    /// A list; the same list is the same value too.
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

    /// A map.
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

    /// Writes a shared value where it is needed first, afterwards where to find it.
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

    /// Octets so far.
    pub fn len(&self) -> usize {
        self.octets.len()
    }

    /// Whether there is nothing yet.
    pub fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// The next value's place. A section that is too large for 32 bits is found out when it is written.
    fn here(&self) -> u32 {
        u32::try_from(self.octets.len()).unwrap_or(u32::MAX)
    }
}
