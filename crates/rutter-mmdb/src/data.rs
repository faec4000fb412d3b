//! The data section: texts once each, and what refers to them.

use std::collections::HashMap;

use crate::encode;

/// Where in the data section a value lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct At(pub(crate) u32);

/// A value of a map or of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    /// A value that lies elsewhere.
    At(At),
    /// A text that is worth no place of its own: few have it.
    Text(&'a str),
    /// A number.
    U32(u32),
}

/// The data section as it grows.
#[derive(Debug, Default)]
pub struct Data {
    pub(crate) octets: Vec<u8>,
    texts: HashMap<Box<str>, At>,
    lists: HashMap<Box<[u8]>, At>,
}

impl Data {
    /// An empty section.
    pub fn new() -> Self {
        Data::default()
    }

    /// A text; the same text has one place, however often it is asked for. Keys of maps are texts.
    pub fn text(&mut self, text: &str) -> At {
        if let Some(at) = self.texts.get(text) {
            return *at;
        }
        let at = self.here();
        encode::text(&mut self.octets, text);
        self.texts.insert(text.into(), at);
        at
    }

    /// A map.
    pub fn map(&mut self, entries: &[(At, Value<'_>)]) -> At {
        let at = self.here();
        encode::control(&mut self.octets, encode::MAP, entries.len());
        for (key, value) in entries {
            encode::pointer(&mut self.octets, key.0);
            write(&mut self.octets, value);
        }
        at
    }

    /// A list; the same list has one place too.
    pub fn list(&mut self, values: &[Value<'_>]) -> At {
        let mut octets = Vec::new();
        encode::control(&mut octets, encode::ARRAY, values.len());
        for value in values {
            write(&mut octets, value);
        }
        if let Some(at) = self.lists.get(octets.as_slice()) {
            return *at;
        }
        let at = self.here();
        self.octets.extend_from_slice(&octets);
        self.lists.insert(octets.into(), at);
        at
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
    fn here(&self) -> At {
        At(u32::try_from(self.octets.len()).unwrap_or(u32::MAX))
    }
}

fn write(out: &mut Vec<u8>, value: &Value<'_>) {
    match value {
        Value::At(at) => encode::pointer(out, at.0),
        Value::Text(text) => encode::text(out, text),
        Value::U32(number) => encode::number(out, encode::U32, u64::from(*number)),
    }
}
