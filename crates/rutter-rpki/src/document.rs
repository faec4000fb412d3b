//! The JSON documents of validators.
//!
//! rpki-client, Routinator, FORT, OctoRPKI and rtrtr write VRPs in the same way, under `roas`. ASPAs are under `aspas`:
//! rpki-client writes `{"customer_asid": 64500, "providers": [64501]}`, and Routinator (`json` and `jsonext`) writes
//! `{"customer": "AS64500", "providers": ["AS64501"]}`. All other keys are ignored.

use std::fmt;
use std::marker::PhantomData;

use rutter_net::Asn;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::{AspasBuilder, Vrp, VrpsBuilder};

/// The content of a document. A part is `None` if its key is missing.
#[derive(Default)]
pub(crate) struct Document {
    pub vrps: Option<VrpsBuilder>,
    pub aspas: Option<AspasBuilder>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Key {
    Roas,
    Aspas,
    #[serde(other)]
    Other,
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_map(DocumentVisitor)
    }
}

struct DocumentVisitor;

impl<'de> Visitor<'de> for DocumentVisitor {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `roas` or `aspas`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let mut document = Document::default();
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Roas => {
                    let vrps = document.vrps.get_or_insert_default();
                    map.next_value_seed(Each::new(|row: VrpRow| vrps.add(row.vrp())))?;
                }
                Key::Aspas => {
                    let aspas = document.aspas.get_or_insert_default();
                    map.next_value_seed(Each::new(|row: AspaRow| {
                        aspas.add(row.customer.0, row.providers.iter().map(|number| number.0))
                    }))?;
                }
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if document.vrps.is_none() && document.aspas.is_none() {
            return Err(A::Error::missing_field("roas"));
        }
        Ok(document)
    }
}

/// A VRP as validators write it. Prefixes must not have host bits.
#[derive(Deserialize)]
struct VrpRow {
    asn: AsNumber,
    prefix: PrefixString,
    #[serde(rename = "maxLength")]
    max_len: u8,
}

impl VrpRow {
    fn vrp(self) -> Vrp {
        Vrp {
            prefix: self.prefix.0,
            max_len: self.max_len,
            asn: self.asn.0.0,
        }
    }
}

/// An ASPA as validators write it.
#[derive(Deserialize)]
struct AspaRow {
    #[serde(alias = "customer_asid")]
    customer: AsNumber,
    providers: Vec<AsNumber>,
}

/// An AS number: a number, or a string such as `AS64500`.
struct AsNumber(Asn);

impl<'de> Deserialize<'de> for AsNumber {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(AsNumberVisitor)
    }
}

struct AsNumberVisitor;

impl Visitor<'_> for AsNumberVisitor {
    type Value = AsNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an AS number such as 64500 or \"AS64500\"")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<AsNumber, E> {
        let number = u32::try_from(number);
        let number = number.map_err(|_| E::custom("an AS number has at most 32 bits"))?;
        Ok(AsNumber(Asn(number)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<AsNumber, E> {
        text.parse().map(AsNumber).map_err(E::custom)
    }
}

struct PrefixString(rutter_net::Prefix);

impl<'de> Deserialize<'de> for PrefixString {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_str(PrefixVisitor)
    }
}

struct PrefixVisitor;

impl Visitor<'_> for PrefixVisitor {
    type Value = PrefixString;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a prefix such as \"192.0.2.0/24\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<PrefixString, E> {
        text.parse().map(PrefixString).map_err(E::custom)
    }
}

/// Passes each element of an array to a function, so that large arrays are never in memory as a whole.
struct Each<T, F> {
    add: F,
    element: PhantomData<T>,
}

impl<T, F> Each<T, F> {
    fn new<E>(add: F) -> Self
    where
        F: FnMut(T) -> Result<(), E>,
    {
        Each {
            add,
            element: PhantomData,
        }
    }
}

impl<'de, T, E, F> DeserializeSeed<'de> for Each<T, F>
where
    T: Deserialize<'de>,
    E: fmt::Display,
    F: FnMut(T) -> Result<(), E>,
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_seq(self)
    }
}

impl<'de, T, E, F> Visitor<'de> for Each<T, F>
where
    T: Deserialize<'de>,
    E: fmt::Display,
    F: FnMut(T) -> Result<(), E>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element()? {
            (self.add)(element).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}
